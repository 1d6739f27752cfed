"""Targets: worlds, populations and simulations."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import lpbandits as lpb
from tests.fuzz.shared import MODELS, POLICIES, public, target
from tests.fuzz.values import array, calls, floats, integers, kwargs, listed, mostly, one_of

_DRAWN = kwargs("people_", seed_=integers(0, 9), draw=integers(0, 2))
_FAMILIES = one_of("lpb.Rewards()", "lpb.Rewards('bernoulli')", "lpb.Rewards('poisson')", "'poisson'")
_WORLDS = {
    "SyntheticWorld": kwargs(
        "noise assumed_noise",
        states=integers(1, 6),
        actions=integers(3, 8),
        scale=one_of("'same'", "'different'"),
        gap=mostly(floats(0, 3), floats(0, 1e308)),
        jitter=mostly(floats(0, 1), floats(0, 1e308)),
        base=mostly(floats(-9, 9), floats(-1e308, 1e308)),
        spread=mostly(floats(0, 1), floats(0, 1e308)),
        gaps=one_of("'paper'", "'exponential'", "'cliff'", "'steps'"),
        swap=mostly(floats(0, 1)),
        model_error=mostly(floats(0, 0.99), one_of("1", "1 - 1e-16", "1e-320")),
        noise_family=one_of("'normal'", "'student'"),
    ),
    "MeansWorld": kwargs(
        "assumed_noise",
        model_=mostly(one_of("MODEL")),
        means=mostly(one_of("MODEL.means", "[[0.1, 0.5, 0.9]] * 3"), array()),
        truth=mostly(one_of("[0, 1, 2]", "[0.7, 1, 1]", "['0', '1', '2']"), array()),
        rewards=_FAMILIES,
    ),
    "ReplayWorld": kwargs(
        model_=MODELS,
        log_=mostly(one_of("[[1, nan, 2], [1, 1, 1]]", "[[1, inf, 2]]", "[[1e100, -1e100, 2]]", "LOG"), array()),
        least_=integers(1, 2),
        rewards=_FAMILIES,
    ),
    "DuellingWorld": kwargs("comparison", world_=one_of("SMALL", "lpb.DuellingWorld(SMALL)")),
    "Population": kwargs(
        "without_replacement replayed comparison",
        model_=mostly(one_of("MODEL")),
        truth_=mostly(one_of("[0, 1]", "None", "[-1, -1]", "[0.7, 1]", "['a', 'b']"), array()),
        means_=mostly(one_of("[[1, 2, 3], [3, 2, 1]]", "[[0.1, 0.2, 0.3]] * 2", "[[1, nan, 1]] * 2"), array()),
        rewards_=_FAMILIES,
        offered=mostly(one_of("[[[0, 1]]]", "[[[0, 1], [2, -1]]]", "[[[0], [1, 2]]]", "np.empty((1, 1, 0))"), array()),
        assumed=one_of("None", "lpb.Rewards(noise=0.1)", "lpb.Rewards('bernoulli')", "'poisson'"),
        tails=one_of("'normal'", "'student'"),
    ),
}
WORLDS = st.one_of([listed(st.just(repr(name)), settings, _DRAWN) for name, settings in _WORLDS.items()])


@target("world", WORLDS, 4)
def make_world(value: Any) -> Any:
    name, arguments, drawn = value
    world = public(name)(**arguments)
    people = world if name == "Population" else world.draw(**drawn)
    if name == "Population":
        policy = lpb.TS(people.model, rewards=people.assumed_rewards.as_known)
        lpb.simulation.rollout(policy, people, rounds=min(2, people.set_sizes[0]), seed=0)
    else:
        json.dumps(world.to_dict(), allow_nan=False)
    return people.means if not people.replayed else None, people.truth, people.offered


SIMULATIONS = calls(
    simulate=kwargs(
        "people_ rounds_ seed threads_ traces",
        world_=mostly(one_of("SMALL", "lpb.MeansWorld(MODEL)", "lpb.DuellingWorld(SMALL)")),
        policies_=one_of(
            *("['lpbts', 'ts']", "['ts']", "['lpbts', 'lpbts']", "['lpb-duel']", "['mts']", "{'mine': 'ts'}"),
            "{'m': lambda s: lpb.TS(s.model)}",
        ),
        draws=integers(1, 2),
        first=one_of("'prior'", "'uniform'"),
        progress=one_of("None", "lambda *_: None"),
    ),
    roll=kwargs(
        "rounds_ seed_",
        policy_=POLICIES,
        people_=mostly(one_of("PEOPLE", "SMALL.draw(people=1, seed=0)")),
        first_person=integers(0, 9),
    ),
)


@target("simulate", SIMULATIONS, 2)
def run_simulation(value: Any) -> Any:
    kind, arguments = value
    if kind == "roll":
        trace = lpb.simulation.rollout(**arguments)
        return trace.rewards, trace.regret, trace.plays
    results = lpb.simulate(**arguments)
    repr(results)
    assert "<script" not in results._repr_html_()
    results.differences()
    results.curves()
    results.people()
    with tempfile.TemporaryDirectory() as folder:
        results.save(Path(folder) / "out")
    return json.loads(json.dumps(results.to_dict(), allow_nan=False))
