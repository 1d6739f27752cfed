"""Claims on generated tables with known verdicts: true, false and too noisy to settle."""

import functools
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from lpbandits.errors import InvalidInput
from lpbandits.paper.claims import CHECKS, check_claims
from lpbandits.paper.claims.check import COMPARABLE, CONSTANT, Check, Claim, Tables, interval, judge
from lpbandits.paper.claims.numbers import per_draw
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import RECOVERED, TRUE
from lpbandits.typing import FloatArray
from tests.claim_tables import MEASURES, sentences

ONE_DRAW = "m = 5, k = 10: one draw"
"""This claim does not hold on tables on which the others do: there lpbTS leads in every draw."""

SCALES = ("same scale", "different scales")
LOGS = tuple(f"{log} logs, {scale} scale" for log in ("complete", "incomplete") for scale in ("same", "different"))
LEVELS = (TRUE, *RECOVERED)
STEPS = ("k 5 → 10", "k 10 → 20")
GAPS = ("Δ 0.1 → 0.2", "Δ 0.2 → 0.5", "Δ 0.5 → 1")
ALL_STATES = ("m 5 → 10", "m 10 → 20", "m 20 → 50", "m 50 → 100")
THREE = ("lpbTS", "mTS", "TS top actions")
WORLDS = (
    *("m = 5, k = 5, Δ = 0.2", "m = 10, k = 10, Δ = 0.2", "m = 20, k = 20, Δ = 0.2", "m = 5, k = 20, Δ = 0.2"),
    *(f"m = 10, k = 20, Δ = {gap}" for gap in ("0.1", "0.2", "0.5", "1")),
    "m = 10, k = 5, Δ = 0.2",
)
MEANS = ("expected means", "common means")
LADDER_SIZES = ("m = 5, k = 10", "m = 10, k = 20", "m = 20, k = 20")
LADDER_GAPS = tuple(
    f"{size}, {gaps}" for size in LADDER_SIZES[:2] for gaps in ("paper", "exponential", "cliff", "steps")
)

