"""More cores and machines: the only place that starts threads, processes or a cluster.

Work is spread at two levels. `Team.each` sends whole jobs to workers: processes of this machine, or a Dask cluster's;
inside a job `Threads` runs one kernel over the rows of an array. Neither changes a result: every job and every row
depends on nothing but its own arguments, and results are put together in the order of the jobs.
"""

from lpbandits.parallel.interrupts import undisturbed
from lpbandits.parallel.team import Team, each, team_of
from lpbandits.parallel.threads import Threads, cores, one_thread, threads_of
from lpbandits.parallel.workers import Workers, at_a_time

__all__ = [
    "Team",
    "Threads",
    "Workers",
    "at_a_time",
    "cores",
    "each",
    "one_thread",
    "team_of",
    "threads_of",
    "undisturbed",
]
