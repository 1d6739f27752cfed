"""Summaries of replay scores: means, bootstrap intervals and groups."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from scipy.special import ndtri

from lpbandits.data.ratings import Ratings
from lpbandits.data.tables import labels_as_series
from lpbandits.evaluation.contestants import kind_of
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.results import Gain, Group, Score
from lpbandits.io.json import finite_or_none
from lpbandits.model import PreferenceModel
from lpbandits.parallel import one_thread
from lpbandits.statistics import LEVEL, t_multiplier
from lpbandits.text import display
from lpbandits.typing import BoolArray, FloatArray, IntArray

CHECKPOINTS = (5, 10, 20)
"""Numbers of rounds after which mean scores are reported, in addition to the last."""

ALL = "all people"
MIN_GROUP = 5
"""Minimum number of people of a reported group."""

DRAWS = 4_000
"""Number of bootstrap samples."""

SMALL_SAMPLE = 20
"""With fewer people, bootstrap intervals are at least as wide as Student's t intervals."""

ROUNDING = 1e-9
"""Differences of scores below this are rounding errors."""

MAX_DRAWS_AT_ONCE = 500
"""Maximum number of bootstrap samples in memory."""


def summarize(scores: Mapping[str, FloatArray], *, rounds: int, seed: int) -> dict[str, Score]:
    """Summarize scores (people × rounds) by contestant."""
    max_rounds = scores["popular"].shape[1]
    person_means = {name: mean_scores(one) for name, one in scores.items()}
    gaps = [differences(means, person_means["popular"]) for means in person_means.values()]
    checkpoints = sorted({*CHECKPOINTS, rounds, min(rounds, max_rounds)})
    return {
        name: Score(
            name,
            kind_of(name),
            {t: float(mean_scores(scores[name], t).mean()) if t <= max_rounds else None for t in checkpoints},
            float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else None,
            gain,
            [float(mean_scores(scores[name], t + 1).mean()) for t in range(max_rounds)],
            means,
        )
        for (name, means), gain in zip(person_means.items(), gains(gaps, seed=seed), strict=True)
    }


def gains_over(candidate: str, policies: Mapping[str, Score], *, seed: int) -> dict[str, Gain]:
    """Return the gain of one contestant over each of the others, paired by person."""
    others = [name for name in policies if name != candidate]
    gaps = [differences(policies[candidate].people, policies[name].people) for name in others]
    return dict(zip(others, gains(gaps, seed=seed), strict=True))


def groups_of(
    gaps: FloatArray, ratings: IntArray, states: IntArray, model: PreferenceModel, *, seed: int
) -> list[Group]:
    """Return the gains of all people, of light and heavy raters, and of each state; `gaps` are the gains by person."""
    median = float(np.median(ratings))
    masks: dict[str, BoolArray] = {ALL: np.ones(len(gaps), dtype=np.bool_)}
    if ratings.min() < ratings.max():
        masks[f"light raters (up to {median:,.0f} ratings)"] = ratings <= median
        masks[f"heavy raters (more than {median:,.0f})"] = ratings > median
    if len(np.unique(states)) > 1:
        first = [display(model.name_of(a)) for a in model.orderings[:, 0].tolist()]
        masks |= {f"state {z} ({first[z]} …)": states == z for z in np.unique(states).tolist()}
    groups = []
    for name, mask in masks.items():
        if mask.sum() >= MIN_GROUP and (name == ALL or not mask.all()):
            part = gaps[mask]
            groups.append(Group(name, len(part), gains([part], seed=seed)[0], float((part < 0.0).mean())))
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


def gains(gaps: Sequence[FloatArray], *, seed: int) -> list[Gain]:
    """Return the mean and the interval of each array, which all have one entry per person."""
    ends = intervals(np.stack(gaps), seed=seed).tolist()
    return [Gain(float(gap.mean()), *map(finite_or_none, pair)) for gap, pair in zip(gaps, ends, strict=True)]


def intervals(values: FloatArray, *, seed: int) -> FloatArray:
    """Return rows × 2: the 95 % bootstrap interval of each row's mean; all rows resample the same people.

    Notes
    -----
    The percentiles of the bootstrap means are expanded by √(n/(n − 1)) and by the ratio of Student's t quantile to the
    normal one, since plain percentile intervals are too narrow for few people (Hesterberg 2015, "What teachers should
    know about the bootstrap").

    Examples
    --------
    >>> gains = np.random.default_rng(0).normal(0.5, 1.0, (1, 100))
    >>> intervals(gains, seed=0).round(2).tolist()
    [[0.39, 0.77]]
    """
    rows, people = values.shape
    if people < 2:
        return np.full((rows, 2), np.nan)
    means = values.mean(axis=1)
    centered = values - means[:, None]
    rng = np.random.default_rng([seed, 13])
    draws = []
    with one_thread("blas"):  # a fixed order of summation
        for start in range(0, DRAWS, MAX_DRAWS_AT_ONCE):
            sample = rng.integers(0, people, (min(MAX_DRAWS_AT_ONCE, DRAWS - start), people))
            counts = np.stack([np.bincount(one, minlength=people) for one in sample]).astype(np.float64)
            draws.append(counts @ centered.T / people)
    expansion = np.sqrt(people / (people - 1)) * t_multiplier(people) / ndtri(0.5 + LEVEL / 2)
    ends = np.quantile(np.concatenate(draws), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    bounds: FloatArray = means[:, None] + expansion * ends.T
    if people < SMALL_SAMPLE:
        half = t_multiplier(people) * values.std(axis=1, ddof=1) / np.sqrt(people)
        bounds = np.column_stack([np.minimum(bounds[:, 0], means - half), np.maximum(bounds[:, 1], means + half)])
    return bounds


def differences(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return one − other, exactly 0 where they differ by rounding.

    >>> differences(np.array([0.1 + 0.2]), np.array([0.3])).tolist()
    [0.0]
    """
    gaps: FloatArray = one - other
    return np.where(np.abs(gaps) < ROUNDING, 0.0, gaps)