PARTS: dict[str, tuple[str, ...]] = {
    "Same scale: mTS, which knows": ("",),
    "Same scale: lpbTS is comparable": ("",),
    "Same scale: mTS varies less": ("",),
    "Same scale: knowing the orderings": ("",),
    "Different scales: knowing the orderings": ("",),
    "m = 5, k = 10: lpbTS loses less": SCALES,
    "Different scales: lpbTS loses less than mTS": ("",),
    "Different scales: lpbTS varies less": ("",),
    "Same scale: mTS is vastly better": ("TS", "TS top actions"),
    "Different scales: mTS is vastly better": ("TS", "TS top actions"),
    "What plain TS loses hinges": ("",),
    "Different scales, k = m: the regret of mTS grows": STEPS,
    "Different scales, k = m: the regret of lpbTS is fairly": ("k 10 / k 5", "k 20 / k 5"),
    "Different scales: active constraints of lpbTS grow with k = m": STEPS,
    "Same scale: active constraints of lpbTS grow with k = m": STEPS,
    "Different scales: TS limited": ("m = 5, k = 10", *(f"m = {m}, k = 20" for m in (5, 10, 20, 50, 100))),
    "k = 20: regret rises": tuple(f"{name}, {step}" for name in THREE for step in ALL_STATES[:2]),
    "k = 20: regret is flat": tuple(f"{name}, m {m} / m 20" for name in THREE for m in (50, 100)),
    "Different scales, k = 20: more states shrink the benefit of lpbTS": ALL_STATES,
    "Different scales, k = 20: more states shrink the benefit of mTS": ALL_STATES,
    "Different scales, k = 20 fixed (so the interval too): mTS still": tuple(f"m = {m}" for m in (5, 10, 20, 50, 100)),
    "Different scales, k = 20 fixed (so the interval too): mTS does not": ("",),
    "Different scales, interval as printed": GAPS,
    "Different scales: lpbTS stays stably low": tuple(f"Δ {gap} / Δ 0.1" for gap in ("0.2", "0.5", "1")),
    "Different scales, levels that spread": GAPS,
    "Different scales: active constraints of lpbTS grow with k (m = 10)": STEPS,
    "Same scale: active constraints of lpbTS grow with k (m = 10)": STEPS,
    "Different scales: the benefit of lpbTS over plain TS grows": STEPS,
    "The paper's two forms": (
        *(f"m = 10, k = {k}" for k in (5, 10, 20)),
        *(f"m = 5, k = 10, {scale}" for scale in SCALES),
    ),
    "Different scales: active constraints of lpbTS grow with the noise": ("σ 0.5 → 1", "σ 1 → 2"),
    "Same scale: mTS loses less than lpbTS in every": WORLDS,
    "The more actions and states": STEPS,
    "lpbTS's regret grows no slower": tuple(f"k = m = {k}" for k in (5, 10, 20)),
    "Relative feedback: lpb-duel's strong": ("noisy rewards compared", "bradley-terry"),
    "Relative feedback: lpb-duel's posterior": ("",),
    "Rewards compared in consecutive pairs": ("",),
    "MovieLens 1M, same scale: lpbTS is comparable": ("",),
    "MovieLens 1M, different scales: with the true model, mTS": MEANS,
    "MovieLens 1M, same scale: recovered": ("",),
    "MovieLens 1M, different scales: recovered": ("",),
    "MovieLens 1M: recovered orderings are further": ("no noise", "noisy"),
    "MovieLens 1M: a model learned": ("noise on the same scale only", "noise on both"),
    "MovieLens 1M, different scales, noisy: recovered": ("",),
    **{
        f"MovieLens 1M, {where}: with the same model, true or recovered, lpbTS loses less than {rival}": LEVELS
        for where in ("same scale", "different scales", "different scales, noisy")
        for rival in ("mTS", "TS on its top actions")
    },
    "MovieLens 1M: with the common means": ("different scales", "different scales, noisy"),
    "The error of two-stage recovery, raw": LOGS,
    "The error of EM": LOGS,
    "Two-stage recovery, clustering": LOGS,
    "The error of two-stage recovery, scale-free": LOGS,
    "On the rewards of lpbTS, the exact posterior": ("m=5 k=10", "m=10 k=20"),
    "The bound is unevenly loose": ("m=5 k=10", "m=10 k=20"),
    "MovieLens 1M: with the recovered model, shrunk": ("same scale", "different scales, noisy"),
    "MovieLens 1M: lpb-ids with the recovered model, shrunk": (*SCALES, "different scales, noisy"),
    "m = 5: lpbTS by the exact posterior": LADDER_SIZES[:1],
    "k = 20: lpbTS by the exact posterior": LADDER_SIZES[1:],
    "Different scales: lpb-ids loses about a third": LADDER_SIZES,
    "Different scales: mTS fails": LADDER_SIZES,
    "The worst served 5 %": (*LADDER_SIZES, *LADDER_GAPS),
    "The worst served 1 %": (*LADDER_SIZES, *LADDER_GAPS),
    "For all gaps": LADDER_GAPS,
    "With a quarter": tuple(f"m = 10, k = 20, {noise}" for noise in ("0.25", "0.5", "2", "4")),
    "With half the true noise": ("",),
    "With people who deviate": tuple(f"m = 10, k = 20, {swap}" for swap in ("0.1", "0.3")),
    "With wrong orderings": tuple(f"m = 10, k = 20, {error}" for error in ("0.05", "0.1", "0.2", "0.4")),
    "With orderings of error 1 − τ = 0.4, lpbTS": ("m = 10, k = 20, 0.4",),
    "With orderings of error 1 − τ = 0.4, lpb-": ("lpb-utility", "lpb-ids"),
    "With heavy tails": ("m = 10, k = 20, student",),
}
"""The beginning of each claim's sentence, and all of its settings."""

IDS, MARGINAL = {"lpb-ids", "lpbts"}, {"lpbts-marginal", "lpbts"}
LADDER_CLAIMS: dict[str, tuple[set[str], str]] = {
    "m = 5: lpbTS by the exact posterior": (MARGINAL, "regret"),
    "k = 20: lpbTS by the exact posterior": (MARGINAL, "regret"),
    "Different scales: lpb-ids loses about a third": (IDS, "regret"),
    "Different scales: mTS fails": ({"mts", "ts"}, "regret"),
    "The worst served 5 %": (IDS, "regret_q95"),
    "The worst served 1 %": (IDS, "regret_q99"),
    "For all gaps": (IDS, "regret"),
    "With a quarter": (IDS, "regret"),
    "With people who deviate": (IDS, "regret"),
    "With wrong orderings": (IDS, "regret"),
    "With orderings of error 1 − τ = 0.4, lpbTS": ({"lpbts", "ts-top"}, "regret"),
    "With orderings of error 1 − τ = 0.4, lpb-": ({"lpb-utility", "lpb-ids", "ts-top"}, "regret"),
    "With heavy tails": (IDS, "regret"),
}
"""Policies of each claim of the ladder, and the column that it reads."""

