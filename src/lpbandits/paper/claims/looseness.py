"""Claims about how loose the likelihood at refitted means is, as a bound of the marginal likelihood."""

import math

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, Tables, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.looseness import BOUND, EXACT, GAP, ODDS
from lpbandits.typing import FloatArray

ODDS_TWICE = math.log(2.0)
"""Odds are wrong by a factor of two."""


def exact_finds_more(tables: Tables) -> Claim:
    gaps, words = {}, []
    for name, part in _sizes(tables["looseness"]):
        found = part.filter(measure="true state")
        last = found.filter(pl.col("x") == found["x"].max())
        bound, exact = (per_draw(last, policy, "value") for policy in (BOUND, EXACT))
        gaps[name] = exact - bound
        words.append(f"{name}: " + means_text({"bound": bound, "exact": exact}))
    claim = (
        "On the rewards that lpbTS met, the exact posterior gives the true state more probability than the bound does."
    )
    return judge(claim, gaps, measure="exact − bound at the end", above=0, detail="; ".join(words), beyond=True)


def bound_is_uneven(tables: Tables) -> Claim:
    odds, words = {}, []
    for name, part in _sizes(tables["looseness"]):
        odds[name] = _loose(part, ODDS)
        words.append(f"{name}: " + means_text({"nats above": _loose(part, GAP), "odds wrong by": odds[name]}))
    claim = (
        "The bound is loose unevenly: the odds of two states in play are wrong by more than a factor of 2, on average."
    )
    return judge(claim, odds, measure="mean error of log odds", above=ODDS_TWICE, detail="; ".join(words), beyond=True)


def _loose(part: pl.DataFrame, what: str) -> FloatArray:
    return per_draw(part, what, "value", measure="all rounds")


def _sizes(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(name, table.filter(size=name)) for name in table["size"].unique(maintain_order=True).to_list()]


CHECKS = (Check(("looseness",), exact_finds_more), Check(("looseness",), bound_is_uneven))
