"""Claims about regret by round, with five states and ten actions: rewards on both scales, duels and pairs."""

from collections.abc import Iterator

from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, VASTLY, Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.curves import COMPARISONS, PAIRED, SCALES
from lpbandits.paper.figures.sweeps import NARROW
from lpbandits.typing import FloatArray

TITLES = {"lpbts": "lpbTS", "mts": "mTS", "ts": "TS", "ts-top": "TS top actions", NARROW: "TS with N(0, 1)"}
NEARLY_ALWAYS = 0.95
"""One policy nearly always loses less than another if it does so in at least this share of draws."""
ON = 0.9
"""Probability from which a posterior has identified a state."""
INEFFICIENT = 2.0
"""Rewards are used very inefficiently if the ratio of regrets is above this factor."""


def ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    """Return the final regret, or another column, of a policy per draw."""
    return per_draw(tables["regret-curves"], policy, column, kind="final", scale=scale)


def gap_closed(lpbts: FloatArray, mts: FloatArray, ts: FloatArray) -> str:
    """Return the share of the gap from TS to mTS that lpbTS closes, as text."""
    share = float((ts.mean() - lpbts.mean()) / (ts.mean() - mts.mean()))
    return f": lpbTS closes {share:.0%} of the gap from TS to mTS"


def curve_claims(tables: Tables) -> Iterator[Claim]:
    def named(scale: str, *policies: str, column: str = "regret") -> dict[str, FloatArray]:
        return {TITLES[policy]: ends(tables, policy, scale, column) for policy in policies}

    claim = "Same scale: mTS, which knows the means, loses less than lpbTS."
    yield compare(claim, {"": named("same", "mts", "lpbts")}, below=0, headline=True)
    claim = "Same scale: lpbTS is comparable to mTS."
    regret = named("same", "lpbts", "mts", "ts")
    yield compare(claim, {"": regret}, kind="ratio", below=COMPARABLE, note=gap_closed(*regret.values()), headline=True)
    for scale, title in SCALES.items():
        claim = f"{title}: knowing the orderings is vastly better than plain TS."
        regret = named(scale, "lpbts", "ts", NARROW)
        yield compare(claim, {"": regret}, kind="ratio", below=VASTLY, headline=scale == "different")
    claim = "m = 5, k = 10: lpbTS loses less than TS limited to the actions that are best in some state."
    by_scale = {title.lower(): named(scale, "lpbts", "ts-top") for scale, title in SCALES.items()}
    yield compare(claim, by_scale, below=0, headline=True)
    claim = "Different scales: lpbTS loses less than mTS."
    yield compare(claim, {"": named("different", "lpbts", "mts")}, below=0, headline=True)
    for scale, policies in (("same", ("mts", "lpbts")), ("different", ("lpbts", "mts"))):
        one, other = (TITLES[policy] for policy in policies)
        claim = f"{SCALES[scale]}: {one} varies less over people than {other}."
        spread = named(scale, *policies, column="regret_sd")
        yield compare(claim, {"": spread}, measure=f"sd of {one} − of {other}", below=0)
    for scale, title in SCALES.items():
        claim = f"{title}: mTS is vastly better than TS, also than TS limited to the top actions."
        regret = named(scale, "mts", "ts", "ts-top")
        ratios = {name: regret["mTS"] / regret[name] for name in ("TS", "TS top actions")}
        yield judge(claim, ratios, kind="ratio", measure="mTS / TS", below=VASTLY, detail=means_text(regret))
    yield compare(
        "What plain TS loses hinges on its Gaussian prior.",
        {"": named("same", NARROW, "ts")},
        kind="ratio",
        measure="TS with N(0, 1) / TS with N(0, 100²)",
        above=CONSTANT,
        note="; a narrow prior locks onto the first action tried",
        beyond=True,
    )


def one_draw_is_not_enough(tables: Tables) -> Iterator[Claim]:
    gaps = ends(tables, "lpbts", "different") - ends(tables, "ts-top", "different")
    yield judge(
        "m = 5, k = 10: one draw of the orderings is not enough to rank lpbTS and TS on the top actions.",
        (gaps < 0).astype(float),
        kind="share",
        measure="share of the draws in which lpbTS loses less",
        above=1 - NEARLY_ALWAYS,
        below=NEARLY_ALWAYS,
        detail=f"lpbTS − TS top actions from {gaps.min():.1f} to {gaps.max():.1f} by draw, sd {gaps.std():.1f}",
        beyond=True,
    )


def duel_claims(tables: Tables) -> Iterator[Claim]:
    duels = tables["duels"]
    titles = {"lpb-duel": "lpb-duel", "double-ts": "double TS", "double-ts-top": "double TS top actions"}
    regret = {
        words.lower(): {title: per_draw(duels, name, kind="final", comparison=how) for name, title in titles.items()}
        for how, words in COMPARISONS.items()
    }
    claim = "Relative feedback: lpb-duel's strong regret is below double Thompson sampling's."
    yield compare(claim, regret, below=0, beyond=True)
    ends = duels.filter(kind="final", policy="lpb-duel", comparison="rewards").sort("draw")
    alone = ends["true_state_alone"].drop_nulls().to_numpy()
    words = f"{alone.mean():.2f} for people whose best action no other state shares: " if len(alone) else ""
    yield judge(
        "Relative feedback: lpb-duel's posterior ends on the true state.",
        ends["true_state"].to_numpy(),
        measure="its probability, over everyone",
        above=ON,
        detail=f"{words}duels with the best action do not separate states that share it",
        beyond=True,
    )


def pairing_costs(tables: Tables) -> Iterator[Claim]:
    titles = {PAIRED: "lpbTS on pairs", "lpbts": "lpbTS", "lpb-duel": "lpb-duel"}
    regret = {title: per_draw(tables["pairing"], name, kind="final") for name, title in titles.items()}
    claim = "Rewards compared in consecutive pairs are used very inefficiently."
    yield compare(claim, {"": regret}, kind="ratio", above=INEFFICIENT)


CHECKS = [
    Check(("regret-curves",), curve_claims),
    Check(("regret-curves",), one_draw_is_not_enough),
    Check(("duels",), duel_claims),
    Check(("pairing",), pairing_costs),
]
