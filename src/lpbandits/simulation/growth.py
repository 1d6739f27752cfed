"""Measured growth of regret per log T, late in a long run."""

import math
from collections.abc import Sequence

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.parallel import resolve_threads, thread_map
from lpbandits.policies import Setting, entry_of, make_policy
from lpbandits.progress import Progress
from lpbandits.simulation.trace import rollout
from lpbandits.typing import FloatArray
from lpbandits.worlds import Population


def check_growth(policies: Sequence[str], rounds: int, repeats: int, threads: int | None) -> tuple[int, int, int]:
    """Validate the settings of a measurement; return rounds, repeats and threads.

    >>> check_growth(["ts"], rounds=5, repeats=1, threads=None)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rounds must be a whole number from 10 to 2147483647, got 5
    """
    for i, name in enumerate(policies):
        if entry_of(name).feedback != "rewards":
            raise InvalidInput(f"policies must learn from rewards, got {name!r}, which learns from duels")
        if name in policies[:i]:
            raise InvalidInput(f"policies must differ, got {name!r} twice")
    return (
        validate.as_count(rounds, "rounds", low=10),
        validate.as_count(repeats, "repeats"),
        resolve_threads(threads),
    )


def measure_growth(
    populations: Sequence[Population],
    policies: Sequence[str],
    *,
    rounds: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, FloatArray]:
    """Return (Reg(T) − Reg(T/10)) / log 10 per policy and population.

    >>> from lpbandits import MeansWorld, PreferenceModel
    >>> people = MeansWorld(PreferenceModel([[0, 1], [1, 0]], means=[[1.0, 0.0], [0.0, 1.0]])).draw(people=5, seed=0)
    >>> growth = measure_growth([people], ["uniform"], rounds=1000, seed=0)
    >>> round(float(growth["uniform"][0]))
    194
    """
    early = rounds // 10
    jobs = [(name, i) for name in policies for i in range(len(populations))]
    first_person = np.concatenate([[0], np.cumsum([len(population) for population in populations])])

    def growth_of(name: str, i: int) -> float:
        population = populations[i]
        policy = make_policy(name, Setting(population.model, population.assumed_rewards, rounds))
        regret = rollout(policy, population, rounds=rounds, seed=seed, first_person=int(first_person[i])).regret
        return float(regret[:, early:].sum() / len(regret) / math.log(rounds / early))

    growth = {name: np.empty(len(populations)) for name in policies}
    values = thread_map(growth_of, jobs, threads=threads)
    for done, (value, (name, i)) in enumerate(zip(values, jobs, strict=True)):
        growth[name][i] = value
        if progress is not None:
            progress(f"growth of {name}", done + 1, len(jobs))
    return growth
