"""Claims about the regret curves: five states and ten actions, on both scales."""

from functools import partial

from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, VASTLY, Check, Claim, Tables, judge
from lpbandits.paper.claims.numbers import means_text, per_draw
from lpbandits.paper.figures.sweeps import NARROW
from lpbandits.typing import FloatArray

WORDS = {"same": "Same scale", "different": "Different scales"}
NEARLY_ALWAYS = 0.95
"""Share of draws from which one policy nearly always loses less."""


def ends(tables: Tables, policy: str, scale: str, column: str = "regret") -> FloatArray:
    """Return the final regret, or another column, of a policy per draw."""
    return per_draw(tables["regret-curves"], policy, column, kind="final", scale=scale)


def mts_wins_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = ends(tables, "mts", "same"), ends(tables, "lpbts", "same")
    claim = "Same scale: mTS, which knows the means, loses less than lpbTS."
    return judge(claim, mts - lpb, measure="mTS − lpbTS", below=0, detail=means_text({"mTS": mts, "lpbTS": lpb}))


def lpbts_is_comparable(tables: Tables) -> Claim:
    mts, lpb, ts = (ends(tables, name, "same") for name in ("mts", "lpbts", "ts"))
    closed = float((ts.mean() - lpb.mean()) / (ts.mean() - mts.mean()))
    detail = means_text({"mTS": mts, "lpbTS": lpb, "TS": ts}) + f": lpbTS closes {closed:.0%} of the gap from TS to mTS"
    claim = "Same scale: lpbTS is comparable to mTS."
    return judge(claim, lpb / mts, kind="ratio", measure="lpbTS / mTS", below=COMPARABLE, detail=detail)


def mts_varies_less_on_the_same_scale(tables: Tables) -> Claim:
    mts, lpb = (ends(tables, name, "same", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Same scale: mTS varies less over people than lpbTS."
    detail = means_text({"mTS": mts, "lpbTS": lpb})
    return judge(claim, mts - lpb, measure="sd of mTS − of lpbTS", below=0, detail=detail)


def vastly_better_than_ts(tables: Tables, scale: str) -> Claim:
    lpb, ts, narrow = (ends(tables, name, scale) for name in ("lpbts", "ts", NARROW))
    detail = means_text({"lpbTS": lpb, "TS with a weak prior": ts, "TS with N(0, 1)": narrow})
    claim = f"{WORDS[scale]}: knowing the orderings is vastly better than plain TS."
    return judge(claim, lpb / ts, kind="ratio", measure="lpbTS / TS", below=VASTLY, detail=detail)


def mts_is_vastly_better(tables: Tables, scale: str) -> Claim:
    mts, ts, top = (ends(tables, name, scale) for name in ("mts", "ts", "ts-top"))
    claim = f"{WORDS[scale]}: mTS is vastly better than TS, also than TS limited to the top actions."
    detail = means_text({"mTS": mts, "TS": ts, "TS top actions": top})
    parts = {"TS": mts / ts, "TS top actions": mts / top}
    return judge(claim, parts, kind="ratio", measure="mTS / TS", below=VASTLY, detail=detail)


def top_actions_lose_more(tables: Tables) -> Claim:
    gaps, words = {}, []
    for scale, title in WORDS.items():
        lpb, top = ends(tables, "lpbts", scale), ends(tables, "ts-top", scale)
        gaps[title.lower()] = lpb - top
        words.append(f"{title.lower()}: " + means_text({"lpbTS": lpb, "TS top actions": top}))
    claim = "m = 5, k = 10: lpbTS loses less than TS limited to the actions that are best in some state."
    return judge(claim, gaps, measure="lpbTS − TS top actions", below=0, detail="; ".join(words))


def mts_fails_on_different_scales(tables: Tables) -> Claim:
    mts, lpb = ends(tables, "mts", "different"), ends(tables, "lpbts", "different")
    claim = "Different scales: lpbTS loses less than mTS."
    return judge(claim, lpb - mts, measure="lpbTS − mTS", below=0, detail=means_text({"lpbTS": lpb, "mTS": mts}))


def lpbts_varies_less(tables: Tables) -> Claim:
    mts, lpb = (ends(tables, name, "different", "regret_sd") for name in ("mts", "lpbts"))
    claim = "Different scales: lpbTS varies less over people than mTS."
    detail = means_text({"lpbTS": lpb, "mTS": mts})
    return judge(claim, lpb - mts, measure="sd of lpbTS − of mTS", below=0, detail=detail)


def ts_prior_decides(tables: Tables) -> Claim:
    weak, narrow = ends(tables, "ts", "same"), ends(tables, NARROW, "same")
    return judge(
        "What plain TS loses hinges on its Gaussian prior.",
        narrow / weak,
        kind="ratio",
        measure="TS with N(0, 1) / TS with N(0, 100²)",
        above=CONSTANT,
        detail=means_text({"weak prior": weak, "N(0, 1)": narrow})
        + "; a narrow prior locks onto the first action tried",
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

CHECKS = [
    Check(_NEEDS, mts_wins_on_the_same_scale, headline=True),
    Check(_NEEDS, lpbts_is_comparable, headline=True),
    Check(_NEEDS, mts_varies_less_on_the_same_scale),
    Check(_NEEDS, partial(vastly_better_than_ts, scale="same")),
    Check(_NEEDS, partial(vastly_better_than_ts, scale="different"), headline=True),
    Check(_NEEDS, top_actions_lose_more, headline=True),
    Check(_NEEDS, mts_fails_on_different_scales, headline=True),
    Check(_NEEDS, lpbts_varies_less),
    Check(_NEEDS, partial(mts_is_vastly_better, scale="same")),
    Check(_NEEDS, partial(mts_is_vastly_better, scale="different")),
    Check(_NEEDS, ts_prior_decides),
    Check(_NEEDS, one_draw_is_not_enough),
]
