"""Run the service: `lpb serve`."""

import gc
import logging
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
import uvicorn

from lpbandits.errors import CovariateWarning, InvalidInput, LockInWarning, reason
from lpbandits.service.api.app import create_app
from lpbandits.service.api.middleware import LOOPBACK
from lpbandits.service.example import fill
from lpbandits.service.service import Limits, Service
from lpbandits.service.store.database import Store

GRACE = 5
"""Seconds in which a stopping server waits for the rest of requests that it has received in part."""


def serve(
    store: str | None,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    dev: bool = False,
    example: bool = False,
    limits: Limits | None = None,
    say: Callable[[str, str], None] = print,
) -> None:
    """Serve a store until SIGINT or SIGTERM; requests that were received are answered before it returns.

    `say` gets ("key", the first admin key) if the store has no key yet, and then ("ready", the address).
    """
    if dev and host not in LOOPBACK:
        raise InvalidInput(f"host must be 127.0.0.1, ::1 or localhost without keys (--dev), got {host!r}")
    log_to_stderr()
    for category in (LockInWarning, CovariateWarning):  # for the author of a program; the latter shows values
        warnings.simplefilter("ignore", category)
    listener = _bound(host, port)
    try:
        with Service(Store(store, serving=True), dev=dev, limits=limits) as service:
            service.warm_up()
            if example:
                fill(service)
            if not dev and (key := service.first_key()) is not None:
                say("key", key)
            app = create_app(service, only_local=dev)
            config = uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                log_level="warning",
                lifespan="off",
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=GRACE,
            )
            gc.freeze()  # what lives as long as the process is not searched again
            gc.set_threshold(50_000, 20, 50)
            server = uvicorn.Server(config)
            shown = f"[{host}]" if ":" in host else host
            with _stopped_by_signals(server):
                say("ready", f"http://{shown}:{listener.getsockname()[1]}")
                server.run(sockets=[listener])
    finally:
        listener.close()


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Stop a server at SIGINT or SIGTERM; once it has stopped, uvicorn raises the signal again, which is ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        server.should_exit = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def log_to_stderr(level: int = logging.INFO) -> None:
    """Write the log of requests to stderr, a JSON object per line."""
    structlog.configure(
        processors=[structlog.processors.TimeStamper(fmt="iso"), structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(f"port {port} of {host} cannot be used: {reason(error)}; choose another (--port)") from None
    listener.listen(1024)
    return listener
