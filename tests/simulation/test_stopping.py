"""Stopping in simulations: the round of the stop, what is played after it, and its promise."""

from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.policies import Setting, make_policy
from tests.conftest import REWARDS as FAMILIES
from tests.conftest import SOME_RATINGS, model_for
from tests.studies.stopping import Cell, sum_of, true_cells

pytestmark = pytest.mark.xdist_group("best")

WORLD = lpb.SyntheticWorld(states=3, actions=5, scale="different", gap=0.5)
RUN: dict[str, Any] = {"people": 8, "rounds": 25, "seed": 3}


@pytest.fixture(scope="module")
def runs() -> tuple[lpb.Results, lpb.Results]:
    """Return a run with a stop at 0.9 and the same run without."""
    names = ["lpbts", "lpb-ids", "ts"]
    one, other = (lpb.simulate(WORLD, names, **RUN, stop=stop, traces=True) for stop in (0.9, None))
    return one, other


@pytest.mark.parametrize("name", ["lpbts", "lpb-ids"])
def test_people_stop_when_the_confidence_of_their_agent_reaches_the_level(runs: Any, name: str) -> None:
    stopped, free = runs[0][name], runs[1][name].trace
    people = WORLD.draw(people=8, seed=3)
    policy = make_policy(name, Setting(people.model, people.assumed_rewards, 25))
    rounds = stopped.people["stop_round"].astype(int)
    assert 0 < (rounds > 0).sum() < len(rounds)
    for person, last in enumerate(rounds.tolist()):
        agent = Agent(policy, seed=3, person=person)
        for t in range(last or 25):
            agent.tell(int(free.actions[person, t]), float(free.rewards[person, t]))
            best = agent.best()
            assert (best.confidence >= 0.9) == (t + 1 == last)
        if last:
            assert set(stopped.trace.actions[person, last:].tolist()) <= {best.action}
            right = people.means[person, int(best.action)] == people.means[person].max()
            assert stopped.people["stop_right"][person] == right


def test_rounds_before_the_stop_are_unchanged_and_later_ones_follow_the_action(runs: Any) -> None:
    stopped, free = (result["lpbts"].trace for result in runs)
    means = WORLD.draw(people=8, seed=3).means
    for person, last in enumerate(runs[0]["lpbts"].people["stop_round"].astype(int).tolist()):
        early, late = slice(0, last or 25), slice(last or 25, 25)
        for name in ("rewards", "regret", "mass", "actions"):
            np.testing.assert_array_equal(getattr(stopped, name)[person, early], getattr(free, name)[person, early])
        played = means[person, stopped.actions[person, late]]
        np.testing.assert_array_equal(stopped.regret[person, late], means[person].max() - played)
        # the noise of a round does not depend on the action
        noise = free.rewards[person, late] - means[person, free.actions[person, late]]
        np.testing.assert_allclose(stopped.rewards[person, late] - played, noise, atol=1e-12)
        if last:
            np.testing.assert_array_equal(stopped.mass[person, late], stopped.mass[person, last - 1])
    np.testing.assert_array_equal(runs[0]["ts"].trace.actions, runs[1]["ts"].trace.actions)


def test_the_summary_counts_people_and_is_null_without_states(runs: Any) -> None:
    stopped, free = runs
    rounds, right = stopped["lpbts"].people["stop_round"], stopped["lpbts"].people["stop_right"]
    some = rounds > 0
    expected = {"share": some.mean(), "rounds": rounds[some].mean(), "right": right[some].mean()}
    assert stopped["lpbts"].stop == stopped.to_dict()["policies"]["lpbts"]["stop"] == pytest.approx(expected)
    assert stopped["ts"].stop == {"share": None, "rounds": None, "right": None}
    assert free["lpbts"].stop is None
    assert "stop" not in free.to_dict()["policies"]["lpbts"]
    assert (stopped.settings["stop"], "stop" in free.settings) == (0.9, False)
    never = lpb.simulate(WORLD, ["lpbts"], people=2, rounds=1, stop=1.0)["lpbts"].stop
    assert never == {"share": 0.0, "rounds": None, "right": None}


