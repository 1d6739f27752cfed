"""Errors of the client.

::

    LpbError
    └── ClientError            the service refused a request, or gave no answer
        ├── InvalidRequest     a value is not valid (also an InvalidInput)
        ├── AccessDenied       the key is missing, unknown, expired, or does not allow the request
        ├── NotFound           the project, person, decision or outcome does not exist
        ├── Conflict           the request contradicts what is stored
        ├── TooManyRequests    the key has sent more requests per second than it may
        ├── ServerError        the service failed, or its disk is full
        └── Unreachable        no answer of the service: whether the request was carried out is not known
    UserWarning
        └── QueueWarning       an outcome of the queue was refused, or cannot be sent

The message is the service's.
"""

from lpbandits.errors import InvalidInput, LpbError


class ClientError(LpbError):
    """The service refused a request, or gave no answer.

    Attributes
    ----------
    status
        HTTP status; None without an answer.
    idempotency_key
        That of the request: a repeated call that is given it as `idempotency_key` has no second effect.
    """

    temporary = False
    """Whether the same request may succeed later."""

    def __init__(self, message: object = "", status: int | None = None, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.status, self.idempotency_key = status, idempotency_key


class InvalidRequest(ClientError, InvalidInput):
    """A value is not valid; nothing was changed."""


class AccessDenied(ClientError):
    """The key is missing, unknown, expired, or does not allow the request."""


class NotFound(ClientError):
    """The project, person, decision or outcome does not exist."""


class Conflict(ClientError):
    """The request contradicts what is stored."""


class TooManyRequests(ClientError):
    """The key has sent more requests per second than it may, also after retries."""

    temporary = True


class ServerError(ClientError):
    """The service failed, or its disk is full."""

    temporary = True


class Unreachable(ClientError):
    """No answer of the service, also after retries: whether the request was carried out is not known.

    An answer of a proxy, or of another service, has its status; it says nothing about the request.
    """

    temporary = True


class QueueWarning(UserWarning):
    """An outcome of the queue was refused and is kept in the file of rejected ones, or the queue cannot be sent."""


KINDS: dict[int, type[ClientError]] = {
    **dict.fromkeys((400, 413, 422), InvalidRequest),
    **dict.fromkeys((401, 403), AccessDenied),
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
    **dict.fromkeys((502, 503, 504), Unreachable),
}


def kind_of(status: int) -> type[ClientError]:
    """Return the class of error of an HTTP status.

    >>> kind_of(422).__name__, kind_of(507).__name__
    ('InvalidRequest', 'ServerError')
    """
    return KINDS.get(status, ServerError if status >= 500 else ClientError)
