"""The web application."""

from collections.abc import Callable
from functools import partial

from fastapi import FastAPI

from lpbandits import __version__
from lpbandits.service.api import decisions, exports, keys, operations, outcomes, people, problems, projects
from lpbandits.service.api.calls import body_schemas
from lpbandits.service.api.middleware import Metrics, Middleware
from lpbandits.service.service import Service
from lpbandits.typing import Json

DESCRIPTION = """Ask for the next action of a person, report its outcome, and repeat any decision later.

Every write takes an `Idempotency-Key`: a repeated request returns the stored answer. Errors are problem details.
"""


def create_app(service: Service, *, only_local: bool = False) -> FastAPI:
    """Return the application over an open service; `only_local` refuses requests that a web page of others sends."""
    app = FastAPI(
        title="lpbandits decision service",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.metrics = Metrics(service)
    problems.install(app)
    for module in (decisions, outcomes, people, projects, exports, keys, operations):  # the busiest first
        app.include_router(module.router)
    app.openapi = partial(_openapi, app, app.openapi)  # type: ignore[method-assign] # as FastAPI documents it
    app.add_middleware(Middleware, max_body=service.limits.body, metrics=app.state.metrics, only_local=only_local)
    return app


def _openapi(app: FastAPI, generate: Callable[[], Json]) -> Json:
    """Return the OpenAPI document with the bodies of routes that FastAPI does not parse."""
    if app.openapi_schema is None:
        generate()["components"]["schemas"] |= body_schemas()
    return generate()
