"""What a new model takes over of a project's outcomes, and what it drops."""

import json
from collections import Counter
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.service.configuration import Setup
from lpbandits.service.errors import Conflict
from lpbandits.service.history import states_digest
from lpbandits.service.store import schema
from lpbandits.typing import Json


class Carried(NamedTuple):
    """Number of outcomes that a model takes over, and of those that it drops, by action."""

    carried: int
    dropped: tuple[tuple[str | int, int], ...]
    priors: int

    def to_dict(self) -> Json:
        """Return a JSON object."""
        dropped = [{"action": action, "outcomes": count} for action, count in self.dropped]
        return {"carried": self.carried, "dropped": dropped, "dropped_priors": self.priors}


def carried_by(sql: Connection, project_id: int, setup: Setup) -> Carried:
    """Count the rewards in force of a project by whether a setup's model has their actions.

    Raises `Conflict` if the model's family of rewards does not allow some of them.
    """
    people, outcomes, corrections = schema.people, schema.outcomes, schema.corrections
    of_project = people.c.project_id == project_id
    rewards = (
        select(outcomes.c.action, func.count())
        .join(people, people.c.id == outcomes.c.person_id)
        .where(of_project, outcomes.c.reward.is_not(None))
    )
    counts: Counter[str] = Counter(dict(map(tuple, sql.execute(rewards.group_by(outcomes.c.action)))))
    fixed = (
        select(corrections, outcomes.c.action.label("before"), outcomes.c.reward.label("reported"))
        .join(outcomes, (outcomes.c.person_id == corrections.c.person_id) & (outcomes.c.n == corrections.c.outcome))
        .join(people, people.c.id == corrections.c.person_id)
        .where(of_project)
        .order_by(corrections.c.person_id, corrections.c.n)
    )
    current: dict[tuple[int, int], tuple[str, float | None]] = {}
    for row in sql.execute(fixed):
        place = (row.person_id, row.outcome)
        action, reward = current.get(place, (row.before, row.reported))
        counts[action] -= reward is not None
        current[place] = (row.action or action, row.reward)
        counts[current[place][0]] += row.reward is not None
    check_family(sql, project_id, setup)
    model = setup.model
    by_action = [(json.loads(text), n) for text, n in sorted(counts.items()) if n]
    kept = sum(n for action, n in by_action if action in model.index)
    dropped = tuple((action, n) for action, n in by_action if action not in model.index)
    return Carried(kept, dropped, _dropped_priors(sql, project_id, model))


def check_family(sql: Connection, project_id: int, setup: Setup) -> None:
    """Refuse a family of rewards that contradicts what was reported."""
    rewards = setup.policy.rewards
    if rewards.family == "gaussian":
        return
    people = schema.people
    for table in (schema.outcomes, schema.corrections):
        query = select(table.c.reward).join(people, people.c.id == table.c.person_id)
        query = query.where(people.c.project_id == project_id, table.c.reward.is_not(None)).distinct()
        for reward in sql.execute(query).scalars():
            try:
                rewards.check(reward)
            except InvalidInput as error:
                raise Conflict(f"the model has {rewards.family} rewards, but the project has others: {error}") from None


def _dropped_priors(sql: Connection, project_id: int, model: PreferenceModel) -> int:
    """Return the number of people whose prior is about other states."""
    starts, people = schema.starts, schema.people
    last = select(starts.c.person_id, func.max(starts.c.n).label("n")).group_by(starts.c.person_id).subquery()
    query = (
        select(func.count())
        .select_from(starts)
        .join(last, (last.c.person_id == starts.c.person_id) & (last.c.n == starts.c.n))
        .join(people, people.c.id == starts.c.person_id)
        .where(people.c.project_id == project_id, starts.c.prior.is_not(None), starts.c.states != states_digest(model))
    )
    return int(sql.execute(query).scalar_one())
