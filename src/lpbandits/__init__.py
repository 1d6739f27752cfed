"""Latent preference bandits: personal decisions from preference orderings, in a handful of rounds.

    import lpbandits as lpb
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7)
    action = agent.ask()
    agent.tell(action, 3.2)
    agent.posterior

The public names are listed in `__init__.pyi`. They are loaded when first used, so that importing the package is quick.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
