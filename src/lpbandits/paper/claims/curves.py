"""Claims about the regret curves: five states and ten actions, on both scales."""

from functools import partial

from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, VASTLY, Check, Claim, Tables, compare, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.sweeps import NARROW
from lpbandits.typing import FloatArray

WORDS = {"same": "Same scale", "different": "Different scales"}
TITLES = {"lpbts": "lpbTS", "mts": "mTS", "ts": "TS", "ts-top": "TS top actions", NARROW: "TS with N(0, 1)"}
NEARLY_ALWAYS = 0.95
"""Share of draws from which one policy nearly always loses less."""


def ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    """Return the final regret, or another column, of a policy per draw."""
    return per_draw(tables["regret-curves"], policy, column, kind="final", scale=scale)


def _named(tables: Tables, scale: str, *policies: str, column: str = "regret") -> dict[str, FloatArray]:
    """Return the final values of policies per draw, by title."""
    return {TITLES[policy]: ends(tables, policy, scale, column) for policy in policies}


def gap_closed(lpbts: FloatArray, mts: FloatArray, ts: FloatArray) -> str:
    """Return the share of the gap from TS to mTS that lpbTS closes, as text."""
    return (
        f": lpbTS closes {float((ts.mean() - lpbts.mean()) / (ts.mean() - mts.mean())):.0%} of the gap from TS to mTS"
    )


def lpbts_is_comparable(tables: Tables) -> Claim:
    regret = _named(tables, "same", "lpbts", "mts", "ts")
    claim = "Same scale: lpbTS is comparable to mTS."
    return compare(claim, {"": regret}, kind="ratio", below=COMPARABLE, note=gap_closed(*regret.values()))


def loses_less(tables: Tables, claim: str, scale: str, one: str, other: str) -> Claim:
    return compare(claim, {"": _named(tables, scale, one, other)}, below=0)


def varies_less(tables: Tables, scale: str, one: str, other: str) -> Claim:
    claim = f"{WORDS[scale]}: {TITLES[one]} varies less over people than {TITLES[other]}."
    spread = _named(tables, scale, one, other, column="regret_sd")
    return compare(claim, {"": spread}, measure=f"sd of {TITLES[one]} − of {TITLES[other]}", below=0)


def vastly_better_than_ts(tables: Tables, scale: str) -> Claim:
    claim = f"{WORDS[scale]}: knowing the orderings is vastly better than plain TS."
    return compare(claim, {"": _named(tables, scale, "lpbts", "ts", NARROW)}, kind="ratio", below=VASTLY)


def mts_is_vastly_better(tables: Tables, scale: str) -> Claim:
    regret = _named(tables, scale, "mts", "ts", "ts-top")
    mts, *others = regret
    claim = f"{WORDS[scale]}: mTS is vastly better than TS, also than TS limited to the top actions."
    ratios = {name: regret[mts] / regret[name] for name in others}
    return judge(claim, ratios, kind="ratio", measure="mTS / TS", below=VASTLY, detail=means_text(regret))


def top_actions_lose_more(tables: Tables) -> Claim:
    claim = "m = 5, k = 10: lpbTS loses less than TS limited to the actions that are best in some state."
    regret = {title.lower(): _named(tables, scale, "lpbts", "ts-top") for scale, title in WORDS.items()}
    return compare(claim, regret, below=0)


def ts_prior_decides(tables: Tables) -> Claim:
    return compare(
        "What plain TS loses hinges on its Gaussian prior.",
        {"": _named(tables, "same", NARROW, "ts")},
        kind="ratio",
        measure="TS with N(0, 1) / TS with N(0, 100²)",
        above=CONSTANT,
        note="; a narrow prior locks onto the first action tried",
        beyond=True,
    )


def one_draw_is_not_enough(tables: Tables) -> Claim:
    gaps = ends(tables, "lpbts", "different") - ends(tables, "ts-top", "different")
    return judge(
        "m = 5, k = 10: one draw of the orderings is not enough to rank lpbTS and TS on the top actions.",
        (gaps < 0).astype(float),
        kind="share",
        measure="share of the draws in which lpbTS loses less",
        above=1 - NEARLY_ALWAYS,
        below=NEARLY_ALWAYS,
        detail=f"lpbTS − TS top actions from {gaps.min():.1f} to {gaps.max():.1f} by draw, sd {gaps.std():.1f}",
        beyond=True,
    )


_NEEDS = ("regret-curves",)
_KNOWS_MEANS = "Same scale: mTS, which knows the means, loses less than lpbTS."
_FAILS = "Different scales: lpbTS loses less than mTS."

CHECKS = [
    Check(_NEEDS, partial(loses_less, claim=_KNOWS_MEANS, scale="same", one="mts", other="lpbts"), headline=True),
    Check(_NEEDS, lpbts_is_comparable, headline=True),
    Check(_NEEDS, partial(varies_less, scale="same", one="mts", other="lpbts")),
    Check(_NEEDS, partial(vastly_better_than_ts, scale="same")),
    Check(_NEEDS, partial(vastly_better_than_ts, scale="different"), headline=True),
    Check(_NEEDS, top_actions_lose_more, headline=True),
    Check(_NEEDS, partial(loses_less, claim=_FAILS, scale="different", one="lpbts", other="mts"), headline=True),
    Check(_NEEDS, partial(varies_less, scale="different", one="lpbts", other="mts")),
    Check(_NEEDS, partial(mts_is_vastly_better, scale="same")),
    Check(_NEEDS, partial(mts_is_vastly_better, scale="different")),
    Check(_NEEDS, ts_prior_decides),
    Check(_NEEDS, one_draw_is_not_enough),
]
