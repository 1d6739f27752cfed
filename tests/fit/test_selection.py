"""Test the choice of the number of states on planted worlds, and its densities against a plain implementation."""

from typing import Any

import numpy as np
import pytest

from lpbandits.data import Ratings
from lpbandits.data.blocks import as_blocks
from lpbandits.errors import InvalidInput
from lpbandits.fit import TwoStage, choose_states, fit_states, selection
from lpbandits.fit.kernels.arrangements import arrangement_means, scaled_means
from lpbandits.fit.methods.mixture import Components
from lpbandits.fit.pipeline import open_blocks
from lpbandits.fit.selection import StateCurve
from lpbandits.fit.strengths import STRENGTHS, Shares, fit_shares, log_densities, log_sphere_mean, mixture_densities
from lpbandits.typing import IntArray
from tests import naive_recovery as naive
from tests.synthetic_recovery import log_from, paper_world


def planted(
    seed: int, states: int, *, actions: int = 10, rated: int = 10, people: int = 250, kind: str = "scales"
) -> Ratings:
    """Draw ratings of utilities plus noise on individual scales, as 5 stars or as thumbs up or down.

    With `kind` "strengths" the scale multiplies the utilities only, so that people follow their state more or less.
    """
    rng = np.random.default_rng([seed, states, actions])
    utilities = rng.normal(0, 1, (states, actions))
    rows = []
    for n in range(people):
        rated_actions = rng.choice(actions, rated, replace=False)
        level, scale, noise = 2 * rng.normal(), np.exp(0.5 * rng.normal()), rng.normal(0, 0.8, rated)
        x = utilities[n % states, rated_actions]
        rating = {
            "scales": level + scale * (x + noise),
            "strengths": level + scale * x + noise,
            "stars": np.clip(np.rint(3.3 + 0.2 * level + 0.8 * np.clip(scale, 0.5, 2) * (x + noise)), 1, 5),
            "ranks": np.argsort(np.argsort(x + noise)) + 1.0,
            "thumbs": (x + noise + 0.2 * level > 0) * 1.0,
        }[kind]
        rows += list(zip([n] * rated, rated_actions.tolist(), rating.tolist(), strict=True))
    return log_from(rows, actions=range(actions))


STARS: dict[str, Any] = {"actions": 20, "rated": 15, "kind": "stars"}
THUMBS: dict[str, Any] = {"actions": 30, "rated": 24, "kind": "thumbs"}


@pytest.mark.parametrize(
    ("states", "options"),
    [(1, {}), (3, {}), (1, STARS), (3, STARS), (3, THUMBS), (1, {"kind": "strengths"})],
    ids=lambda value: str(value) if isinstance(value, int) else value.get("kind", "scales"),
)
def test_the_planted_number_of_states_is_found(states: int, options: dict[str, Any]) -> None:
    for seed in range(2):
        curve = choose_states(planted(seed, states, **options), candidates=range(1, states + 3))
        assert curve.states == states
        assert curve.people == 250
        assert not curve.warnings()


