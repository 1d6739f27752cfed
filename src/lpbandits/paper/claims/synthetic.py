"""Claims that the synthetic figures check."""

import math
from collections.abc import Callable
from functools import partial

from lpbandits.paper.claims.check import (
    ALIKE,
    COMPARABLE,
    CONSTANT,
    VASTLY,
    Check,
    Claim,
    Tables,
    along_text,
    from_first,
    joined,
    judge,
    means_text,
    per_draw,
    steps,
    values_of,
)
from lpbandits.paper.figures.sweeps import INCREMENTAL, NARROW
from lpbandits.typing import FloatArray

SAME_SWEEPS = ("vary-both-same", "vary-states-same", "vary-gap-same", "vary-actions-same")
WORDS = {"same": "Same scale", "different": "Different scales"}
LIMITED = {"lpbts": "lpbTS", "mts": "mTS", "ts-top": "TS top actions"}
AT = 20.0
"""Where m = k in the figures with 20 actions."""
NEARLY_ALWAYS = 0.95


def _ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    return per_draw(tables["regret-curves"], policy, column, kind="final", scale=scale)


def _along(tables: Tables, name: str, policy: str, column: str = "regret") -> dict[float, FloatArray]:
    """Return a policy's numbers at each value of what a figure varies."""
    return {x: per_draw(tables[name], policy, column, x=x) for x in values_of(tables[name])}


def _benefit(tables: Tables, name: str) -> dict[float, FloatArray]:
    """Return how many times as much as lpbTS plain TS loses, at each value of what a figure varies."""
    ours, plain = _along(tables, name, "lpbts"), _along(tables, name, "ts")
    return {x: plain[x] / ours[x] for x in ours}


def mts_wins_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "same"), _ends(tables, "lpbts", "same")
    claim = "Same scale: mTS, which knows the means, loses less than lpbTS."
    return judge(claim, mts - lpb, measure="mTS − lpbTS", below=0, detail=means_text({"mTS": mts, "lpbTS": lpb}))


def lpbts_is_comparable(tables: Tables) -> Claim:
    mts, lpb, ts = (_ends(tables, name, "same") for name in ("mts", "lpbts", "ts"))
    closed = float(((ts - lpb) / (ts - mts)).mean())
    ends = means_text({"mTS": mts, "lpbTS": lpb, "TS": ts})
    detail = f"{ends}: lpbTS closes {closed:.0%} of the gap from TS to mTS"
    claim = "Same scale: lpbTS is comparable to mTS."
    return judge(claim, lpb / mts, measure="lpbTS / mTS", below=COMPARABLE, detail=detail)


