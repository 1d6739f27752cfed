"""From a log of ratings to a `PreferenceModel`.

`read_ratings` reads the log, `recover_two_stage` and `recover_em` fit it, `choose_states` helps to say how many states,
`match_orderings` compares a fit with the truth. The names stand in `__init__.pyi`, and load when first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