def test_more_or_less_strongly_followed_orderings_are_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one strength, people who follow the ordering more and less strongly count as several states."""
    logs = [planted(seed, 1, kind="strengths") for seed in range(4)]
    assert [choose_states(log, candidates=[1, 2, 3]).states for log in logs] == [1] * 4
    monkeypatch.setattr("lpbandits.fit.strengths.STRENGTHS", (2.0,))
    assert [choose_states(log, candidates=[1, 2, 3]).states for log in logs] != [1] * 4


def test_an_automatic_fit_reports_the_curve() -> None:
    _, log, _ = paper_world(7, people=240, same_scale=False, rounds=80, states=3)
    fit = fit_states(log, TwoStage(), states="auto", taste=False)
    rows = fit.report.curve
    assert [row["states"] for row in rows if row["chosen"]] == [3] == [fit.report.states]
    assert [row["states"] for row in rows] == [1, 2, 3, 4, 5]  # 4 and 5 are worse, so 6 is not tried
    assert (fit.report.heldout_people, fit.report.heldout_fit_people) == (24, 216)
    assert not any("most that were tried" in note for note in fit.report.warnings)


def test_the_choice_does_not_depend_on_workers_or_files() -> None:
    log = planted(5, 2, people=120)
    plain = choose_states(log, candidates=[1, 2, 3], threads=1).rows()
    assert choose_states(log, candidates=[1, 2, 3], threads=2).rows() == plain
    with open_blocks(log, 2, 1) as blocks:
        assert choose_states(blocks, candidates=[1, 2, 3]).rows() == plain


def test_large_logs_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(people: IntArray, _: IntArray) -> IntArray:
        return people[::2]

    monkeypatch.setattr(selection, "subsample", half)
    assert choose_states(planted(0, 2), candidates=[1, 2]).people == 125
    monkeypatch.setattr(selection, "MAX_SCORED", 20)
    assert choose_states(planted(0, 2), candidates=[1, 2]).people == 80


def example() -> tuple[Ratings, Components, Shares]:
    rng = np.random.default_rng(0)
    rows = [(n, a, rng.normal()) for n in range(20) for a in rng.choice(6, 2 + n % 5, replace=False).tolist()]
    thumbs = enumerate(([0], [1, 2], [0, 3, 5], [4], [1, 4]), 20)
    rows += [(n, a, 1.0 * (a in ups)) for n, ups in thumbs for a in range(6)]
    components = Components(rng.normal(0, 1, (6, 2)), np.array([0.7, 0.3]), 0.8)
    strengths = np.arange(1.0, len(STRENGTHS) + 1)
    return log_from(rows), components, Shares(components.shares, strengths / strengths.sum())


@pytest.mark.jitless
@pytest.mark.parametrize(("norms", "atol"), [("exact", 1e-7), ("scaled", 0.03), ("sphere", 1e-7)])
def test_densities_equal_their_twin(norms: str, atol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin adds up all arrangements, scales their matrix until sums are 1, or integrates over the sphere."""
    if norms != "exact":
        monkeypatch.setattr("lpbandits.fit.strengths.MAX_TERMS", 0.01)
    if norms == "sphere":
        monkeypatch.setattr("lpbandits.fit.strengths.MAX_RATINGS", 0)
    log, components, shares = example()
    real = mixture_densities(log_densities(as_blocks(log), components), shares)
    classes = list(zip(shares.strengths, STRENGTHS, strict=True))
    people = naive.own_units(log, np.ones(25, dtype=np.bool_))
    twin = [naive.log_density(y, components.means.T, shares.states, classes, norms=norms) for y in people]
    np.testing.assert_allclose(real, twin, rtol=1e-6, atol=atol)


def test_means_over_arrangements_are_exact_where_they_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """People who ranked the same 9 actions share one computation; different ratings of 10 or more cost too much."""
    rng = np.random.default_rng(0)
    noted: dict[str, list[int]] = {"arrangement_means": [], "scaled_means": []}
    for kernel in (arrangement_means, scaled_means):

        def note(low: int, high: int, people: Any, *arrays: Any, kernel: Any = kernel) -> None:
            noted[kernel.__name__].extend(np.diff(people[0])[low:high].tolist())
            kernel(low, high, people, *arrays)

        monkeypatch.setattr(f"lpbandits.fit.strengths.{kernel.__name__}", note)
    rows = [(n, a, float(rank)) for n in range(20) for a, rank in enumerate(rng.permutation(9))]
    rows += [(n, a, rng.normal()) for n in range(20, 22) for a in range(8)]
    rows += [(n, a, rng.normal()) for n in range(22, 24) for a in range(10)]
    rows += [(24, a, float(a % 2)) for a in range(40)] + [(25, a, rng.normal()) for a in range(33)]
    log_densities(as_blocks(log_from(rows)), Components(rng.normal(0, 1, (40, 2)), np.array([0.5, 0.5]), 1.0))
    assert {name: sorted(counts) for name, counts in noted.items()} == {
        "arrangement_means": [8, 8, 9, 40],
        "scaled_means": [10, 10],
    }


def test_approximate_means_over_arrangements_are_close_to_exact_ones() -> None:
    """Of rankings, few values, one outlier and normal ratings; the mean over the sphere is off by up to 2 to 17."""
    rng, n = np.random.default_rng(1), 9
    ratings = [np.arange(n), np.arange(n) % 3, np.arange(n) == 4, *rng.normal(size=(3, n))]
    y = np.sort([(one - np.mean(one)) / np.std(one) for one in ratings], axis=1)
    people = np.arange(0, y.size + 1, n), np.tile(np.arange(n), len(y)), y.ravel()
    means, strengths = rng.normal(0, 0.75, (n, 4)), np.array(STRENGTHS)
    exact, scaled = np.empty((2, len(y), 4, len(strengths)))
    arrangement_means(0, len(y), people, means, strengths, exact)
    scaled_means(0, len(y), people, means, strengths, scaled)
    assert np.abs(scaled - exact).max() < 0.3
    assert np.abs(scaled - exact)[:, :, strengths <= 2].max() < 0.12
    concentration = strengths * n**0.5 * np.linalg.norm(means - means.mean(axis=0), axis=0)[:, None]
    sphere = log_sphere_mean(np.array(n - 1.0), np.asarray(concentration))
    assert np.abs(sphere - exact).max(axis=(1, 2)).min() > 2


