"""Claims on generated tables with known verdicts: true, false and too noisy to settle."""

import functools
from collections.abc import Iterable

import polars as pl
import pytest

from lpbandits.paper.claims import CHECKS, check_claims
from lpbandits.paper.claims.check import Check, Claim
from lpbandits.paper.claims.curves import one_draw_is_not_enough
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import RECOVERED, TRUE
from tests.claim_tables import DRAWS, MEASURES, supporting_tables

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

CLAIMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Same scale: mTS, which knows": ("below 0", ("",)),
    "Same scale: lpbTS is comparable": ("below 1.5", ("",)),
    "Same scale: the regret of mTS varies less": ("below 0", ("",)),
    "Same scale: knowing the orderings": ("below 0.5", ("",)),
    "Different scales: knowing the orderings": ("below 0.5", ("",)),
    "m = 5, k = 10: lpbTS has less": ("below 0", SCALES),
    "Different scales: lpbTS has less regret than mTS": ("below 0", ("",)),
    "Different scales: the regret of lpbTS varies less": ("below 0", ("",)),
    "Same scale: mTS is vastly better": ("below 0.5", ("TS", "TS top actions")),
    "Different scales: mTS is vastly better": ("below 0.5", ("TS", "TS top actions")),
    "The regret of plain TS": ("above 1.25", ("",)),
    "Different scales, k = m: the regret of mTS grows": ("above 0", STEPS),
    "Different scales, k = m: the regret of lpbTS is fairly": ("between 0.8 and 1.25", ("k 10 / k 5", "k 20 / k 5")),
    "Different scales: active constraints of lpbTS grow with k = m": ("above 0", STEPS),
    "Same scale: active constraints of lpbTS grow with k = m": ("above 0", STEPS),
    "Different scales: TS limited": (
        "below 0.5",
        ("m = 5, k = 10", *(f"m = {m}, k = 20" for m in (5, 10, 20, 50, 100))),
    ),
    "k = 20: regret rises": ("above 0", tuple(f"{name}, {step}" for name in THREE for step in ALL_STATES[:2])),
    "k = 20: regret is flat": (
        "between 0.909 and 1.1",
        tuple(f"{name}, m {m} / m 20" for name in THREE for m in (50, 100)),
    ),
    "Different scales, k = 20: more states shrink the benefit of lpbTS": ("below 1", ALL_STATES),
    "Different scales, k = 20: more states shrink the benefit of mTS": ("below 1", ALL_STATES),
    "Different scales, k = 20, hence a fixed interval of levels: mTS still": (
        "below 0",
        tuple(f"m = {m}" for m in (5, 10, 20, 50, 100)),
    ),
    "Different scales, k = 20, hence a fixed interval of levels: the regret of mTS": ("below 0.5", ("",)),
    "Different scales, interval as printed": ("above 0", GAPS),
    "Different scales: the regret of lpbTS stays low": (
        "between 0.8 and 1.25",
        tuple(f"Δ {gap} / Δ 0.1" for gap in ("0.2", "0.5", "1")),
    ),
    "Different scales, interval that widens": ("above 0", GAPS),
    "Different scales: active constraints of lpbTS grow with k (m = 10)": ("above 0", STEPS),
    "Same scale: active constraints of lpbTS grow with k (m = 10)": ("above 0", STEPS),
    "Different scales: the benefit of lpbTS over plain TS grows": ("above 1", STEPS),
    "The paper's two forms": (
        "between 0.909 and 1.1",
        (*(f"m = 10, k = {k}" for k in (5, 10, 20)), *(f"m = 5, k = 10, {scale}" for scale in SCALES)),
    ),
    "Different scales: active constraints of lpbTS grow with the noise": ("above 0", ("σ 0.5 → 1", "σ 1 → 2")),
    "Same scale: mTS has less regret than lpbTS in every": ("below 0", WORLDS),
    "The more actions and states": ("below 0", STEPS),
    "The regret of lpbTS grows no slower": ("above 0", tuple(f"k = m = {k}" for k in (5, 10, 20))),
    "Relative feedback: lpb-duel has less strong": ("below 0", ("noisy rewards compared", "bradley-terry")),
    "Relative feedback: the posterior": ("above 0.9", ("",)),
    "Rewards compared in consecutive pairs": ("above 2", ("",)),
    "MovieLens 1M, same scale: lpbTS is comparable": ("below 1.5", ("",)),
    "MovieLens 1M, different scales: with the true model, mTS": ("below 0", MEANS),
    "MovieLens 1M, same scale: recovered": ("below 1.5", ("",)),
    "MovieLens 1M, different scales: recovered": ("below 1.5", ("",)),
    "MovieLens 1M: recovered orderings are further": ("above 1", ("no noise", "noisy")),
    "MovieLens 1M: a model from": ("below 1", ("noise on the same scale only", "noise on both")),
    "MovieLens 1M, different scales, noisy: recovered": ("below 1.5", ("",)),
    **{
        f"MovieLens 1M, {where}: with the same model, true or recovered, lpbTS has less regret than {rival}": (
            "below 0",
            LEVELS,
        )
        for where in ("same scale", "different scales", "different scales, noisy")
        for rival in ("mTS", "TS on its top actions")
    },
    "MovieLens 1M: with the common means": ("between 0.909 and 1.1", ("different scales", "different scales, noisy")),
    "The error of two-stage recovery (raw": ("below 0", LOGS),
    "The error of EM": ("below 0", LOGS),
    "Two-stage recovery (raw": ("below 0.05", LOGS),
    "The error of two-stage recovery (scale-free": ("below 0", LOGS),
    "On the rewards of lpbTS, the exact posterior": ("above 0", ("m=5 k=10", "m=10 k=20")),
    "The bound is not equally loose": ("above 0.693147", ("m=5 k=10", "m=10 k=20")),
    "MovieLens 1M: with the recovered model, shrunk": ("below 28", ("same scale", "different scales, noisy")),
    "MovieLens 1M: lpb-ids with the recovered model, shrunk": ("below 0", (*SCALES, "different scales, noisy")),
    "In 5 to 30 rounds": (
        "below 1",
        tuple(f"{size}, {rounds}" for size in LADDER_SIZES[:2] for rounds in (5, 10, 20, 30)),
    ),
    "In 5 rounds": ("below 1", tuple(f"{size}, 5" for size in LADDER_SIZES[:2])),
    "m = 5: lpbTS has a fifth less": ("below 0.8", LADDER_SIZES[:1]),
    "k = 20: lpbTS has an eighth less": ("below 0.87", LADDER_SIZES[1:]),
    "Different scales: lpb-ids has about a third": ("below 0.68", LADDER_SIZES),
    "Different scales: mTS, which knows": ("above 1", LADDER_SIZES),
    "The worst-served 5 %": ("below 1", (*LADDER_SIZES, *LADDER_GAPS)),
    "The worst-served 1 %": ("below 1", (*LADDER_SIZES, *LADDER_GAPS)),
    "For all gaps": ("below 0.85", LADDER_GAPS),
    "With a quarter": ("below 0.9", tuple(f"m = 10, k = 20, {noise}" for noise in ("0.25", "0.5", "2", "4"))),
    "With half the true noise": ("above 2", ("",)),
    "With people who deviate": ("below 0.85", tuple(f"m = 10, k = 20, {swap}" for swap in ("0.1", "0.3"))),
    "With wrong orderings": ("below 0.7", tuple(f"m = 10, k = 20, {error}" for error in ("0.05", "0.1", "0.2", "0.4"))),
    "With orderings of error 1 − τ = 0.4, lpbTS": ("above 1", ("m = 10, k = 20, 0.4",)),
    "With orderings of error 1 − τ = 0.4, lpb-": ("below 1", ("lpb-utility", "lpb-ids")),
    "With heavy tails": ("below 0.85", ("m = 10, k = 20, student",)),
}
"""The beginning of each claim's sentence, the range in which it holds, and all of its settings."""

