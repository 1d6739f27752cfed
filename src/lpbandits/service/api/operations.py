"""Routes for operators: is the service up, can it answer, and how busy is it."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import Connection, select

from lpbandits import __version__
from lpbandits.service.api import answers
from lpbandits.service.api.context import Reader, json_response, read
from lpbandits.service.api.problems import responses
from lpbandits.service.service import Service
from lpbandits.service.store import schema

router = APIRouter(tags=["operations"])


@router.get("/health", responses={200: {"model": answers.Status}})
async def health() -> Response:
    """Answer while the process runs."""
    return json_response({"status": "ok", "version": __version__})


@router.get("/ready", responses=responses(ok=answers.Status))
async def ready(request: Request) -> Response:
    """Answer if the store can be read."""
    await read(request, _read_one)
    return json_response({"status": "ready", "version": __version__})


@router.get("/metrics", response_class=PlainTextResponse, responses=responses())
async def metrics(_: Reader, request: Request) -> Response:
    """Return metrics for Prometheus."""
    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _read_one(sql: Connection, _: Service) -> None:
    sql.execute(select(schema.projects.c.id).limit(1)).first()
