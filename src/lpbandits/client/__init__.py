"""Client of the decision service (`lpb serve`): the words of `Agent`, over HTTP.

`person` and `project` say what each call sends and returns, once for both clients; `exchange` when a request is
repeated; `sending` and `queue` how outcomes wait on disk while the service is unreachable.
"""

from lpbandits.client.client import AsyncClient, AsyncPerson, Client, Person
from lpbandits.client.errors import (
    AccessDenied,
    ClientError,
    Conflict,
    InvalidRequest,
    NotFound,
    QueueWarning,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from lpbandits.client.values import Correction, Decision, Flushed, Outcome, PersonRecord, Rejected, Upload

__all__ = [
    "AccessDenied",
    "AsyncClient",
    "AsyncPerson",
    "Client",
    "ClientError",
    "Conflict",
    "Correction",
    "Decision",
    "Flushed",
    "InvalidRequest",
    "NotFound",
    "Outcome",
    "Person",
    "PersonRecord",
    "QueueWarning",
    "Rejected",
    "ServerError",
    "TooManyRequests",
    "Unreachable",
    "Upload",
]
