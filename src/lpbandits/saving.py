"""Saved agents: everything one knows as JSON, and back."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief, policy_from_dict
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.agent import Agent

FORMAT = "lpbandits-agent"
VERSION = 2


def written(agent: "Agent", *, with_model: bool, outcomes: bool) -> str:
    """Return an agent as JSON; see `Agent.to_json`."""
    policy, told = agent.policy, agent.told
    content: Json = {
        "format": FORMAT,
        "version": VERSION,
        "policy": policy.to_dict(),
        "model_sha256": policy.model.sha256,
        "seed": agent.seed,
        "person": agent.person,
        "asked": agent.asked,
        "belief": agent.belief.to_dict(policy.model.actions),
        "outcomes": [list(row) for row in agent.outcomes] if outcomes and not told.missing else None,
        "ids": [[key, at, *told.named((a, x))] for key, (at, a, x) in told.ids.items()],
    }
    if with_model:
        content["model"] = policy.model.to_dict()
    return json.dumps(content, ensure_ascii=False)


def restored(made: "type[Agent]", text: str, model: PreferenceModel | None) -> "Agent":
    """Return the agent that `written` wrote."""
    try:
        content = json.loads(text)
    except (json.JSONDecodeError, TypeError) as error:
        raise FileFormatError(f"the saved agent is not whole JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"this is not a saved agent: its 'format' is not '{FORMAT}'")
    if content.get("version") != VERSION:
        raise FileFormatError(f"the agent has version {content.get('version')!r}; this lpbandits reads {VERSION}")
    model = _model_of(content, model)
    try:
        policy = policy_from_dict(content["policy"], model)
        belief = Belief.from_dict(policy, content["belief"])
        address = {name: content[name] for name in ("seed", "person", "asked")}
        agent = made(policy, **address, belief=belief)
        agent.told.restore(content["outcomes"], content["ids"])
    except FileFormatError:
        raise
    except InvalidInput as error:
        raise FileFormatError(f"the saved agent is not usable: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"the saved agent is not whole: {error!r}") from None
    return agent


def _model_of(content: Mapping[str, Any], model: PreferenceModel | None) -> PreferenceModel:
    if model is None:
        if "model" not in content:
            raise FileFormatError("the agent was saved without its model; give it: Agent.from_json(text, model=model)")
        return PreferenceModel.from_dict(content["model"], source="the agent's model")
    if content.get("model_sha256") != model.sha256:
        raise FileFormatError("the agent was saved with another model; give the one it was made with")
    return model
