"""Save agents as JSON and restore them."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.json import digest, parse_json
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief, policy_from_dict
from lpbandits.typing import Json

if TYPE_CHECKING:
    from lpbandits.agent.agent import Agent

FORMAT = "lpbandits-agent"
VERSION = 3
SOURCE = "the saved agent"


def written(agent: "Agent", *, with_model: bool, outcomes: bool) -> str:
    """Return an agent as JSON; see `Agent.to_json`."""
    policy, log = agent.policy, agent.log
    content: Json = {
        "format": FORMAT,
        "version": VERSION,
        "policy": policy.to_dict(),
        "model_sha256": policy.model.sha256,
        "seed": agent.seed,
        "person": agent.person,
        "asked": agent.asked,
        "belief": agent.belief.to_dict(policy.model.actions),
        "outcomes": [list(row) for row in agent.outcomes] if outcomes and not log.missing else None,
        "ids": [[key, at, *log.named((a, x))] for key, (at, a, x) in log.ids.items()],
    }
    if with_model:
        content["model"] = policy.model.to_dict()
    content["sha256"] = digest(content)
    return json.dumps(content, ensure_ascii=False)


def restored(agent_class: "type[Agent]", text: str, model: PreferenceModel | None) -> "Agent":
    """Return the agent that `written` wrote.

    Saved outcomes are added again one by one, and the saved belief must agree with them.
    """
    content = parse_json(text, SOURCE)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FileFormatError(f"{SOURCE} must have 'format' '{FORMAT}'")
    if content.get("version") != VERSION:
        raise FileFormatError(
            f"the agent has format version {content.get('version')!r}; this lpbandits reads version {VERSION}: install "
            "the lpbandits that wrote it"
        )
    if digest({key: value for key, value in content.items() if key != "sha256"}) != content.get("sha256"):
        raise FileFormatError(f"{SOURCE} was altered: its content does not match its sha256")
    model = _model_of(content, model)
    try:
        policy = policy_from_dict(content["policy"], model)
        belief = Belief.from_dict(policy, content["belief"])
        arguments = {name: content[name] for name in ("seed", "person", "asked")}
        rows = content["outcomes"]
        agent = agent_class(policy, **arguments, belief=belief if rows is None else None)
        if rows is not None:
            for label, outcome in rows:
                agent._add(*agent.log.checked(label, outcome))
            _check_same(agent.belief, belief)
        agent.log.restore_ids(content["ids"])
    except FileFormatError:
        raise
    except InvalidInput as error:
        raise FileFormatError(f"{SOURCE} is invalid: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{SOURCE} is incomplete: {error!r}") from None
    return agent


def _check_same(replayed: Belief, saved: Belief) -> None:
    """Raise `InvalidInput` if a saved belief differs from its replayed outcomes by more than rounding."""
    rows = [layout.COUNT, layout.SUM]
    if not np.array_equal(replayed.actions, saved.actions) or not np.allclose(
        replayed.slots[rows, : replayed.tried], saved.slots[rows, : saved.tried], rtol=1e-9, atol=1e-9
    ):
        raise InvalidInput("its belief does not follow from its outcomes")


def _model_of(content: Mapping[str, Any], model: PreferenceModel | None) -> PreferenceModel:
    if model is None:
        if "model" not in content:
            raise FileFormatError("the agent was saved without its model; give it: Agent.from_json(text, model=model)")
        model = PreferenceModel.from_dict(content["model"], source="the agent's model")
    if content.get("model_sha256") != model.sha256:
        raise FileFormatError("the agent was saved with another model; give that model")
    return model
