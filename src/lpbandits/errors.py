"""Every error lpbandits raises on purpose.

::

    LpbError
    ├── InvalidInput      a value from outside is not usable (also a ValueError)
    ├── FileFormatError   a file is truncated, foreign or altered (also a ValueError)
    └── NotSupported      the policy cannot do this, and says why (also a TypeError)

A message gives the value, the limit and the remedy. Whatever object was spoken to is unchanged. The one warning,
`SlowFunction`, says that a function put in from outside runs as plain Python.
"""


class LpbError(Exception):
    """The root: catch it to catch everything lpbandits raises on purpose.

    >>> len(LpbError.__subclasses__())
    3
    """


class InvalidInput(LpbError, ValueError):
    """A value from outside is not usable; the message names it and what would be.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel([[0, 2]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: ordering 0 names action 2; the 2 actions are 0 to 1
    """


class FileFormatError(LpbError, ValueError):
    """A file is truncated, foreign, altered or of a newer format.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel.from_dict({"format": 1})
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: the model is not a preference model: its 'format' is not 'lpbandits-model'
    """


class NotSupported(LpbError, TypeError):
    """The request makes no sense for this policy; the message says why and what does.

    >>> from lpbandits import TS, Agent, PreferenceModel
    >>> Agent(TS(PreferenceModel([[0, 1]])), seed=1).posterior
    Traceback (most recent call last):
    ...
    lpbandits.errors.NotSupported: TS has no latent states, so there is no posterior over them
    """


class SlowFunction(UserWarning):
    """A function put in from outside is plain Python: it works, some hundred times slower than a compiled one.

    >>> issubclass(SlowFunction, UserWarning)
    True
    """
