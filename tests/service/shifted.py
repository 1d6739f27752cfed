"""Run `lpb` with another clock of the writer: `python -m tests.service.shifted FILE serve …`.

The file has the seconds by which the clock is ahead.
"""

import functools
import sys
import time
from pathlib import Path

from lpbandits.cli import main
from lpbandits.service import service
from lpbandits.service.writer import Writer


def run() -> None:
    """Run the command line."""
    ahead = Path(sys.argv.pop(1))
    shifted = functools.partial(Writer, clock=lambda: time.time() + float(ahead.read_text()))
    service.Writer = shifted  # type: ignore[misc, assignment] # the same, with a clock
    main()


if __name__ == "__main__":
    run()