RANGES = {
    "below 1.5": ("lpbTS is comparable", ": recovered orderings are competitive"),
    "below 0.5": ("is vastly better", "mTS does not grow as"),
    "between 0.8 and 1.25": ("fairly constant", "stably low"),
    "between 0.909 and 1.1": ("is flat", "about the same", "loses about as much"),
    "above 1.25": ("hinges on",),
    "above 0": (
        "grows with k",
        "constraints of lpbTS grow",
        "regret rises",
        "make mTS worse",
        "grows no slower",
        "more probability than",
    ),
    "below 1": ("shrink the benefit", "more robust", "% lose less with", "still lose less than"),
    "above 1": ("TS grows as actions", "are further from", "mTS fails", "lpbTS loses more than TS on"),
    "below 0.8": ("a fifth less",),
    "below 0.87": ("an eighth less",),
    "below 0.68": ("a third less",),
    "below 0.85": ("clearly less",),
    "below 0.9": ("a tenth less",),
    "below 0.7": ("30 % less",),
    "below 28": ("stays below 28",),
    "above 0.9": ("ends on the true state",),
    "above 0.693147": ("wrong by more than a factor of 2",),
    "above 2": ("very inefficiently", "more than twice as much"),
    "below 0.05": ("about as good as EM",),
    "below 0": (
        "loses less than",
        "varies less",
        "is worse than",
        "still loses more",
        "smaller the bound",
        "is below double",
        "is below lpbTS",
        "falls as people",
    ),
    "between 0.05 and 0.95": ("one draw of the orderings",),
}
"""Phrases of claims by their range."""


@functools.cache
def checks() -> dict[str, Check]:
    """Return every check that the tables allow, by its sentence."""
    possible = [check for check in CHECKS if all(name in sentences() for name in check.needs)]
    return {check.run(sentences()).claim: check for check in possible}


def check_of(start: str) -> Check:
    (check,) = [check for sentence, check in checks().items() if sentence.startswith(start)]
    return check


def run_check(start: str, tables: Tables) -> Claim:
    return check_of(start).run(tables)


def _reads(start: str, figure: str, column: str) -> bool:
    """Return whether a claim depends on a column of a figure."""
    tables = sentences()
    other = tables[figure].with_columns(pl.col(column) * pl.int_range(1, pl.len() + 1).sqrt())
    return run_check(start, {**tables, figure: other}) != run_check(start, tables)


def perturbed(start: str) -> list[Claim]:
    """Return the claim with the values of one policy in one setting multiplied or divided by 20, for each of them."""
    out = []
    tables = sentences()
    for figure in check_of(start).needs:
        old = tables[figure]
        keys = [name for name in old.columns if name not in MEASURES | {"draw"}]
        ends = old.filter(pl.col("kind") == "final") if "kind" in keys else old
        columns = [column for column in sorted(MEASURES & set(old.columns)) if _reads(start, figure, column)]
        for key in ends.select(keys).unique(maintain_order=True).iter_rows(named=True):
            here = pl.all_horizontal(pl.col(name) == value for name, value in key.items())
            for column in columns:
                for factor in (1 / 20, 20.0):
                    changed = pl.when(here).then(pl.col(column) * factor).otherwise(pl.col(column))
                    out.append(run_check(start, {**tables, figure: old.with_columns(changed.alias(column))}))
    return out


def test_all_claims_are_listed() -> None:
    claims = [claim for claim in check_claims(sentences()) if not claim.claim.startswith(ONE_DRAW)]
    assert len(claims) == len(PARTS)
    for start in PARTS:
        run_check(start, sentences())
    without_data = [check for check in CHECKS if not check.needs[0].startswith(("movielens-20m", "movielens-32m"))]
    assert len(without_data) == len(PARTS) + 1
    assert 10 <= sum(claim.headline for claim in claims) <= 15


def test_phrases_determine_ranges() -> None:
    for claim in check_claims(sentences()):
        ranges = {limits for limits, words in RANGES.items() if any(word in claim.claim for word in words)}
        assert claim.standard in ranges, claim.claim
        assert len(ranges) == 1, claim.claim


def test_claims_need_existing_figures() -> None:
    assert {name for check in CHECKS for name in check.needs} <= set(FIGURES)
    assert all(claim.figures for claim in check_claims(sentences()))


