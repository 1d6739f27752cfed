"""Claims that the bounds and the duels check."""

import numpy as np
import polars as pl

from lpbandits.paper.claims.check import (
    FAILS,
    HOLDS,
    Check,
    Claim,
    Tables,
    below,
    mean_se,
    means_text,
    negated,
    per_draw,
    values_of,
    verdict_of,
)
from lpbandits.paper.figures.relative import PAIRED
from lpbandits.typing import FloatArray


def _at(table: pl.DataFrame, kind: str, x: float) -> FloatArray:
    return per_draw(table, kind, "value", x=x)


def bound_falls(tables: Tables) -> Claim:
    """Compare the bound at the two ends; people are fresh draws, so the errors add up."""
    table = tables["bound-size"]
    places = values_of(table)
    first, last = _at(table, "bound-preference", places[0]), _at(table, "bound-preference", places[-1])
    (high, high_se), (low, low_se) = mean_se(first), mean_se(last)
    error = float(np.hypot(high_se or 0.0, low_se or 0.0))
    detail = ", ".join(f"{np.mean(_at(table, 'bound-preference', x)):.2f} at {x:g}" for x in places)
    verdict = verdict_of(low - high, error)
    return Claim(
        "The more actions and states (k = m), the smaller the bound of Theorem 1.", verdict, low - high, error, detail
    )


def growth_stays_above(tables: Tables) -> Claim:
    """Compare lpbTS's measured growth with the bound, person by person, at every size."""
    table = tables["bound-size"]
    gaps = {x: _at(table, "lpbts", x) - _at(table, "bound-preference", x) for x in values_of(table)}
    low = min(gaps, key=lambda x: float(gaps[x].mean()))
    effect, error = mean_se(gaps[low])
    above = [x for x, gap in gaps.items() if verdict_of(*negated(mean_se(gap))) == HOLDS]
    verdict = HOLDS if len(above) == len(gaps) else verdict_of(-effect, error)
    if above and above == values_of(table)[-len(above) :] and verdict != HOLDS:
        verdict = f"holds only if k = m ≥ {above[0]:g}: over a finite run regret may grow more slowly than its bound"

    def ratios(policy: str, bound: str) -> str:
        found = {x: _at(table, policy, x).mean() / _at(table, bound, x).mean() for x in gaps}
        return ", ".join(f"{ratio:.1f} at {x:g}" for x, ratio in found.items())

    detail = (
        f"growth / bound: {ratios('lpbts', 'bound-preference')}; for TS, which is optimal in the limit, growth / the "
        f"bound of a policy that knows nothing: {ratios('ts', 'bound-plain')}"
    )
    claim = f"lpbTS's regret grows no slower than its bound. (effect: growth − bound where it is least, at {low:g})"
    return Claim(claim, verdict, effect, error, detail)


def duels_beat_the_baseline(tables: Tables) -> Claim:
    ours, theirs, top = (
        per_draw(tables["duels"], name, kind="final", comparison="rewards")
        for name in ("lpb-duel", "double-ts", "double-ts-top")
    )
    claim = "Relative feedback: lpb-duel's strong regret is below double Thompson sampling's."
    return below(claim, ours, theirs, means_text(lpb_duel=ours, double_TS=theirs, double_TS_top_actions=top))


def duels_find_the_state(tables: Tables) -> Claim:
    ends = tables["duels"].filter(kind="final", policy="lpb-duel", comparison="rewards").drop_nulls("true_state_alone")
    mass, error = mean_se(ends["true_state_alone"].to_numpy())
    everyone = float(np.mean(ends["true_state"].to_numpy()))
    return Claim(
        "Relative feedback: lpb-duel's posterior ends on the true state. (effect: its probability)",
        HOLDS if mass > 0.9 else FAILS,
        mass,
        error,
        f"for people whose best action no other state shares; {everyone:.2f} for all: duels with the best action never "
        "tell states apart that agree on it",
    )


def pairing_costs(tables: Tables) -> Claim:
    paired, whole, duels = (per_draw(tables["pairing"], name, kind="final") for name in (PAIRED, "lpbts", "lpb-duel"))
    return below(
        "Rewards compared in consecutive pairs are used very inefficiently. (effect: lpbTS − paired)",
        whole,
        paired,
        means_text(lpbTS=whole, paired=paired, lpb_duel=duels),
    )


CHECKS = [
    Check(("bound-size",), bound_falls),
    Check(("bound-size",), growth_stays_above),
    Check(("duels",), duels_beat_the_baseline),
    Check(("duels",), duels_find_the_state),
    Check(("pairing",), pairing_costs),
]
