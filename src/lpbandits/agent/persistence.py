"""Save agents as JSON and restore them."""

import json
from typing import TYPE_CHECKING

from lpbandits import validate
from lpbandits.agent.record import restored_decisions, saved_decisions
from lpbandits.errors import FileFormatError
from lpbandits.io.json import digest, parse_json
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief, policy_from_dict
from lpbandits.policies.belief import reading_saved
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.agent.agent import Agent

FORMAT = "lpbandits-agent"
VERSIONS = (3, 4)
"""An agent is written in the lowest version that has all its fields; version 4 adds `decisions`."""
SOURCE = "the saved agent"


def agent_to_json(agent: "Agent", *, with_model: bool, outcomes: bool) -> str:
    """Return an agent as JSON; see `Agent.to_json`."""
    policy, log = agent.policy, agent.log
    content: Json = {
        "format": FORMAT,
        "version": 4 if agent._decisions else 3,
        "policy": policy.to_dict(),
        "model_sha256": policy.model.sha256,
        "seed": agent.seed,
        "person": agent.person,
        "asked": agent.asked,
        "belief": agent.belief.to_dict(policy.model.actions),
        "outcomes": [list(row) for row in agent.outcomes] if outcomes and not log.missing else None,
        "ids": [[key, at, *log.named((a, x))] for key, (at, a, x) in log.ids.items()],
    }
    if agent._decisions:
        content["decisions"] = saved_decisions(agent)
    if with_model:
        content["model"] = policy.model.to_dict()
    content["sha256"] = digest(content)
    return json.dumps(content, ensure_ascii=False)


def agent_from_json(agent_class: "type[Agent]", text: str, model: PreferenceModel | None) -> "Agent":
    """Return the agent of this JSON text; saved outcomes are added again one by one."""
    content = parse_json(text, SOURCE)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"{SOURCE} must have 'format' '{FORMAT}'")
    if not any(validate.is_exactly(content.get("version"), version) for version in VERSIONS):
        raise FileFormatError(
            f"the agent has format version {content.get('version')!r}; this lpbandits reads versions {VERSIONS[0]} to "
            f"{VERSIONS[-1]}: load it with the lpbandits that saved it"
        )
    if digest({key: value for key, value in content.items() if key != "sha256"}) != content.get("sha256"):
        raise FileFormatError(f"{SOURCE} was altered: its content does not match its sha256")
    if model is None:
        if "model" not in content:
            raise FileFormatError("the agent was saved without its model; give it: Agent.from_json(text, model=model)")
        model = PreferenceModel.from_dict(content["model"], source="the agent's model")
    if content.get("model_sha256") != model.sha256:
        raise FileFormatError("the agent was saved with another model; give that model")
    with reading_saved("agent"):
        policy = policy_from_dict(content["policy"], model)
        rows = content["outcomes"]
        belief = Belief.from_dict(policy, content["belief"]) if rows is None else None
        agent = agent_class(policy, **{name: content[name] for name in ("seed", "person", "asked")}, belief=belief)
        for label, outcome in rows or ():
            agent._add(*agent.log.checked(label, outcome))
        agent.log.restore_ids(content["ids"])
        agent._decisions = restored_decisions(agent, content.get("decisions", ()))
    return agent
