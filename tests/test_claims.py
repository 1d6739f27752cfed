"""Every claim on made-up tables for which the verdict is known: as it says, against it, and too noisy to tell."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lpbandits.paper.claims import CHECKS, check_claims
from lpbandits.paper.claims.check import (
    ALIKE,
    COMPARABLE,
    CONSTANT,
    LEAST_DRAWS,
    VASTLY,
    Check,
    Claim,
    Tables,
    interval,
    judge,
)
from lpbandits.paper.claims.data import NEAR
from lpbandits.paper.claims.synthetic import SAME_SWEEPS
from lpbandits.paper.claims.theory import INEFFICIENT, ON
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import NOTHING, RECOVERED, TRUE
from lpbandits.typing import FloatArray

DRAWS = 6
RAW, FREE = RECOVERED

Row = dict[str, Any]


def table(rows: Iterable[Row], draws: int = DRAWS, noise: float = 0.002, seed: int = 0) -> pl.DataFrame:
    """Return the rows once per draw, every number a little different in each."""
    rng = np.random.default_rng(seed)
    out = []
    for row in rows:
        for draw in range(draws):
            luck = {k: v * math.exp(noise * rng.standard_normal()) for k, v in row.items() if k in MEASURES}
            out.append({**row, **luck, "draw": draw})
    return pl.DataFrame(out)


MEASURES = {"regret", "regret_sd", "active_all", "value", "true_state", "true_state_alone", "error"}


def curves() -> list[Row]:
    ends = {
        "same": {"lpbts": (18, 8), "mts": (15, 5), "ts": (60, 9), "ts-top": (45, 9), "ts-narrow": (61, 9)},
        "different": {"lpbts": (18, 8), "mts": (60, 50), "ts": (60, 9), "ts-top": (45, 9), "ts-narrow": (61, 9)},
    }
    for policies in ends.values():
        policies["lpbts-incremental"] = policies["lpbts"]
    return [
        {"kind": "final", "scale": scale, "policy": policy, "regret": mean, "regret_sd": sd}
        for scale, policies in ends.items()
        for policy, (mean, sd) in policies.items()
    ]


def sweep(xs: Iterable[float], **policies: Callable[[int, float], float]) -> list[Row]:
    """Return a row per value and policy; a policy's regret is given by the value's place and the value."""
    named = {name.replace("_", "-"): regret for name, regret in policies.items()}
    return [
        {"x": float(x), "policy": name, "regret": regret(i, x), "active_all": 1.0 + i}
        for i, x in enumerate(xs)
        for name, regret in named.items()
    ]


def flat(level: float) -> Callable[[int, float], float]:
    return lambda _i, _x: level


def duels() -> list[Row]:
    return [
        {
            "kind": "final",
            "comparison": comparison,
            "policy": policy,
            "regret": regret,
            "true_state": 0.95,
            "true_state_alone": 0.99,
        }
        for comparison in ("rewards", "bradley-terry")
        for policy, regret in (("lpb-duel", 50.0), ("double-ts", 300.0), ("double-ts-top", 100.0))
    ]


def recovery() -> list[Row]:
    return [
        {"method": method, "log": log, "scale": scale, "people": people, "error": error}
        for method in ("two-stage", "two-stage-cosine", "em")
        for log in ("complete", "incomplete")
        for scale in ("same", "different")
        for people, error in ((50, 0.4), (500, 0.2), (1600, 0.1))
    ]


def movielens() -> list[Row]:
    rows = []
    for environment in ("same", "different", "different-noisy"):
        lpb, mts = (15.0, 12.0) if environment == "same" else (14.0, 20.0)
        learned = 1.3 if environment == "same" else 1.2
        error = 0.5 if environment == "same" else 0.3
        for policy, level, regret in (
            ("lpbts", TRUE, lpb),
            ("mts", TRUE, mts),
            ("mts-common", TRUE, mts + 1),
            ("ts-top", TRUE, 30.0),
            ("ts", NOTHING, 300.0),
            *(
                (p, level, learned * r)
                for level in RECOVERED
                for p, r in (("lpbts", lpb), ("mts", mts), ("ts-top", 30))
            ),
        ):
            row = {"kind": "final", "environment": environment, "policy": policy, "level": level, "regret": regret}
            rows.append({**row, "error": error if level in RECOVERED else 0.0})
    return rows


@functools.cache
def sentences(draws: int = DRAWS, noise: float = 0.002) -> Tables:
    """Return tables on which every sentence holds."""
    sizes, states, gaps = (5, 10, 20), (5, 10, 20, 50, 100), (0.1, 0.2, 0.5, 1.0)
    rising = [10.0, 15.0, 20.0, 20.0, 20.0]
    both = {"lpbts": flat(20.0), "mts": lambda i, _: 50.0 * (i + 1), "ts": flat(90.0)}
    rows = {
        "regret-curves": curves(),
        "vary-both": sweep(sizes, **both),
        "vary-states": sweep(
            states,
            lpbts=lambda i, _: rising[i],
            mts=lambda i, _: 5 * rising[i],
            ts_top=lambda i, _: 3 * rising[i],
            ts=lambda i, _: (10 - i) * rising[i],
        ),
        "vary-gap": sweep(gaps, lpbts=flat(20.0), mts=lambda i, _: 20.0 + 10 * i),
        "vary-gap-wide": sweep(gaps, lpbts=flat(20.0), mts=lambda i, _: 20.0 + 10 * i),
        "vary-actions": sweep(sizes, lpbts=flat(20.0), lpbts_incremental=flat(20.0), ts=lambda i, _: 60.0 + 20 * i),
        "vary-noise": sweep((0.5, 1, 2), lpbts=flat(20.0)),
        **{name: sweep(sizes, lpbts=flat(20.0), mts=flat(10.0)) for name in SAME_SWEEPS},
        "bound-size": [
            {"x": float(x), "policy": kind, "value": value / (i + 1)}
            for i, x in enumerate(sizes)
            for kind, value in (("bound-preference", 5.0), ("lpbts", 8.0), ("ts", 30.0), ("bound-plain", 20.0))
        ],
        "duels": duels(),
        "pairing": [
            {"kind": "final", "policy": policy, "regret": regret}
            for policy, regret in (("lpbts", 20.0), ("lpb-paired", 60.0), ("lpb-duel", 40.0))
        ],
        "recovery": recovery(),
        "movielens-1m": movielens(),
    }
    return {name: table(content, draws, noise, seed=i) for i, (name, content) in enumerate(rows.items())}


def times(factor: float, figure: str, column: str = "regret", **where: Any) -> Callable[[Tables], Tables]:
    """Return a change of tables: some numbers times a factor."""

    def change(tables: Tables) -> Tables:
        rows = pl.all_horizontal(pl.col(name) == value for name, value in where.items())
        old = tables[figure]
        assert old.filter(rows).height, "the change must meet some rows"
        new = old.with_columns(pl.when(rows).then(pl.col(column) * factor).otherwise(pl.col(column)).alias(column))
        return {**tables, figure: new}

    return change


ML = "movielens-1m"
FAULTS: dict[str, Callable[[Tables], Tables]] = {
    "Same scale: mTS, which knows": times(2, "regret-curves", policy="mts", scale="same"),
    "Same scale: lpbTS is comparable": times(0.5, "regret-curves", policy="mts", scale="same"),
    "Same scale: mTS varies less": times(3, "regret-curves", "regret_sd", policy="mts", scale="same"),
    "Same scale: knowing the orderings": times(0.5, "regret-curves", policy="ts", scale="same"),
    "Different scales: knowing the orderings": times(0.5, "regret-curves", policy="ts", scale="different"),
    "m = 5, k = 10: lpbTS loses less": times(0.3, "regret-curves", policy="ts-top", scale="same"),
    "Different scales: lpbTS loses less than mTS": times(0.2, "regret-curves", policy="mts", scale="different"),
    "Different scales: lpbTS varies less": times(0.1, "regret-curves", "regret_sd", policy="mts", scale="different"),
    "TS's regret does not depend": times(2, "regret-curves", policy="ts-narrow", scale="same"),
    "m = 5, k = 10: one draw": times(0.3, "regret-curves", policy="ts-top", scale="different"),
    "Different scales, k = m: the regret of mTS grows": times(0.1, "vary-both", policy="mts", x=20.0),
    "Different scales, k = m: the regret of lpbTS is fairly": times(1.4, "vary-both", policy="lpbts", x=20.0),
    "Active constraints of lpbTS grow with k = m": times(0.1, "vary-both", "active_all", policy="lpbts", x=20.0),
    "Different scales: TS limited": times(0.5, "vary-states", policy="ts-top", x=10.0),
    "k = 20: regret rises": times(0.1, "vary-states", policy="mts", x=20.0),
    "k = 20: regret is flat": times(1.2, "vary-states", policy="lpbts", x=100.0),
    "k = 20: more states shrink": times(2, "vary-states", policy="ts", x=100.0),
    "Different scales, k = 20 fixed": times(0.1, "vary-states", policy="mts", x=5.0),
    "Different scales, interval as printed": times(0.1, "vary-gap", policy="mts", x=1.0),
    "Different scales: lpbTS stays stably low": times(0.5, "vary-gap", policy="lpbts", x=1.0),
    "Different scales, levels that spread": times(0.1, "vary-gap-wide", policy="mts", x=1.0),
    "Active constraints of lpbTS grow with k (m = 10)": times(
        0.1, "vary-actions", "active_all", policy="lpbts", x=20.0
    ),
    "The benefit over plain TS grows": times(0.5, "vary-actions", policy="ts", x=20.0),
    "The paper's two forms": times(1.3, "regret-curves", policy="lpbts-incremental", scale="same"),
    "Active constraints of lpbTS grow with the noise": times(0.1, "vary-noise", "active_all", policy="lpbts", x=2.0),
    "Same scale: mTS loses less than lpbTS in every": times(3, "vary-gap-same", policy="mts", x=10.0),
    "The more actions and states": times(3, "bound-size", "value", policy="bound-preference", x=20.0),
    "lpbTS's regret grows no slower": times(0.5, "bound-size", "value", policy="lpbts", x=5.0),
    "Relative feedback: lpb-duel's strong": times(0.1, "duels", policy="double-ts", comparison="bradley-terry"),
    "Relative feedback: lpb-duel's posterior": times(0.8, "duels", "true_state", policy="lpb-duel"),
    "Rewards compared in consecutive pairs": times(0.5, "pairing", policy="lpb-paired"),
    "MovieLens 1M, same scale: lpbTS is comparable": times(2, ML, policy="lpbts", level=TRUE, environment="same"),
    "MovieLens 1M, different scales, no noise: mTS": times(0.5, ML, policy="mts-common", environment="different"),
    "MovieLens 1M, different scales, noise of": times(0.5, ML, policy="mts", environment="different-noisy"),
    "MovieLens 1M, same scale: recovered": times(2, ML, policy="lpbts", level=RAW, environment="same"),
    "MovieLens 1M, different scales: recovered": times(2, ML, policy="lpbts", level=RAW, environment="different"),
    "MovieLens 1M: a model learned": times(3, ML, "error", policy="lpbts", level=RAW, environment="different"),
    "MovieLens 1M, same scale: with the same": times(0.2, ML, policy="ts-top", level=FREE, environment="same"),
    "MovieLens 1M, different scales: with the same": times(
        0.2, ML, policy="ts-top", level=RAW, environment="different"
    ),
    "MovieLens 1M, different scales, noisy: with the same": times(
        0.2, ML, policy="ts-top", level=RAW, environment="different-noisy"
    ),
    "The error of two-stage recovery, raw": times(
        9, "recovery", "error", method="two-stage", log="incomplete", scale="same", people=1600
    ),
    "The error of EM": times(9, "recovery", "error", method="em", log="complete", scale="same", people=1600),
    "Two-stage recovery, clustering": times(
        2, "recovery", "error", method="two-stage", log="incomplete", scale="different", people=1600
    ),
    "The error of two-stage recovery, scale-free": times(
        9, "recovery", "error", method="two-stage-cosine", log="complete", scale="same", people=1600
    ),
}
"""How each claim's sentence begins, and a change that makes it wrong."""


