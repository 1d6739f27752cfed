"""Targets: policies, plug-ins and agents."""

import contextlib
import dataclasses
import inspect
import json
from typing import Any
from unittest import mock

from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent.record import decision_id
from lpbandits.policies import make_policy, policy_from_dict
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from tests.fuzz.models import KNOWN
from tests.fuzz.shared import ACTIONS, DUELLING, MODEL, MODELS, POLICIES, target
from tests.fuzz.values import anything, array, calls, floats, integers, kwargs, listed, mostly, number, one_of, text


def use_agent(agent: lpb.Agent, rewards: Any = (0.5, 1.0, 0.0, -3.5, 1e100, -1e100, 1e-300, 2.0)) -> Any:
    """Tell an agent rewards that may be extreme, and return everything it reports."""
    repr(agent)
    labels = agent.policy.model.actions
    for i, reward in enumerate(rewards):
        if agent.policy.feedback == "duels":
            agent.tell_duel(labels[i % len(labels)], labels[(i * i + 1) % len(labels)])
            agent.ask_pair()
            continue
        with contextlib.suppress(lpb.InvalidInput):  # not every family takes all of them
            agent.tell(labels[(i * i) % len(labels)], reward)
        agent.ask()
    return _report(agent)


def _report(agent: lpb.Agent) -> Any:
    report: list[Any] = [agent.explain().to_dict(), json.loads(agent.to_json())]
    report += [record.decision.to_dict() for record in agent.decisions] + list(agent.pending)
    if agent.policy.evidence.latent:
        report += [agent.posterior, lpb.expected(agent.policy, agent.belief)]
        assert abs(float(agent.posterior.sum()) - 1.0) < 1e-9
    if agent.policy.feedback == "rewards":
        probabilities = agent.probabilities()
        assert abs(float(probabilities.sum()) - 1.0) < 1e-6
        report.append(probabilities)
        if agent.policy.evidence.latent and agent.rounds:
            best = agent.best()
            assert 0.0 <= best.runner_up_probability <= best.probability <= 1.0 + 1e-9
            assert best.low <= best.high
            report.append(dataclasses.asdict(best))
    return report


_SETTINGS: dict[str, Any] = {
    "noise": floats(1e-50, 1e100),
    **dict.fromkeys(("noise_known", "top"), one_of("True", "False")),
    "rewards": one_of("lpb.Rewards()", "lpb.Rewards(noise_known=False)", "lpb.Rewards('poisson')"),
    "likelihood": one_of("'refit'", "'incremental'", "'marginal'"),
    "explore": mostly(floats(0, 0.3), floats(0, 1)),
    "first": one_of("'prior'", "'uniform'"),
    "margin": floats(0, 0.499),
    "rounds": integers(1, 2**31 - 1),
    "slack": floats(0, 1e6),
    "lasting": floats(0, 0.99),
    "isotonic": floats(0, 1),
    "hope": floats(0, 100),
    "prior_mean": floats(-1e100, 1e100),
    "prior_sd": floats(1e-50, 1e100),
    "alpha": floats(0.51, 1e100),
}
"""Valid values of every setting of a policy, an evidence or a rule."""
_PUBLIC = {name: getattr(lpb, name) for name in dir(lpb)}
_POLICIES = [name for name, kind in _PUBLIC.items() if isinstance(kind, type) and lpb.Policy in kind.__bases__]


def _settings(kind: Any) -> Any:
    """Draw settings of a class; one that is not in `_SETTINGS` is left at its default."""
    names = [name for name in inspect.signature(kind).parameters if name in _SETTINGS]
    return kwargs(**{name: _SETTINGS[name] for name in names}) if names else st.just("{}")


def _parts(room: str, registry: Any) -> Any:
    """Draw an evidence or a rule and its settings."""
    return st.one_of([_settings(kind).map(f"lpb.{room}.{kind.__name__}, {{}}".format) for kind in registry.values()])


POLICY_CALLS = st.one_of(
    [listed(st.just(repr(name)), MODELS, _settings(_PUBLIC[name])) for name in _POLICIES]
    + [listed(st.just("'parts'"), _parts("evidences", EVIDENCES), _parts("rules", RULES))] * 4
    + [
        listed(
            st.just("'registry'"),
            mostly(st.sampled_from(sorted(lpb.policies.POLICIES)).map(repr)),
            kwargs(model_=MODELS, rewards_=one_of("lpb.Rewards()"), rounds=integers(1, 300), first=one_of("'uniform'")),
        ),
        listed(
            st.just("'from_dict'"),
            anything()
            | kwargs(
                evidence_=one_of("{'kind': 'refit', 'rewards': {'family': 'gaussian'}}", "{'kind': 'tally'}"),
                rule_=one_of("{'kind': 'sample', 'first': 'prior'}", "{'kind': 'thompson', 'top': 3}"),
            ),
        ),
    ]
)


