"""Ratings and histories: readers for every file format, cleaning, and storage in memory or in chunks on disk."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
