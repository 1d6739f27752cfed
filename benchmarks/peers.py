"""Other packages, which only `make bench` uses.

They are in the dependency group `bench` only. A package that is not installed is reported and not measured.
"""

import importlib
import importlib.util
import warnings
from typing import Any

PEERS = {
    "river": "river",
    "mabwiser": "mabwiser",
    "mabby": "mabby",
    "bayesianbandits": "bayesianbandits",
    "choix": "choix",
    "evalica": "evalica",
    "implicit": "implicit",
    "surprise": "scikit-surprise",
}
"""Distribution by name of the module to import."""


class Missing(Exception):
    """A package is not installed or does not run; the message gives the reason."""


REMEDY = "`make bench` installs all of them, in build/bench; or: uv pip install --group bench"


def absent() -> list[str]:
    """Return a message about packages that are not installed, with the remedy; empty if all are."""
    missing = [name for module, name in PEERS.items() if importlib.util.find_spec(module) is None]
    if not missing:
        return []
    return [f"Not installed, so not measured: {', '.join(missing)}. {REMEDY}."]


def peer(module: str) -> Any:
    """Import a module of another package; raise `Missing` if that fails for any reason."""
    package = module.partition(".")[0]
    if package not in PEERS:
        raise KeyError(f"{package} is not in PEERS; add it there and to the group bench of pyproject.toml")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except Exception as error:  # a package that fails on import counts as missing
        raise Missing(f"{PEERS[package]} cannot be imported here ({type(error).__name__})") from error
