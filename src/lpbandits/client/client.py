"""`Client` and `AsyncClient`: the same operations, run by a blocking and an asynchronous HTTP library."""

import asyncio
import functools
import inspect
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args

from lpbandits import __version__, validate
from lpbandits.client import person as _person
from lpbandits.client import project as _project
from lpbandits.client.calls import as_person, is_token
from lpbandits.client.exchange import Call, Reply, Retries, Steps
from lpbandits.client.queue import OutcomeQueue
from lpbandits.errors import InvalidInput, reason
from lpbandits.typing import Label

if TYPE_CHECKING:
    import httpx2

P = ParamSpec("P")
T = TypeVar("T")
Transport = TypeVar("Transport")


def blocking(operation: Callable[Concatenate[Any, P], Steps[T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that runs an operation."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return (self if isinstance(self, Client) else self.client)._run(operation(self, *args, **kwargs))

    _describe(method, operation)
    return method


def asynchronous(
    operation: Callable[Concatenate[Any, P], Steps[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return a coroutine method that runs an operation."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await (self if isinstance(self, AsyncClient) else self.client)._run(operation(self, *args, **kwargs))

    _describe(method, operation)
    return method


def _describe(method: Callable[..., Any], operation: Callable[..., Steps[Any]]) -> None:
    """Give a method the name and docstring of its operation, and the signature with what it returns."""
    functools.update_wrapper(method, operation)
    signature = inspect.signature(operation)
    *_, result = get_args(signature.return_annotation)
    method.__signature__ = signature.replace(return_annotation=result)  # type: ignore[attr-defined] # see inspect


class _Base(Generic[Transport]):
    """What both clients have; see `Client`."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8321",
        *,
        key: str | None = None,
        project: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        backoff: float = 0.25,
        queue: str | Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._httpx2 = _library()
        self.url = validate.as_text(url, "url")
        if not self.url.startswith(("http://", "https://")):
            raise validate.invalid("url", "a URL such as http://127.0.0.1:8321", url)
        self.project = None if project is None else validate.as_text(project, "project")
        self.timeout = validate.as_number(timeout, "timeout", low=0, above=True)
        count = validate.as_count(retries, "retries", low=0, high=100)
        self.retries = Retries(count, validate.as_number(backoff, "backoff", low=0))
        self.queue = None if queue is None else OutcomeQueue(queue)
        self.labels: dict[str, dict[str, Label]] = {}
        headers = {"User-Agent": f"lpbandits/{__version__}"}
        if key is not None:
            if not is_token(key):
                raise InvalidInput("key must be an access key such as lpb_…: ASCII characters without spaces")
            headers["Authorization"] = f"Bearer {key}"
        try:
            self._http = self._open(base_url=self.url, headers=headers, transport=transport)
        except self._httpx2.InvalidURL as error:
            raise InvalidInput(f"url must be a URL such as http://127.0.0.1:8321, got {url!r}: {error}") from None

    @property
    def waiting(self) -> int:
        """Number of requests that wait in the queue."""
        return 0 if self.queue is None else self.queue.waiting

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, project={self.project!r})"

    def _open(self, **options: Any) -> Any:
        raise NotImplementedError

    def _arguments(self, call: Call) -> dict[str, Any]:
        """Return the arguments of a request."""
        content = call.content
        headers = {} if content is None else {"Content-Type": "application/json"}
        if call.method != "GET":
            headers["Idempotency-Key"] = call.key
        return {
            "method": call.method,
            "url": call.path,
            "params": call.query or None,
            "content": content,
            "headers": headers,
            "timeout": max(self.timeout, call.min_timeout),
        }

    def _lost(self, error: Exception) -> Reply:
        """Return what is known of a request without an answer."""
        library = self._httpx2
        unsent = (library.ConnectError, library.ConnectTimeout, library.PoolTimeout)
        words = reason(error)
        name = type(error).__name__
        return Reply(fault=words if words == name else f"{words} ({name})", arrived=not isinstance(error, unsent))


def _reply(response: "httpx2.Response") -> Reply:
    headers = response.headers
    return Reply(
        response.status_code, headers.get("content-type", ""), response.content, headers.get("retry-after", "")
    )


def _library() -> Any:
    try:
        import httpx2  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise InvalidInput("the client needs httpx2: pip install 'lpbandits[client]'") from None
    return httpx2


class Client(_Base["httpx2.BaseTransport"]):
    """Client of the decision service.

    Parameters
    ----------
    url
        Address of `lpb serve`.
    key
        Access key.
    project
        Name of the project; not needed for `projects` and keys.
    timeout
        Seconds to wait for a connection, and for each part of an answer; batches and models may take a minute.
    retries
        Maximum number of repetitions of a request that got no answer, or the status 429, 502, 503 or 504.
    backoff
        Seconds before the first repetition; they double each time. A `Retry-After` of the service counts too.
    queue
        File that keeps outcomes while the service cannot take them. Every later call sends them first, and `flush`
        sends them now; those that the service refuses are kept in `*.rejected.jsonl` beside it.
    transport
        Transport of httpx2, such as `httpx2.HTTPTransport(verify=…)` for a certificate of your own.

    Notes
    -----
    Every write has an Idempotency-Key, the same for all its attempts, so a repetition has no second effect. Give
    `idempotency_key` to repeat a call safely even from another process. Threads may share a client.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8321", key="lpb_secret", project="demo")
    >>> client, client.person("ann")
    (Client('http://127.0.0.1:8321', project='demo'), Person('ann', project='demo'))
    >>> client.close()
    """

    def person(self, label: str) -> "Person":
        """Return a person of the project; no request is sent."""
        return Person(self, label)

    decide_many = blocking(_project.decide_many)
    tell_many = blocking(_project.tell_many)
    flush = blocking(_project.flush)
    configure = blocking(_project.configure)
    upload = blocking(_project.upload)
    model = blocking(_project.model)
    settings = blocking(_project.settings)
    projects = blocking(_project.projects)
    people = blocking(_project.people)
    list_keys = blocking(_project.list_keys)
    make_key = blocking(_project.make_key)
    revoke_key = blocking(_project.revoke_key)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, **options: Any) -> "httpx2.Client":
        client: httpx2.Client = self._httpx2.Client(**options)
        return client

    def _run(self, steps: Steps[T]) -> T:
        reply: Reply | None = None
        try:
            while True:
                step, reply = steps.send(reply), None
                if isinstance(step, Call):
                    reply = self._send(step)
                else:
                    time.sleep(step)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    def _send(self, call: Call) -> Reply:
        try:
            return _reply(self._http.request(**self._arguments(call)))
        except self._httpx2.RequestError as error:
            return self._lost(error)


class AsyncClient(_Base["httpx2.AsyncBaseTransport"]):
    """`Client` for asyncio: the same arguments and methods, which are awaited.

    Examples
    --------
    >>> async def next_action(label: str) -> str | int:
    ...     async with AsyncClient(project="demo") as client:
    ...         return await client.person(label).ask()
    """

    def person(self, label: str) -> "AsyncPerson":
        """Return a person of the project; no request is sent."""
        return AsyncPerson(self, label)

    decide_many = asynchronous(_project.decide_many)
    tell_many = asynchronous(_project.tell_many)
    flush = asynchronous(_project.flush)
    configure = asynchronous(_project.configure)
    upload = asynchronous(_project.upload)
    model = asynchronous(_project.model)
    settings = asynchronous(_project.settings)
    projects = asynchronous(_project.projects)
    people = asynchronous(_project.people)
    list_keys = asynchronous(_project.list_keys)
    make_key = asynchronous(_project.make_key)
    revoke_key = asynchronous(_project.revoke_key)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self, **options: Any) -> "httpx2.AsyncClient":
        client: httpx2.AsyncClient = self._httpx2.AsyncClient(**options)
        return client

    async def _run(self, steps: Steps[T]) -> T:
        reply: Reply | None = None
        try:
            while True:
                step, reply = steps.send(reply), None
                if isinstance(step, Call):
                    reply = await self._send(step)
                else:
                    await asyncio.sleep(step)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    async def _send(self, call: Call) -> Reply:
        try:
            return _reply(await self._http.request(**self._arguments(call)))
        except self._httpx2.RequestError as error:
            return self._lost(error)


ClientType = TypeVar("ClientType", bound=_Base[Any])


class _PersonBase(Generic[ClientType]):
    """What a person has in both clients."""

    def __init__(self, client: ClientType, label: str) -> None:
        self.client, self.label = client, as_person(label)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r}, project={self.client.project!r})"


class Person(_PersonBase[Client]):
    """A person of a project; `client.person(label)` makes one."""

    ask = blocking(_person.ask)
    decide = blocking(_person.decide)
    schedule = blocking(_person.schedule)
    tell = blocking(_person.tell)
    retract = blocking(_person.retract)
    correct = blocking(_person.correct)
    start = blocking(_person.start)
    delete = blocking(_person.delete)
    read = blocking(_person.read)
    posterior = blocking(_person.posterior)
    probabilities = blocking(_person.probabilities)
    explain = blocking(_person.explain)
    history = blocking(_person.history)


class AsyncPerson(_PersonBase[AsyncClient]):
    """`Person` for asyncio."""

    ask = asynchronous(_person.ask)
    decide = asynchronous(_person.decide)
    schedule = asynchronous(_person.schedule)
    tell = asynchronous(_person.tell)
    retract = asynchronous(_person.retract)
    correct = asynchronous(_person.correct)
    start = asynchronous(_person.start)
    delete = asynchronous(_person.delete)
    read = asynchronous(_person.read)
    posterior = asynchronous(_person.posterior)
    probabilities = asynchronous(_person.probabilities)
    explain = asynchronous(_person.explain)
    history = asynchronous(_person.history)
