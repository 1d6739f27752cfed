"""What else a model knows, in words: its people, its score on others, noise, taste, and the verdict of an evaluation.

An evaluation and what a taste is about are any JSON objects: what is not as expected is left out, not refused.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits.fit.provenance import Provenance
from lpbandits.taste_model import TasteModel
from lpbandits.text import LINE, display, pluralize
from lpbandits.typing import Json, Label

DIRECTIONS = 3
"""Factors of a taste that are shown: the strongest."""

WARNINGS = 12
"""Warnings that are shown: a fit with many states has some for each."""

COIN = math.log(0.5)
"""Log-likelihood of a comparison, by a coin toss."""

LITTLE = 1e-4
"""What is no better than a coin toss by the digits that are shown."""

TASTE_RULE = "Who likes one end of a taste better than most people do likes the other end less."


@dataclass(frozen=True)
class Direction:
    """One factor of a taste, from 1: the actions at its two ends, and how much each has of it."""

    factor: int
    one_end: tuple[tuple[Label, float], ...]
    other_end: tuple[tuple[Label, float], ...]


@dataclass(frozen=True)
class TasteView:
    """What is said of a taste: how it was chosen (numbers, as far as they are there) and its strongest factors."""

    factors: int
    numbers: dict[str, float]
    directions: tuple[Direction, ...]

    @classmethod
    def of(cls, taste: TasteModel, called: Sequence[Label], top: int) -> "TasteView":
        """Look at a taste; `top` actions stand at each end of a factor, and none at both."""
        ends = min(top, taste.n_actions // 2)
        directions = []
        for factor in range(min(DIRECTIONS, taste.n_factors)):
            loadings = taste.factors[:, factor]
            order = np.argsort(-loadings, kind="stable").tolist()
            high, low = (tuple((called[a], float(loadings[a])) for a in some[:ends]) for some in (order, order[::-1]))
            if ends and high[0][1] > low[0][1]:
                directions.append(Direction(factor + 1, high, low))
        numbers = {key: float(value) for key, value in taste.about.items() if _is_number(value)}
        return cls(taste.n_factors, numbers, tuple(directions))


@dataclass(frozen=True)
class Verdict:
    """What an evaluation found, as far as it can be read."""

    sentence: str | None
    best: str | None
    policies: tuple[str, ...]

    @classmethod
    def of(cls, evaluation: Json | None) -> "Verdict":
        """Read an evaluation.

        >>> Verdict.of({"verdict": "Helps.", "best": 3, "policies": {"taste": {}}})
        Verdict(sentence='Helps.', best=None, policies=('taste',))
        """
        told = evaluation or {}
        policies = told.get("policies")
        names = tuple(policies) if isinstance(policies, dict) else ()
        return cls(_words(told.get("verdict")), _words(told.get("best")), names)

    def lines(self) -> list[str]:
        """Return it in words; nothing, if there is no verdict."""
        out = [f"Verdict: {display(self.sentence, LINE)}"] if self.sentence else []
        if self.best:
            tried = f" (tried: {', '.join(map(display, self.policies[:20]))})" if self.policies else ""
            out.append(f"Best policy for people not in the fit: {display(self.best)}{tried}.")
        return out


def fit_lines(fit: Provenance) -> list[str]:
    """Return how well the states foresee people not in the fit, and how much of the log is ties."""
    out = []
    if fit.heldout is not None:
        who = pluralize(fit.heldout_people, "person", "people") if fit.heldout_people is not None else "people"
        out.append(
            f"Log-likelihood per comparison of {who} not in the fit: {fit.heldout:.4f} (a coin toss: {COIN:.4f}; "
            "certainty: 0)"
        )
        if fit.heldout < COIN + LITTLE:
            out.append("That is no better than a coin toss: these states say nothing of people not in the fit.")
    if fit.ties is not None and fit.ties > 0:
        out.append(f"{fit.ties:.0%} of the comparisons in the log are ties.")
    return out


def warning_lines(fit: Provenance) -> list[str]:
    """Return the warnings of a fit: the first of many, and how many more there are."""
    first = [display(text, LINE) for text in fit.warnings[:WARNINGS]]
    more = len(fit.warnings) - len(first)
    return [*first, f"and {more:,} more (--json)"] if more else first


def noise_line(noise: float | None) -> list[str]:
    """Return how far rewards scatter, in words."""
    return [] if noise is None else [f"Rewards scatter about their state's means by {noise:.3g} (standard deviation)."]


def taste_lines(taste: TasteView | None) -> list[str]:
    """Return what is known of a taste, in words."""
    if taste is None:
        return []
    out = f"Taste: {pluralize(taste.factors, 'factor')}"
    told = taste.numbers
    if {"score", "score_without"} <= set(told):
        better = told["score"] - told["score_without"]
        who = f" of {told['heldout_people']:,.0f} people not in the fit" if "heldout_people" in told else ""
        out += (
            f"; log density per rating{who} {told['score']:.4f}, {abs(better):.4f} "
            f"{'better' if better >= 0 else 'worse'} than without factors"
        )
    lines = [out]
    if {"level", "coverage"} <= set(told):
        after = f", {told['coverage_greedy']:.1%} after 20 of the best" if "coverage_greedy" in told else ""
        lines.append(f"Its {told['level']:.0%} intervals covered {told['coverage']:.1%} of their ratings{after}.")
    return lines


def taste_table(taste: TasteView) -> tuple[list[str], list[list[str]]]:
    """Return the ends of the strongest factors as columns and rows of text."""
    rows = [
        [str(d.factor), *(" · ".join(display(action) for action, _ in end) for end in (d.one_end, d.other_end))]
        for d in taste.directions
    ]
    return ["taste", "one end", "other end"], rows


def _words(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
