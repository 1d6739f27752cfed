"""From scores to an account: means, intervals, groups, and the verdict."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.evaluation.bootstrap import differences, intervals
from lpbandits.evaluation.contestants import YARDSTICKS, kind_of
from lpbandits.evaluation.replay import Replay, after
from lpbandits.evaluation.results import Gain, Group, Played
from lpbandits.evaluation.tuning import Choice
from lpbandits.model import PreferenceModel
from lpbandits.statistics import t_multiplier
from lpbandits.text import display
from lpbandits.typing import BoolArray, FloatArray, IntArray

CHECKPOINTS = (5, 10, 20)
"""Rounds after which scores are told, and after the last."""

HARDER = 0.01
"""The chance that any of the policies that were not chosen is taken for better than popularity, if none is."""

ALL = "everybody"
FEWEST = 5
"""People of a group that is told of."""


def accounts(scores: Mapping[str, FloatArray], *, rounds: int, seed: int) -> dict[str, Played]:
    """Return how each contestant did; `scores` are people × rounds."""
    most = scores["popular"].shape[1]
    ends = {name: after(one, most) for name, one in scores.items()}
    gaps = np.stack([differences(end, ends["popular"]) for end in ends.values()])
    found = intervals(gaps, seed=seed)
    told = sorted({*CHECKPOINTS, rounds, min(rounds, most)})
    return {
        name: Played(
            name,
            kind_of(name),
            {t: float(after(scores[name], t).mean()) if t <= most else None for t in told},
            float(end.std(ddof=1) / np.sqrt(len(end))) if len(end) > 1 else None,
            Gain.of(gap.mean(), interval),
            [float(after(scores[name], t + 1).mean()) for t in range(most)],
            end,
        )
        for (name, end), gap, interval in zip(ends.items(), gaps, found, strict=True)
    }


def best_of(choice: Choice, policies: Mapping[str, Played]) -> str:
    """Return the policy that surely helps: the one that was chosen before, or else one that stands a harder test.

    The chosen one must beat popularity with those who chose it and, by its 95 % interval, with others. If it does not,
    any other may, with 99 % for all of them together: development people are few, and may choose badly.
    """
    candidate = choice.candidate
    if candidate is None or (choice.promising and policies[candidate].vs_popularity.sign > 0):
        return candidate or "popular"
    personal = [played for played in policies.values() if played.kind == "policy" and played.name not in YARDSTICKS]
    gaps = {played.name: differences(played.people, policies["popular"].people) for played in personal}
    people = len(policies["popular"].people)
    far = t_multiplier(people, 1.0 - 2 * HARDER / len(gaps))
    sure = {
        name: float(gap.mean())
        for name, gap in gaps.items()
        if people > 1 and gap.mean() > far * gap.std(ddof=1) / np.sqrt(people)
    }
    return max(sure, key=lambda name: sure[name], default="popular")


def gains_over(candidate: str, policies: Mapping[str, Played], *, seed: int) -> dict[str, Gain]:
    """Return what one gains over each of the others, paired by person."""
    others = [name for name in policies if name != candidate]
    gaps = np.stack([differences(policies[candidate].people, policies[name].people) for name in others])
    found = zip(others, gaps, intervals(gaps, seed=seed), strict=True)
    return {name: Gain.of(gap.mean(), interval) for name, gap, interval in found}


def groups_of(
    gap: FloatArray, ratings: IntArray, states: IntArray, model: PreferenceModel, *, seed: int
) -> list[Group]:
    """Return what groups of people gain: light and heavy raters, and each state's, told by what it prefers."""
    middle = float(np.median(ratings))
    kinds: dict[str, BoolArray] = {ALL: np.ones(len(gap), dtype=np.bool_)}
    if ratings.min() < ratings.max():
        kinds[f"light raters (up to {middle:,.0f} ratings)"] = ratings <= middle
        kinds[f"heavy raters (more than {middle:,.0f})"] = ratings > middle
    if len(np.unique(states)) > 1:
        first = [display(model.name_of(a)) for a in model.orderings[:, 0].tolist()]
        kinds |= {f"state {z} ({first[z]} …)": states == z for z in np.unique(states).tolist()}
    some = {name: who for name, who in kinds.items() if who.sum() >= FEWEST and (name == ALL or not who.all())}
    return [_group(name, gap[who], seed) for name, who in some.items()]


def _group(name: str, gap: FloatArray, seed: int) -> Group:
    gain = Gain.of(gap.mean(), intervals(gap[None, :], seed=seed)[0])
    return Group(name, len(gap), gain, float((gap < 0.0).mean()))


def table_of(log: Ratings, replay: Replay, states: IntArray, policies: Mapping[str, Played]) -> pl.DataFrame:
    """Return a row per report person."""
    return pl.DataFrame(
        {
            "person": labels_as_series("person", [log.people[n] for n in replay.person.tolist()]),
            "ratings": log.counts[replay.person],
            "rounds": replay.rounds,
            "state": states,
            **{name: played.people for name, played in policies.items()},
        }
    )
