"""Claims beyond the paper: the value of knowledge, its cost where it is wrong, and the looseness of the bound."""

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.ladder import ASSUMED, BASE, ERRORS, LARGE, MARGINAL, MIDDLE, SMALL
from lpbandits.paper.figures.looseness import BOUND, EXACT, GAP, ODDS
from lpbandits.typing import FloatArray

CLEARLY = 0.85
"""A regret is clearly less than another if their ratio is below this."""
WRONG = f"{max(ERRORS):g}"
"""The setting with the largest error of the orderings."""
IDS = "lpb-ids"
TITLES = {MARGINAL: "lpbTS marginal", BASE: "lpbTS", IDS: IDS, "mts": "mTS", "ts": "TS", "ts-top": "TS top actions"}
SIZES, GAPS, NOISE, SETTING_ERRORS = "ladder-sizes", "ladder-gaps", "ladder-assumed-noise", "ladder-errors"


def by_setting(
    table: pl.DataFrame, *policies: str, column: str = "regret", only: tuple[str, ...] = ()
) -> dict[str, dict[str, FloatArray]]:
    """Return the regret of policies per draw, by setting (all, or those of `only`) and by policy."""
    return {
        ", ".join(filter(None, (size, setting))): {
            policy: per_draw(table, policy, column, size=size, setting=setting) for policy in policies
        }
        for size, setting in table.select("size", "setting").unique(maintain_order=True).rows()
        if not only or setting in only
    }


def ratios(table: pl.DataFrame, policy: str, to: str = BASE, **options: Any) -> dict[str, FloatArray]:
    """Return ratios of two policies per draw and setting."""
    return {where: regret[policy] / regret[to] for where, regret in by_setting(table, policy, to, **options).items()}


def levels(table: pl.DataFrame, *policies: str) -> str:
    """Return the regret of policies in each setting as text."""
    return "; ".join(f"{where}: {means_text(regret)}" for where, regret in by_setting(table, *policies).items())


def regret_ratio(
    name: str, policy: str, claim: str, *, to: str = BASE, only: tuple[str, ...] = (), **options: Any
) -> Check:
    """Return the check of a ratio of two policies' regrets in the settings of one figure."""

    def run(tables: Tables) -> Iterator[Claim]:
        effects, detail = ratios(tables[name], policy, to, only=only), levels(tables[name], policy, to)
        measure = f"{TITLES[policy]} / {TITLES[to]}"
        yield judge(claim, effects, kind="ratio", measure=measure, detail=detail, beyond=True, **options)

    return Check((name,), run)


def ids_serves_the_worst(tables: Tables) -> Iterator[Claim]:
    for column, share in (("regret_q95", "5 %"), ("regret_q99", "1 %")):
        claim = f"The worst served {share} lose less with lpb-ids than with lpbTS, in all sizes and gaps."
        effects = ratios(tables[SIZES], IDS, column=column) | ratios(tables[GAPS], IDS, column=column)
        measure = f"what the worst served {share} lose at least, lpb-ids / lpbTS"
        yield judge(claim, effects, kind="ratio", measure=measure, below=1, beyond=True)


def utilities_beat_ts_with_wrong_orderings(tables: Tables) -> Iterator[Claim]:
    table, policies = tables[SETTING_ERRORS], ("lpb-utility", IDS)
    (regret,) = by_setting(table, *policies, "ts-top", only=(WRONG,)).values()
    effects = {policy: regret[policy] / regret["ts-top"] for policy in policies}
    detail = levels(table, *policies, "ts-top")
    yield judge(_STILL, effects, kind="ratio", measure="policy / TS top actions", below=1, detail=detail, beyond=True)


def half_the_noise_hurts_lpbts(tables: Tables) -> Iterator[Claim]:
    noises = {"half": "0.5", "true": "1"}
    regret = {name: per_draw(tables[NOISE], BASE, "regret_q99", setting=noise) for name, noise in noises.items()}
    claim = "With half the true noise assumed, the worst served 1 % lose more than twice as much with lpbTS."
    measure = "99 % quantile of lpbTS, half the true noise assumed / true noise"
    yield compare(claim, {"": regret}, kind="ratio", measure=measure, above=2.0, beyond=True)


