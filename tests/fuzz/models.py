"""Targets: models, rewards, plain functions and bounds."""

import contextlib
import json
from typing import Any

from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.simulation.bounds import bound_model, bound_world
from tests.fuzz.shared import MODEL, MODELS, public, target
from tests.fuzz.values import anything, array, calls, floats, integers, kwargs, listed, mostly, number, one_of, text

MODEL_CALLS = calls(
    new=kwargs(
        orderings_=mostly(one_of("[[0, 1, 2], [2, 1, 0]]"), one_of("[[0]]", "[[1, 0]]", "[[0.0, 1.0]]")),
        actions=mostly(one_of("['a', 'b', 'c']", "[1, 'x', -3]"), text().map(lambda t: f"[{t}, 'b', 'c']")),
        prior=mostly(one_of("[0.5, 0.5]", "[1, 0]"), array()),
        means=mostly(one_of("[[3, 2, 1], [1, 2, 3]]"), array()),
        utilities=mostly(one_of("[[0.9, 0.5, 0.1], [0, 0, 1]]"), array()),
        errors=mostly(one_of("[[0.1, 0.5, 0.1], [0, 0, 100]]"), array()),
        reward_range=mostly(one_of("(1, 5)", "[0.0, 0.0]"), array()),
        provenance=one_of("{'by': 'hand'}"),
    ),
    replace=anything() | listed(text(), text(), text()),
    from_dict=mostly(kwargs(format_=one_of("'lpbandits-model'"), version_=one_of("1"), actions_=one_of("['a']"))),
)


@target("model", MODEL_CALLS, 2)
def make_model(value: Any) -> Any:
    kind, arguments = value
    if kind == "replace":
        return MODEL.replace(actions=arguments).to_dict()
    if kind == "from_dict":
        return lpb.PreferenceModel.from_dict(arguments).to_dict()
    model = lpb.PreferenceModel(**arguments)
    repr(model)
    content = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    again = lpb.PreferenceModel.from_dict(content)
    assert again == model
    assert hash(again) == hash(model)
    return model.prior, model.means, model.utilities, model.kendall, [model.index[a] for a in model.best_actions]


TASTES = kwargs(
    means_=one_of("[0.5, 0.0, -1.5]", "[1e6, -1e6, 0]", "[[1, 0, -1], [-1e6, 0, 1e6]]"),
    factors_=one_of("[[1, 2], [3, -4], [0, 0]]", "np.zeros((3, 0))", "[[1e6], [0], [-1e6]]"),
    variances_=one_of("[0.5, 1.0, 2.0]", "[1e-4, 1e6, 1.0]"),
    offset=floats(0, 1e6),
    level=floats(-1e100, 1e100),
    log_scale=floats(-100, 100),
    log_scale_sd=floats(0, 10),
    lasting=floats(0, 0.99),
    calibration=floats(1e-3, 100),
)


@target("taste", TASTES)
def make_taste(arguments: Any) -> Any:
    taste = lpb.TasteModel(**arguments)
    repr(taste)
    assert lpb.TasteModel.from_dict(json.loads(json.dumps(taste.to_dict(), allow_nan=False))) == taste
    agent = lpb.Agent(lpb.Taste(lpb.PreferenceModel([range(taste.n_actions)], taste=taste)), seed=0)
    agent.tell(0, 1.0)
    agent.ask()
    return taste.means, taste.factors, json.loads(json.dumps(agent.explain().to_dict(), allow_nan=False))


REWARD_VALUES = listed(
    kwargs("noise noise_known", family=one_of("'gaussian'", "'poisson'"), weight=floats(0, 9)),
    st.lists(mostly(number()), max_size=4).map(lambda values: f"[{', '.join(values)}]"),
)


@target("rewards", REWARD_VALUES)
def make_rewards(value: Any) -> Any:
    arguments, rewards = value
    family = lpb.Rewards(**arguments)
    assert family.sd > 0
    checked = []
    for reward in rewards:
        with contextlib.suppress(lpb.InvalidInput):
            checked.append(family.check(reward))
    return family.noise, family.weight, checked


