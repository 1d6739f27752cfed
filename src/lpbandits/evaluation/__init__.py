"""Evaluation: replay held-out people of a log and decide whether policies help them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