@pytest.mark.parametrize("start", PARTS)
def test_claim_holds_in_all_settings_on_matching_tables(start: str) -> None:
    claim = run_check(start, sentences())
    assert claim.verdict == "holds"
    assert sorted(part.where for part in claim.parts) == sorted(PARTS[start])
    assert {part.verdict for part in claim.parts} == {"holds"}


@pytest.mark.parametrize("start", PARTS)
def test_one_failing_setting_makes_a_claim_fail_at_either_limit(start: str) -> None:
    high: set[str] = set()
    low: set[str] = set()
    for claim in perturbed(start):
        for part in claim.parts:
            if part.verdict == "does not hold":
                assert claim.verdict == "does not hold"
                assert claim.parts[0].verdict == "does not hold"
                assert part.effect is not None
                (low if claim.above is not None and part.effect < claim.above else high).add(part.where)
    claim = run_check(start, sentences())
    assert low == (set() if claim.above is None else set(PARTS[start]))
    assert high == (set() if claim.below is None else set(PARTS[start]))


@pytest.mark.parametrize("start", LADDER_CLAIMS)
def test_ladder_claim_depends_on_its_policies_only(start: str) -> None:
    policies, measure = LADDER_CLAIMS[start]
    before = run_check(start, sentences()).parts
    for figure in check_of(start).needs:
        table = sentences()[figure]
        for policy in table["policy"].unique():
            for column in ("regret", "regret_q95", "regret_q99"):
                more = pl.when(policy=policy).then(1.5 * pl.col(column)).otherwise(column)
                parts = run_check(start, {**sentences(), figure: table.with_columns(more.alias(column))}).parts
                assert (parts != before) == (policy in policies and column == measure), (policy, column)


@pytest.mark.parametrize("start", PARTS)
def test_one_or_two_draws_settle_no_claim(start: str) -> None:
    assert run_check(start, sentences(draws=2)).verdict == "not settled"
    assert run_check(start, sentences(draws=1)).verdict == "not settled"


def test_noisy_tables_settle_few_claims() -> None:
    settled = [claim for claim in check_claims(sentences(noise=2.0)) if claim.verdict != "not settled"]
    assert len(settled) <= 0.1 * len(PARTS), "a 95 % interval misses the true value in one of twenty cases"


def test_recovered_models_are_paired_with_the_true_model_by_draw() -> None:
    claim = run_check("MovieLens 1M, same scale: recovered", sentences())
    assert claim.parts[0].draws == 4
    assert claim.parts[0].effect == pytest.approx(1.3, rel=0.01)


@pytest.mark.parametrize(("leads", "verdict"), [(140, "holds"), (200, "does not hold"), (193, "not settled")])
def test_verdict_on_ranking_from_one_draw(leads: int, verdict: str) -> None:
    rows = [
        {"kind": "final", "scale": "different", "policy": policy, "draw": draw, "regret": regret}
        for draw in range(200)
        for policy, regret in (("lpbts", 1.0), ("ts-top", 2.0 if draw < leads else 0.5))
    ]
    assert run_check(ONE_DRAW, {"regret-curves": pl.DataFrame(rows)}).verdict == verdict


@pytest.mark.parametrize("draws", [2, 3, 5, 20])
def test_interval_equals_students_t(draws: int) -> None:
    values = np.random.default_rng(draws).normal(size=draws)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose(np.array(interval(values)), np.array([theirs.low, theirs.high]), rtol=1e-12, atol=1e-12)
    ratios = np.array(interval(np.exp(values), kind="ratio"))
    np.testing.assert_allclose(np.log(ratios), np.array([theirs.low, theirs.high]), rtol=1e-12, atol=1e-12)


def test_inverted_ratio_has_the_inverse_effect() -> None:
    ratios = np.array([1.5, 2.5, 1.8, 2.2])
    one, other = (judge("A", r, kind="ratio", measure="m", above=1).parts[0] for r in (ratios, 1 / ratios))
    assert one.effect is not None
    assert other.effect is not None
    np.testing.assert_allclose(one.effect, 1 / other.effect)
    assert (one.verdict, other.verdict) == ("holds", "does not hold")


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([-1.0, -1.1, -0.9], "holds"),
        ([1.0, 1.1, 0.9], "does not hold"),
        ([-1.0, 1.0, 0.5], "not settled"),
        ([-1.0, -1.0, -1.0], "not settled"),
        ([-1.0, -1.1], "not settled"),
        ([-1.0], "not settled"),
        ([-1.0, -1.1, math.nan], "not settled"),
        ([-1.0, -1.1, -math.inf], "not settled"),
    ],
)
def test_verdict_follows_the_interval(values: list[float], verdict: str) -> None:
    claim = judge("A loses less.", np.array(values), measure="A − B", below=0)
    assert claim.verdict == verdict
    assert claim.standard == "below 0"
    assert (claim.above, claim.below) == (None, 0)


