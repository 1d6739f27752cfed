"""Latent preference bandits: personal decisions from preference orderings, in a handful of rounds.

    import lpbandits as lpb
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7)
    action = agent.ask()
    agent.tell(action, 3.2)
    agent.posterior

The public names are listed in `__init__.pyi`. They are loaded when first used, so that importing the package is quick.
"""

import difflib
from typing import Any

import lazy_loader

__version__ = "0.3.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Load a public name; suggest the nearest one if there is none of this name."""
    if name in __all__:
        return _load(name)
    names = {known.casefold(): known for known in __all__}
    near = [] if name.startswith("_") else difflib.get_close_matches(name.casefold(), names, n=1)
    hint = f" (did you mean {names[near[0]]!r}?)" if near else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
