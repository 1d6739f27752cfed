"""Targets: policies, plug-ins and agents."""

import contextlib
import json
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.policies import make_policy, policy_from_dict
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from tests.fuzz.shared import (
    ACTIONS,
    BARE,
    DUELLING,
    FLAGS,
    MODEL,
    MODELS,
    NOISES,
    POLICIES,
    public,
)
from tests.fuzz.values import (
    NAMES,
    Code,
    anything,
    calls,
    floats,
    integers,
    kwargs,
    listed,
    mostly,
    number,
    one_of,
    text,
)


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
    if agent.policy.evidence.latent:
        report += [agent.posterior, lpb.expected(agent.policy, agent.belief)]
        assert abs(float(agent.posterior.sum()) - 1.0) < 1e-9
    if agent.policy.feedback == "rewards":
        probabilities = agent.probabilities()
        assert abs(float(probabilities.sum()) - 1.0) < 1e-6
        report.append(probabilities)
    return report


def make_policy_and_use(value: Any) -> Any:
    name, *arguments = value
    if name == "registry":
        return use_agent(lpb.Agent(make_policy(arguments[0], lpb.policies.Setting(**arguments[1])), seed=1), (1.0, 0.0))
    if name == "from_dict":
        return use_agent(lpb.Agent(policy_from_dict(arguments[0], MODEL), seed=1), (1.0, 0.0))
    if name == "parts":
        evidence, of_evidence, rule, of_rule = arguments
        return use_agent(lpb.Agent(lpb.Policy(MODEL, evidence(**of_evidence), rule(**of_rule)), seed=1))
    policy = public(name)(arguments[0], **arguments[1])
    assert policy == policy.with_model(policy.model)
    assert policy_from_dict(json.loads(json.dumps(policy.to_dict())), policy.model) == policy
    return use_agent(lpb.Agent(policy, seed=1))


_SETTINGS: dict[str, Code] = {
    "rewards": one_of("lpb.Rewards()", "lpb.Rewards(noise_known=False)", "lpb.Rewards('poisson')"),
    "noise": NOISES,
    "noise_known": FLAGS,
    "likelihood": one_of("'refit'", "'incremental'", "'marginal'"),
    "explore": mostly(floats(0, 0.3), floats(0, 1)),
    "first": one_of("'prior'", "'uniform'"),
    "margin": floats(0, 0.499),
    "horizon": integers(1, 2**31 - 1),
    "slack": floats(0, 1e6),
    "lasting": floats(0, 0.99),
    "isotonic": floats(0, 1),
    "hope": floats(0, 100),
    "top": FLAGS,
    "prior_mean": floats(-1e100, 1e100),
    "prior_sd": floats(1e-50, 1e100),
    "alpha": floats(0.51, 1e100),
}
"""Valid values of every setting of a policy, an evidence or a rule."""
_NAMED = {
    "LpbTS": "noise noise_known rewards likelihood explore first",
    "MTS": "noise noise_known rewards first",
    "LpbPaired": "margin rewards first",
    "MUCB": "noise rewards horizon slack",
    "TS": "noise rewards prior_mean prior_sd top",
    "UCB": "noise rewards top",
    "Taste": "rewards lasting",
    "LpbUtility": "noise noise_known rewards slack isotonic explore",
    "LpbIDS": "noise slack isotonic hope explore",
    "Popular": "rewards explore",
    "Uniform": "rewards",
    "LpbDuel": "margin",
    "DoubleTS": "alpha top",
}


def _settings(names: list[str]) -> Code:
    return kwargs(**{name: _SETTINGS[name] for name in names}) if names else st.just("{}")


def _parts(registry: Any) -> Code:
    """Draw an evidence or a rule and its settings; an unknown setting of a new part is left at its default."""
    known = {kind: [f.name for f in fields(kind) if f.name in _SETTINGS] for kind in registry.values()}
    room = "evidences" if registry is EVIDENCES else "rules"
    return st.one_of(
        [_settings(names).map(f"lpb.{room}.{kind.__name__}, {{}}".format) for kind, names in known.items()]
    )