def test_ratio_with_a_zero_is_not_settled() -> None:
    claim = judge("A", np.array([1.0, 0.0, 1.2]), kind="ratio", measure="m", below=2)
    assert claim.verdict == "not settled"
    assert claim.effect_text == "–"


def test_three_standard_errors_settle_thirty_draws_but_not_three() -> None:
    """At three draws t is 4.3: an effect of three standard errors is not settled, at thirty draws it is."""

    def values(draws: int) -> FloatArray:
        base = np.linspace(-1.0, 1.0, draws)
        return np.asarray(3.0 * base.std(ddof=1) / math.sqrt(draws) + base)

    assert judge("A", values(3), measure="m", above=0).verdict == "not settled"
    assert judge("A", values(30), measure="m", above=0).verdict == "holds"


def test_claim_over_settings_has_bonferroni_correction() -> None:
    rng = np.random.default_rng(0)
    good = {f"k = {i}": 5.0 + rng.normal(size=5) for i in range(20)}
    assert judge("A", good, measure="m", above=0).verdict == "holds"
    bad = np.array([-1.0, -1.4, -0.6, -1.6, -0.2])  # its own interval lies below 0; not with Bonferroni's correction
    assert judge("A", bad, measure="m", above=0).verdict == "does not hold"
    among = judge("A", {**good, "k = 20": bad}, measure="m", above=0)
    assert among.verdict == "not settled"
    assert among.parts[0].where == "k = 20"
    assert among.where_text == "k = 20; holds in 20 of 21"
    assert among.parts[0].high is not None
    assert among.parts[0].high > 0, "the interval that is shown is the one that decides"
    np.testing.assert_allclose([part.level for part in among.parts], [1 - 0.05 / 21, *[0.95] * 20])
    assert judge("A", {**good, "k = 20": bad - 5.0}, measure="m", above=0).verdict == "does not hold"


def test_verdict_depends_on_the_range() -> None:
    slightly = np.array([1.3, 1.32, 1.28, 1.31])
    assert judge("A", slightly, measure="m", below=COMPARABLE).verdict == "holds"
    assert judge("A", slightly, measure="m", above=1 / CONSTANT, below=CONSTANT).verdict == "does not hold"
    assert judge("A", slightly, measure="m", above=1 / 1.3, below=1.3).verdict == "not settled"


def test_missing_draw_raises() -> None:
    gap = pl.DataFrame({"policy": "ts", "draw": [0, 2], "regret": [1.0, 2.0]})
    with pytest.raises(InvalidInput, match=r"ts.*0 to 1"):
        per_draw(gap, "ts")


def test_duels_are_judged_over_all_people() -> None:
    old = sentences()["duels"]
    tables = {**sentences(), "duels": old.with_columns(pl.col("true_state") * 0.5)}
    claim = run_check("Relative feedback: lpb-duel's posterior", tables)
    assert claim.verdict == "does not hold"
    assert "0.99" in claim.detail


def test_differences_are_paired_within_draws() -> None:
    level, noise = np.array([40.0, 10.0, 60.0, 20.0, 50.0, 30.0]), np.array([0.1, -0.1, 0.2, -0.2, 0.0, 0.1])
    columns = {"policy": np.repeat(["a", "b"], 6), "draw": np.tile(np.arange(6), 2)}
    table = pl.DataFrame({**columns, "regret": np.r_[level, level + 1 + noise]}).sample(
        fraction=1, shuffle=True, seed=1
    )
    a, b = per_draw(table, "a"), per_draw(table, "b")
    np.testing.assert_array_equal(a, level)
    np.testing.assert_allclose(b, level + 1 + noise)
    claim = judge("a loses less", a - b, measure="a − b", below=0)
    part = claim.parts[0]
    assert claim.verdict == "holds"
    assert part.low is not None
    assert part.high is not None
    assert part.high - part.low < 0.4  # unpaired, about 30
