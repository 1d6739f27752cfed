"""Claims beyond the paper: the value of knowledge, its cost where it is wrong, and the looseness of the bound."""

import math
from functools import partial
from typing import Any

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.ladder import ASSUMED, BASE, ERRORS, LARGE, MARGINAL, MIDDLE, SMALL
from lpbandits.paper.figures.looseness import BOUND, EXACT, GAP, ODDS
from lpbandits.typing import FloatArray

FIFTH, EIGHTH, THIRD, TENTH, THIRTY = 0.80, 0.87, 0.68, 0.90, 0.70
"""A regret is a fifth, an eighth, a third, a tenth or 30 % less than another if their ratio is below this."""
CLEARLY = 0.85
"""A regret is clearly less than another if their ratio is below this."""
TWICE = 2.0
ODDS_TWICE = math.log(2.0)
"""Error of log odds that corresponds to a factor of two."""
WRONG = f"{max(ERRORS):g}"
"""The setting with the largest error of the orderings."""
IDS = "lpb-ids"
TITLES = {MARGINAL: "lpbTS marginal", BASE: "lpbTS", IDS: IDS, "mts": "mTS", "ts": "TS", "ts-top": "TS top actions"}
SERVED = {"regret_q95": "5 %", "regret_q99": "1 %"}
"""Share of the worst served people above each quantile of regret."""


def _regret(
    tables: Tables, name: str, *policies: str, column: str = "regret", only: tuple[str, ...] = ()
) -> dict[str, dict[str, FloatArray]]:
    """Return the regret of policies per draw, by setting of a figure (all, or those of `only`) and by policy."""
    places = tables[name].select("size", "setting").unique(maintain_order=True).rows()
    return {
        ", ".join(filter(None, (size, setting))): {
            policy: per_draw(tables[name], policy, column, size=size, setting=setting) for policy in policies
        }
        for size, setting in places
        if not only or setting in only
    }


def _ratios(tables: Tables, name: str, policy: str, *, to: str = BASE, **options: Any) -> dict[str, FloatArray]:
    """Return ratios of two policies per draw and setting."""
    regret = _regret(tables, name, policy, to, **options)
    return {where: policies[policy] / policies[to] for where, policies in regret.items()}


def _levels(tables: Tables, name: str, *policies: str) -> str:
    """Return the regret of policies in each setting as text."""
    return "; ".join(f"{where}: {means_text(regret)}" for where, regret in _regret(tables, name, *policies).items())


def regret_ratio(
    tables: Tables, claim: str, name: str, policy: str, *, to: str = BASE, only: tuple[str, ...] = (), **limits: float
) -> Claim:
    return judge(
        claim,
        _ratios(tables, name, policy, to=to, only=only),
        kind="ratio",
        measure=f"{TITLES[policy]} / {TITLES[to]}",
        detail=_levels(tables, name, policy, to),
        beyond=True,
        **limits,
    )


def ids_serves_the_worst(tables: Tables, column: str) -> Claim:
    return judge(
        f"The worst served {SERVED[column]} lose less with lpb-ids than with lpbTS, in all sizes and gaps.",
        {**_ratios(tables, "ladder-sizes", IDS, column=column), **_ratios(tables, "ladder-gaps", IDS, column=column)},
        kind="ratio",
        measure=f"what the worst served {SERVED[column]} lose at least, lpb-ids / lpbTS",
        below=1,
        beyond=True,
    )


def nearly_known_bears_more(tables: Tables) -> Claim:
    parts = {}
    for policy in ("lpb-utility", IDS):
        (parts[policy],) = _ratios(tables, "ladder-errors", policy, to="ts-top", only=(WRONG,)).values()
    return judge(
        f"With orderings of error 1 − τ = {WRONG}, lpb-utility and lpb-ids still lose less than TS on their top"
        " actions.",
        parts,
        kind="ratio",
        measure="policy / TS top actions",
        below=1,
        detail=_levels(tables, "ladder-errors", "lpb-utility", IDS, "ts-top"),
        beyond=True,
    )


def half_the_noise_hurts_lpbts(tables: Tables) -> Claim:
    table = tables["ladder-assumed-noise"]
    noises = {"half": "0.5", "true": "1"}
    return compare(
        "With half the true noise assumed, the worst served 1 % lose more than twice as much with lpbTS.",
        {"": {name: per_draw(table, BASE, "regret_q99", setting=noise) for name, noise in noises.items()}},
        kind="ratio",
        measure="99 % quantile of lpbTS, half the true noise assumed / true noise",
        above=TWICE,
        beyond=True,
    )


