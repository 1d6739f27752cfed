"""Options for worker processes, which several commands share."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lpbandits.parallel import Workers

Jobs = Annotated[
    int | None,
    typer.Option(
        show_default="this process only",
        help="Number of worker processes; on a cluster, number of jobs at a time. Does not change results.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="**processes** of this machine, or **dask**: the cluster at --address, or without it a temporary one on "
        "this machine (pip install 'lpbandits[dask]')."
    ),
]
Address = Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://10.0.0.1:8786.")]
Threads = Annotated[
    int | None,
    typer.Option(
        show_default="the cores, shared among --jobs", help="Number of threads per process. Does not change results."
    ),
]


def workers_of(jobs: int | None, backend: str, address: str | None) -> "int | Workers | None":
    """Validate the options, before a command reads files, and return what the library takes as `jobs`."""
    from lpbandits.parallel import Workers

    if backend == "processes" and address is None:
        if jobs is not None:
            Workers(jobs)
        return jobs
    return Workers(jobs, backend, address)  # type: ignore[arg-type] # validated there
