"""How well the methods of `lpb fit` recover planted orderings, and how often their rank intervals cover.

`make study-recovery` fits 20 logs of each world by two-stage and by mixture: an hour of one core.
`python -m tests.studies.recovery --logs 3 --methods mixture --worlds "10 skewed"` is a short run.

Utilities are normal, people rate on scales of their own, and the noise of a rating is 1.15 times the spread of
utilities. The error of a fit is 1 − Kendall's τ, averaged over states that are matched to the true ones.
"""

import argparse
from typing import Any

import numpy as np

from lpbandits.data import Ratings
from lpbandits.fit.assign import match_orderings
from lpbandits.fit.provenance import METHODS
from lpbandits.fit.uncertainty import rank_intervals
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray
from tests.synthetic_recovery import arrays_of, quick_fit

SKEWED = (0.5, 0.25, 0.13, 0.08, 0.04)
WORLDS: dict[str, dict[str, Any]] = {
    "10 dense": {"actions": 10, "rated": 10},
    "10 skewed": {"actions": 10, "rated": 10, "shares": SKEWED},
    "10, 6 rated, 3 states": {"actions": 10, "rated": 6, "states": 3, "people": 250},
    "50, 15 rated": {"actions": 50, "rated": 15},
    "50, 15 rated, skewed": {"actions": 50, "rated": 15, "shares": SKEWED},
    "50, 15 rated, stars": {"actions": 50, "rated": 15, "kind": "stars"},
    "50, 24 thumbs": {"actions": 50, "rated": 24, "kind": "thumbs"},
    "50, 15 ranked": {"actions": 50, "rated": 15, "kind": "ranks"},
    "10 ranked": {"actions": 10, "rated": 10, "kind": "ranks"},
    "300, 60 rated": {"actions": 300, "rated": 60},
}
NAMES = ("error", "coverage")


def planted(
    seed: int,
    *,
    actions: int,
    rated: int,
    states: int = 5,
    people: int = 500,
    shares: tuple[float, ...] | None = None,
    kind: str = "scales",
) -> tuple[FloatArray, Ratings]:
    """Return planted utilities, states × actions, and a log of ratings."""
    rng = np.random.default_rng([seed, actions, rated])
    taste = rng.normal(size=(states, actions))
    state = rng.choice(states, people, p=shares)
    chosen = rng.permuted(np.tile(np.arange(actions), (people, 1)), axis=1)[:, :rated]
    signal = taste[state[:, None], chosen] + 1.15 * rng.normal(size=chosen.shape)
    level, scale = rng.normal(0, 2, (people, 1)), np.exp(rng.normal(0, 0.5, (people, 1)))
    rating = {
        "scales": level + scale * signal,
        "stars": np.clip(np.rint(3.3 + 0.2 * level + 0.8 * np.clip(scale, 0.5, 2) * signal), 1, 5),
        "thumbs": (signal + 0.2 * level > 0) * 1.0,
        "ranks": np.argsort(np.argsort(signal, axis=1), axis=1) + 1.0,
    }[kind]
    person = np.repeat(np.arange(people), rated)
    names = tuple(range(people)), tuple(range(actions))
    return taste, Ratings.from_codes(person, chosen.ravel(), rating.ravel(), people=names[0], actions=names[1])


def measure(taste: FloatArray, log: Ratings, method: str) -> tuple[float, float]:
    """Return the mean error of the orderings, and the coverage of 90 % rank intervals."""
    states, actions = taste.shape
    fit = quick_fit(log, METHODS[method](), states=states)
    matching = match_orderings(PreferenceModel(np.argsort(-taste, axis=1)), fit.model)
    _, errors, _ = arrays_of(fit)
    logits = fit.model.logits
    assert logits is not None
    inside = []
    for state, fitted in enumerate(matching.assignment.tolist()):
        ends = rank_intervals(logits[fitted], errors[fitted], np.arange(actions))
        rank = 1 + np.argsort(np.argsort(-taste[state]))
        inside.append(np.mean((ends[:, 0] <= rank) & (rank <= ends[:, 1])))
    return matching.error, float(np.mean(inside))


def main() -> None:
    """Print one row per world and method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=20, help="logs of each world")
    parser.add_argument("--seed", type=int, default=4000, help="seed of the first log")
    parser.add_argument("--methods", default="two-stage,mixture")
    parser.add_argument("--worlds", default=";".join(WORLDS), help="worlds, separated by semicolons")
    options = parser.parse_args()
    for world in options.worlds.split(";"):
        logs = [planted(seed, **WORLDS[world]) for seed in range(options.seed, options.seed + options.logs)]
        for method in options.methods.split(","):
            values = np.array([measure(taste, log, method) for taste, log in logs])
            row = zip(values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values)), strict=True)
            text = "   ".join(
                f"{name} {mean:.3f} ± {error:.3f}" for name, (mean, error) in zip(NAMES, row, strict=True)
            )
            print(f"{world:24} {method:10} {text}", flush=True)  # noqa: T201 - the result of the study


if __name__ == "__main__":
    main()