def mts_varies_less_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = (_ends(tables, name, "same", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Same scale: mTS varies less over people than lpbTS."
    return judge(
        claim, mts - lpb, measure="sd of mTS − of lpbTS", below=0, detail=means_text({"mTS": mts, "lpbTS": lpb})
    )


def lpbts_beats_ts(tables: Tables, scale: str) -> Claim:
    lpb, ts, narrow = (_ends(tables, name, scale) for name in ("lpbts", "ts", NARROW))
    detail = means_text({"lpbTS": lpb, "TS with a weak prior": ts, "TS with N(0, 1)": narrow})
    claim = f"{WORDS[scale]}: knowing the orderings is vastly better than plain TS."
    return judge(claim, lpb / ts, measure="lpbTS / TS", below=VASTLY, detail=detail)


def top_actions_lose_more(tables: Tables) -> Claim:
    gaps, words = {}, []
    for scale, title in WORDS.items():
        lpb, top = _ends(tables, "lpbts", scale), _ends(tables, "ts-top", scale)
        gaps[title.lower()] = lpb - top
        words.append(f"{title.lower()}: " + means_text({"lpbTS": lpb, "TS top actions": top}))
    claim = "m = 5, k = 10: lpbTS loses less than TS limited to the actions that are best in some state."
    return judge(claim, gaps, measure="lpbTS − TS top actions", below=0, detail="; ".join(words))


def top_actions_are_poor(tables: Tables) -> Claim:
    ours, top = _along(tables, "vary-states", "lpbts"), _along(tables, "vary-states", "ts-top")
    ratios = {"m = 5, k = 10": _ends(tables, "lpbts", "different") / _ends(tables, "ts-top", "different")}
    ratios |= {f"m = {m:g}, k = 20": ours[m] / top[m] for m in ours}
    detail = ", ".join(f"{where}: {ratio.mean():.2f}" for where, ratio in ratios.items())
    claim = "Different scales: TS limited to the actions that are best in some state is poor: lpbTS is vastly better."
    return judge(claim, ratios, measure="lpbTS / TS top actions", below=VASTLY, detail=detail)


def mts_fails_on_different_scales(tables: Tables) -> Claim:
    mts, lpb = _ends(tables, "mts", "different"), _ends(tables, "lpbts", "different")
    claim = "Different scales: lpbTS loses less than mTS."
    return judge(claim, lpb - mts, measure="lpbTS − mTS", below=0, detail=means_text({"lpbTS": lpb, "mTS": mts}))


def lpbts_varies_less(tables: Tables) -> Claim:
    mts, lpb = (_ends(tables, name, "different", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Different scales: lpbTS varies less over people than mTS."
    return judge(
        claim, lpb - mts, measure="sd of lpbTS − of mTS", below=0, detail=means_text({"lpbTS": lpb, "mTS": mts})
    )


def mts_grows_with_both(tables: Tables) -> Claim:
    along = _along(tables, "vary-both", "mts")
    claim = "Different scales, k = m: the regret of mTS grows with k."
    return judge(
        claim, steps(along, "k"), measure="change of mTS from one k to the next", above=0, detail=along_text(along, "k")
    )


def lpbts_is_constant_with_both(tables: Tables) -> Claim:
    along, mts = _along(tables, "vary-both", "lpbts"), _along(tables, "vary-both", "mts")
    low, *_, high = along
    grown = float((mts[high] / mts[low]).mean())
    claim = "Different scales, k = m: the regret of lpbTS is fairly constant."
    detail = f"{along_text(along, 'k')}; over the same range mTS grows {grown:.1f}-fold"
    return judge(
        claim,
        from_first(along, "k"),
        measure="lpbTS, ratio to the smallest k",
        above=1 / CONSTANT,
        below=CONSTANT,
        detail=detail,
    )


def active_grow(tables: Tables, name: str, what: str, symbol: str) -> Claim:
    along = _along(tables, name, "lpbts", "active_all")
    return judge(
        f"Active constraints of lpbTS grow {what}.",
        steps(along, symbol),
        measure=f"change of the active constraints from one {symbol} to the next",
        above=0,
        detail=along_text(along, symbol, 2),
    )


def regret_rises_up_to_k(tables: Tables) -> Claim:
    policies = {title: _along(tables, "vary-states", name) for name, title in LIMITED.items()}
    rises = joined(
        steps({m: values for m, values in along.items() if m <= AT}, "m", title) for title, along in policies.items()
    )
    claim = "k = 20: regret rises with m until m = k (lpbTS, mTS and TS on the top actions)."
    detail = "; ".join(f"{title} {along_text(along, 'm', 0)}" for title, along in policies.items())
    return judge(claim, rises, measure="change from one m to the next", above=0, detail=detail)


def regret_is_flat_after(tables: Tables) -> Claim:
    policies = {title: _along(tables, "vary-states", name) for name, title in LIMITED.items()}
    ratios = joined(
        from_first({m: values for m, values in along.items() if m >= AT}, "m", title)
        for title, along in policies.items()
    )
    claim = "k = 20: regret is flat in m once m = k (lpbTS, mTS and TS on the top actions)."
    detail = "; ".join(f"{title} {along_text(along, 'm', 0)}" for title, along in policies.items())
    return judge(claim, ratios, measure="ratio to m = 20", above=1 / ALIKE, below=ALIKE, detail=detail)


def benefit_changes(tables: Tables, name: str, claim: str, symbol: str, *, grows: bool) -> Claim:
    along = _benefit(tables, name)
    return judge(
        claim,
        steps(along, symbol),
        measure=f"change of TS / lpbTS from one {symbol} to the next",
        above=0.0 if grows else -math.inf,
        below=math.inf if grows else 0.0,
        detail=f"TS / lpbTS: {along_text(along, symbol)}",
    )


def mts_stays_worse_at_a_fixed_interval(tables: Tables) -> Claim:
    ours, mts = _along(tables, "vary-states", "lpbts"), _along(tables, "vary-states", "mts")
    gaps = {f"m = {m:g}": ours[m] - mts[m] for m in ours}
    claim = "Different scales, k = 20 fixed (so the interval too): mTS still loses more than lpbTS."
    return judge(claim, gaps, measure="lpbTS − mTS", below=0, detail=f"mTS {along_text(mts, 'm', 0)}")


def gaps_hurt_mts(tables: Tables, name: str, words: str) -> Claim:
    along = _along(tables, name, "mts")
    return judge(
        f"Different scales{words}: wider gaps make mTS worse.",
        steps(along, "Δ"),
        measure="change of mTS from one Δ to the next",
        above=0,
        detail=along_text(along, "Δ", 0),
    )


def gaps_leave_lpbts_stable(tables: Tables) -> Claim:
    """Look at the interval as printed: people's levels are nothing to lpbTS, so how they spread changes no number."""
    along = _along(tables, "vary-gap", "lpbts")
    return judge(
        "Different scales: lpbTS stays stably low as gaps grow.",
        from_first(along, "Δ"),
        measure="lpbTS, ratio to the smallest Δ",
        above=1 / CONSTANT,
        below=CONSTANT,
        detail=along_text(along, "Δ"),
    )


def mts_wins_everywhere_on_the_same_scale(tables: Tables) -> Claim:
    gaps = {
        f"{name.removesuffix('-same')}, {x:g}": mts - _along(tables, name, "lpbts")[x]
        for name in SAME_SWEEPS
        for x, mts in _along(tables, name, "mts").items()
    }
    claim = "Same scale: mTS loses less than lpbTS in every setting."
    detail = f"the differences range from {_least(gaps, max):.1f} to {_least(gaps, min):.1f}"
    return judge(claim, gaps, measure="mTS − lpbTS", below=0, detail=detail)


def ts_prior_decides(tables: Tables) -> Claim:
    weak, narrow = _ends(tables, "ts", "same"), _ends(tables, NARROW, "same")
    return judge(
        "TS's regret does not depend on its Gaussian prior.",
        narrow / weak,
        measure="TS with N(0, 1) / TS with N(0, 100²)",
        above=1 / CONSTANT,
        below=CONSTANT,
        detail=means_text({"weak prior": weak, "prior N(0, 1)": narrow})
        + "; a narrow prior locks onto the first action tried",
        beyond=True,
    )


def refit_or_incremental(tables: Tables) -> Claim:
    refit, incremental = (_along(tables, "vary-actions", name) for name in ("lpbts", INCREMENTAL))
    ratios = {f"m = 10, k = {k:g}": refit[k] / incremental[k] for k in refit}
    for scale, title in WORDS.items():
        ratios[f"m = 5, k = 10, {title.lower()}"] = _ends(tables, "lpbts", scale) / _ends(tables, INCREMENTAL, scale)
    claim = "The paper's two forms of lpbTS, refit and incremental, lose about the same."
    detail = f"refit / incremental from {_least(ratios, min):.2f} to {_least(ratios, max):.2f}"
    return judge(claim, ratios, measure="refit / incremental", above=1 / ALIKE, below=ALIKE, detail=detail, beyond=True)


def one_draw_is_enough(tables: Tables) -> Claim:
    gaps = _ends(tables, "lpbts", "different") - _ends(tables, "ts-top", "different")
    detail = f"lpbTS − TS top actions from {gaps.min():.1f} to {gaps.max():.1f} by draw, sd {gaps.std():.1f}"
    return judge(
        "m = 5, k = 10: one draw of the orderings is enough to rank lpbTS and TS on the top actions.",
        (gaps < 0).astype(float),
        measure="share of the draws in which lpbTS loses less",
        above=NEARLY_ALWAYS,
        detail=detail,
        beyond=True,
    )


def _least(parts: dict[str, FloatArray], pick: Callable[..., float]) -> float:
    return pick(float(values.mean()) for values in parts.values())


_CURVES = ("regret-curves",)
_SHRINKS = "k = 20: more states shrink the benefit over plain TS."
_GROWS = "The benefit over plain TS grows as actions outnumber states (m = 10)."
_PRINTED = ", interval as printed"
_SPREADING = ", levels that spread with Δ as the text explains"

CHECKS = [
    Check(_CURVES, mts_wins_on_the_same_scale),
    Check(_CURVES, lpbts_is_comparable),
    Check(_CURVES, mts_varies_less_on_the_same_scale),
    Check(_CURVES, partial(lpbts_beats_ts, scale="same")),
    Check(_CURVES, partial(lpbts_beats_ts, scale="different")),
    Check(_CURVES, top_actions_lose_more),
    Check(_CURVES, mts_fails_on_different_scales),
    Check(_CURVES, lpbts_varies_less),
    Check(_CURVES, ts_prior_decides),
    Check(_CURVES, one_draw_is_enough),
    Check(("vary-both",), mts_grows_with_both),
    Check(("vary-both",), lpbts_is_constant_with_both),
    Check(("vary-both",), partial(active_grow, name="vary-both", what="with k = m", symbol="k")),
    Check(("vary-states", "regret-curves"), top_actions_are_poor),
    Check(("vary-states",), regret_rises_up_to_k),
    Check(("vary-states",), regret_is_flat_after),
    Check(("vary-states",), partial(benefit_changes, name="vary-states", claim=_SHRINKS, symbol="m", grows=False)),
    Check(("vary-states",), mts_stays_worse_at_a_fixed_interval),
    Check(("vary-gap",), partial(gaps_hurt_mts, name="vary-gap", words=_PRINTED)),
    Check(("vary-gap",), gaps_leave_lpbts_stable),
    Check(("vary-gap-wide",), partial(gaps_hurt_mts, name="vary-gap-wide", words=_SPREADING)),
    Check(("vary-actions",), partial(active_grow, name="vary-actions", what="with k (m = 10)", symbol="k")),
    Check(("vary-actions",), partial(benefit_changes, name="vary-actions", claim=_GROWS, symbol="k", grows=True)),
    Check(("vary-actions", "regret-curves"), refit_or_incremental),
    Check(("vary-noise",), partial(active_grow, name="vary-noise", what="with the noise", symbol="σ")),
    Check(SAME_SWEEPS, mts_wins_everywhere_on_the_same_scale),
]
"""In the order of the figures."""
