"""Claims about sweeps of states, actions, gaps and noise."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from lpbandits.paper.claims.check import ALIKE, CONSTANT, VASTLY, Check, Claim, Tables, judge
from lpbandits.paper.claims.curves import WORDS, ends
from lpbandits.paper.claims.numbers import along_text, both, from_first, per_draw, steps, values_of
from lpbandits.paper.figures.sweeps import INCREMENTAL, SWEEPS
from lpbandits.typing import FloatArray

SAME_SWEEPS = ("vary-both-same", "vary-states-same", "vary-gap-same", "vary-actions-same")
LIMITED = {"lpbts": "lpbTS", "mts": "mTS", "ts-top": "TS top actions"}
AT = 20.0
"""Number of states with m = k in the figures with 20 actions."""

Along = dict[float, FloatArray]


def _along(tables: Tables, name: str, policy: str, column: str = "regret") -> Along:
    """Return a policy's values per draw at each value of the parameter."""
    return {x: per_draw(tables[name], policy, column, x=x) for x in values_of(tables[name])}


def mts_grows(tables: Tables, claim: str, name: str, symbol: str, places: int = 0) -> Claim:
    along = _along(tables, name, "mts")
    measure, detail = f"mTS, from one {symbol} to the next", along_text(along, symbol, places)
    return judge(claim, steps(along, symbol), measure=measure, above=0, detail=detail)


def lpbts_is_constant(tables: Tables, claim: str, name: str, symbol: str) -> Claim:
    along = _along(tables, name, "lpbts")
    return judge(
        claim,
        from_first(along, symbol),
        kind="ratio",
        measure=f"lpbTS, ratio to the smallest {symbol}",
        above=1 / CONSTANT,
        below=CONSTANT,
        detail=along_text(along, symbol),
    )


def active_grow(tables: Tables, name: str, what: str, symbol: str) -> Claim:
    along = _along(tables, name, "lpbts", "active_all")
    where = "Same scale" if name.endswith("-same") else "Different scales"
    return judge(
        f"{where}: active constraints of lpbTS grow {what}.",
        steps(along, symbol),
        measure=f"active constraints, from one {symbol} to the next",
        above=0,
        detail=along_text(along, symbol, 2),
    )


def top_actions_are_poor(tables: Tables) -> Claim:
    ours, top = _along(tables, "vary-states", "lpbts"), _along(tables, "vary-states", "ts-top")
    ratios = {"m = 5, k = 10": ends(tables, "lpbts", "different") / ends(tables, "ts-top", "different")}
    ratios |= {f"m = {m:g}, k = 20": ours[m] / top[m] for m in ours}
    claim = "Different scales: TS limited to the actions that are best in some state is poor: lpbTS is vastly better."
    detail = f"k = 20: lpbTS {along_text(ours, 'm')}; TS top actions {along_text(top, 'm')}"
    return judge(claim, ratios, kind="ratio", measure="lpbTS / TS top actions", below=VASTLY, detail=detail)


def _limited(
    tables: Tables, effects: Callable[[Along, str, str], dict[str, FloatArray]], kept: Callable[[float], bool]
) -> tuple[dict[str, FloatArray], str]:
    """Return the effects of the policies of `LIMITED` over the kept numbers of states, and their regret as text."""
    policies = {title: _along(tables, "vary-states", name) for name, title in LIMITED.items()}
    parts: dict[str, FloatArray] = {}
    for title, along in policies.items():
        parts |= effects({m: values for m, values in along.items() if kept(m)}, "m", title)
    return parts, "; ".join(f"{title} {along_text(along, 'm', 0)}" for title, along in policies.items())


def regret_rises_up_to_k(tables: Tables) -> Claim:
    rises, detail = _limited(tables, steps, lambda m: m <= AT)
    claim = "k = 20: regret rises with m until m = k (lpbTS, mTS and TS on the top actions)."
    return judge(claim, rises, measure="from one m to the next", above=0, detail=detail)


def regret_is_flat_after(tables: Tables) -> Claim:
    ratios, detail = _limited(tables, from_first, lambda m: m >= AT)
    claim = "k = 20: regret is flat in m once m = k (lpbTS, mTS and TS on the top actions)."
    above, below = 1 / ALIKE, ALIKE
    return judge(claim, ratios, kind="ratio", measure="ratio to m = 20", above=above, below=below, detail=detail)


def benefit_changes(tables: Tables, name: str, claim: str, symbol: str, policy: str, *, grows: bool) -> Claim:
    ours, plain = _along(tables, name, policy), _along(tables, name, "ts")
    along = {x: plain[x] / ours[x] for x in ours}
    called = LIMITED[policy]
    return judge(
        claim,
        steps(along, symbol, ratio=True),
        kind="ratio",
        measure=f"TS / {called}, factor from one {symbol} to the next",
        above=1.0 if grows else -math.inf,
        below=math.inf if grows else 1.0,
        detail=f"TS / {called}: {along_text(along, symbol)}",
    )


def mts_stays_worse_at_a_fixed_interval(tables: Tables) -> Claim:
    ours, mts = _along(tables, "vary-states", "lpbts"), _along(tables, "vary-states", "mts")
    gaps = {f"m = {m:g}": ours[m] - mts[m] for m in ours}
    claim = "Different scales, k = 20 fixed (so the interval too): mTS still loses more than lpbTS."
    return judge(claim, gaps, measure="lpbTS − mTS", below=0, detail=f"mTS {along_text(mts, 'm', 0)}")


