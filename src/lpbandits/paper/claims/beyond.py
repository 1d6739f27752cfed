"""Claims about the ladder, beyond the paper: what being told more is worth, and what it costs where that is wrong."""

from functools import partial

from lpbandits.paper.claims.check import Check, Claim, Tables, judge
from lpbandits.paper.claims.numbers import joined, means_text, per_draw
from lpbandits.paper.figures.ladder import BASE, ERRORS, LARGE, MARGINAL, MIDDLE, SMALL, TOLD
from lpbandits.typing import FloatArray

FIFTH, EIGHTH, THIRD, TENTH, THIRTY = 0.80, 0.87, 0.68, 0.90, 0.70
"""A regret is a fifth, an eighth, a third, a tenth or 30 % less than another if it is below this share of it."""
CLEARLY = 0.85
"""... and clearly less below this one."""
TWICE = 2.0
WRONG = f"{max(ERRORS):g}"
"""The setting with orderings that are most wrong."""
IDS = "lpb-ids"
SERVED = {"regret_q95": "5 %", "regret_q99": "1 %"}
"""Whom a quantile of regret is about: the worst served people."""


def _ratios(
    tables: Tables, name: str, policy: str, *, to: str = BASE, column: str = "regret", only: tuple[str, ...] = ()
) -> dict[str, FloatArray]:
    """Return a policy's numbers as ratios to another's, draw by draw, in all settings of a figure or `only` in some."""
    out = {}
    for size, setting in tables[name].select("size", "setting").unique(maintain_order=True).rows():
        one, other = (per_draw(tables[name], p, column, size=size, setting=setting) for p in (policy, to))
        if not only or setting in only:
            out[", ".join(filter(None, (size, setting)))] = one / other
    return out


def _levels(tables: Tables, name: str, *policies: str) -> str:
    """Return what policies lose in each setting, in words."""
    words = []
    for size, setting in tables[name].select("size", "setting").unique(maintain_order=True).rows():
        found = {policy: per_draw(tables[name], policy, size=size, setting=setting) for policy in policies}
        words.append(f"{', '.join(filter(None, (size, setting)))}: {means_text(found)}")
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
        "Different scales: mTS breaks. Told the expected means, it loses more than TS, which is told nothing.",
        _ratios(tables, "ladder-sizes", "mts", to="ts"),
        kind="ratio",
        measure="mTS / TS",
        above=1,
        detail=_levels(tables, "ladder-sizes", "mts", "ts"),
        beyond=True,
    )


def wrong_orderings_hurt_lpbts(tables: Tables) -> Claim:
    return judge(
        f"Told orderings as wrong as 1 − τ = {WRONG}, lpbTS loses more than TS on their top actions.",
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
        f"Told orderings as wrong as 1 − τ = {WRONG}, lpb-utility and lpb-ids still lose less than TS on their top"
        " actions.",
        parts,
        kind="ratio",
        measure="it / TS top actions",
        below=1,
        detail=_levels(tables, "ladder-errors", "lpb-utility", IDS, "ts-top"),
        beyond=True,
    )


def half_the_noise_hurts_lpbts(tables: Tables) -> Claim:
    half, true = (per_draw(tables["ladder-assumed-noise"], BASE, "regret_q99", setting=told) for told in ("0.5", "1"))
    return judge(
        "Told half the noise, the worst served 1 % with lpbTS lose more than twice as much.",
        half / true,
        kind="ratio",
        measure="99 % quantile of lpbTS, told half the noise / told the noise",
        above=TWICE,
        detail=means_text({"told half": half, "told the noise": true}),
        beyond=True,
    )


_SIZES, _GAPS, _TOLD, _ERRORS = ("ladder-sizes",), ("ladder-gaps",), ("ladder-assumed-noise",), ("ladder-errors",)
_MISTOLD = tuple(f"{told:g}" for told in TOLD if told != 1.0)
_MISLED = tuple(f"{error:g}" for error in ERRORS if error)
_FEW = "m = 5: lpbTS by the exact posterior loses a fifth less than by the paper's bound."
_MORE = "k = 20: lpbTS by the exact posterior loses an eighth less than by the paper's bound."
_ANY_SIZE = "Different scales: lpb-ids loses about a third less than lpbTS, in all sizes."
_ANY_GAP = "Whatever the gaps between means, lpb-ids loses clearly less than lpbTS."
_ANY_NOISE = "Told a quarter to four times the noise, lpb-ids loses at least a tenth less than lpbTS."
_SWAPPED = "Where people leave their state's ordering, lpb-ids loses clearly less than lpbTS."
_WRONG = "Told wrong orderings, lpb-ids loses 30 % less than lpbTS."
_TAILS = "With heavy tails, lpb-ids loses clearly less than lpbTS."

CHECKS = (
    Check(_SIZES, partial(marginal_loses_less, only=(SMALL,), claim=_FEW, below=FIFTH)),
    Check(_SIZES, partial(marginal_loses_less, only=(MIDDLE, LARGE), claim=_MORE, below=EIGHTH)),
    Check(_SIZES, partial(ids_loses_less, name="ladder-sizes", only=(), claim=_ANY_SIZE, below=THIRD), headline=True),
    Check(_SIZES, mts_breaks),
    Check((*_SIZES, *_GAPS), partial(ids_serves_the_worst, column="regret_q95")),
    Check((*_SIZES, *_GAPS), partial(ids_serves_the_worst, column="regret_q99")),
    Check(_GAPS, partial(ids_loses_less, name="ladder-gaps", only=(), claim=_ANY_GAP, below=CLEARLY)),
    Check(_TOLD, partial(ids_loses_less, name="ladder-assumed-noise", only=_MISTOLD, claim=_ANY_NOISE, below=TENTH)),
    Check(_TOLD, half_the_noise_hurts_lpbts),
    Check(
        ("ladder-swaps",),
        partial(ids_loses_less, name="ladder-swaps", only=("0.1", "0.3"), claim=_SWAPPED, below=CLEARLY),
    ),
    Check(_ERRORS, partial(ids_loses_less, name="ladder-errors", only=_MISLED, claim=_WRONG, below=THIRTY)),
    Check(_ERRORS, wrong_orderings_hurt_lpbts),
    Check(_ERRORS, nearly_known_bears_more),
    Check(
        ("ladder-tails",),
        partial(ids_loses_less, name="ladder-tails", only=("student",), claim=_TAILS, below=CLEARLY),
    ),
)
"""In the order of the figures."""
