"""`python -m lpbandits` is `lpb`."""

from lpbandits.cli import main

if __name__ == "__main__":
    main()