def mts_grows_less_at_a_fixed_interval(tables: Tables) -> Claim:
    fixed, growing = _along(tables, "vary-states", "mts"), _along(tables, "vary-both", "mts")
    (low, *_, high), (small, *_, large) = fixed, growing
    one, other = both(np.divide(*both(fixed[high], fixed[low])), np.divide(*both(growing[large], growing[small])))
    claim = "Different scales, k = 20 fixed (so the interval too): mTS does not grow as it does with k = m."
    detail = f"mTS {along_text(fixed, 'm', 0)}; k = m: {along_text(growing, 'k', 0)}"
    measure = f"mTS, factor from m {low:g} to {high:g} / factor from k {small:g} to {large:g}"
    return judge(claim, one / other, kind="ratio", measure=measure, below=VASTLY, detail=detail)


def mts_wins_everywhere_on_the_same_scale(tables: Tables) -> Claim:
    """Judge each world once: some are in several figures."""
    gaps: dict[str, FloatArray] = {}
    for sweep in SWEEPS:
        name = f"{sweep.name}-same"
        for world in sweep.values if name in SAME_SWEEPS else ():
            x = float(world[sweep.parameter])
            if x in values_of(tables[name]):
                mts, lpb = (per_draw(tables[name], policy, x=x) for policy in ("mts", "lpbts"))
                where = f"m = {world['states']}, k = {world['actions']}, Δ = {world.get('gap', 0.2):g}"
                gaps.setdefault(where, mts - lpb)
    claim = "Same scale: mTS loses less than lpbTS in every setting."
    most, least = (pick(float(gap.mean()) for gap in gaps.values()) for pick in (min, max))
    detail = f"the differences range from {least:.1f} to {most:.1f}"
    return judge(claim, gaps, measure="mTS − lpbTS", below=0, detail=detail)


def refit_or_incremental(tables: Tables) -> Claim:
    refit, incremental = (_along(tables, "vary-actions", name) for name in ("lpbts", INCREMENTAL))
    ratios = {f"m = 10, k = {k:g}": refit[k] / incremental[k] for k in refit}
    for scale, title in WORDS.items():
        ratios[f"m = 5, k = 10, {title.lower()}"] = ends(tables, "lpbts", scale) / ends(tables, INCREMENTAL, scale)
    return judge(
        "The paper's two forms of lpbTS, refit and incremental, lose about the same.",
        ratios,
        kind="ratio",
        measure="refit / incremental",
        above=1 / ALIKE,
        below=ALIKE,
        detail=f"m = 10: refit {along_text(refit, 'k')}; incremental {along_text(incremental, 'k')}",
        beyond=True,
    )


_BOTH, _STATES, _ACTIONS = ("vary-both",), ("vary-states",), ("vary-actions",)
_GROWS_WITH_BOTH = "Different scales, k = m: the regret of mTS grows with k."
_CONSTANT_WITH_BOTH = "Different scales, k = m: the regret of lpbTS is fairly constant."
_SHRINKS = "Different scales, k = 20: more states shrink the benefit of {} over plain TS."
_PRINTED = "Different scales, interval as printed: wider gaps make mTS worse."
_WIDE = "Different scales, levels that spread with Δ as the text explains: wider gaps make mTS worse."
_STABLE = "Different scales: lpbTS stays stably low as gaps grow."
_GROWS = "Different scales: the benefit of lpbTS over plain TS grows as actions outnumber states (m = 10)."
_shrinks = partial(benefit_changes, name="vary-states", symbol="m", grows=False)
_grows = partial(benefit_changes, name="vary-actions", symbol="k", grows=True)


def _active(name: str, what: str, symbol: str) -> Check:
    return Check((name,), partial(active_grow, name=name, what=what, symbol=symbol))


CHECKS = [
    Check(_BOTH, partial(mts_grows, claim=_GROWS_WITH_BOTH, name="vary-both", symbol="k", places=1), headline=True),
    Check(_BOTH, partial(lpbts_is_constant, claim=_CONSTANT_WITH_BOTH, name="vary-both", symbol="k"), headline=True),
    _active("vary-both", "with k = m", "k"),
    _active("vary-both-same", "with k = m", "k"),
    Check((*_STATES, "regret-curves"), top_actions_are_poor, headline=True),
    Check(_STATES, regret_rises_up_to_k),
    Check(_STATES, regret_is_flat_after, headline=True),
    Check(_STATES, partial(_shrinks, policy="lpbts", claim=_SHRINKS.format("lpbTS"))),
    Check(_STATES, partial(_shrinks, policy="mts", claim=_SHRINKS.format("mTS"))),
    Check(_STATES, mts_stays_worse_at_a_fixed_interval),
    Check((*_STATES, "vary-both"), mts_grows_less_at_a_fixed_interval),
    Check(("vary-gap",), partial(mts_grows, claim=_PRINTED, name="vary-gap", symbol="Δ")),
    Check(("vary-gap",), partial(lpbts_is_constant, claim=_STABLE, name="vary-gap", symbol="Δ")),
    Check(("vary-gap-wide",), partial(mts_grows, claim=_WIDE, name="vary-gap-wide", symbol="Δ")),
    _active("vary-actions", "with k (m = 10)", "k"),
    _active("vary-actions-same", "with k (m = 10)", "k"),
    Check(_ACTIONS, partial(_grows, policy="lpbts", claim=_GROWS), headline=True),
    Check((*_ACTIONS, "regret-curves"), refit_or_incremental),
    _active("vary-noise", "with the noise", "σ"),
    Check(SAME_SWEEPS, mts_wins_everywhere_on_the_same_scale),
]
"""In the order of the figures."""
