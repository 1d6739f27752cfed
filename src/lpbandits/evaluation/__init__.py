"""Real people: whether policies help those of a log, and what to give everybody next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
