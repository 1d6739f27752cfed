"""Other people's packages: there to be measured against in `make bench`, and nowhere else.

They are in the dependency group `bench` alone. One that is not installed is a line that says so, never a crash.
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
"""The name to import, and that of the distribution."""


class Missing(Exception):
    """A peer that is not here, or does not run here; the text says why."""


REMEDY = "`make bench` installs all of them, in build/bench; or: uv pip install --group bench"


def absent() -> list[str]:
    """Return what to say of peers that are not installed here: which, what that means, and how to get them."""
    missing = [name for module, name in PEERS.items() if importlib.util.find_spec(module) is None]
    if not missing:
        return []
    return [f"Not installed here, so not measured: {', '.join(missing)}. {REMEDY}."]


def peer(module: str) -> Any:
    """Import a module of a peer; raise `Missing` where that fails, whatever the reason."""
    package = module.partition(".")[0]
    if package not in PEERS:
        raise KeyError(f"{package} is no peer; add it to PEERS and to the group bench of pyproject.toml")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except Exception as error:  # a package that breaks on import is as good as none
        raise Missing(f"{PEERS[package]} cannot be imported here ({type(error).__name__})") from error
