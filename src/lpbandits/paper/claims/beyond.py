"""Claims beyond the paper: the value of knowledge, its cost if it is wrong, and the looseness of the bound."""

import math
from collections.abc import Iterator
from typing import Any

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, compare, judge
from lpbandits.paper.claims.numbers import by_policy, means_text
from lpbandits.paper.figures.ladder import ASSUMED, BASE, ERRORS, HORIZON, LARGE, MARGINAL, MIDDLE, SMALL
from lpbandits.paper.figures.looseness import BOUND, EXACT, GAP, ODDS
from lpbandits.typing import FloatArray

CLEARLY = 0.85
"""A regret is clearly less than another if their ratio is below this."""
WRONG = f"{max(ERRORS):g}"
"""The setting with the largest error of the orderings."""
IDS = "lpb-ids"
FEW_ROUNDS, SIZES, GAPS, NOISE = "ladder-rounds", "ladder-sizes", "ladder-gaps", "ladder-assumed-noise"
SETTING_ERRORS = "ladder-errors"


def by_setting(
    table: pl.DataFrame, *policies: str, column: str = "regret", only: tuple[str, ...] = ()
) -> dict[str, dict[str, FloatArray]]:
    """Return the regret of policies per draw, by setting (all, or those of `only`) and by policy."""
    return {
        ", ".join(filter(None, (size, setting))): by_policy(table, *policies, column=column, size=size, setting=setting)
        for size, setting in table.select("size", "setting").unique(maintain_order=True).rows()
        if not only or setting in only
    }


def regret_ratio(
    name: str, policy: str, claim: str, *, to: str = BASE, only: tuple[str, ...] = (), **options: Any
) -> Check:
    """Return the check of a ratio of two policies' regrets in the settings of one figure."""

    def judge_ratio(table: pl.DataFrame) -> Iterator[Claim]:
        yield compare(claim, by_setting(table, policy, to, only=only), kind="ratio", beyond=True, **options)

    return Check((name,), judge_ratio)


def ids_serves_the_worst(sizes: pl.DataFrame, gaps: pl.DataFrame) -> Iterator[Claim]:
    for column, share, quantile in (("regret_q95", "5 %", "95 %"), ("regret_q99", "1 %", "99 %")):
        claim = f"The worst-served {share} have less regret with lpb-ids than with lpbTS, for all sizes and gaps."
        regret = by_setting(sizes, IDS, BASE, column=column) | by_setting(gaps, IDS, BASE, column=column)
        measure = f"{quantile} quantile of regret, lpb-ids / lpbTS"
        yield compare(claim, regret, kind="ratio", measure=measure, below=1, beyond=True)


def utilities_beat_ts_with_wrong_orderings(table: pl.DataFrame) -> Iterator[Claim]:
    (regret,) = by_setting(table, "lpb-utility", IDS, "ts-top", only=(WRONG,)).values()
    ratios = {policy: regret[policy] / regret["TS top actions"] for policy in ("lpb-utility", IDS)}
    measure, detail = "policy / TS top actions", means_text(regret)
    yield judge(_STILL, ratios, kind="ratio", measure=measure, below=1, detail=detail, beyond=True)


def half_the_noise_hurts_lpbts(table: pl.DataFrame) -> Iterator[Claim]:
    half, true = (by_policy(table, BASE, column="regret_q99", setting=noise)["lpbTS"] for noise in ("0.5", "1"))
    claim = "With half the true noise assumed, the regret of the worst-served 1 % with lpbTS more than doubles."
    measure = "99 % quantile of the regret of lpbTS, half the true noise assumed / true noise"
    yield compare(claim, {"": {"half": half, "true": true}}, kind="ratio", measure=measure, above=2.0, beyond=True)


def looseness_claims(table: pl.DataFrame) -> Iterator[Claim]:
    sizes = table["size"].unique(maintain_order=True).to_list()
    last = table.filter(measure="true state").filter(pl.col("x") == pl.col("x").max())
    probability = {size: by_policy(last, EXACT, BOUND, column="value", size=size) for size in sizes}
    claim = "On the rewards of lpbTS, the exact posterior gives the true state more probability than the bound does."
    yield compare(claim, probability, measure="exact − bound at the end", above=0, beyond=True)
    nats = {size: by_policy(table, GAP, ODDS, column="value", measure="all rounds", size=size) for size in sizes}
    yield judge(
        "The bound is not equally loose for all states: odds of plausible states are wrong by more than a factor of 2.",
        {size: values[ODDS] for size, values in nats.items()},
        measure="mean error of log odds",
        above=math.log(2.0),
        detail="; ".join(f"{size}: {means_text(values)}" for size, values in nats.items()),
        beyond=True,
    )


_PLANS = "In 5 to 30 rounds, lpb-horizon has less regret than lpb-ids, for all sizes."
_AT_ONCE = "In 5 rounds, lpb-horizon has less regret than popularity, for all sizes."
_FEW = "m = 5: lpbTS has a fifth less regret with the exact posterior than with the paper's bound."
_MORE = "k = 20: lpbTS has an eighth less regret with the exact posterior than with the paper's bound."
_ANY_SIZE = "Different scales: lpb-ids has about a third less regret than lpbTS, for all sizes."
_MTS_FAILS = "Different scales: mTS, which knows the expected means, has more regret than TS, which knows nothing."
_ANY_GAP = "For all gaps between means, lpb-ids has clearly less regret than lpbTS."
_ANY_NOISE = "With a quarter to four times the true noise assumed, lpb-ids has at least a tenth less regret than lpbTS."
_SWAPPED = "With people who deviate from their state's ordering, lpb-ids has clearly less regret than lpbTS."
_WRONG = "With wrong orderings, lpb-ids has 30 % less regret than lpbTS."
_HURT = f"With orderings of error 1 − τ = {WRONG}, lpbTS has more regret than TS on top actions."
_STILL = f"With orderings of error 1 − τ = {WRONG}, lpb-utility and lpb-ids have less regret than TS on top actions."
_TAILS = "With heavy tails, lpb-ids has clearly less regret than lpbTS."

CHECKS = (
    Check(("looseness",), looseness_claims),
    regret_ratio(FEW_ROUNDS, HORIZON, _PLANS, to=IDS, only=("5", "10", "20", "30"), below=1),
    regret_ratio(FEW_ROUNDS, HORIZON, _AT_ONCE, to="popular", only=("5",), below=1),
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
