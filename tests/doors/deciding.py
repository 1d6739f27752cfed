"""Doors of models, policies and agents."""

import contextlib
import json
from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.parallel.workers import as_workers
from lpbandits.policies import make_policy, policy_from_dict
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.registry import entry_of, title_of
from lpbandits.policies.rules import RULES
from tests.doors.hostile import NAMES, anything, arguments, array, floats, listed, mostly, number, one_of, text, whole
from tests.doors.runner import Door

MODEL = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0], [1, 0, 2]],
    actions=["tea", "jam", 7],
    prior=[0.5, 0.25, 0.25],
    means=[[0.9, 0.5, 0.1], [0.2, 0.3, 0.8], [0.4, 0.7, 0.1]],
    taste=lpb.TasteModel(np.zeros(3), np.eye(3, 2), np.ones(3)),
)
BARE = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]])
NAMES |= {"MODEL": MODEL, "BARE": BARE}

ACTIONS = one_of("'tea'", "'jam'", "7")
NAMED = ("LpbTS", "LpbPaired", "MTS", "MUCB", "TS", "UCB", "Taste", "Uniform", "LpbDuel", "DoubleTS")
models = one_of("MODEL", "BARE")
rewards = one_of("'gaussian'", "'bernoulli'", "'poisson'", "lpb.Rewards(noise=0.5)", "lpb.Rewards('bernoulli')")
JOBS = one_of("None", "1", "lpb.Workers(2)", "lpb.Workers(backend='dask')", "0", "-3", "'2'", "2.0", "10**9")


def by_this_process(given: Any) -> Any:
    """Return arguments whose `jobs` are looked at, but start nobody: that takes seconds."""
    return {**given, "jobs": as_workers(given["jobs"]) and 1} if "jobs" in given else given


truths = one_of("True", "False")
noises = floats(1e-50, 1e100)


def use_model(given: Any) -> Any:
    model = lpb.PreferenceModel(**given)
    repr(model)
    content = json.loads(json.dumps(model.to_dict(), allow_nan=False))
    assert lpb.PreferenceModel.from_dict(content) == model
    assert hash(model) == hash(lpb.PreferenceModel.from_dict(content))
    labels = [model.index[label] for label in model.best_actions]
    return model.orderings, model.prior, model.means, model.utilities, model.kendall, model.ranks, labels


def use_taste(given: Any) -> Any:
    taste = lpb.TasteModel(**given)
    repr(taste)
    content = json.loads(json.dumps(taste.to_dict(), allow_nan=False))
    assert lpb.TasteModel.from_dict(content) == taste
    model = lpb.PreferenceModel([range(taste.n_actions)], taste=taste)
    agent = lpb.Agent(lpb.Taste(model), seed=0)
    agent.tell(0, 1.0)
    assert agent.ask() in model.actions
    json.dumps(agent.explain().to_dict(), allow_nan=False)
    return taste.means, taste.factors, taste.variances, agent.explain().to_dict()


def use_relabelled(given: Any) -> Any:
    return MODEL.relabelled(given).to_dict()


def use_model_dict(given: Any) -> Any:
    return lpb.PreferenceModel.from_dict(given).to_dict()


def use_rewards(given: Any) -> Any:
    settings, values = given
    made = lpb.Rewards(**settings)
    assert made.as_known.noise_known
    assert made.sd > 0
    found = []
    for value in values:
        try:
            found.append(made.check(value))
        except lpb.InvalidInput:
            continue
    return made.noise, made.weight, made.code, found


def use_isotonic(given: Any) -> Any:
    fit = lpb.isotonic(**given)
    assert np.isfinite(fit).all()
    return fit


def use_pair_up(given: Any) -> Any:
    return lpb.pair_up(**given)


