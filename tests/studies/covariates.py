"""How much regret the covariates of a fit save in the first ten rounds.

`make study-covariates` fits 20 logs of each kind, with covariates that carry half of the entropy of the state and with
useless ones: some minutes of one core. `python -m tests.studies.covariates --logs 3` is a short run.

Utilities are normal, people rate on scales of their own, and the noise of a rating has the standard deviation of the
utilities. One column of text is the person's state or, for the other people, a random one; an age and a region tell
nothing. New people have covariates of the same kind, which give their priors.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import lpbandits as lpb
from lpbandits.people.covariates import CovariateTable
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.worlds import Population

ROUNDS = 10
LOGS: dict[str, dict[str, Any]] = {
    "5 states, 8 of 10 rated": {"states": 5, "actions": 10, "rated": 8, "informative": 0.73},
    "5 states, 4 of 10 rated": {"states": 5, "actions": 10, "rated": 4, "informative": 0.73},
    "10 states, 10 of 20 rated": {"states": 10, "actions": 20, "rated": 10, "people": 1000, "informative": 0.685},
}


class Planted(NamedTuple):
    """A fitted model, its report on covariates, new people with their priors, and H(z | group) / H(z) among these."""

    model: lpb.PreferenceModel
    report: Json
    people: Population
    entropy: float

    def regret(self, name: str, *, priors: bool) -> float:
        """Return the mean regret of a policy in the first rounds."""
        people = self.people
        if not priors:
            people = Population(people.model, people.truth, people.means, people.rewards)
        trace = rollout(lpb.policy(self.model, name), people, rounds=ROUNDS, seed=0)
        return float(trace.regret.sum(axis=1).mean())


def planted(
    seed: int,
    *,
    informative: float,
    states: int = 5,
    actions: int = 10,
    rated: int = 8,
    people: int = 600,
    newcomers: int = 800,
    restarts: int = 20,
) -> Planted:
    """Fit a log in which the column `group` is the state of this share of the people."""
    rng = np.random.default_rng([seed, 20])
    utilities = np.stack([rng.permutation(rng.normal(size=actions)) for _ in range(states)])

    def draw(count: int) -> tuple[IntArray, FloatArray]:
        z = rng.integers(0, states, count)
        level, scale = rng.normal(3, 1, count), np.exp(rng.normal(0, 0.3, count))
        return z, level[:, None] + scale[:, None] * utilities[z]

    z, means = draw(people)
    action = np.argsort(rng.random((people, actions)), axis=1)[:, :rated].ravel()
    owner = np.repeat(np.arange(people), rated)
    log = lpb.Ratings.from_arrays(owner, action, means[owner, action] + rng.normal(size=len(owner)))
    table = covariates_of(z, states, informative, rng)
    estimator = lpb.Mixture(restarts=restarts)
    fit = lpb.fit_states(log, estimator, states=states, people=table, taste=False, heldout=0.0, threads=1)
    z, means = draw(newcomers)
    table = covariates_of(z, states, informative, rng)
    places = np.array(fit.model.actions, dtype=np.int64)
    fresh = Population(
        fit.model,
        np.full(newcomers, -1),
        np.ascontiguousarray(means[:, places]),
        lpb.Rewards(noise=1.0),
        priors=CovariateTable.read(table).priors(fit.model).rows,
    )
    return Planted(fit.model, fit.report.covariates or {}, fresh, entropy_share(table, z, states))


def covariates_of(z: IntArray, states: int, informative: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return a table of people with these states."""
    group = np.where(rng.random(len(z)) < informative, z, rng.integers(0, states, len(z)))
    region = np.array(["north", "south", "east"])[rng.integers(0, 3, len(z))]
    age = rng.normal(40, 9, len(z))
    return pl.DataFrame({"person": range(len(z)), "group": [f"g{g}" for g in group], "age": age, "region": region})


def entropy_share(table: pl.DataFrame, z: IntArray, states: int) -> float:
    """Return H(z | group) / H(z)."""
    joint = np.zeros((states, states))
    np.add.at(joint, (table["group"].str.slice(1).cast(pl.Int64).to_numpy(), z), 1.0 / len(z))
    entropy = -np.sum(joint.sum(axis=0) * np.log(joint.sum(axis=0)))
    conditional = -np.sum(joint * np.log(np.where(joint > 0, joint, 1.0) / joint.sum(axis=1, keepdims=True)))
    return float(conditional / entropy)


def main() -> None:
    """Print one row per kind of log and policy: the regret without and with covariates, and the change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=20, help="logs of each kind")
    parser.add_argument("--seed", type=int, default=5000, help="seed of the first log")
    options = parser.parse_args()
    for kind, settings in LOGS.items():
        for informative in (settings["informative"], 0.0):
            logs = [planted(options.seed + i, **settings | {"informative": informative}) for i in range(options.logs)]
            used, gain = sum(log.report["factor"] > 0 for log in logs), np.mean([log.report["gain"] for log in logs])
            entropy = np.mean([log.entropy for log in logs])
            print(f"{kind:26} H(z|x)/H(z) {entropy:.2f}   used in {used} of {len(logs)}   gain {gain:+.3f}")  # noqa: T201
            for name in ("lpbts", "lpb-ids"):
                pairs = np.array([[log.regret(name, priors=given) for given in (False, True)] for log in logs])
                change, (without, given) = pairs[:, 1] / pairs[:, 0] - 1.0, pairs.mean(axis=0)
                error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
                row = f"{name:8} regret {without:6.2f} -> {given:6.2f}   change {change.mean():+.1%} ± {error:.1%}"
                print(f"    {row}", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