FUNCTION_CALLS = calls(
    isotonic=kwargs(values_=array() | anything(), weights=array()),
    pair_up=kwargs(actions_=array() | one_of("['a', 'b']"), rewards_=array() | one_of("[1.0, 2.0]")),
    match_orderings=kwargs(
        true_model_=mostly(one_of("MODEL", "BARE", "BARE.replace(actions=[2, 1, 0])")),
        fitted_model_=mostly(one_of("MODEL", "BARE", "lpb.PreferenceModel([[2, 1, 0]])")),
        top=integers(1, 9),
    ),
    expected=kwargs(
        policy_=one_of("lpb.LpbTS(MODEL)", "lpb.MTS(MODEL)"),
        belief_=mostly(one_of("lpb.LpbTS(MODEL).new_belief()", "lpb.TS(MODEL).new_belief()")),
    ),
    fit_bradley_terry=kwargs(
        "threads",
        wins_=mostly(one_of("[[0, 3], [1, 0]]", "np.zeros((3, 3))", "[[0, 1e100], [1e-100, 0]]"), array()),
        prior_sd=mostly(floats(0.1, 9), floats(1e-320, 1e6)),
        tolerance=mostly(floats(1e-9, 1), floats(1e-320, 1e308)),
        max_passes=integers(1, 50),
    ),
    Workers=kwargs(
        jobs=mostly(integers(1, 1024)),
        backend=mostly(one_of("'processes'", "'dask'", "'spark'"), text()),
        address=mostly(one_of("'tcp://10.0.0.1:8786'", "'tls://h:1'", "'tcp://[::1]:9'", "'10.0.0.1'"), text()),
    ),
)


@target("function", FUNCTION_CALLS, 3)
def call_function(value: Any) -> Any:
    name, arguments = value
    returned = public(name)(**arguments)
    repr(returned)
    return returned


_MEANS = one_of("[3.0, 2.0, 1.0]", "[1e100, 0, -1e100]", "[1.0, 1.0 - 1e-12, 0.5]", "[1e-300, 0, 0]", "[5, 5, 1]")
_PROBLEM: dict[str, Any] = {
    "model_": MODELS,
    "state_": integers(0, 2),
    "means_": mostly(_MEANS, array()),
    "noise": mostly(floats(0.1, 9), floats(1e-300, 1e100)),
}
BOUND_CALLS = calls(
    lower_bound=kwargs("pinned", **_PROBLEM, tolerance=floats(1e-9, 1.0)),
    plain_bound=kwargs(**_PROBLEM),
    latent_bound=kwargs("pinned", **_PROBLEM),
    model=kwargs(**_PROBLEM),
    world=kwargs(
        world_=one_of("SMALL", "lpb.SyntheticWorld(swap=0.1)", "None"),
        people_=integers(1, 2),
        policies=one_of("['ts']", "['ts', 'ts']", "['lpb-duel']", "'ts'", "[nan]"),
        rounds_=integers(10, 20),
        repeats_=integers(1, 2),
    ),
)


@target("bound", BOUND_CALLS, 2)
def make_bound(value: Any) -> Any:
    kind, arguments = value
    functions: dict[str, Any] = {"model": bound_model, "world": bound_world}
    bound = (functions[kind] if kind in functions else public(kind))(**arguments)
    return json.loads(json.dumps(bound.to_dict(), allow_nan=False))


INSPECTIONS = kwargs(
    model_=mostly(one_of("MODEL", "BARE", "FITTED")),
    top=integers(1, 9),
    names=mostly(one_of("{}", "{'tea': 'Tea', '7': 'x'}"), anything()),
)


@target("inspect", INSPECTIONS)
def inspect_model(arguments: Any) -> Any:
    seen = lpb.inspect(**arguments)
    assert "<script" not in seen._repr_html_()
    return json.loads(json.dumps(seen.to_dict(), allow_nan=False))
