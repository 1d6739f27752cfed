"""Claims beyond the paper: the value of knowledge, its cost where it is wrong, and the looseness of the bound."""

import math
from functools import partial

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, Tables, judge
from lpbandits.paper.claims.numbers import joined, means_text, per_draw
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
SERVED = {"regret_q95": "5 %", "regret_q99": "1 %"}
"""Share of the worst served people above each quantile of regret."""


def _ratios(
    tables: Tables, name: str, policy: str, *, to: str = BASE, column: str = "regret", only: tuple[str, ...] = ()
) -> dict[str, FloatArray]:
    """Return ratios of two policies per draw, in all settings of a figure or in those of `only`."""
    out = {}
    for size, setting in tables[name].select("size", "setting").unique(maintain_order=True).rows():
        one, other = (per_draw(tables[name], p, column, size=size, setting=setting) for p in (policy, to))
        if not only or setting in only:
            out[", ".join(filter(None, (size, setting)))] = one / other
    return out


def _levels(tables: Tables, name: str, *policies: str) -> str:
    """Return the regret of policies in each setting as text."""
    words = []
    for size, setting in tables[name].select("size", "setting").unique(maintain_order=True).rows():
        regret = {policy: per_draw(tables[name], policy, size=size, setting=setting) for policy in policies}
        words.append(f"{', '.join(filter(None, (size, setting)))}: {means_text(regret)}")
    return "; ".join(words)


def marginal_loses_less(tables: Tables, only: tuple[str, ...], claim: str, below: float) -> Claim:
    return judge(
        claim,
        _ratios(tables, "ladder-sizes", MARGINAL, only=only),
        kind="ratio",
        measure="lpbTS marginal / lpbTS",
        below=below,
        detail=_levels(tables, "ladder-sizes", MARGINAL, BASE),
        beyond=True,
    )


def ids_loses_less(tables: Tables, name: str, only: tuple[str, ...], claim: str, below: float) -> Claim:
    return judge(
        claim,
        _ratios(tables, name, IDS, only=only),
        kind="ratio",
        measure="lpb-ids / lpbTS",
        below=below,
        detail=_levels(tables, name, IDS, BASE),
        beyond=True,
    )


def ids_serves_the_worst(tables: Tables, column: str) -> Claim:
    return judge(
        f"The worst served {SERVED[column]} lose less with lpb-ids than with lpbTS, in all sizes and gaps.",
        joined(_ratios(tables, name, IDS, column=column) for name in ("ladder-sizes", "ladder-gaps")),
        kind="ratio",
        measure=f"what the worst served {SERVED[column]} lose at least, lpb-ids / lpbTS",
        below=1,
        beyond=True,
    )


def mts_breaks(tables: Tables) -> Claim:
    return judge(
        "Different scales: mTS fails. It knows the expected means and loses more than TS, which knows nothing.",
        _ratios(tables, "ladder-sizes", "mts", to="ts"),
        kind="ratio",
        measure="mTS / TS",
        above=1,
        detail=_levels(tables, "ladder-sizes", "mts", "ts"),
        beyond=True,
    )