def live(agent: lpb.Agent, told: Any = (0.5, 1.0, 0.0, -3.5, 1e100, -1e100, 1e-300, 2.0)) -> Any:
    """Tell an agent what is possible, and return all it says."""
    repr(agent)
    labels = agent.policy.model.actions
    for i, reward in enumerate(told):
        if agent.policy.feedback == "duels":
            agent.tell_duel(labels[i % len(labels)], labels[(i * i + 1) % len(labels)])
            agent.ask_pair()
            continue
        try:
            agent.tell(labels[(i * i) % len(labels)], reward)
        except lpb.InvalidInput as error:
            assert "reward" in str(error)  # noqa: PT017 - not every family has all of them
        agent.ask()
    return state_of(agent)


def state_of(agent: lpb.Agent) -> Any:
    """Return what an agent knows, as numbers."""
    found: list[Any] = [agent.explain().to_dict(), json.loads(agent.to_json())]
    if agent.policy.evidence.latent:
        found += [agent.posterior, lpb.expected(agent.policy, agent.belief)]
        assert abs(float(agent.posterior.sum()) - 1.0) < 1e-9
    if agent.policy.feedback == "rewards":
        chances = agent.probabilities()
        assert abs(float(chances.sum()) - 1.0) < 1e-6, f"probabilities sum to {chances.sum()}"
        found.append(chances)
    return found


def use_policy(given: Any) -> Any:
    name, model, settings = given
    policy = getattr(lpb, name)(model, **settings)
    assert policy == policy.with_model(policy.model)
    assert policy_from_dict(json.loads(json.dumps(policy.to_dict())), policy.model) == policy
    hash(policy)
    return live(lpb.Agent(policy, seed=1))


def use_parts(given: Any) -> Any:
    evidence, e, rule, r = given
    made = [kind(**settings) if isinstance(kind, type) else kind for kind, settings in ((evidence, e), (rule, r))]
    return live(lpb.Agent(lpb.Policy(MODEL, *made), seed=1))


def use_agent(given: Any) -> Any:
    return live(lpb.Agent(**given), told=(1.0, 0.0))


def steps(duels: bool) -> Any:
    """Draw what is done with an agent: the name of a method and its arguments."""
    label, extra = mostly(ACTIONS), mostly(one_of("'visit'", "0", "3", "None"))
    outcome = mostly(ACTIONS) if duels else mostly(one_of("0.0", "1.0"), number())
    tell, retract, ask = ("tell_duel", "retract_duel", "ask_pair") if duels else ("tell", "retract", "ask")
    good = st.tuples(one_of(repr(tell), repr(retract)), ACTIONS, outcome, extra).map(_with_id)
    odd = st.tuples(one_of(repr(tell), repr(retract)), label, outcome, extra).map(_with_id)
    allowed = mostly(one_of("None", "['tea']", "['jam', 7, 'jam']"))
    asked = st.tuples(one_of(repr(ask), "'probabilities'"), allowed).map(lambda p: f"({p[0]}, [{p[1]}], {{}})")
    model = st.tuples(one_of("'with_model'"), mostly(models)).map(lambda p: f"({p[0]}, [{p[1]}], {{}})")
    flags = arguments(with_model=truths, outcomes=truths).map(lambda a: f"('to_json', [], {a})")
    return st.lists(good | odd | asked | model | flags, min_size=1, max_size=8).map(lambda s: f"[{', '.join(s)}]")


def _with_id(parts: tuple[str, ...]) -> str:
    name, action, outcome, extra = parts
    return f"({name}, [{action}, {outcome}], dict(id={extra}))"


def use_life(given: Any) -> Any:
    policy, done = given
    agent = lpb.Agent(policy, seed=3, person="ann")
    refused = 0
    for name, values, named in done:
        before = (agent.rounds, agent.asked, agent.outcomes, agent.belief.states.tobytes(), len(agent.log.ids))
        try:
            getattr(agent, name)(*values, **named)
        except lpb.LpbError:
            refused += 1
            after = (agent.rounds, agent.asked, agent.outcomes, agent.belief.states.tobytes(), len(agent.log.ids))
            assert before == after, f"a refused {name} changed the agent"
    found = state_of(agent)
    again = lpb.Agent.from_json(agent.to_json())
    assert again.outcomes == agent.outcomes
    if refused == len(done):
        raise lpb.InvalidInput("every step was refused")
    return found


