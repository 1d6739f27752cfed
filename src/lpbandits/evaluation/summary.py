"""Summaries of replay scores: means, intervals and groups."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.evaluation.contestants import kind_of
from lpbandits.evaluation.replay import mean_scores
from lpbandits.evaluation.results import Gain, Group, Score
from lpbandits.evaluation.splits import Combined
from lpbandits.model import PreferenceModel
from lpbandits.text import display
from lpbandits.typing import BoolArray, FloatArray, IntArray

CHECKPOINTS = (5, 10, 20)
"""Numbers of rounds after which mean scores are reported, in addition to the last."""

ALL = "all people"
MIN_GROUP = 5
"""Minimum number of people of a reported group."""

ROUNDING = 1e-9
"""Differences of scores below this are rounding errors."""


def summarize(scores: Mapping[str, FloatArray], *, rounds: int, widen: float = 1.0) -> dict[str, Score]:
    """Summarize scores (people × rounds) by contestant; `widen` multiplies standard errors and intervals."""
    max_rounds = scores["popular"].shape[1]
    person_means = {name: mean_scores(one) for name, one in scores.items()}
    checkpoints = sorted({*CHECKPOINTS, rounds, min(rounds, max_rounds)})
    return {
        name: Score(
            name,
            kind_of(name),
            {t: float(mean_scores(scores[name], t).mean()) if t <= max_rounds else None for t in checkpoints},
            float(widen * means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None,
            Gain.of(differences(means, person_means["popular"]), widen=widen),
            [float(mean_scores(scores[name], t + 1).mean()) for t in range(max_rounds)],
            means,
        )
        for name, means in person_means.items()
    }


def gains_over(people: FloatArray, candidate: str, policies: Mapping[str, Score], *, widen: float) -> dict[str, Gain]:
    """Return the gain of the candidate, with these scores by person, over each other contestant, paired by person."""
    others = {name: score.people for name, score in policies.items() if name != candidate}
    return {name: Gain.of(differences(people, other), widen=widen) for name, other in others.items()}


def groups_of(
    gaps: FloatArray, ratings: IntArray, states: IntArray, model: PreferenceModel, *, widen: float
) -> list[Group]:
    """Return the gains of all people, of light and heavy raters, and of each state; `gaps` are the gains by person."""
    median = float(np.median(ratings))
    masks: dict[str, BoolArray] = {ALL: np.ones(len(gaps), dtype=np.bool_)}
    if ratings.min() < ratings.max():
        masks[f"light raters (up to {median:,.0f} ratings)"] = ratings <= median
        masks[f"heavy raters (more than {median:,.0f})"] = ratings > median
    if len(np.unique(states)) > 1:
        first = [display(model.name_of(a)) for a in model.orderings[:, 0].tolist()]
        if model.tiers is not None:
            first = [f"{{{name}" if row[0] > 1 else name for name, row in zip(first, model.tiers, strict=True)]
        masks |= {f"state {z} ({first[z]} …)": states == z for z in np.unique(states).tolist()}
    groups = []
    for name, mask in masks.items():
        if mask.sum() >= MIN_GROUP and (name == ALL or not mask.all()):
            part = gaps[mask]
            groups.append(Group(name, len(part), Gain.of(part, widen=widen), float((part < 0.0).mean())))
    return groups


def person_table(log: Ratings, people: Combined, states: IntArray, policies: Mapping[str, Score]) -> pl.DataFrame:
    """Return one row per report person."""
    return pl.DataFrame(
        {
            "person": labels_as_series("person", [log.people[n] for n in people.person.tolist()]),
            "ratings": log.counts[people.person],
            "rounds": people.rounds,
            "state": states,
            **{name: score.people for name, score in policies.items()},
        }
    )


def differences(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return one − other, exactly 0 where they differ by rounding.

    >>> differences(np.array([0.1 + 0.2]), np.array([0.3])).tolist()
    [0.0]
    """
    gaps: FloatArray = one - other
    return np.where(np.abs(gaps) < ROUNDING, 0.0, gaps)