def looseness_claims(tables: Tables) -> Iterator[Claim]:
    parts = {name: part for (name,), part in tables["looseness"].group_by("size", maintain_order=True)}
    probability = {}
    for name, part in parts.items():
        last = part.filter(measure="true state").filter(pl.col("x") == pl.col("x").max())
        probability[name] = {title: per_draw(last, title, "value") for title in (EXACT, BOUND)}
    claim = "On the rewards of lpbTS, the exact posterior gives the true state more probability than the bound does."
    yield compare(claim, probability, measure="exact − bound at the end", above=0, beyond=True)
    nats = {
        name: {
            title: per_draw(part, what, "value", measure="all rounds")
            for title, what in (("looseness", GAP), ("error of log odds", ODDS))
        }
        for name, part in parts.items()
    }
    yield judge(
        "The bound is unevenly loose: the mean odds of two plausible states are wrong by more than a factor of 2.",
        {name: value["error of log odds"] for name, value in nats.items()},
        measure="mean error of log odds",
        above=math.log(2.0),
        detail="; ".join(f"{name}: {means_text(value)}" for name, value in nats.items()),
        beyond=True,
    )


_FEW = "m = 5: lpbTS by the exact posterior loses a fifth less than by the paper's bound."
_MORE = "k = 20: lpbTS by the exact posterior loses an eighth less than by the paper's bound."
_ANY_SIZE = "Different scales: lpb-ids loses about a third less than lpbTS, in all sizes."
_MTS_FAILS = "Different scales: mTS fails. It knows the expected means and loses more than TS, which knows nothing."
_ANY_GAP = "For all gaps between means, lpb-ids loses clearly less than lpbTS."
_ANY_NOISE = "With a quarter to four times the true noise assumed, lpb-ids loses at least a tenth less than lpbTS."
_SWAPPED = "With people who deviate from their state's ordering, lpb-ids loses clearly less than lpbTS."
_WRONG = "With wrong orderings, lpb-ids loses 30 % less than lpbTS."
_HURT = f"With orderings of error 1 − τ = {WRONG}, lpbTS loses more than TS on their top actions."
_STILL = (
    f"With orderings of error 1 − τ = {WRONG}, lpb-utility and lpb-ids still lose less than TS on their top actions."
)
_TAILS = "With heavy tails, lpb-ids loses clearly less than lpbTS."

CHECKS = (
    Check(("looseness",), looseness_claims),
    regret_ratio(SIZES, MARGINAL, _FEW, only=(SMALL,), below=0.80),
    regret_ratio(SIZES, MARGINAL, _MORE, only=(MIDDLE, LARGE), below=0.87),
    regret_ratio(SIZES, IDS, _ANY_SIZE, below=0.68, headline=True),
    regret_ratio(SIZES, "mts", _MTS_FAILS, to="ts", above=1),
    Check((SIZES, GAPS), ids_serves_the_worst),
    regret_ratio(GAPS, IDS, _ANY_GAP, below=CLEARLY),
    regret_ratio(NOISE, IDS, _ANY_NOISE, only=tuple(f"{noise:g}" for noise in ASSUMED if noise != 1.0), below=0.90),
    Check((NOISE,), half_the_noise_hurts_lpbts),
    regret_ratio("ladder-swaps", IDS, _SWAPPED, only=("0.1", "0.3"), below=CLEARLY),
    regret_ratio(SETTING_ERRORS, IDS, _WRONG, only=tuple(f"{error:g}" for error in ERRORS if error), below=0.70),
    regret_ratio(SETTING_ERRORS, BASE, _HURT, to="ts-top", only=(WRONG,), above=1),
    Check((SETTING_ERRORS,), utilities_beat_ts_with_wrong_orderings),
    regret_ratio("ladder-tails", IDS, _TAILS, only=("student",), below=CLEARLY),
)