def exact_finds_more(tables: Tables) -> Claim:
    claim = "On the rewards of lpbTS, the exact posterior gives the true state more probability than the bound does."
    values = {}
    for name, part in _sizes(tables):
        true = part.filter(measure="true state")
        last = true.filter(pl.col("x") == true["x"].max())
        values[name] = {title: per_draw(last, title, "value") for title in (EXACT, BOUND)}
    return compare(claim, values, measure="exact − bound at the end", above=0, beyond=True)


def bound_is_uneven(tables: Tables) -> Claim:
    claim = "The bound is unevenly loose: the mean odds of two plausible states are wrong by more than a factor of 2."
    titles = {"looseness": GAP, "error of log odds": ODDS}
    values = {
        name: {title: per_draw(part, what, "value", measure="all rounds") for title, what in titles.items()}
        for name, part in _sizes(tables)
    }
    odds = {name: value["error of log odds"] for name, value in values.items()}
    detail = "; ".join(f"{name}: {means_text(value)}" for name, value in values.items())
    return judge(claim, odds, measure="mean error of log odds", above=ODDS_TWICE, detail=detail, beyond=True)


def _sizes(tables: Tables) -> list[tuple[str, pl.DataFrame]]:
    """Return the table of the looseness by size."""
    table = tables["looseness"]
    return [(name, table.filter(size=name)) for name in table["size"].unique(maintain_order=True).to_list()]


def _ratio(name: str, policy: str, claim: str, *, headline: bool = False, **options: Any) -> Check:
    return Check((name,), partial(regret_ratio, claim=claim, name=name, policy=policy, **options), headline=headline)


_SIZES, _GAPS, _NOISE, _ERRORS = "ladder-sizes", "ladder-gaps", "ladder-assumed-noise", "ladder-errors"
_WRONG_NOISE = tuple(f"{noise:g}" for noise in ASSUMED if noise != 1.0)
_WRONG_ORDERINGS = tuple(f"{error:g}" for error in ERRORS if error)
_FEW = "m = 5: lpbTS by the exact posterior loses a fifth less than by the paper's bound."
_MORE = "k = 20: lpbTS by the exact posterior loses an eighth less than by the paper's bound."
_ANY_SIZE = "Different scales: lpb-ids loses about a third less than lpbTS, in all sizes."
_MTS_FAILS = "Different scales: mTS fails. It knows the expected means and loses more than TS, which knows nothing."
_ANY_GAP = "For all gaps between means, lpb-ids loses clearly less than lpbTS."
_ANY_NOISE = "With a quarter to four times the true noise assumed, lpb-ids loses at least a tenth less than lpbTS."
_SWAPPED = "With people who deviate from their state's ordering, lpb-ids loses clearly less than lpbTS."
_WRONG = "With wrong orderings, lpb-ids loses 30 % less than lpbTS."
_HURT = f"With orderings of error 1 − τ = {WRONG}, lpbTS loses more than TS on their top actions."
_TAILS = "With heavy tails, lpb-ids loses clearly less than lpbTS."

CHECKS = (
    Check(("looseness",), exact_finds_more),
    Check(("looseness",), bound_is_uneven),
    _ratio(_SIZES, MARGINAL, _FEW, only=(SMALL,), below=FIFTH),
    _ratio(_SIZES, MARGINAL, _MORE, only=(MIDDLE, LARGE), below=EIGHTH),
    _ratio(_SIZES, IDS, _ANY_SIZE, below=THIRD, headline=True),
    _ratio(_SIZES, "mts", _MTS_FAILS, to="ts", above=1),
    Check((_SIZES, _GAPS), partial(ids_serves_the_worst, column="regret_q95")),
    Check((_SIZES, _GAPS), partial(ids_serves_the_worst, column="regret_q99")),
    _ratio(_GAPS, IDS, _ANY_GAP, below=CLEARLY),
    _ratio(_NOISE, IDS, _ANY_NOISE, only=_WRONG_NOISE, below=TENTH),
    Check((_NOISE,), half_the_noise_hurts_lpbts),
    _ratio("ladder-swaps", IDS, _SWAPPED, only=("0.1", "0.3"), below=CLEARLY),
    _ratio(_ERRORS, IDS, _WRONG, only=_WRONG_ORDERINGS, below=THIRTY),
    _ratio(_ERRORS, BASE, _HURT, to="ts-top", only=(WRONG,), above=1),
    Check((_ERRORS,), nearly_known_bears_more),
    _ratio("ladder-tails", IDS, _TAILS, only=("student",), below=CLEARLY),
)
"""In the order of the figures."""