@functools.cache
def checks() -> dict[str, Check]:
    """Return every check that the tables allow, by its sentence."""
    possible = [check for check in CHECKS if all(name in sentences() for name in check.needs)]
    return {check.run(sentences()).claim: check for check in possible}


def found(start: str, tables: Tables) -> Claim:
    (check,) = [check for sentence, check in checks().items() if sentence.startswith(start)]
    return check.run(tables)


def test_every_claim_has_its_fault() -> None:
    claims = check_claims(sentences())
    without_data = [check for check in CHECKS if not check.needs[0].startswith(("movielens-20m", "movielens-32m"))]
    assert len(claims) == len(without_data) == len(FAULTS)
    for start in FAULTS:
        found(start, sentences())


def test_every_claim_needs_figures_that_exist() -> None:
    assert {name for check in CHECKS for name in check.needs} <= set(FIGURES)
    assert all(claim.figures for claim in check_claims(sentences()))


@pytest.mark.parametrize("start", FAULTS)
def test_a_claim_holds_on_numbers_as_it_says_and_fails_on_others(start: str) -> None:
    assert found(start, sentences()).verdict == "holds"
    assert found(start, FAULTS[start](sentences())).verdict == "does not hold"


@pytest.mark.parametrize("start", FAULTS)
def test_two_draws_settle_nothing(start: str) -> None:
    assert found(start, sentences(draws=2)).verdict == "not settled"
    assert found(start, FAULTS[start](sentences(draws=2))).verdict == "not settled"
    assert found(start, sentences(draws=1)).verdict == "not settled"


