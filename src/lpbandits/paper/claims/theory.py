"""Claims about lower bounds, duels and comparisons in pairs."""

import polars as pl

from lpbandits.paper.claims.check import Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.numbers import along_text, per_draw, steps, values_of
from lpbandits.paper.figures.relative import COMPARISONS, PAIRED
from lpbandits.typing import FloatArray

ON = 0.9
"""Probability from which a posterior has identified a state."""
INEFFICIENT = 2.0
"""Rewards are used very inefficiently if the ratio of regrets is above this factor."""


def _along(table: pl.DataFrame, kind: str) -> dict[float, FloatArray]:
    """Return a quantity of every person at each size; each person is a draw."""
    return {x: per_draw(table, kind, "value", x=x) for x in values_of(table)}


def bound_falls(tables: Tables) -> Claim:
    along = _along(tables["bound-size"], "bound-preference")
    claim = "The more actions and states (k = m), the smaller the bound of Theorem 1."
    detail = along_text(along, "k", 2)
    return judge(claim, steps(along, "k"), measure="change from one k to the next", below=0, detail=detail)


def growth_stays_above(tables: Tables) -> Claim:
    """Compare the measured growth of lpbTS with the bound, paired by person, at every size."""
    table = tables["bound-size"]
    growth, bound = _along(table, "lpbts"), _along(table, "bound-preference")
    gaps = {f"k = m = {x:g}": growth[x] - bound[x] for x in growth}

    def ratios(policy: str, bound: str) -> str:
        over, under = _along(table, policy), _along(table, bound)
        return along_text({x: over[x].mean() / under[x].mean() for x in over}, "k")

    detail = (
        f"growth / bound: {ratios('lpbts', 'bound-preference')}; for TS, which is optimal in the limit, growth / the "
        f"bound of a policy that knows nothing: {ratios('ts', 'bound-plain')}"
    )
    claim = "lpbTS's regret grows no slower than its bound (from a tenth of the rounds to the end)."
    return judge(claim, gaps, measure="growth − bound", above=0, detail=detail, beyond=True)


def duels_beat_the_baseline(tables: Tables) -> Claim:
    titles = {"lpb-duel": "lpb-duel", "double-ts": "double TS", "double-ts-top": "double TS top actions"}
    regret = {
        comparison_title.lower(): {
            title: per_draw(tables["duels"], name, kind="final", comparison=comparison)
            for name, title in titles.items()
        }
        for comparison, comparison_title in COMPARISONS.items()
    }
    claim = "Relative feedback: lpb-duel's strong regret is below double Thompson sampling's."
    return compare(claim, regret, below=0, beyond=True)


def duels_find_the_state(tables: Tables) -> Claim:
    ends = tables["duels"].filter(kind="final", policy="lpb-duel", comparison="rewards").sort("draw")
    alone = ends["true_state_alone"].drop_nulls().to_numpy()
    words = f"{alone.mean():.2f} for people whose best action no other state shares: " if len(alone) else ""
    return judge(
        "Relative feedback: lpb-duel's posterior ends on the true state.",
        ends["true_state"].to_numpy(),
        measure="its probability, over everyone",
        above=ON,
        detail=f"{words}duels with the best action do not separate states that share it",
        beyond=True,
    )


def pairing_costs(tables: Tables) -> Claim:
    titles = {PAIRED: "lpbTS on pairs", "lpbts": "lpbTS", "lpb-duel": "lpb-duel"}
    regret = {title: per_draw(tables["pairing"], name, kind="final") for name, title in titles.items()}
    claim = "Rewards compared in consecutive pairs are used very inefficiently."
    return compare(claim, {"": regret}, kind="ratio", above=INEFFICIENT)


CHECKS = [
    Check(("bound-size",), bound_falls),
    Check(("bound-size",), growth_stays_above),
    Check(("duels",), duels_beat_the_baseline),
    Check(("duels",), duels_find_the_state),
    Check(("pairing",), pairing_costs),
]
