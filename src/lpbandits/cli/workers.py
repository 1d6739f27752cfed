"""Who does a command's work: the options that commands share, and what they stand for."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lpbandits.parallel import Workers

Jobs = Annotated[
    int | None,
    typer.Option(help="Worker processes; by default this one, with all cores as threads. Never changes a result."),
]
Backend = Annotated[
    str,
    typer.Option(help="Where workers are: **processes** of this machine, or a **dask** cluster (pip install [dask])."),
]
Address = Annotated[
    str | None,
    typer.Option(help="Scheduler of a Dask cluster, such as tcp://10.0.0.1:8786; else one is started on this machine."),
]
Threads = Annotated[
    int | None, typer.Option(help="Threads of a process; as many as there are cores for it. Never changes a result.")
]


def workers_of(jobs: int | None, backend: str, address: str | None) -> "int | Workers | None":
    """Return who works; what is refused is refused before anything is read."""
    from lpbandits.parallel import Workers

    if backend == "processes" and address is None:
        if jobs is not None:
            Workers(jobs)
        return jobs
    return Workers(jobs, backend, address)  # type: ignore[arg-type] # as Workers sees for itself
