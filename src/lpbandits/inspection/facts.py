"""Sentences about a model: held-out score, noise, taste model, and the verdict of an evaluation.

The evaluation and `TasteModel.about` are arbitrary JSON objects: unexpected values are ignored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits.fit.provenance import Provenance
from lpbandits.fit.taste.tuning import GREEDY
from lpbandits.taste_model import TasteModel
from lpbandits.text import LINE, display, pluralize
from lpbandits.typing import Json, Label

DIRECTIONS = 3
"""Maximum number of factors shown."""

WARNINGS = 12
"""Maximum number of warnings shown."""

CHANCE = math.log(0.5)
"""Log-likelihood of a comparison at chance level."""

MIN_GAIN = 1e-4
"""Gains over chance level below this round to 0 in the output."""

TASTE_NOTE = "People who like one end of a factor more than average tend to like the other end less."


@dataclass(frozen=True)
class Direction:
    """One factor of a taste model, numbered from 1: the actions at its two ends, with their loadings."""

    factor: int
    one_end: tuple[tuple[Label, float], ...]
    other_end: tuple[tuple[Label, float], ...]


@dataclass(frozen=True)
class TasteView:
    """A taste model for display: the numbers of its report and its strongest factors."""

    factors: int
    numbers: dict[str, float]
    directions: tuple[Direction, ...]
    greedy_rounds: int = GREEDY
    """Maximum number of greedy rounds before the rewards of `coverage_greedy`."""

    @classmethod
    def of(cls, taste: TasteModel, names: Sequence[Label], top: int) -> "TasteView":
        """Summarize a taste model, with `top` actions at each end of a factor and none at both."""
        ends = min(top, taste.n_actions // 2)
        directions = []
        for factor in range(min(DIRECTIONS, taste.n_factors)):
            loadings = taste.factors[:, factor]
            order = np.argsort(-loadings, kind="stable").tolist()
            high, low = (tuple((names[a], float(loadings[a])) for a in end[:ends]) for end in (order, order[::-1]))
            if ends and high[0][1] > low[0][1]:
                directions.append(Direction(factor + 1, high, low))
        numbers = {key: float(x) for key, x in taste.about.items() if type(x) in (int, float) and abs(x) < 1e15}
        return cls(taste.n_factors, numbers, tuple(directions), min(GREEDY, taste.n_actions // 2))


def verdict_lines(evaluation: Json | None) -> list[str]:
    """Return the verdict of an evaluation as sentences; none without a verdict.

    >>> verdict_lines({"verdict": "Helps.", "best": "taste", "policies": {"taste": {}}})
    ['Verdict: Helps.', 'Best policy on held-out people: taste (tried: taste).']
    """
    content = evaluation or {}
    sentence, best, policies = (content.get(key) for key in ("verdict", "best", "policies"))
    out = []
    if isinstance(sentence, str) and sentence.strip():
        out.append(f"Verdict: {display(sentence, LINE)}")
    if isinstance(best, str) and best.strip():
        tried = f" (tried: {', '.join(map(display, list(policies)[:20]))})" if isinstance(policies, dict) else ""
        out.append(f"Best policy on held-out people: {display(best)}{tried}.")
    return out


def fit_lines(fit: Provenance) -> list[str]:
    """Return sentences about the held-out log-likelihood and the share of ties."""
    out, score = [], fit.heldout_log_likelihood
    if score is not None:
        who = "held-out people"
        if fit.heldout_people is not None:
            who = pluralize(fit.heldout_people, "held-out person", "held-out people")
        levels = f"chance level: {CHANCE:.4f}; best possible: 0"
        out.append(f"Log-likelihood per comparison of {who}: {score:.4f} ({levels})")
        if score < CHANCE + MIN_GAIN:
            out.append("This is no better than chance: the states do not predict other people's preferences.")
    if fit.ties is not None and fit.ties > 0:
        out.append(f"{fit.ties:.0%} of the comparisons in the log are ties.")
    return out


def warning_lines(fit: Provenance) -> list[str]:
    """Return the first warnings of a fit, and the number of further ones."""
    first = [display(text, LINE) for text in fit.warnings[:WARNINGS]]
    more = len(fit.warnings) - len(first)
    return [*first, f"and {more:,} more (--json)"] if more else first


def noise_line(noise: float | None) -> list[str]:
    """Return a sentence about the noise, if it is known."""
    text = "Noise: rewards have a standard deviation of {:.3g} about the means of their state."
    return [] if noise is None else [text.format(noise)]


def taste_lines(taste: TasteView | None) -> list[str]:
    """Return sentences about a taste model."""
    if taste is None:
        return []
    out = f"Taste: {pluralize(taste.factors, 'factor')}"
    numbers = taste.numbers
    if {"score", "score_without"} <= set(numbers):
        better = numbers["score"] - numbers["score_without"]
        who = f" of {numbers['heldout_people']:,.0f} held-out people" if "heldout_people" in numbers else ""
        change = (
            "no better" if abs(better) < MIN_GAIN / 2 else f"{abs(better):.4f} {'better' if better > 0 else 'worse'}"
        )
        out += f"; log density per rating{who} {numbers['score']:.4f}, {change} than without factors"
    lines = [out]
    if {"level", "coverage"} <= set(numbers):
        rounds = pluralize(taste.greedy_rounds, "greedy round")
        after = f", {numbers['coverage_greedy']:.1%} after up to {rounds}" if "coverage_greedy" in numbers else ""
        lines.append(
            f"Coverage of its {numbers['level']:.0%} intervals: {numbers['coverage']:.1%} in random order{after}."
        )
    return lines


def taste_table(taste: TasteView) -> tuple[list[str], list[list[str]]]:
    """Return the ends of the strongest factors as columns and rows."""
    rows = [
        [str(d.factor), *(" · ".join(display(action) for action, _ in end) for end in (d.one_end, d.other_end))]
        for d in taste.directions
    ]
    return ["factor", "one end", "other end"], rows