def test_offered_sets_of_all_rounds_limit_the_best_action() -> None:
    people = WORLD.draw(people=8, seed=3)

    class Limited:
        def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
            drawn = WORLD.draw(people=people, seed=seed, draw=draw)
            return lpb.worlds.Population(drawn.model, drawn.truth, drawn.means, drawn.rewards, np.array([[[1, 3]]]))

        def to_dict(self) -> dict[str, Any]:
            return {"world": "limited"}

    result = lpb.simulate(Limited(), ["lpbts"], **RUN, stop=0.8, traces=True)["lpbts"]
    trace, means = result.trace, people.means[:, [1, 3]]
    assert trace is not None
    assert set(trace.actions.ravel().tolist()) <= {1, 3}
    some = result.people["stop_round"] > 0
    chosen = np.take_along_axis(people.means, trace.actions[:, -1:].astype(np.int64), axis=1)[:, 0]
    np.testing.assert_array_equal(result.people["stop_right"][some], (chosen == means.max(axis=1))[some])


def test_stops_at_95_per_cent_are_right_as_often_as_promised() -> None:
    cells = true_cells(5, draws=12, people=10).values()
    rate, error = sum_of(list(cells)).rate()
    assert error < 0.006
    assert abs(rate - 0.956) < 2.5 * error  # without the allowance for overshoot .98
    assert Cell.joined(cells).share > 0.5  # without it .43


class WithPriors:
    """People with priors of their own, half of whom are told their state."""

    def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
        drawn = WORLD.draw(people=people, seed=seed, draw=draw)
        priors = np.full((len(drawn), 3), 1 / 3)
        told = np.arange(0, len(drawn), 2)
        priors[told] = 0.05
        priors[told, drawn.truth[told]] = 0.9
        return lpb.worlds.Population(drawn.model, drawn.truth, drawn.means, drawn.rewards, priors=priors)

    def to_dict(self) -> dict[str, Any]:
        return {"world": "with-priors"}


def test_people_with_priors_of_their_own_stop_as_their_agents_do() -> None:
    runs = [lpb.simulate(WithPriors(), ["lpbts"], **RUN, stop=stop, traces=True)["lpbts"] for stop in (0.9, None)]
    people, free = WithPriors().draw(people=8, seed=3), runs[1].trace
    assert people.priors is not None
    assert free is not None
    policy = make_policy("lpbts", Setting(people.model, people.assumed_rewards, 25))
    rounds = runs[0].people["stop_round"].astype(int)
    assert rounds[::2].sum() < rounds[1::2].sum()
    for person, last in enumerate(rounds.tolist()):
        agent = Agent(policy, seed=3, person=person, prior=people.priors[person])
        for t in range(last or 25):
            agent.tell(int(free.actions[person, t]), float(free.rewards[person, t]))
            assert (agent.best().confidence >= 0.9) == (t + 1 == last)


@pytest.mark.parametrize("stop", [0.0, 1.5, "half", float("nan")])
def test_invalid_levels_raise(stop: Any) -> None:
    with pytest.raises(InvalidInput, match="stop must"):
        lpb.simulate(WORLD, ["lpbts"], people=1, rounds=2, stop=stop)


def test_duels_and_actions_given_once_cannot_stop() -> None:
    with pytest.raises(InvalidInput, match=r"stop must .*duels"):
        lpb.simulate(WORLD, ["lpb-duel"], people=1, rounds=2, stop=0.95)
    replay = lpb.ReplayWorld(model_for(FAMILIES["gaussian"]), SOME_RATINGS, least=3, rewards=FAMILIES["gaussian"])
    with pytest.raises(InvalidInput, match=r"stop must .*round"):
        lpb.simulate(replay, ["lpbts"], people=2, rounds=2, stop=0.95)
