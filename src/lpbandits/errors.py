"""Every error lpbandits raises on purpose.

::

    LpbError
    ├── InvalidInput      a value from outside is not usable (also a ValueError)
    ├── FileFormatError   a file is truncated, foreign or altered (also a ValueError)
    └── NotSupported      the policy cannot do this, and says why (also a TypeError)

A message gives the value, the limit and the remedy. Whatever object was spoken to is unchanged.
"""


class LpbError(Exception):
    """The root: catch it to catch everything lpbandits raises on purpose."""


class InvalidInput(LpbError, ValueError):
    """A value from outside is not usable; the message names it and what would be."""


class FileFormatError(LpbError, ValueError):
    """A file is truncated, foreign, altered or of a newer format."""


class NotSupported(LpbError, TypeError):
    """The request makes no sense for this policy; the message says why and what does."""
