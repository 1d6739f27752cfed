"""How regret really grows, late in a long run."""

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


def copies_of(crowd: Population, repeats: int) -> Population:
    """Return a crowd of `repeats` copies of another crowd's first person."""
    truth = np.zeros(repeats, dtype=np.int64)
    means = np.tile(crowd.means[0], (repeats, 1))
    return Population(crowd.model, truth, means, crowd.rewards, assumed=crowd.assumed, tails=crowd.tails)


def check_growth(policies: Sequence[str], rounds: int, repeats: int, threads: int | None) -> tuple[int, int, int]:
    """Check what a measurement needs, before anything is computed; return rounds, repeats and threads.

    >>> check_growth(["ts"], rounds=5, repeats=1, threads=None)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: rounds is 5; it must be a whole number from 10 to 2147483647
    """
    policies = list(validate.as_list(policies, "policies", "names"))
    for i, name in enumerate(policies):
        if entry_of(name).feedback != "rewards":
            raise InvalidInput(f"policy {name!r} learns from duels; growth is measured on rewards: leave it out")
        if name in policies[:i]:
            raise InvalidInput(f"policy {name!r} is named twice; name each once")
    return (
        validate.as_count(rounds, "rounds", low=10),
        validate.as_count(repeats, "repeats"),
        resolve_threads(threads),
    )


def measure_growth(
    crowds: Sequence[Population],
    policies: Sequence[str],
    *,
    rounds: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, FloatArray]:
    """Return, per policy and crowd, (Reg(T) − Reg(T/10)) / log 10: what regret grows by, per log T, late in a run.

    >>> from lpbandits import MeansWorld, PreferenceModel
    >>> crowd = MeansWorld(PreferenceModel([[0, 1], [1, 0]], means=[[1.0, 0.0], [0.0, 1.0]])).draw(people=5, seed=0)
    >>> grown = measure_growth([crowd], ["uniform"], rounds=1000, seed=0)
    >>> round(float(grown["uniform"][0]))
    194
    """
    rounds, _, threads = check_growth(policies, rounds, 1, threads)
    early = rounds // 10
    jobs = [(name, i) for name in policies for i in range(len(crowds))]
    firsts = np.concatenate([[0], np.cumsum([len(crowd.truth) for crowd in crowds])])

    def growth_of(name: str, i: int) -> float:
        crowd = crowds[i]
        policy = make_policy(name, Setting(crowd.model, crowd.assumed_rewards, rounds))
        regret = rollout(policy, crowd, rounds=rounds, seed=seed, first_person=int(firsts[i])).regret
        return float(regret[:, early:].sum() / len(regret) / math.log(rounds / early))

    out = {name: np.empty(len(crowds)) for name in policies}
    for done, (value, (name, i)) in enumerate(zip(thread_map(growth_of, jobs, threads=threads), jobs, strict=True)):
        out[name][i] = value
        if progress is not None:
            progress(f"growth of {name}", done + 1, len(jobs))
    return out
