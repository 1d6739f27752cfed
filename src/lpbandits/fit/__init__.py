"""From ratings to a `PreferenceModel`: clusters, Bradley-Terry models, EM, taste models and their uncertainty."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
