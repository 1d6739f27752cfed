"""Time by states, actions, rounds and people: lpbTS, and the loops of `benchmarks.loops`.

An exponent b of time ≈ a · size^b is the slope of a line through the logarithms. Sizes grow one at a time from the
paper's 5 states, 10 actions (20, where states grow). The set of tried actions does not grow with k: lpbTS plays only
the best actions of the five states.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

import lpbandits as lpb
from benchmarks.core import ROUNDS, population
from benchmarks.loops import Fit, lpbts_loop, scipy_fit, sklearn_fit
from benchmarks.measure import Measured, Row, Table, Value, exponent, interleaved, say
from lpbandits.simulation import rollout
from lpbandits.worlds import Population

OURS, AGENT, SCIPY, SKLEARN = "simulator", "Agent", "SciPy loop", "scikit-learn loop"
FITS: dict[str, Fit] = {SCIPY: scipy_fit, SKLEARN: sklearn_fit}
GRID = ((5, 10), (10, 20), (50, 50), (100, 20), (5, 1132), (5, 8777))
STEPS = {
    (OURS, "people"): (250, 500, 1000, 2000, 4000, 8000, 16000),
    (OURS, "rounds"): (200, 400, 800, 1600, 3200, 6400, 12800),
    (OURS, "m"): (4, 8, 16, 32, 64, 128),
    (OURS, "k"): (10, 32, 100, 316, 1000, 3162, 10000, 31623),
    (AGENT, "m"): (4, 8, 16, 32, 64, 128),
    (AGENT, "k"): (10, 32, 100, 316, 1000, 3162, 10000, 31623),
    (SCIPY, "people"): (2, 4, 8, 16),
    (SCIPY, "rounds"): (20, 40, 80, 160),
    (SCIPY, "m"): (4, 8, 16, 32, 64, 128),
    (SCIPY, "k"): (10, 32, 100, 316, 1000, 3162, 10000, 31623),
    (SKLEARN, "people"): (2, 4, 8, 16),
    (SKLEARN, "rounds"): (4, 8, 16, 32),
    (SKLEARN, "m"): (4, 8, 16, 32),
    (SKLEARN, "k"): (10, 32, 100, 316, 1000, 3162, 10000, 31623),
}
LIMITS = {"people": (0.9, 1.15), "rounds": (0.9, 1.15), "k": (None, 0.15)}
"""Lower and upper limit of the simulator's exponents."""

drawn = cache(population)


@dataclass(frozen=True)
class Job:
    """A function to time, and the number of decisions that it makes."""

    run: Callable[[], object]
    decisions: int


def simulated(some: Population, rounds: int) -> Job:
    return Job(partial(rollout, lpb.LpbTS(some.model), some, rounds=rounds, seed=0), len(some.truth) * rounds)


def asked(some: Population, rounds: int) -> Job:
    """Play with one agent per person, input checks included."""
    policy, means = lpb.LpbTS(some.model), some.means.tolist()
    draws = np.random.default_rng(0).standard_normal(rounds).tolist()

    def run() -> None:
        for person, own in enumerate(means):
            agent = lpb.Agent(policy, seed=1, person=person)
            for noise in draws:
                action = agent.ask()
                agent.tell(action, own[int(action)] + noise)

    return Job(run, len(means) * rounds)


def looped(fit: Fit, some: Population, rounds: int) -> Job:
    orderings = np.array(some.model.orderings)

    def run() -> None:
        for own in some.means:
            lpbts_loop(fit, orderings, own, 1.0, rounds, 0)

    return Job(run, len(some.means) * rounds)


def job(who: str, *, m: int = 5, k: int = 10, people: int | None = None, rounds: int | None = None) -> Job:
    """Return the job of one contestant at a size; the defaults give a run that is long enough to time."""
    if who == OURS:
        some = drawn(m, k, max(1, 250 // m) if people is None else people // m)
        return simulated(some, rounds or ROUNDS)
    one = drawn(m, k, 1)
    if who == AGENT:
        return asked(one.cut(slice(5)), rounds or ROUNDS)
    few = one.cut(slice(1)) if people is None else drawn(m, k, people).cut(slice(people))
    return looped(FITS[who], few, rounds or (20 if who == SCIPY else 4))


def curves() -> tuple[list[Row], list[Table]]:
    """Time every contestant at every size, interleaved, and fit exponents."""
    jobs: dict[tuple[str, str, int], Job] = {}
    for (who, along), sizes in STEPS.items():
        fixed = {"k": 20} if along == "m" else {}
        for size in sizes:
            jobs[who, along, size] = job(who, **fixed, **{along: size})
    say(f"{len(jobs)} sizes of {len({who for who, _, _ in jobs})} contestants")
    seconds = interleaved(*(one.run for one in jobs.values()), repeats=5).min(axis=1)
    points: list[dict[str, Value]] = []
    for ((who, along, size), one), took in zip(jobs.items(), seconds.tolist(), strict=True):
        points.append({"who": who, "along": along, "size": size, "seconds": took, "µs": 1e6 * took / one.decisions})
    rows: list[Row] = []
    exponents: list[dict[str, Value]] = []
    for (who, along), sizes in STEPS.items():
        slope = exponent(sizes, list(_along(points, who, along)))
        exponents.append({"who": who, "along": along, "exponent": slope, "from": sizes[0], "to": sizes[-1]})
        if who == OURS and along in LIMITS:
            rows += _limits(along, slope, sizes)
    return rows, [Table("growth-points", points), Table("growth-exponents", exponents)]


def _along(points: Sequence[dict[str, Value]], who: str, along: str) -> Iterator[float]:
    """Yield the total time by people and rounds; by m and k, where people vary in number, the time per decision."""
    for point in points:
        if (point["who"], point["along"]) == (who, along):
            yield float(point["seconds" if along in ("people", "rounds") else "µs"] or 0.0)


def _limits(along: str, slope: float, sizes: Sequence[int]) -> list[Row]:
    least, most = LIMITS[along]
    what = f"exponent in {along}, {sizes[0]:,} to {sizes[-1]:,}, {OURS}"
    rows = [Row(what, slope, most or 0.0, at_most=True, unit="")]
    return rows if least is None else [*rows, Row(what, slope, least, unit="")]


def grid() -> Table:
    """Time one decision of all contestants at the sizes of the paper and of MovieLens."""
    records: list[dict[str, Value]] = []
    for m, k in GRID:
        say(f"one decision of lpbTS, m={m} k={k}")
        jobs = {who: job(who, m=m, k=k) for who in (OURS, AGENT, SCIPY, SKLEARN)}
        seconds = interleaved(*(one.run for one in jobs.values()), repeats=5).min(axis=1)
        for (who, one), took in zip(jobs.items(), seconds.tolist(), strict=True):
            records.append({"who": who, "m": m, "k": k, "µs": 1e6 * took / one.decisions})
    return Table("growth-grid", records)


def measured() -> Measured:
    """Measure everything in this file."""
    rows, tables = curves()
    return Measured(rows, [grid(), *tables])