def wrong_orderings_hurt_lpbts(tables: Tables) -> Claim:
    return judge(
        f"With orderings of error 1 − τ = {WRONG}, lpbTS loses more than TS on their top actions.",
        _ratios(tables, "ladder-errors", BASE, to="ts-top", only=(WRONG,)),
        kind="ratio",
        measure="lpbTS / TS top actions",
        above=1,
        detail=_levels(tables, "ladder-errors", BASE, "ts-top"),
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
    half, true = (per_draw(tables["ladder-assumed-noise"], BASE, "regret_q99", setting=noise) for noise in ("0.5", "1"))
    return judge(
        "With half the true noise assumed, the worst served 1 % lose more than twice as much with lpbTS.",
        half / true,
        kind="ratio",
        measure="99 % quantile of lpbTS, half the true noise assumed / true noise",
        above=TWICE,
        detail=means_text({"half": half, "true": true}),
        beyond=True,
    )


def exact_finds_more(tables: Tables) -> Claim:
    gaps, words = {}, []
    for name, part in _sizes(tables["looseness"]):
        true = part.filter(measure="true state")
        last = true.filter(pl.col("x") == true["x"].max())
        bound, exact = (per_draw(last, policy, "value") for policy in (BOUND, EXACT))
        gaps[name] = exact - bound
        words.append(f"{name}: " + means_text({"bound": bound, "exact": exact}))
    claim = "On the rewards of lpbTS, the exact posterior gives the true state more probability than the bound does."
    return judge(claim, gaps, measure="exact − bound at the end", above=0, detail="; ".join(words), beyond=True)


def bound_is_uneven(tables: Tables) -> Claim:
    odds, words = {}, []
    for name, part in _sizes(tables["looseness"]):
        odds[name] = _loose(part, ODDS)
        words.append(f"{name}: " + means_text({"looseness": _loose(part, GAP), "error of log odds": odds[name]}))
    claim = "The bound is unevenly loose: the mean odds of two plausible states are wrong by more than a factor of 2."
    return judge(claim, odds, measure="mean error of log odds", above=ODDS_TWICE, detail="; ".join(words), beyond=True)


def _loose(part: pl.DataFrame, what: str) -> FloatArray:
    return per_draw(part, what, "value", measure="all rounds")


def _sizes(table: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    return [(name, table.filter(size=name)) for name in table["size"].unique(maintain_order=True).to_list()]


_SIZES, _GAPS, _NOISE, _ERRORS = ("ladder-sizes",), ("ladder-gaps",), ("ladder-assumed-noise",), ("ladder-errors",)
_WRONG_NOISE = tuple(f"{noise:g}" for noise in ASSUMED if noise != 1.0)
_WRONG_ORDERINGS = tuple(f"{error:g}" for error in ERRORS if error)
_FEW = "m = 5: lpbTS by the exact posterior loses a fifth less than by the paper's bound."
_MORE = "k = 20: lpbTS by the exact posterior loses an eighth less than by the paper's bound."
_ANY_SIZE = "Different scales: lpb-ids loses about a third less than lpbTS, in all sizes."
_ANY_GAP = "For all gaps between means, lpb-ids loses clearly less than lpbTS."
_ANY_NOISE = "With a quarter to four times the true noise assumed, lpb-ids loses at least a tenth less than lpbTS."
_SWAPPED = "With people who deviate from their state's ordering, lpb-ids loses clearly less than lpbTS."
_WRONG = "With wrong orderings, lpb-ids loses 30 % less than lpbTS."
_TAILS = "With heavy tails, lpb-ids loses clearly less than lpbTS."

CHECKS = (
    Check(("looseness",), exact_finds_more),
    Check(("looseness",), bound_is_uneven),
    Check(_SIZES, partial(marginal_loses_less, only=(SMALL,), claim=_FEW, below=FIFTH)),
    Check(_SIZES, partial(marginal_loses_less, only=(MIDDLE, LARGE), claim=_MORE, below=EIGHTH)),
    Check(_SIZES, partial(ids_loses_less, name="ladder-sizes", only=(), claim=_ANY_SIZE, below=THIRD), headline=True),
    Check(_SIZES, mts_breaks),
    Check((*_SIZES, *_GAPS), partial(ids_serves_the_worst, column="regret_q95")),
    Check((*_SIZES, *_GAPS), partial(ids_serves_the_worst, column="regret_q99")),
    Check(_GAPS, partial(ids_loses_less, name="ladder-gaps", only=(), claim=_ANY_GAP, below=CLEARLY)),
    Check(
        _NOISE, partial(ids_loses_less, name="ladder-assumed-noise", only=_WRONG_NOISE, claim=_ANY_NOISE, below=TENTH)
    ),
    Check(_NOISE, half_the_noise_hurts_lpbts),
    Check(
        ("ladder-swaps",),
        partial(ids_loses_less, name="ladder-swaps", only=("0.1", "0.3"), claim=_SWAPPED, below=CLEARLY),
    ),
    Check(_ERRORS, partial(ids_loses_less, name="ladder-errors", only=_WRONG_ORDERINGS, claim=_WRONG, below=THIRTY)),
    Check(_ERRORS, wrong_orderings_hurt_lpbts),
    Check(_ERRORS, nearly_known_bears_more),
    Check(
        ("ladder-tails",),
        partial(ids_loses_less, name="ladder-tails", only=("student",), claim=_TAILS, below=CLEARLY),
    ),
)
"""In the order of the figures."""
