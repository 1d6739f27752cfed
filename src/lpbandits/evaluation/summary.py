"""Summaries of replay scores: means, intervals and groups."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.evaluation.bootstrap import differences, intervals
from lpbandits.evaluation.contestants import kind_of
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.results import Gain, Group, Score
from lpbandits.model import PreferenceModel
from lpbandits.text import display
from lpbandits.typing import BoolArray, FloatArray, IntArray

CHECKPOINTS = (5, 10, 20)
"""Numbers of rounds after which mean scores are reported, in addition to the last."""

ALL = "all people"
MIN_GROUP = 5
"""Minimum number of people of a reported group."""


def summarize(scores: Mapping[str, FloatArray], *, rounds: int, seed: int) -> dict[str, Score]:
    """Summarize scores (people × rounds) by contestant."""
    max_rounds = scores["popular"].shape[1]
    person_means = {name: mean_scores(one) for name, one in scores.items()}
    gaps = np.stack([differences(means, person_means["popular"]) for means in person_means.values()])
    checkpoints = sorted({*CHECKPOINTS, rounds, min(rounds, max_rounds)})
    return {
        name: Score(
            name,
            kind_of(name),
            {t: float(mean_scores(scores[name], t).mean()) if t <= max_rounds else None for t in checkpoints},
            float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None,
            Gain.of(gap.mean(), interval),
            [float(mean_scores(scores[name], t + 1).mean()) for t in range(max_rounds)],
            means,
        )
        for (name, means), gap, interval in zip(person_means.items(), gaps, intervals(gaps, seed=seed), strict=True)
    }


def gains_over(candidate: str, policies: Mapping[str, Score], *, seed: int) -> dict[str, Gain]:
    """Return the gain of one contestant over each other, paired by person."""
    others = [name for name in policies if name != candidate]
    gaps = np.stack([differences(policies[candidate].people, policies[name].people) for name in others])
    rows = zip(others, gaps, intervals(gaps, seed=seed), strict=True)
    return {name: Gain.of(gap.mean(), interval) for name, gap, interval in rows}


def groups_of(
    gap: FloatArray, ratings: IntArray, states: IntArray, model: PreferenceModel, *, seed: int
) -> list[Group]:
    """Return the gains of all people, of light and heavy raters, and of each state."""
    median = float(np.median(ratings))
    masks: dict[str, BoolArray] = {ALL: np.ones(len(gap), dtype=np.bool_)}
    if ratings.min() < ratings.max():
        masks[f"light raters (up to {median:,.0f} ratings)"] = ratings <= median
        masks[f"heavy raters (more than {median:,.0f})"] = ratings > median
    if len(np.unique(states)) > 1:
        first = [display(model.name_of(a)) for a in model.orderings[:, 0].tolist()]
        masks |= {f"state {z} ({first[z]} …)": states == z for z in np.unique(states).tolist()}
    groups = []
    for name, mask in masks.items():
        if mask.sum() >= MIN_GROUP and (name == ALL or not mask.all()):
            part = gap[mask]
            gain = Gain.of(part.mean(), intervals(part[None, :], seed=seed)[0])
            groups.append(Group(name, len(part), gain, float((part < 0.0).mean())))
    return groups


def person_table(log: Ratings, replay: Replay, states: IntArray, policies: Mapping[str, Score]) -> pl.DataFrame:
    """Return one row per report person."""
    return pl.DataFrame(
        {
            "person": labels_as_series("person", [log.people[n] for n in replay.person.tolist()]),
            "ratings": log.counts[replay.person],
            "rounds": replay.rounds,
            "state": states,
            **{name: score.people for name, score in policies.items()},
        }
    )
