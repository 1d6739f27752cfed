"""Ratings and histories: readers for every file format, cleaning, and storage in memory or on disk.

A log on disk is sorted in *buckets* (all ratings of some people) and stored in *blocks* of consecutive people, the unit
of work of a fit. A *run* is several consecutive blocks (in `Ratings.run`, consecutive people). A *part* is the share of
a block that one thread processes; only in the `space` of a fit report, `parts` is the number of blocks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
