"""Move an agent to another model, such as a refitted one."""

from typing import TYPE_CHECKING

from lpbandits.agent.record import kept_decisions
from lpbandits.model import PreferenceModel
from lpbandits.typing import Label

if TYPE_CHECKING:
    from lpbandits.agent.agent import Agent


def over_model(agent: "Agent", model: PreferenceModel) -> tuple["Agent", dict[Label, int]]:
    """Return an agent over another model, and the number of dropped outcomes by action; see `Agent.with_model`."""
    policy = agent.policy.with_model(model)
    agent.log.require_all("they cannot be moved to another model")
    ids = {place: key for key, (place, *_) in agent.log.ids.items()}
    fresh = type(agent)(policy, seed=agent.seed, person=agent.person, asked=agent.asked)
    dropped: dict[Label, int] = {}
    for place, row in enumerate(agent.outcomes):
        unknown = {label for label in (row if policy.feedback == "duels" else row[:1]) if label not in model.index}
        dropped |= {label: dropped.get(label, 0) + 1 for label in unknown}
        if not unknown:
            fresh._add(*fresh.log.checked(*row), ids.get(place))
    fresh._decisions = kept_decisions(agent, fresh)
    return fresh, dropped