IDS, MARGINAL = {"lpb-ids", "lpbts"}, {"lpbts-marginal", "lpbts"}
LADDER_CLAIMS: dict[str, tuple[set[str], str]] = {
    "In 5 to 30 rounds": ({"lpb-horizon", "lpb-ids"}, "regret"),
    "In 5 rounds": ({"lpb-horizon", "popular"}, "regret"),
    "m = 5: lpbTS has a fifth less": (MARGINAL, "regret"),
    "k = 20: lpbTS has an eighth less": (MARGINAL, "regret"),
    "Different scales: lpb-ids has about a third": (IDS, "regret"),
    "Different scales: mTS, which knows": ({"mts", "ts"}, "regret"),
    "The worst-served 5 %": (IDS, "regret_q95"),
    "The worst-served 1 %": (IDS, "regret_q99"),
    "For all gaps": (IDS, "regret"),
    "With a quarter": (IDS, "regret"),
    "With people who deviate": (IDS, "regret"),
    "With wrong orderings": (IDS, "regret"),
    "With orderings of error 1 − τ = 0.4, lpbTS": ({"lpbts", "ts-top"}, "regret"),
    "With orderings of error 1 − τ = 0.4, lpb-": ({"lpb-utility", "lpb-ids", "ts-top"}, "regret"),
    "With heavy tails": (IDS, "regret"),
}
"""Policies of each claim of the ladder, and the column that it reads."""


@functools.cache
def claims(draws: int = DRAWS, noise: float = 0.002) -> dict[str, Claim]:
    return by_sentence(check_claims(supporting_tables(draws, noise)))


def by_sentence(checked: Iterable[Claim]) -> dict[str, Claim]:
    return {claim.claim: claim for claim in checked}


def sentence_of(start: str) -> str:
    (sentence,) = [sentence for sentence in claims() if sentence.startswith(start)]
    return sentence


