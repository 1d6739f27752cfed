"""Who does a command's work: the options that commands share, and what they stand for."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lpbandits.parallel import Workers

Jobs = Annotated[
    int | None,
    typer.Option(
        show_default="this process alone",
        help="Worker processes, or pieces of work at a time on a cluster. Never changes a result.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="Who works: **processes** of this machine, or **dask**: the cluster at --address, or one that is started "
        "here (pip install 'lpbandits[dask]')."
    ),
]
Address = Annotated[
    str | None, typer.Option(help="Where the scheduler of a Dask cluster is, such as tcp://10.0.0.1:8786.")
]
Threads = Annotated[
    int | None,
    typer.Option(
        show_default="the cores, shared among --jobs", help="Threads of each process. Never changes a result."
    ),
]


def workers_of(jobs: int | None, backend: str, address: str | None) -> "int | Workers | None":
    """Return who works; what is refused is refused before anything is read."""
    from lpbandits.parallel import Workers

    if backend == "processes" and address is None:
        if jobs is not None:
            Workers(jobs)
        return jobs
    return Workers(jobs, backend, address)  # type: ignore[arg-type] # as Workers sees for itself