POLICY_CALLS = st.one_of(
    [listed(st.just(repr(name)), MODELS, _settings(names.split())) for name, names in _NAMED.items()]
    + [listed(st.just("'parts'"), _parts(EVIDENCES), _parts(RULES))] * 4
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


def _plugin_part(kind: str, body: str, head: str = "", compiled: bool = False, feedback: str = "rewards") -> Any:
    """Return an evidence or a rule whose function has this body."""
    name = "tell" if kind == "evidence" else "choose"
    head = head or ("b, n, action, reward" if kind == "evidence" else "b, n, offered, seed, person, round_")
    namespace: dict[str, Any] = {"np": np, "__name__": "plugin"}
    exec(f"def {name}({head}):\n    {body}", namespace)  # noqa: S102 - source from this file
    function = lpb.kernel(namespace[name]) if compiled else namespace[name]

    @dataclass(frozen=True)
    class PluginEvidence(lpb.policies.Evidence):
        kind: ClassVar[str] = "plugin-evidence"
        tell = staticmethod(function)
        expected_rewards = staticmethod(lpb.evidences.Refit.expected_rewards)

    @dataclass(frozen=True)
    class PluginRule(lpb.policies.Rule):
        kind: ClassVar[str] = "plugin-rule"
        choose = staticmethod(function)

    part: Any = PluginEvidence if kind == "evidence" else PluginRule
    part.feedback = feedback
    return part()


NAMES["plugin_part"] = _plugin_part


def use_plugin(value: Any) -> Any:
    if value[0] == "register":
        registries: Any = (EVIDENCES, RULES, lpb.policies.POLICIES, lpb.worlds.WORLDS)
        before = [dict(registry) for registry in registries]
        try:
            return lpb.register(value[1])
        finally:
            for registry, entries in zip(registries, before, strict=True):
                registry.clear()
                registry.update(entries)
    policy = lpb.Policy(BARE, *value)
    agent = lpb.Agent(policy, seed=0)
    if policy.feedback == "duels":
        agent.tell_duel(*agent.ask_pair())
    else:
        agent.tell(agent.ask(), 1.0)
        agent.tell(0, 2.0)
    people = lpb.worlds.Population(BARE, None, [[1.0, 2.0, 3.0]], lpb.Rewards())  # type: ignore[arg-type] # as users write it
    lpb.simulation.rollout(policy, people, rounds=2, seed=0)
    return agent.posterior


_BODIES = (
    *("return n", "pass", "return None", "return n + 1", "return -1", "return 'x'", "return 0.5", "return 0, 1"),
    *("return (0, 1, 2)", "return 0", "return 99", "return 2**70", "b.states[:] = np.nan; return n + 1"),
)
_HEADS = ("", "b", "b, n", "b, n, action, reward, more", "b, n, offered, seed, person, round_, more")


@st.composite
def _plugins(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["evidence", "rule"]))
    bodies = _BODIES if kind == "evidence" else _BODIES[:-1]  # a rule must not write to the belief
    head = draw(st.sampled_from(_HEADS) if draw(st.booleans()) else st.just(""))
    compiled = draw(st.integers(0, 9)) == 0
    feedback = draw(st.sampled_from(["rewards"] * 4 + ["duels", "words"]))
    part = f"plugin_part({kind!r}, {draw(st.sampled_from(bodies))!r}, {head!r}, {compiled}, {feedback!r})"
    if kind == "evidence":
        return f"[{part}, {draw(one_of('lpb.rules.Sample()', 'lpb.rules.TwoStates()'))}]"
    return f"[{draw(one_of('lpb.evidences.Refit()', 'lpb.evidences.Inversions()'))}, {part}]"


_ENTRIES = kwargs(
    name_=one_of("'lpbts'", "'new'"),
    build_=one_of("lambda s: lpb.LpbTS(s.model)"),
    title_=one_of("'New'"),
    knows_=one_of("'nothing'"),
    assumes_=one_of("'nothing'"),
    feedback=one_of("'rewards'", "'duels'"),
).map("lpb.policies.Entry(**{})".format)
_CLASSES = one_of("type('Part', (lpb.policies.Rule,), {})", "type('World', (), {'name': 3, 'draw': print})")
PLUGINS = _plugins() | listed(st.just("'register'"), anything() | _CLASSES | _ENTRIES)


def drive_agent(value: Any) -> Any:
    if value[0] == "new":
        return use_agent(lpb.Agent(**value[1]), (1.0, 0.0))
    policy, steps = value
    agent = lpb.Agent(policy, seed=3, person="ann")
    n_refused = 0
    for name, arguments, named in steps:
        before = (agent.to_json(), agent.rounds, agent.outcomes)
        try:
            getattr(agent, name)(*arguments, **named)
        except lpb.LpbError:
            n_refused += 1
            assert before == (agent.to_json(), agent.rounds, agent.outcomes), f"a refused {name} changed the agent"
    report = _report(agent)
    assert lpb.Agent.from_json(agent.to_json()).outcomes == agent.outcomes
    if n_refused == len(steps):
        raise lpb.InvalidInput("every step was refused")
    return report


def _steps(duels: bool) -> Code:
    """Draw a list of method calls on an agent."""
    outcome = mostly(ACTIONS) if duels else mostly(one_of("0.0", "1.0"), number())
    tell, retract, ask = ("tell_duel", "retract_duel", "ask_pair") if duels else ("tell", "retract", "ask")
    ids = mostly(one_of("'visit'", "0", "3", "None"))
    told = st.tuples(one_of(tell, retract), ACTIONS | mostly(ACTIONS), outcome, ids).map(
        lambda parts: "({!r}, [{}, {}], dict(id={}))".format(*parts)
    )
    allowed = mostly(one_of("None", "['tea']", "['jam', 7, 'jam']"))
    asked = st.tuples(one_of(ask, "probabilities"), allowed).map(lambda p: f"({p[0]!r}, [{p[1]}], {{}})")
    model = MODELS.map("('with_model', [{}], {{}})".format)
    saved = kwargs(with_model=FLAGS, outcomes=FLAGS).map("('to_json', [], {})".format)
    return st.lists(told | told | asked | model | saved, min_size=1, max_size=8).map(lambda s: f"[{', '.join(s)}]")


AGENTS = (
    listed(POLICIES, _steps(duels=False))
    | listed(POLICIES, _steps(duels=False))
    | listed(DUELLING, _steps(duels=True))
    | calls(
        new=kwargs(
            policy_=POLICIES | DUELLING,
            seed_=integers(0, 2**63 - 1),
            person=one_of("'ann'", "0", "2**32 - 1") | text(),
            asked=integers(0, 2**32 - 1),
            belief=one_of("None", "lpb.LpbTS(MODEL).new_belief()"),
        )
    )
)