@functools.cache
def perturbations(figure: str) -> list[tuple[str, str, dict[str, Claim]]]:
    """Return policy, column and claims with the values of one policy in one setting multiplied or divided by 20."""
    tables = supporting_tables()
    old = tables[figure]
    keys = [name for name in old.columns if name not in MEASURES | {"draw"}]
    ends = old.filter(kind="final") if "kind" in keys else old
    checks = [check for check in CHECKS if figure in check.needs and set(check.needs) <= set(tables)]

    def run(chosen: list[Check], column: str, value: pl.Expr) -> dict[str, Claim]:
        new = {**tables, figure: old.with_columns(value.alias(column))}
        return by_sentence(claim for check in chosen for claim in check.run(new))

    out = []
    for column in sorted(MEASURES & set(old.columns)):
        ramp = pl.col(column) * pl.int_range(1, pl.len() + 1).sqrt()
        reading = [check for check in checks if run([check], column, ramp) != run([check], column, pl.col(column))]
        for key in ends.select(keys).unique(maintain_order=True).iter_rows(named=True) if reading else ():
            here = pl.all_horizontal(pl.col(name) == value for name, value in key.items())
            for factor in (1 / 20, 20.0):
                found = run(reading, column, pl.when(here).then(pl.col(column) * factor).otherwise(column))
                out.append((key.get("policy", ""), column, found))
    return out


def perturbed(start: str) -> list[tuple[str, str, Claim]]:
    """Return the perturbed policy and column, and the claim, of each perturbation of its figures."""
    claim = claims()[sentence_of(start)]
    every = [one for figure in claim.figures for one in perturbations(figure)]
    return [(policy, column, found[claim.claim]) for policy, column, found in every if claim.claim in found]


def test_all_claims_are_listed() -> None:
    listed = {sentence_of(start) for start in CLAIMS}
    (one_draw,) = set(claims()) - listed
    assert one_draw.startswith(ONE_DRAW)
    assert len(listed) == len(CLAIMS)
    without = {"simplex", "bound-states", "bound-gap", "first-rounds"}
    assert {name for check in CHECKS for name in check.needs} == set(FIGURES) - without
    assert 10 <= sum(claim.headline for claim in claims().values()) <= 15
    assert all(claim.figures for claim in claims().values())


@pytest.mark.parametrize("start", CLAIMS)
def test_claim_holds_in_all_settings_on_matching_tables(start: str) -> None:
    standard, parts = CLAIMS[start]
    claim = claims()[sentence_of(start)]
    assert (claim.verdict, claim.standard) == ("holds", standard)
    assert sorted(part.where for part in claim.parts) == sorted(parts)
    assert {part.verdict for part in claim.parts} == {"holds"}
    assert [claims(draws)[claim.claim].verdict for draws in (1, 2)] == ["not settled"] * 2


@pytest.mark.parametrize("start", CLAIMS)
def test_one_failing_setting_makes_a_claim_fail_at_either_limit(start: str) -> None:
    failed: dict[bool, set[str]] = {True: set(), False: set()}  # by whether the effect is below the range
    for _, _, claim in perturbed(start):
        for part in claim.parts:
            if part.verdict == "does not hold":
                assert claim.verdict == claim.parts[0].verdict == "does not hold"
                assert part.effect is not None
                failed[claim.above is not None and part.effect < claim.above].add(part.where)
    claim = claims()[sentence_of(start)]
    limits = {True: claim.above, False: claim.below}
    assert failed == {low: set() if limit is None else set(CLAIMS[start][1]) for low, limit in limits.items()}


@pytest.mark.parametrize("start", LADDER_CLAIMS)
def test_ladder_claim_depends_on_its_policies_only(start: str) -> None:
    policies, measure = LADDER_CLAIMS[start]
    before = claims()[sentence_of(start)].parts
    changed = {(policy, column) for policy, column, claim in perturbed(start) if claim.parts != before}
    assert changed == {(policy, measure) for policy in policies}


def test_noisy_tables_settle_few_claims() -> None:
    settled = [claim for claim in claims(noise=2.0).values() if claim.verdict != "not settled"]
    assert len(settled) <= 0.1 * len(CLAIMS), "a 95 % interval misses the true value in one of twenty cases"


def test_recovered_models_are_paired_with_the_true_model_by_draw() -> None:
    part = claims()[sentence_of("MovieLens 1M, same scale: recovered")].parts[0]
    assert part.draws == 4
    assert part.effect == pytest.approx(1.3, rel=0.01)


@pytest.mark.parametrize(("leads", "verdict"), [(140, "holds"), (200, "does not hold"), (193, "not settled")])
def test_verdict_on_ranking_from_one_draw(leads: int, verdict: str) -> None:
    rows = [
        {"kind": "final", "scale": "different", "policy": policy, "draw": draw, "regret": regret}
        for draw in range(200)
        for policy, regret in (("lpbts", 1.0), ("ts-top", 2.0 if draw < leads else 0.5))
    ]
    (claim,) = one_draw_is_not_enough(pl.DataFrame(rows))
    assert claim.verdict == verdict


def test_duels_are_judged_over_all_people() -> None:
    duels = supporting_tables()["duels"].with_columns(pl.col("true_state") * 0.5)
    _, claim = check_claims({"duels": duels})
    assert claim.verdict == "does not hold"
    assert "0.99" in claim.detail