def test_what_the_numbers_cannot_tell_is_not_settled() -> None:
    settled = [claim for claim in check_claims(sentences(noise=2.0)) if claim.verdict != "not settled"]
    assert len(settled) <= 0.1 * len(FAULTS), "an interval leaves out the truth in one of twenty cases"


def test_the_ranges_are_as_stated() -> None:
    assert (COMPARABLE, VASTLY, CONSTANT, ALIKE, NEAR, ON, INEFFICIENT) == (1.5, 0.5, 1.25, 1.1, 0.05, 0.9, 2.0)
    assert LEAST_DRAWS == 3


@pytest.mark.parametrize("draws", [2, 3, 5, 20])
def test_the_interval_is_students(draws: int) -> None:
    values = np.random.default_rng(draws).normal(size=draws)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(np.array(interval(values)), np.array([theirs.low, theirs.high]), rtol=1e-12, atol=1e-12)


def test_policies_are_paired_within_a_draw() -> None:
    """Draws differ a thousand times more than the policies do within one."""
    level = np.array([10.0, 20000.0, 3000.0, 400.0])
    made = judge("A", level + np.array([1.0, 1.1, 0.9, 1.0]) - level, measure="A − B", above=0)
    assert made.verdict == "holds"
    tables = sentences()
    both = tables["regret-curves"].with_columns(pl.col("regret") + 1e4 * (pl.col("draw") + 1))
    assert found("Different scales: lpbTS loses less than mTS", {**tables, "regret-curves": both}).verdict == "holds"
    shuffled = both.sample(fraction=1.0, shuffle=True, seed=1)
    assert (
        found("Different scales: lpbTS loses less than mTS", {**tables, "regret-curves": shuffled}).verdict == "holds"
    )


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([-1.0, -1.1, -0.9], "holds"),
        ([1.0, 1.1, 0.9], "does not hold"),
        ([-1.0, 1.0, 0.5], "not settled"),
        ([-1.0, -1.0], "not settled"),
        ([-1.0], "not settled"),
    ],
)
def test_a_verdict_follows_the_interval(values: list[float], verdict: str) -> None:
    made = judge("A loses less.", np.array(values), measure="A − B", below=0)
    assert made.verdict == verdict
    assert made.standard == "below 0"