@target("policy", POLICY_CALLS, 4)
def make_policy_and_use(value: Any) -> Any:
    name, *arguments = value
    if name == "registry":
        return use_agent(lpb.Agent(make_policy(arguments[0], lpb.policies.Setting(**arguments[1])), seed=1), (1.0, 0.0))
    if name == "from_dict":
        return use_agent(lpb.Agent(policy_from_dict(arguments[0], MODEL), seed=1), (1.0, 0.0))
    if name == "parts":
        evidence, of_evidence, rule, of_rule = arguments
        return use_agent(lpb.Agent(lpb.Policy(MODEL, evidence(**of_evidence), rule(**of_rule)), seed=1))
    policy = _PUBLIC[name](arguments[0], **arguments[1])
    assert policy == policy.with_model(policy.model)
    assert policy_from_dict(json.loads(json.dumps(policy.to_dict())), policy.model) == policy
    return use_agent(lpb.Agent(policy, seed=1))


_ENTRIES = kwargs(
    name_=one_of("'lpbts'", "'new'"),
    build_=one_of("lambda s: lpb.LpbTS(s.model)"),
    title_=one_of("'New'"),
    knows_=one_of("'nothing'"),
    assumes_=one_of("'nothing'"),
    feedback=one_of("'rewards'", "'duels'"),
).map("lpb.policies.Entry(**{})".format)
PARTS = anything() | one_of("type('Part', (lpb.policies.Rule,), {})", "type('World', (), {'name': 3, 'draw': print})")


@target("register", PARTS | _ENTRIES)
def register_part(value: Any) -> Any:
    keep = mock.patch.dict  # restores a registry
    with keep(EVIDENCES), keep(RULES), keep(lpb.policies.POLICIES), keep(lpb.worlds.WORLDS):
        return lpb.register(value)


def _steps(duels: bool) -> Any:
    """Draw a list of method calls on an agent."""
    outcome = mostly(ACTIONS) if duels else mostly(one_of("0.0", "1.0"), number())
    tell, retract, ask = ("tell_duel", "retract_duel", "ask_pair") if duels else ("tell", "retract", "ask")
    ids = mostly(one_of("'visit'", "0", "3", "None"))
    told = st.tuples(one_of(tell, retract), ACTIONS | mostly(ACTIONS), outcome, ids).map(
        lambda parts: "({!r}, [{}, {}], dict(id={}))".format(*parts)
    )
    allowed = mostly(one_of("None", "['tea']", "['jam', 7, 'jam']"))
    decision = mostly(one_of("'decision 0'", "'decision 1'", "'decision 2'"))
    decided = st.tuples(one_of(tell), ACTIONS, outcome, decision).map(
        lambda parts: "({!r}, [{}, {}], dict(decision={}))".format(*parts)
    )
    withdrawn = (decision | ids).map(f"({retract!r}, [], dict(id={{}}))".format)
    asked = st.tuples(one_of(ask, "decide", "decide", "probabilities", "best"), allowed).map(
        lambda p: f"({p[0]!r}, [{p[1]}], {{}})"
    )
    model = MODELS.map("('with_model', [{}], {{}})".format)
    saved = kwargs("with_model outcomes").map("('to_json', [], {})".format)
    return st.lists(told | asked | decided | withdrawn | model | saved, min_size=1, max_size=10).map(
        lambda s: f"[{', '.join(s)}]"
    )


AGENTS = (
    listed(POLICIES, _steps(duels=False))
    | listed(POLICIES, _steps(duels=False))
    | listed(DUELLING, _steps(duels=True))
    | calls(
        new=kwargs(
            "seed_",
            policy_=POLICIES | DUELLING,
            person=one_of("'ann'", "0", "2**32 - 1") | text(),
            asked=integers(0, 2**32 - 1),
            belief=one_of("None", "lpb.LpbTS(MODEL).new_belief()"),
            prior=mostly(one_of("[0.2, 0.3, 0.5]", "{0: 1}", "{'state 1': 0.5, 2: 0.5}", "{'x': 1}"), array()),
            covariates=KNOWN,
        )
    )
)


@target("report", listed(POLICIES | DUELLING, text() | integers(0, 2**32), text()))
def report_agent(value: Any) -> Any:
    policy, person, name = value
    model = policy.model.replace(names=[name, "b", "c"], state_names=["x", "y", name])
    agent = lpb.Agent(policy.with_model(model), seed=3, person=person)
    use_agent(agent, (1.0, 0.0))
    agent.decide()
    page = agent.report()
    assert "<script" not in page
    return page


@target("agent", AGENTS, 4)
def drive_agent(value: Any) -> Any:
    if value[0] == "new":
        return use_agent(lpb.Agent(**value[1]), (1.0, 0.0))
    policy, steps = value
    agent = lpb.Agent(policy, seed=3, person="ann")
    ids = {f"decision {i}": decision_id(policy.model.sha256, policy.sha256, 3, "ann", i) for i in range(3)}
    n_refused = 0
    for name, arguments, drawn in steps:
        named = {key: ids.get(value, value) if isinstance(value, str) else value for key, value in drawn.items()}
        before = (agent.to_json(), agent.rounds, agent.outcomes)
        try:
            getattr(agent, name)(*arguments, **named)
        except lpb.LpbError:
            n_refused += 1
            assert before == (agent.to_json(), agent.rounds, agent.outcomes), f"a refused {name} changed the agent"
    report = _report(agent)
    restored = lpb.Agent.from_json(agent.to_json())
    assert (restored.outcomes, restored.decisions) == (agent.outcomes, agent.decisions)
    if n_refused == len(steps):
        raise lpb.InvalidInput("every step was refused")
    return report
