"""Models, agents and logs of numbers of which low ones are good."""

import copy
import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.agent.explain import expected
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.inspection.inspect import inspect
from lpbandits.worlds import ReplayWorld
from tests.conftest import taste_for
from tests.logs import log_of

RANGE = (0.5, 4.0)
UP = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0]],
    actions=["rest", "drug A", "drug B"],
    means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
    utilities=[[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]],
    taste=taste_for(3),
    noise=0.7,
    reward_range=RANGE,
)
DOWN = UP.replace(lower_is_better=True)
OUTCOMES = [("rest", 3.5), ("drug B", 1.25), ("rest", 2.0)]
POLICIES = ("lpbts", "lpb-utility", "mts", "ts", "taste", "lpb-ids")


def agents(name: str) -> tuple[Agent, Agent]:
    """Return an agent that is told rewards, and one that is told their negatives, of which low ones are good."""
    up, down = (Agent(lpb.policy(model, name), seed=3, person="ann") for model in (UP, DOWN))
    for action, reward in OUTCOMES:
        up.tell(action, reward)
        down.tell(action, -reward)
    return up, down


@pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")
@pytest.mark.parametrize("name", POLICIES)
def test_an_agent_takes_and_reports_the_users_numbers(name: str) -> None:
    up, down = agents(name)
    assert [up.ask() for _ in range(5)] == [down.ask() for _ in range(5)]
    assert down.outcomes == [(action, -reward) for action, reward in OUTCOMES]
    np.testing.assert_array_equal(up.belief.slots, down.belief.slots)
    first, second = up.explain(), down.explain()
    assert {a: (n, -mean) for a, (n, mean) in first.tried.items()} == second.tried
    for one, other in zip(first.states, second.states, strict=True):
        assert (one.state, one.probability, one.blocks) == (other.state, other.probability, other.blocks)
        assert {a: -mean for a, mean in one.means.items()} == pytest.approx(other.means)
        turned = {a: tuple(None if x is None else -x for x in ends[::-1]) for a, ends in one.intervals.items()}
        assert turned == other.intervals
    assert list(first.forecasts) == list(second.forecasts)
    for a, one_forecast in first.forecasts.items():
        ends = second.forecasts[a]
        assert (-one_forecast.mean, -one_forecast.high, -one_forecast.low) == pytest.approx(
            (ends.mean, ends.low, ends.high)
        )
    np.testing.assert_array_equal(expected(down.policy, down.belief), -expected(up.policy, up.belief))


@pytest.mark.filterwarnings("ignore::lpbandits.errors.ScaleWarning")
def test_outcomes_are_saved_and_retracted_as_the_users_numbers() -> None:
    _, agent = agents("lpbts")
    agent.tell("drug A", -9.0, id="visit 4")
    agent.tell("drug A", -9.0, id="visit 4")
    with pytest.raises(InvalidInput, match=r"reward -9 for 'drug A', got reward 9 for"):
        agent.tell("drug A", 9.0, id="visit 4")
    with pytest.raises(InvalidInput, match=r"reward 2 for 'rest'.*-3\.5.*-2"):
        agent.retract("rest", 2.0)
    for again in (Agent.from_json(agent.to_json()), copy.deepcopy(agent), agent.with_model(DOWN)[0]):
        assert again.outcomes == agent.outcomes
        assert json.loads(again.to_json())["ids"] == [["visit 4", 3, "drug A", -9.0]]
        again.retract("drug A", -9.0, id="visit 4")
        assert again.outcomes == agents("lpbts")[1].outcomes
    assert agent.with_model(UP)[0].outcomes == agent.outcomes


def test_a_zero_has_no_sign() -> None:
    agent = Agent(lpb.policy(DOWN), seed=1)
    agent.tell("rest", 0.0)
    assert not np.signbit(agent.belief.slots).any()
    assert str(agent.explain()).startswith("tried: rest 0 (×1)")


