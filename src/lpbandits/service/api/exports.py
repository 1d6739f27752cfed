"""The route of exports."""

import asyncio
import tempfile
from collections.abc import Iterator
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy import Connection

from lpbandits.errors import InvalidInput, ResourceError
from lpbandits.service.api.context import ProjectName, Reader, read, service_of
from lpbandits.service.api.problems import responses
from lpbandits.service.errors import TooMany
from lpbandits.service.export import export_zip
from lpbandits.service.service import Service

router = APIRouter(prefix="/v1/projects", tags=["projects"])

MAX_EXPORTS = 2
"""Maximum number of exports that are written at a time; each occupies a thread and a connection."""

CHUNK = 2**18
"""Bytes that are sent at a time."""

ZIP: dict[int | str, Any] = {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}


@router.get("/{project}/export", responses={**responses(404), **ZIP}, response_class=Response)
async def export(
    _: Reader,
    project: ProjectName,
    request: Request,
    table_format: Annotated[
        Literal["parquet", "csv"], Query(alias="format", description="Format of the tables.")
    ] = "parquet",
) -> Response:
    """Return a zip file with all that the project recorded, which `lpb fit` and `lpb evaluate` read."""
    await read(request, _check_project, project)
    state = request.app.state
    running = getattr(state, "exports", 0)
    if running >= MAX_EXPORTS:
        raise TooMany(f"{running} exports are being written; repeat the request later")
    state.exports = running + 1
    try:
        file = await asyncio.to_thread(_written, service_of(request), project, table_format)
    finally:
        state.exports -= 1
    headers = {
        "Content-Disposition": f'attachment; filename="{project}.zip"',
        "Content-Length": str(file.seek(0, 2)),
    }
    return StreamingResponse(_chunks(file), headers=headers, media_type="application/zip")


def _check_project(sql: Connection, service: Service, name: str) -> None:
    service.project(sql, name)


def _written(service: Service, project: str, table_format: str) -> IO[bytes]:
    """Return an open file without a name, which the system deletes when it is closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed after the last chunk
    try:
        export_zip(service.store, file, project=project, table_format=table_format)
    except (InvalidInput, OSError) as error:  # the request is valid, so the disk for temporary files is at fault
        file.close()
        raise ResourceError(f"the export could not be written: {error}") from None
    except BaseException:
        file.close()
        raise
    return file


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while chunk := file.read(CHUNK):
            yield chunk
