"""Claims on generated tables with known verdicts: true, false and too noisy to settle."""

import functools

import polars as pl
import pytest

from lpbandits.paper.claims import CHECKS, check_claims
from lpbandits.paper.claims.check import Check, Claim, Tables
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import RECOVERED, TRUE
from tests.claim_tables import MEASURES, supporting_tables

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
    possible = [check for check in CHECKS if all(name in supporting_tables() for name in check.needs)]
    return {check.run(supporting_tables()).claim: check for check in possible}


def check_of(start: str) -> Check:
    (check,) = [check for sentence, check in checks().items() if sentence.startswith(start)]
    return check


def run_check(start: str, tables: Tables) -> Claim:
    return check_of(start).run(tables)


def _reads(start: str, figure: str, column: str) -> bool:
    """Return whether a claim depends on a column of a figure."""
    tables = supporting_tables()
    other = tables[figure].with_columns(pl.col(column) * pl.int_range(1, pl.len() + 1).sqrt())
    return run_check(start, {**tables, figure: other}) != run_check(start, tables)


def perturbed(start: str) -> list[Claim]:
    """Return the claim with the values of one policy in one setting multiplied or divided by 20, for each of them."""
    out = []
    tables = supporting_tables()
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
    claims = [claim for claim in check_claims(supporting_tables()) if not claim.claim.startswith(ONE_DRAW)]
    assert len(claims) == len(PARTS)
    for start in PARTS:
        run_check(start, supporting_tables())
    without_data = [check for check in CHECKS if not check.needs[0].startswith(("movielens-20m", "movielens-32m"))]
    assert len(without_data) == len(PARTS) + 1
    assert 10 <= sum(claim.headline for claim in claims) <= 15


def test_phrases_determine_ranges() -> None:
    for claim in check_claims(supporting_tables()):
        ranges = {limits for limits, words in RANGES.items() if any(word in claim.claim for word in words)}
        assert claim.standard in ranges, claim.claim
        assert len(ranges) == 1, claim.claim


def test_claims_need_existing_figures() -> None:
    assert {name for check in CHECKS for name in check.needs} <= set(FIGURES)
    assert all(claim.figures for claim in check_claims(supporting_tables()))


@pytest.mark.parametrize("start", PARTS)
def test_claim_holds_in_all_settings_on_matching_tables(start: str) -> None:
    claim = run_check(start, supporting_tables())
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
    claim = run_check(start, supporting_tables())
    assert low == (set() if claim.above is None else set(PARTS[start]))
    assert high == (set() if claim.below is None else set(PARTS[start]))


@pytest.mark.parametrize("start", LADDER_CLAIMS)
def test_ladder_claim_depends_on_its_policies_only(start: str) -> None:
    policies, measure = LADDER_CLAIMS[start]
    before = run_check(start, supporting_tables()).parts
    for figure in check_of(start).needs:
        table = supporting_tables()[figure]
        for policy in table["policy"].unique():
            for column in ("regret", "regret_q95", "regret_q99"):
                more = pl.when(policy=policy).then(1.5 * pl.col(column)).otherwise(column)
                parts = run_check(start, {**supporting_tables(), figure: table.with_columns(more.alias(column))}).parts
                assert (parts != before) == (policy in policies and column == measure), (policy, column)


@pytest.mark.parametrize("start", PARTS)
def test_one_or_two_draws_settle_no_claim(start: str) -> None:
    assert run_check(start, supporting_tables(draws=2)).verdict == "not settled"
    assert run_check(start, supporting_tables(draws=1)).verdict == "not settled"


def test_noisy_tables_settle_few_claims() -> None:
    settled = [claim for claim in check_claims(supporting_tables(noise=2.0)) if claim.verdict != "not settled"]
    assert len(settled) <= 0.1 * len(PARTS), "a 95 % interval misses the true value in one of twenty cases"


def test_recovered_models_are_paired_with_the_true_model_by_draw() -> None:
    claim = run_check("MovieLens 1M, same scale: recovered", supporting_tables())
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


def test_duels_are_judged_over_all_people() -> None:
    tables = {**supporting_tables(), "duels": supporting_tables()["duels"].with_columns(pl.col("true_state") * 0.5)}
    claim = run_check("Relative feedback: lpb-duel's posterior", tables)
    assert claim.verdict == "does not hold"
    assert "0.99" in claim.detail
