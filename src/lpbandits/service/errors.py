"""Errors of the service, each with its HTTP status."""

from lpbandits.errors import LpbError

STOPPING = "the server is stopping; repeat the request with the same Idempotency-Key"

class ServiceError(LpbError):
    """A request that the service refuses; nothing was changed."""

    status = 400


class Unauthorized(ServiceError):
    """No valid key."""

    status = 401


class Forbidden(ServiceError):
    """A key whose role or project does not allow the request."""

    status = 403


class NotFound(ServiceError):
    """A project, person, decision or outcome that does not exist."""

    status = 404


class Conflict(ServiceError):
    """A request that contradicts what is stored."""

    status = 409


class TooLarge(ServiceError):
    """A request above a limit."""

    status = 413


class TooMany(ServiceError):
    """More requests per second than the key may send."""

    status = 429


class Unavailable(ServiceError):
    """The database does not answer, or the server is stopping; the request may be repeated."""

    status = 503


class StorageFull(ServiceError):
    """The disk of the store is full; nothing was written, and reads work."""

    status = 507