def use_offer(given: Any) -> Any:
    policy, allowed = given
    with contextlib.suppress(lpb.InvalidInput):
        policy.index_of(allowed)
    return policy.offer(allowed)


def use_registry(given: Any) -> Any:
    name, settings = given
    title_of(name) if isinstance(name, str) else None
    entry_of(name)
    return live(lpb.Agent(make_policy(name, lpb.Setting(**settings)), seed=1), told=(1.0, 0.0))


def use_register(given: Any) -> Any:
    before = [dict(place) for place in (EVIDENCES, RULES, lpb.POLICIES, lpb.WORLDS)]
    try:
        lpb.register(given)
        sorted(lpb.POLICIES.values(), key=lambda entry: entry.place)
    finally:
        for place, old in zip((EVIDENCES, RULES, lpb.POLICIES, lpb.WORLDS), before, strict=True):
            place.clear()  # type: ignore[attr-defined] # dicts of different things
            place.update(old)  # type: ignore[attr-defined] # as above


def use_policy_dict(given: Any) -> Any:
    return live(lpb.Agent(policy_from_dict(given, MODEL), seed=1), told=(1.0, 0.0))


def use_expected(given: Any) -> Any:
    return lpb.expected(*given)


POLICIES_HERE = one_of(
    "lpb.LpbTS(MODEL)",
    "lpb.LpbTS(MODEL, rewards='bernoulli')",
    "lpb.LpbTS(MODEL, noise_known=False)",
    "lpb.LpbTS(MODEL, likelihood='incremental')",
    "lpb.MTS(MODEL)",
    "lpb.MUCB(MODEL)",
    "lpb.TS(MODEL)",
    "lpb.TS(MODEL, top=True)",
    "lpb.UCB(MODEL)",
    "lpb.LpbPaired(MODEL)",
    "lpb.Uniform(MODEL, rewards='poisson')",
)
DUELLING = one_of("lpb.LpbDuel(MODEL)", "lpb.DoubleTS(MODEL)", "lpb.DoubleTS(MODEL, top=True)")
floors = mostly(floats(0, 0.3), floats(0, 1))
settings_of = arguments(
    noise=noises,
    noise_known=truths,
    rewards=rewards,
    likelihood=one_of("'refit'", "'incremental'", "'marginal'"),
    explore=floors,
    first=one_of("'prior'", "'uniform'"),
)
_settings = {
    "LpbTS": settings_of,
    "MTS": arguments(noise=noises, noise_known=truths, rewards=rewards, first=one_of("'prior'", "'uniform'")),
    "LpbPaired": arguments(margin=floats(0, 0.499), rewards=rewards, first=one_of("'prior'")),
    "MUCB": arguments(noise=noises, rewards=rewards, horizon=whole(1, 2**31 - 1), slack=floats(0, 1e100)),
    "TS": arguments(
        noise=noises, rewards=rewards, prior_mean=floats(-1e100, 1e100), prior_sd=floats(1e-50, 1e100), top=truths
    ),
    "UCB": arguments(noise=noises, rewards=rewards, top=truths),
    "Taste": arguments(rewards=rewards, lasting=floats(0, 0.99)),
    "LpbUtility": arguments(
        noise=noises, noise_known=truths, rewards=rewards, slack=floats(0, 1e6), isotonic=floats(0, 1), explore=floors
    ),
    "LpbIDS": arguments(noise=noises, slack=floats(0, 1e6), isotonic=floats(0, 1), hope=floats(0, 100), explore=floors),
    "Popular": arguments(rewards=rewards, explore=floors),
    "Uniform": arguments(rewards=rewards),
    "LpbDuel": arguments(margin=floats(0, 0.499)),
    "DoubleTS": arguments(alpha=floats(0.51, 1e100), top=truths),
}
_made = st.one_of([st.tuples(st.just(repr(n)), mostly(models), s) for n, s in _settings.items()])
orderings = one_of("[[0, 1, 2], [2, 1, 0]]", "[[0]]", "[[1, 0]]", "np.array([[0, 1, 2], [2, 1, 0]], dtype='u1')")
part_settings = arguments(
    rewards=rewards | one_of("lpb.Rewards()"),
    margin=floats(0, 0.4),
    horizon=whole(1, 300),
    slack=floats(0, 9),
    top=truths,
    prior_sd=floats(0.1, 9),
    prior_mean=floats(-9, 9),
    alpha=floats(0.51, 9),
    first=one_of("'prior'"),
)
_evidences: list[tuple[str, Any]] = [(f"lpb.{kind.__name__}", kind) for kind in EVIDENCES.values()]
_rules: list[tuple[str, Any]] = [(f"lpb.{kind.__name__}", kind) for kind in RULES.values()]


