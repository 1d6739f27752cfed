"""Claims about regret by round, with five states and ten actions: rewards on both scales, duels and pairs."""

from collections.abc import Iterator
from functools import partial

import polars as pl

from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, VASTLY, Check, Claim, compare, judge
from lpbandits.paper.claims.numbers import TITLES, by_policy, means_text, per_draw
from lpbandits.paper.figures.curves import COMPARISONS, DUELS, PAIRED, SCALES
from lpbandits.paper.figures.sweeps import NARROW
from lpbandits.typing import FloatArray

NEARLY_ALWAYS = 0.95
"""One policy nearly always has less regret than another if it does in at least this share of draws."""
IDENTIFIED = 0.9
"""Minimum posterior probability of an identified state."""
INEFFICIENT = 2.0
"""Rewards are used very inefficiently if the ratio of regrets is above this factor."""


def ends(table: pl.DataFrame, policy: str, scale: str) -> FloatArray:
    """Return the final regret of a policy per draw, on one scale."""
    return per_draw(table, policy, kind="final", scale=scale)


def gap_closed(lpbts: FloatArray, mts: FloatArray, ts: FloatArray) -> str:
    """Return the share of the gap from TS to mTS that lpbTS closes, as text."""
    share = float((ts.mean() - lpbts.mean()) / (ts.mean() - mts.mean()))
    return f": lpbTS closes {share:z.0%} of the gap from TS to mTS"


def curve_claims(table: pl.DataFrame) -> Iterator[Claim]:
    final = partial(by_policy, table, kind="final")
    claim = "Same scale: mTS, which knows the means, has less regret than lpbTS."
    yield compare(claim, {"": final("mts", "lpbts", scale="same")}, below=0, headline=True)
    claim = "Same scale: lpbTS is comparable to mTS."
    regret = final("lpbts", "mts", "ts", scale="same")
    yield compare(claim, {"": regret}, kind="ratio", below=COMPARABLE, note=gap_closed(*regret.values()), headline=True)
    for scale, title in SCALES.items():
        claim = f"{title}: knowing the orderings is vastly better than plain TS."
        regret = final("lpbts", "ts", NARROW, scale=scale)
        yield compare(claim, {"": regret}, kind="ratio", below=VASTLY, headline=scale == "different")
    claim = "m = 5, k = 10: lpbTS has less regret than TS limited to the actions that are best in some state."
    by_scale = {title.lower(): final("lpbts", "ts-top", scale=scale) for scale, title in SCALES.items()}
    yield compare(claim, by_scale, below=0, headline=True)
    claim = "Different scales: lpbTS has less regret than mTS."
    yield compare(claim, {"": final("lpbts", "mts", scale="different")}, below=0, headline=True)
    for scale, policies in (("same", ("mts", "lpbts")), ("different", ("lpbts", "mts"))):
        one, other = (TITLES[policy] for policy in policies)
        claim = f"{SCALES[scale]}: the regret of {one} varies less over people than that of {other}."
        deviations = final(*policies, column="regret_sd", scale=scale)
        yield compare(claim, {"": deviations}, measure=f"sd of {one} − of {other}", below=0)
    for scale, title in SCALES.items():
        claim = f"{title}: mTS is vastly better than TS, and than TS limited to the top actions."
        regret = final("mts", "ts", "ts-top", scale=scale)
        ratios = {name: regret["mTS"] / regret[name] for name in ("TS", "TS top actions")}
        yield judge(claim, ratios, kind="ratio", measure="mTS / TS", below=VASTLY, detail=means_text(regret))
    yield compare(
        "The regret of plain TS depends on its Gaussian prior.",
        {"": final(NARROW, "ts", scale="same")},
        kind="ratio",
        measure="TS with N(0, 1) / TS with N(0, 100²)",
        above=CONSTANT,
        note="; with a narrow prior, TS locks in on the first action it tries",
        beyond=True,
    )


def one_draw_is_not_enough(table: pl.DataFrame) -> Iterator[Claim]:
    gaps = ends(table, "lpbts", "different") - ends(table, "ts-top", "different")
    yield judge(
        "m = 5, k = 10: one draw of the orderings is not enough to rank lpbTS and TS on the top actions.",
        (gaps < 0).astype(float),
        kind="share",
        measure="share of the draws in which lpbTS has less regret",
        above=1 - NEARLY_ALWAYS,
        below=NEARLY_ALWAYS,
        detail=f"lpbTS − TS top actions from {gaps.min():.1f} to {gaps.max():.1f} by draw, sd {gaps.std():.1f}",
        beyond=True,
    )


def duel_claims(table: pl.DataFrame) -> Iterator[Claim]:
    final = table.filter(kind="final")
    regret = {title.lower(): by_policy(final, *DUELS, comparison=how) for how, title in COMPARISONS.items()}
    claim = "Relative feedback: lpb-duel has less strong regret than double Thompson sampling."
    yield compare(claim, regret, below=0, beyond=True)
    alone = per_draw(final.drop_nulls("true_state_alone"), "lpb-duel", "true_state_alone", comparison="rewards")
    words = f"{alone.mean():.2f} for people whose best action is best in no other state: " if len(alone) else ""
    yield judge(
        "Relative feedback: the posterior of lpb-duel identifies the true state.",
        per_draw(final, "lpb-duel", "true_state", comparison="rewards"),
        measure="probability of the true state, mean over people",
        above=IDENTIFIED,
        detail=f"{words}duels with the best action do not distinguish states that share it",
        beyond=True,
    )


def pairing_costs(table: pl.DataFrame) -> Iterator[Claim]:
    claim = "Rewards compared in consecutive pairs are used very inefficiently."
    regret = by_policy(table, PAIRED, "lpbts", "lpb-duel", kind="final")
    yield compare(claim, {"": regret}, kind="ratio", above=INEFFICIENT)


CHECKS = [
    Check(("regret-curves",), curve_claims),
    Check(("regret-curves",), one_draw_is_not_enough),
    Check(("duels",), duel_claims),
    Check(("pairing",), pairing_costs),
]