def test_two_standard_errors_are_not_enough_at_three_draws() -> None:
    """At three draws t is 4.3: an effect of three standard errors is not settled, at thirty draws it is."""

    def values(draws: int) -> FloatArray:
        base = np.linspace(-1.0, 1.0, draws)
        return np.asarray(3.0 * base.std(ddof=1) / math.sqrt(draws) + base)

    assert judge("A", values(3), measure="m", above=0).verdict == "not settled"
    assert judge("A", values(30), measure="m", above=0).verdict == "holds"


def test_a_claim_over_settings_needs_each_and_one_of_many_may_fail_by_chance() -> None:
    rng = np.random.default_rng(0)
    good = {f"k = {i}": 5.0 + rng.normal(size=5) for i in range(20)}
    assert judge("A", good, measure="m", above=0).verdict == "holds"
    bad = np.array([-1.0, -1.4, -0.6, -1.6, -0.2])  # its own interval lies below 0; not with Bonferroni's correction
    assert judge("A", bad, measure="m", above=0).verdict == "does not hold"
    among = judge("A", {**good, "k = 20": bad}, measure="m", above=0)
    assert among.verdict == "not settled"
    assert among.parts[0].where == "k = 20"
    assert among.where_text == "k = 20; holds in 20 of 21"
    clearly = judge("A", {**good, "k = 20": bad - 5.0}, measure="m", above=0)
    assert clearly.verdict == "does not hold"


def test_a_margin_is_part_of_the_claim() -> None:
    slightly = np.array([1.3, 1.32, 1.28, 1.31])
    assert judge("A", slightly, measure="m", below=COMPARABLE).verdict == "holds"
    assert judge("A", slightly, measure="m", above=1 / CONSTANT, below=CONSTANT).verdict == "does not hold"
    assert judge("A", slightly, measure="m", above=1 / 1.3, below=1.3).verdict == "not settled"


def test_duels_are_judged_on_everyone() -> None:
    subgroup = times(0.5, "duels", "true_state", policy="lpb-duel")(sentences())
    claim = found("Relative feedback: lpb-duel's posterior", subgroup)
    assert claim.verdict == "does not hold"
    assert "0.99" in claim.detail