@st.composite
def part_pairs(draw: st.DrawFn) -> str:
    """Draw an evidence and a rule with settings that they have, mostly."""
    out = []
    for parts in (_evidences, _rules):
        source, kind = draw(st.sampled_from(parts))
        taken = {
            "rewards": one_of("lpb.Rewards()", "lpb.Rewards(noise_known=False)", "lpb.Rewards('poisson')"),
            "margin": floats(0, 0.4),
            "horizon": whole(1, 300),
            "slack": floats(0, 9),
            "lasting": floats(0, 0.99),
            "lookahead": floats(0, 9),
            "isotonic": floats(0, 1),
            "hope": floats(0, 100),
            "top": truths,
            "prior_sd": floats(0.1, 9),
            "prior_mean": floats(-9, 9),
            "alpha": floats(0.51, 9),
            "first": one_of("'prior'", "'uniform'"),
        }
        mine = {field.name: taken[field.name] for field in fields(kind)}
        out += [source, draw(arguments(**mine)) if mine else "{}"]
    if draw(st.integers(0, 5)) == 0:
        out[draw(st.sampled_from([0, 2]))] = draw(anything())
    return f"[{', '.join(out)}]"


DOORS = [
    Door(
        "model",
        arguments(
            orderings_=mostly(one_of("[[0, 1, 2], [2, 1, 0]]"), orderings),
            actions=mostly(one_of("['a', 'b', 'c']", "[1, 'x', -3]"), text().map(lambda t: f"[{t}, 'b', 'c']")),
            prior=mostly(one_of("[0.5, 0.5]", "[1, 0]"), array()),
            means=mostly(one_of("[[3, 2, 1], [1, 2, 3]]"), array()),
            utilities=mostly(one_of("[[0.9, 0.5, 0.1], [0, 0, 1]]"), array()),
            errors=mostly(one_of("[[0.1, 0.5, 0.1], [0, 0, 100]]"), array()),
            provenance=one_of("{'by': 'hand'}"),
        ),
        use_model,
        budget=40,
        share=3.0,
    ),
    Door(
        "taste",
        arguments(
            means_=one_of("[0.5, 0.0, -1.5]", "[1e6, -1e6, 0]", "[[1, 0, -1], [-1e6, 0, 1e6]]"),
            factors_=one_of("[[1, 2], [3, -4], [0, 0]]", "np.zeros((3, 0))", "[[1e6], [0], [-1e6]]"),
            variances_=one_of("[0.5, 1.0, 2.0]", "[1e-4, 1e6, 1.0]"),
            offset=floats(0, 1e6),
            level=floats(-1e100, 1e100),
            log_scale=floats(-100, 100),
            log_scale_sd=floats(0, 10),
            lasting=floats(0, 0.99),
            calibration=floats(1e-3, 100),
            prior=one_of("[1.0]", "[0.25, 0.75]", "[1e-300, 1.0]"),
        ),
        use_taste,
    ),
    Door("relabelled", anything() | listed(text(), text(), text()), use_relabelled),
    Door(
        "model-dict",
        mostly(
            arguments(
                format_=one_of("'lpbandits-model'"),
                version_=one_of("1"),
                orderings_=orderings,
                actions_=one_of("['a', 'b']"),
                prior_=one_of("[0.5, 0.5]"),
                sha256_=one_of("'0'"),
            )
        ),
        use_model_dict,
    ),
    Door(
        "rewards",
        listed(
            arguments(family=one_of("'gaussian'", "'poisson'"), noise=noises, noise_known=truths, weight=floats(0, 9)),
            st.lists(mostly(number()), max_size=4).map(lambda v: f"[{', '.join(v)}]"),
        ),
        use_rewards,
        budget=30,
    ),
    Door("isotonic", arguments(values_=array() | anything(), weights=array()), use_isotonic, budget=30),
    Door(
        "pair-up",
        arguments(actions_=array() | one_of("['a', 'b']"), rewards_=array() | one_of("[1.0, 2.0]")),
        use_pair_up,
        budget=20,
    ),
    Door("policy", _made.map(lambda parts: f"[{', '.join(parts)}]"), use_policy, budget=30, share=3.0),
    Door("parts", part_pairs(), use_parts, budget=25, share=2.0),
    Door(
        "agent",
        arguments(
            policy_=POLICIES_HERE | DUELLING,
            seed_=whole(0, 2**63 - 1),
            person=one_of("'ann'", "0", "2**32 - 1") | text(),
            asked=whole(0, 2**32 - 1),
            belief=one_of("None", "lpb.LpbTS(MODEL).new_belief()"),
        ),
        use_agent,
        budget=25,
    ),
    Door("agent-life", listed(POLICIES_HERE, steps(duels=False)), use_life, budget=40, share=4.0),
    Door("duel-life", listed(DUELLING, steps(duels=True)), use_life, budget=25, share=2.0),
    Door("offer", listed(POLICIES_HERE, mostly(array() | listed(mostly(ACTIONS), ACTIONS))), use_offer, budget=20),
    Door(
        "registry",
        listed(
            mostly(st.sampled_from(sorted(lpb.POLICIES)).map(repr)),
            arguments(model_=models, rewards_=one_of("lpb.Rewards()"), rounds=whole(1, 300), first=one_of("'uniform'")),
        ),
        use_registry,
        budget=25,
    ),
    Door(
        "register",
        anything()
        | one_of("type('Part', (lpb.Rule,), {})", "type('World', (), {'name': 3, 'draw': print})")
        | arguments(
            name_=one_of("'lpbts'", "'new'"),
            build_=one_of("lambda s: lpb.LpbTS(s.model)"),
            title_=one_of("'New'"),
            knows_=one_of("'nothing'"),
            assumes_=one_of("'nothing'"),
            feedback=one_of("'rewards'", "'duels'"),
        ).map(lambda a: f"lpb.Entry(**{a})"),
        use_register,
        budget=20,
    ),
    Door(
        "policy-dict",
        anything()
        | arguments(
            evidence_=one_of("{'kind': 'refit', 'rewards': {'family': 'gaussian', 'noise': 1.0}}", "{'kind': 'tally'}"),
            rule_=one_of("{'kind': 'sample', 'first': 'prior'}", "{'kind': 'thompson', 'top': 3}"),
        ),
        use_policy_dict,
        budget=20,
    ),
    Door(
        "expected",
        listed(POLICIES_HERE.filter(lambda c: "TS(M" not in c or "Lpb" in c or "MTS" in c), anything())
        | one_of("[lpb.LpbTS(MODEL), lpb.LpbTS(BARE).new_belief()]", "[lpb.LpbTS(MODEL), lpb.TS(MODEL).new_belief()]"),
        use_expected,
        budget=15,
        share=0.5,
    ),
]