def test_approximate_means_are_exact_for_two_ratings_and_for_equal_utilities() -> None:
    people = np.array([0, 2, 7]), np.array([0, 1, 0, 1, 2, 3, 4]), np.array([-1.0, 1.0, -2, -1, 0, 1, 2])
    means, strengths = np.array([[-0.3, 1.0], [0.5, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]), np.array([1.0, 8.0])
    out = np.empty((2, 2, 2))
    scaled_means(0, 2, people, means, strengths, out)
    np.testing.assert_allclose(out[0, 0], np.log(np.cosh(0.8 * strengths)), atol=1e-9)
    np.testing.assert_allclose(out[:, 1], 0.0, atol=1e-9)


def test_the_mean_over_the_sphere_is_continuous_in_the_dimension() -> None:
    """From 102 dimensions on, it is computed from an expansion."""
    concentration = np.array([0.1, 3.0, 30.0, 300.0])
    below, above = (log_sphere_mean(np.array(d), concentration) for d in (101.999999, 102.0))
    np.testing.assert_allclose(below, above, atol=2e-5)


def test_fitted_shares_do_not_depend_on_chunks_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    log, components, _ = example()
    densities = log_densities(as_blocks(log), components)
    one = fit_shares(densities, components.shares)
    monkeypatch.setattr("lpbandits.fit.strengths.CHUNK", 4)
    several = fit_shares(densities, components.shares)
    np.testing.assert_allclose(several.states, one.states, rtol=1e-12)
    np.testing.assert_allclose(mixture_densities(densities, several), mixture_densities(densities, one), rtol=1e-9)


def test_fitted_shares_are_a_maximum_of_the_density() -> None:
    utilities = np.random.default_rng([3, 2, 10]).normal(0, 1, (2, 10))  # those of `planted`
    components = Components(utilities.T.copy(), np.array([0.6, 0.4]), 0.8)
    densities = log_densities(as_blocks(planted(3, 2, kind="strengths")), components)
    fitted = fit_shares(densities, components.shares)
    best = mixture_densities(densities, fitted).sum()
    for name in ("states", "strengths"):
        shares = getattr(fitted, name)
        for z in range(len(shares)):
            moved = shares + 0.1 * (np.arange(len(shares)) == z)
            assert mixture_densities(densities, fitted._replace(**{name: moved / moved.sum()})).sum() < best


@pytest.mark.parametrize(
    "options",
    [
        {"actions": 6, "rated": 3},
        {"actions": 20, "rated": 6, "kind": "thumbs"},
        {"actions": 8, "rated": 8, "kind": "ranks"},
        {"actions": 12, "rated": 10, "kind": "ranks", "people": 500},
        {"actions": 10, "rated": 5, "kind": "stars"},
    ],
    ids=str,
)
def test_one_ordering_is_one_state_in_short_and_coarse_logs(options: dict[str, Any]) -> None:
    """A Gaussian density finds 2 to 12 states in each."""
    assert choose_states(planted(0, 1, **options), candidates=[1, 2, 3, 5, 8]).states == 1


def curve_of(below: list[float], error: list[float], people: int = 500) -> StateCurve:
    gaps, errors = np.array(below), np.array(error)
    states = 1 + int(np.flatnonzero(gaps <= errors)[0])
    return StateCurve(tuple(range(1, 1 + len(gaps))), -1.4 - gaps, gaps, errors, states, people)


def test_warnings_state_that_a_log_does_not_determine_the_number() -> None:
    assert curve_of([0.3, 0.0, 0.2], [0.1, 0.0, 0.1]).warnings() == []
    assert curve_of([0.3, 0.01, 0.0, 0.2], [0.1, 0.02, 0.0, 0.1]).warnings() == []
    flat = curve_of([0.03, 0.01, 0.0, 0.05, 0.08], [0.04, 0.02, 0.0, 0.01, 0.01]).warnings()
    assert len(flat) == 1
    assert "1 to 3 states" in flat[0]
    few = curve_of([0.0, 0.2, 0.3], [0.0, 0.1, 0.1], people=12).warnings()
    assert len(few) == 1
    assert "12 people" in few[0]
    most = curve_of([0.3, 0.1, 0.0], [0.1, 0.01, 0.0]).warnings()
    assert len(most) == 1
    assert "--max-states" in most[0]


def test_a_choice_needs_people_whose_ratings_differ() -> None:
    log = log_from([(n, a, a * (n < 7)) for n in range(20) for a in range(3)])
    with pytest.raises(InvalidInput, match=r"states='auto'.*8.*7"):
        choose_states(log)
    with pytest.raises(InvalidInput, match=r"candidates.*\[99\]"):
        choose_states(planted(0, 1, people=20), candidates=[99])