def test_a_model_file_has_the_direction_only_if_it_is_turned(tmp_path: Path) -> None:
    DOWN.save(tmp_path / "m.json")
    assert lpb.PreferenceModel.load(tmp_path / "m.json").lower_is_better
    content = DOWN.to_dict()
    assert (content["version"], content["lower_is_better"]) == (4, True)
    assert "lower_is_better" not in UP.to_dict()
    assert DOWN.sha256 != UP.sha256
    assert "lower_is_better" in repr(DOWN)
    assert "lower_is_better" not in repr(UP)
    with pytest.raises(FileFormatError):
        lpb.PreferenceModel.from_dict(content | {"lower_is_better": False})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UP.replace(lower_is_better=1), "lower_is_better.*1"),
        (lambda: DOWN.replace(rewards="bernoulli"), "bernoulli.*the good outcome as 1"),
        (lambda: DOWN.replace(rewards="poisson"), "poisson"),
        (lambda: lpb.LpbTS(DOWN, rewards="bernoulli"), "bernoulli"),
        (lambda: lpb.Ratings.from_arrays([1], [1], [1], lower_is_better=cast("bool", "yes")), "lower_is_better.*'yes'"),
    ],
)
def test_invalid_directions_raise(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


def test_duels_have_no_direction() -> None:
    for model in (UP, DOWN):
        agent = Agent(lpb.LpbDuel(model), seed=1)
        agent.tell_duel("rest", "drug B")
        assert agent.outcomes == [("rest", "drug B")]
        assert all(0 <= mean <= 1 for state in agent.explain().states for mean in state.means.values())


def test_a_fit_to_numbers_is_that_to_their_negatives() -> None:
    log = log_of(40, 5, states=2, noise=0.4, seed=3)
    people, actions = np.array(log.people)[log.owner], np.array(log.actions)[log.action]
    turned = lpb.Ratings.from_arrays(people, actions, -log.rating, lower_is_better=True)
    fit, other = (lpb.fit_states(one, states=2, taste=False, threads=1) for one in (log, turned))
    assert other.model.lower_is_better
    plain = {"provenance": {}, "lower_is_better": False}
    assert fit.model.replace(**plain) == other.model.replace(**plain)
    assert inspect(other.model).states[0].means == pytest.approx(
        tuple(-mean for mean in reversed(inspect(fit.model).states[0].means or ()))
    )
    assert lpb.states_of(other.model, turned).equals(lpb.states_of(fit.model, log))
    worlds = ReplayWorld(fit.model, log, least=3), ReplayWorld(other.model, turned, least=3)
    np.testing.assert_array_equal(worlds[0].recorded, worlds[1].recorded)
    for model, wrong in ((fit.model, turned), (other.model, log)):
        calls: list[Any] = [
            lambda m=model, w=wrong: lpb.states_of(m, w),
            lambda m=model, w=wrong: lpb.evaluate(w, model=m),
            lambda m=model, w=wrong: ReplayWorld(m, w),
        ]
        for call in calls:
            with pytest.raises(InvalidInput, match=f"lower_is_better must be {model.lower_is_better}"):
                call()


def test_ratings_of_zero_and_one_are_gaussian_where_lower_is_better() -> None:
    rng = np.random.default_rng(1)
    person, action = np.divmod(np.arange(90), 3)
    for ratings in (rng.integers(0, 2, 90), np.zeros(90)):
        log = lpb.Ratings.from_arrays(person, action, ratings, lower_is_better=True)
        model = lpb.fit_states(log, states=1, taste=False, heldout=0.0, threads=1).model
        assert (model.rewards, model.lower_is_better) == (None, True)


@pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")
@pytest.mark.parametrize("name", ["lpbts", "ts", "taste"])
def test_pages_of_an_agent_list_the_best_outcome_first(name: str) -> None:
    up, down = agents(name)
    pages = [agent._repr_html_() for agent in (up, down)]
    assert "3.50" not in pages[1] or "-3.50" in pages[1]
    places = [[page.find(f">{label}<") for label in ("rest", "drug B")] for page in pages]
    assert np.argsort(places[0]).tolist() == np.argsort(places[1]).tolist()
    assert ("lowest expected" in pages[1]) == ("highest expected" in pages[0]) == (name == "lpbts")
    assert UP._repr_html_().count("1 to 3") == 2 == DOWN._repr_html_().count("-3 to -1")
