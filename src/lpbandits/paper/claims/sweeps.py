"""Claims about sweeps of states, actions, gaps and noise, and about lower bounds by size."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from lpbandits.paper.claims.check import ALIKE, CONSTANT, VASTLY, Check, Claim, judge
from lpbandits.paper.claims.curves import ends
from lpbandits.paper.claims.numbers import TITLES, Along, along, along_text, both, from_first, steps
from lpbandits.paper.figures.curves import SCALES
from lpbandits.paper.figures.sweeps import FIGURES, INCREMENTAL
from lpbandits.paper.spec import FULL
from lpbandits.typing import FloatArray

SAME_SWEEPS = {figure.name: figure for figure in FIGURES if figure.name.endswith("-same")}
N_ACTIONS = 20.0
"""Number k of actions in the figures that vary the states m."""


def rises(claim: str, values: Along, symbol: str, what: str, places: int = 0, **options: Any) -> Claim:
    """Judge whether values rise from each value of the parameter to the next."""
    measure, detail = f"{what}, from one {symbol} to the next", along_text(values, symbol, places)
    return judge(claim, steps(values, symbol), measure=measure, above=0, detail=detail, **options)


def is_constant(claim: str, regret: Along, symbol: str, **options: Any) -> Claim:
    """Judge whether the regret of lpbTS stays near that at the first value of the parameter."""
    ratios, detail = from_first(regret, symbol), along_text(regret, symbol)
    measure, above, below = f"lpbTS, ratio to the smallest {symbol}", 1 / CONSTANT, CONSTANT
    return judge(claim, ratios, kind="ratio", measure=measure, above=above, below=below, detail=detail, **options)


def benefit_changes(claim: str, table: pl.DataFrame, policy: str, symbol: str, **options: Any) -> Claim:
    """Judge how the ratio of the regret of TS to that of a policy changes from each value to the next."""
    ours, plain = along(table, policy), along(table, "ts")
    benefit = {x: plain[x] / ours[x] for x in ours}
    what = f"TS / {TITLES[policy]}"
    measure, detail = f"{what}, factor from one {symbol} to the next", f"{what}: {along_text(benefit, symbol)}"
    return judge(claim, steps(benefit, symbol, ratio=True), kind="ratio", measure=measure, detail=detail, **options)


def active_rise(name: str, symbol: str, what: str) -> Check:
    """Return the check whether the active constraints of lpbTS grow in a figure."""
    scale = SCALES["same" if name in SAME_SWEEPS else "different"]
    claim = f"{scale}: active constraints of lpbTS grow {what}."

    def judge_rise(table: pl.DataFrame) -> Iterator[Claim]:
        yield rises(claim, along(table, "lpbts", "active_all"), symbol, "active constraints", 2)

    return Check((name,), judge_rise)


def both_claims(table: pl.DataFrame) -> Iterator[Claim]:
    mts, lpbts = (along(table, policy) for policy in ("mts", "lpbts"))
    yield rises("Different scales, k = m: the regret of mTS grows with k.", mts, "k", "mTS", 1, headline=True)
    yield is_constant("Different scales, k = m: the regret of lpbTS is fairly constant.", lpbts, "k", headline=True)


def top_actions_are_poor(states: pl.DataFrame, curves: pl.DataFrame) -> Iterator[Claim]:
    ours, top = (along(states, policy) for policy in ("lpbts", "ts-top"))
    ratios = {"m = 5, k = 10": ends(curves, "lpbts", "different") / ends(curves, "ts-top", "different")}
    yield judge(
        "Different scales: TS limited to the actions that are best in some state is poor; lpbTS is vastly better.",
        ratios | {f"m = {m:g}, k = 20": ours[m] / top[m] for m in ours},
        kind="ratio",
        measure="lpbTS / TS top actions",
        below=VASTLY,
        detail=f"k = 20: lpbTS {along_text(ours, 'm')}; TS top actions {along_text(top, 'm')}",
        headline=True,
    )


def state_claims(table: pl.DataFrame) -> Iterator[Claim]:
    regret = {TITLES[policy]: along(table, policy) for policy in ("lpbts", "mts", "ts-top")}
    detail = "; ".join(f"{title} {along_text(values, 'm', 0)}" for title, values in regret.items())
    rises: dict[str, FloatArray] = {}
    ratios: dict[str, FloatArray] = {}
    for title, values in regret.items():
        rises |= steps({m: value for m, value in values.items() if m <= N_ACTIONS}, "m", title)
        ratios |= from_first({m: value for m, value in values.items() if m >= N_ACTIONS}, "m", title)
    claim = "k = 20: regret rises with m until m = k (lpbTS, mTS and TS on the top actions)."
    yield judge(claim, rises, measure="from one m to the next", above=0, detail=detail)
    yield judge(
        "k = 20: regret is flat in m once m = k (lpbTS, mTS and TS on the top actions).",
        ratios,
        kind="ratio",
        measure="ratio to m = 20",
        above=1 / ALIKE,
        below=ALIKE,
        detail=detail,
        headline=True,
    )
    for policy in ("lpbts", "mts"):
        claim = f"Different scales, k = 20: more states shrink the benefit of {TITLES[policy]} over plain TS."
        yield benefit_changes(claim, table, policy, "m", below=1)
    lpbts, mts = regret["lpbTS"], regret["mTS"]
    gaps = {f"m = {m:g}": lpbts[m] - mts[m] for m in lpbts}
    claim = "Different scales, k = 20, hence a fixed interval of levels: mTS still has more regret than lpbTS."
    yield judge(claim, gaps, measure="lpbTS − mTS", below=0, detail=f"mTS {along_text(mts, 'm', 0)}")


def mts_grows_less_at_a_fixed_interval(states: pl.DataFrame, both_grow: pl.DataFrame) -> Iterator[Claim]:
    fixed, growing = along(states, "mts"), along(both_grow, "mts")
    (low, *_, high), (small, *_, large) = fixed, growing
    one, other = both(np.divide(*both(fixed[high], fixed[low])), np.divide(*both(growing[large], growing[small])))
    claim = (
        "Different scales, k = 20, hence a fixed interval of levels: the regret of mTS grows far less than with k = m."
    )
    detail = f"mTS {along_text(fixed, 'm', 0)}; k = m: {along_text(growing, 'k', 0)}"
    measure = f"mTS, factor from m {low:g} to {high:g} / factor from k {small:g} to {large:g}"
    yield judge(claim, one / other, kind="ratio", measure=measure, below=VASTLY, detail=detail)


def gap_claims(table: pl.DataFrame) -> Iterator[Claim]:
    claim = "Different scales, interval as printed: wider gaps make mTS worse."
    yield rises(claim, along(table, "mts"), "Δ", "mTS")
    yield is_constant("Different scales: the regret of lpbTS stays low as gaps grow.", along(table, "lpbts"), "Δ")


def wide_gap_claims(table: pl.DataFrame) -> Iterator[Claim]:
    claim = "Different scales, interval that widens with Δ, as the text explains: wider gaps make mTS worse."
    yield rises(claim, along(table, "mts"), "Δ", "mTS")


def action_claims(table: pl.DataFrame) -> Iterator[Claim]:
    claim = "Different scales: the benefit of lpbTS over plain TS grows as actions outnumber states (m = 10)."
    yield benefit_changes(claim, table, "lpbts", "k", above=1, headline=True)


def mts_wins_everywhere_on_the_same_scale(*tables: pl.DataFrame) -> Iterator[Claim]:
    """Judge each world once, since some are in several figures."""
    gaps: dict[str, FloatArray] = {}
    for figure, table in zip(SAME_SWEEPS.values(), tables, strict=True):
        mts, lpbts = (along(table, policy) for policy in ("mts", "lpbts"))
        worlds = {float(case.settings["x"]): case.settings["world"] for case in figure.cases(FULL)}
        for x in mts:
            where = "m = {states}, k = {actions}, Δ = {gap:g}".format(**{"gap": 0.2, **worlds[x]})
            gaps.setdefault(where, mts[x] - lpbts[x])
    claim = "Same scale: mTS has less regret than lpbTS in every setting."
    means = [float(gap.mean()) for gap in gaps.values()]
    detail = f"the differences range from {max(means):.1f} to {min(means):.1f}"
    yield judge(claim, gaps, measure="mTS − lpbTS", below=0, detail=detail)


def refit_or_incremental(actions: pl.DataFrame, curves: pl.DataFrame) -> Iterator[Claim]:
    refit, incremental = (along(actions, name) for name in ("lpbts", INCREMENTAL))
    ratios = {f"m = 10, k = {k:g}": refit[k] / incremental[k] for k in refit}
    for scale, title in SCALES.items():
        ratios[f"m = 5, k = 10, {title.lower()}"] = ends(curves, "lpbts", scale) / ends(curves, INCREMENTAL, scale)
    yield judge(
        "The paper's two forms of lpbTS, refit and incremental, have about the same regret.",
        ratios,
        kind="ratio",
        measure="refit / incremental",
        above=1 / ALIKE,
        below=ALIKE,
        detail=f"m = 10: refit {along_text(refit, 'k')}; incremental {along_text(incremental, 'k')}",
        beyond=True,
    )


def bound_claims(table: pl.DataFrame) -> Iterator[Claim]:
    """Judge the bound and the measured growth; each person is a draw."""
    kinds = ("bound-preference", "bound-plain", "lpbts", "ts")
    bound, plain, lpbts, ts = (along(table, kind, "value") for kind in kinds)
    claim = "The more actions and states (k = m), the smaller the bound of Theorem 1."
    changes, detail = steps(bound, "k"), along_text(bound, "k", 2)
    yield judge(claim, changes, measure="change from one k to the next", below=0, detail=detail)
    over, over_plain = (
        along_text({x: growth[x].mean() / below[x].mean() for x in growth}, "k")
        for growth, below in ((lpbts, bound), (ts, plain))
    )
    yield judge(
        "The regret of lpbTS grows no slower than its bound (from a tenth of the rounds to the end).",
        {f"k = m = {x:g}": lpbts[x] - bound[x] for x in lpbts},
        measure="growth − bound",
        above=0,
        detail=f"growth / bound: {over}; for TS, which is optimal in the limit, growth / the bound of a policy that "
        f"knows nothing: {over_plain}",
        beyond=True,
    )


CHECKS = [
    Check(("vary-both",), both_claims),
    active_rise("vary-both", "k", "with k = m"),
    active_rise("vary-both-same", "k", "with k = m"),
    Check(("vary-states", "regret-curves"), top_actions_are_poor),
    Check(("vary-states",), state_claims),
    Check(("vary-states", "vary-both"), mts_grows_less_at_a_fixed_interval),
    Check(("vary-gap",), gap_claims),
    Check(("vary-gap-wide",), wide_gap_claims),
    active_rise("vary-actions", "k", "with k (m = 10)"),
    Check(("vary-actions",), action_claims),
    active_rise("vary-actions-same", "k", "with k (m = 10)"),
    Check(("vary-actions", "regret-curves"), refit_or_incremental),
    active_rise("vary-noise", "σ", "with the noise"),
    Check(tuple(SAME_SWEEPS), mts_wins_everywhere_on_the_same_scale),
    Check(("bound-size",), bound_claims),
]
