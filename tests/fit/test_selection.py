"""Test the choice of the number of states on planted worlds, and its densities against a plain implementation."""

from typing import Any

import numpy as np
import pytest

from lpbandits.data import Ratings
from lpbandits.data.blocks import as_blocks
from lpbandits.errors import InvalidInput
from lpbandits.fit import TwoStage, choose_states, fit_states, selection
from lpbandits.fit.methods.mixture import Components
from lpbandits.fit.pipeline import open_blocks
from lpbandits.fit.selection import StateCurve
from lpbandits.fit.strengths import Projections, Strengths, fit_strengths
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
    """With one class, people who follow the ordering more and less strongly count as several states."""
    logs = [planted(seed, 1, kind="strengths") for seed in range(4)]
    assert [choose_states(log, candidates=[1, 2, 3]).states for log in logs] == [1] * 4
    monkeypatch.setattr("lpbandits.fit.strengths.SLOPES", (1.0,))
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


def example() -> tuple[Ratings, Components, Strengths]:
    rng = np.random.default_rng(0)
    rows = [(n, a, 4 * rng.normal()) for n in range(30) for a in rng.choice(6, 2 + n % 5, replace=False).tolist()]
    rows += [(30, a, 2.0) for a in range(3)]
    components = Components(rng.normal(0, 1, (6, 2)), np.array([0.7, 0.3]), 0.8)
    classes = np.array([0.5, 0.2, 0.3]), np.array([0.4, 1.1, 1.6]), np.array([0.9, 0.5, 0.2])
    return log_from(rows), components, Strengths(components.shares, *classes)


def test_densities_equal_their_twin() -> None:
    log, components, strengths = example()
    real = Projections.of(as_blocks(log), components).densities(strengths)
    varied = np.arange(31) < 30
    classes = list(zip(*strengths[1:], strict=True))
    twin = [
        naive.log_density(y, components.means.T, strengths.states, classes) for y in naive.own_units(log, varied)[:30]
    ]
    np.testing.assert_allclose(real[:30], twin, rtol=1e-9)
    assert real[30] == 0  # equal ratings carry no information


def test_fitted_strengths_are_a_maximum_of_the_density() -> None:
    log = planted(3, 2, kind="strengths")
    rng = np.random.default_rng(1)
    components = Components(rng.normal(0, 1, (10, 2)), np.array([0.6, 0.4]), 0.8)
    people = Projections.of(as_blocks(log), components)
    start = Strengths(components.shares, np.full(3, 1 / 3), np.array([0.5, 1.0, 1.5]), np.full(3, 0.8))
    fitted = fit_strengths(people, components)
    best = people.densities(fitted).sum()
    assert best > people.densities(start).sum() + 1
    for part in ("slopes", "variances"):
        for factor in (0.8, 1.25):
            moved = fitted._replace(**{part: getattr(fitted, part) * factor})
            assert people.densities(moved).sum() < best


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


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"actions": 6, "rated": 4}, "4 ratings (fewer than 6)"),
        ({"actions": 8, "rated": 8, "kind": "ranks"}, "ranked 8 actions"),
        ({"actions": 20, "rated": 10, "kind": "thumbs"}, "10 ratings (fewer than 20) of at most 3 values"),
        ({"actions": 6, "rated": 6}, ""),
        ({"actions": 16, "rated": 15, "kind": "ranks"}, ""),
        (THUMBS, ""),
        (STARS, ""),
    ],
    ids=str,
)
def test_a_log_in_which_one_ordering_can_count_as_several_states_is_doubted(
    options: dict[str, Any], reason: str
) -> None:
    doubt = choose_states(planted(0, 1, people=60, **options), candidates=[1]).doubt
    assert reason in doubt if reason else doubt == ""


def test_an_automatic_fit_of_rankings_warns() -> None:
    log = planted(0, 1, actions=6, rated=6, people=60, kind="ranks")
    report = fit_states(log, TwoStage(), states="auto", max_states=2, taste=False).report
    (warning,) = [note for note in report.warnings if "ranked 6" in note]
    assert "--states 5" in warning
    assert "lpb evaluate" in warning


def test_a_choice_needs_people_whose_ratings_differ() -> None:
    log = log_from([(n, a, a * (n < 7)) for n in range(20) for a in range(3)])
    with pytest.raises(InvalidInput, match=r"states='auto'.*8.*7"):
        choose_states(log)
    with pytest.raises(InvalidInput, match=r"candidates.*\[99\]"):
        choose_states(planted(0, 1, people=20), candidates=[99])
