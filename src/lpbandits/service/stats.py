"""Numbers of a project: people, decisions, outcomes and mean rewards."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, text

from lpbandits.service.requests.base import time_text
from lpbandits.service.store import schema
from lpbandits.service.store.database import Store
from lpbandits.service.store.queries import is_repeated, named_project, standing
from lpbandits.typing import Json, Label

ARMS = ("policy", "holdout")


@dataclass
class Tally:
    """Counts of an action or of an arm."""

    people: int = 0
    recommended: int = 0
    given: int = 0
    rewards: int = 0
    total: float = 0.0

    def to_dict(self, *names: str) -> Json:
        """Return some counts and the mean reward as a JSON object."""
        mean = self.total / self.rewards if self.rewards else None
        return {**{name: getattr(self, name) for name in names}, "rewards": self.rewards, "mean_reward": mean}


def project_stats(sql: Connection, name: str | None) -> Json:
    """Return the numbers of a project as a JSON object.

    Notes
    -----
    `outcomes` are all reported ones, `withdrawn` those that were withdrawn, and `waiting` the decisions without a
    reward in force. Per action, `recommended` counts decisions, `given` the outcomes in force, one for each decision,
    and `rewards` those with a reward; so do the arms, `policy` and `holdout`. The last time is that of the latest
    record of people, decisions and outcomes.
    """
    project_id, name = named_project(sql, name)
    people, decisions, outcomes = schema.people, schema.decisions, schema.outcomes
    own = people.c.project_id == project_id
    arms: dict[bool, Tally] = {False: Tally(), True: Tally()}
    actions: dict[Label, Tally] = defaultdict(Tally)
    times: list[int] = []

    def rows(*columns: Any, of: Any, by: Any) -> Any:
        query = select(*by, func.min(of.c.at), func.max(of.c.at), *columns).group_by(*by).where(own)
        table = people if of is people else columns_from[of.name]
        for row in sql.execute(query.select_from(table)):
            times.extend(row[len(by) : len(by) + 2])
            yield (*row[: len(by)], *row[len(by) + 2 :])

    stands = standing()
    columns_from = {
        "decisions": decisions.join(people, people.c.id == decisions.c.person_id),
        "outcomes": stands.table.join(people, people.c.id == outcomes.c.person_id),
    }
    for holdout, count in rows(func.count(), of=people, by=(people.c.holdout,)):
        arms[holdout].people = count
    for holdout, action, count in rows(func.count(), of=decisions, by=(people.c.holdout, decisions.c.action)):
        arms[holdout].recommended += count
        actions[json.loads(action)].recommended += count
    n_outcomes = n_withdrawn = n_answered = 0
    answered = func.count(stands.reward).filter(outcomes.c.asked.is_not(None))
    repeated = func.count().filter(is_repeated(stands))
    numbers = (func.count(), func.count().filter(stands.withdrawn), repeated, answered)
    of_rewards = (func.count(stands.reward), func.coalesce(func.sum(stands.reward), 0.0))
    by = (people.c.holdout, stands.action)
    for holdout, action, n, withdrawn, again, done, rewards, total in rows(*numbers, *of_rewards, of=outcomes, by=by):
        n_outcomes, n_withdrawn, n_answered = n_outcomes + n, n_withdrawn + withdrawn, n_answered + done
        for tally in (arms[holdout], actions[json.loads(action)]):
            tally.given += n - withdrawn - again
            tally.rewards += rewards
            tally.total += total
    n_decisions = sum(arm.recommended for arm in arms.values())
    table = schema.corrections
    corrected = select(func.count()).select_from(table.join(people, people.c.id == table.c.person_id)).where(own)
    deleted = select(func.count()).where(schema.tombstones.c.project_id == project_id)
    return {
        "project": name,
        "people": sum(arm.people for arm in arms.values()),
        "deleted": sql.execute(deleted).scalar_one(),
        "decisions": n_decisions,
        "waiting": n_decisions - n_answered,
        "outcomes": n_outcomes,
        "withdrawn": n_withdrawn,
        "corrections": sql.execute(corrected).scalar_one(),
        "arms": [
            {"arm": arm, **arms[holdout].to_dict("people", "recommended", "given")}
            for arm, holdout in zip(ARMS, (False, True), strict=True)
        ],
        "actions": [
            {"action": action, **actions[action].to_dict("recommended", "given")}
            for action in sorted(actions, key=lambda label: (-actions[label].recommended, str(label)))
        ],
        "first": time_text(min(times)) if times else None,
        "last": time_text(max(times)) if times else None,
    }


def all_stats(sql: Connection) -> list[Json]:
    """Return the numbers of all projects of a store."""
    names = sql.execute(select(schema.projects.c.name).order_by(schema.projects.c.name)).scalars().all()
    return [project_stats(sql, name) for name in names]


def store_bytes(store: Store, sql: Connection) -> int:
    """Return the size of a store on disk; of SQLite, with the log of recent writes."""
    if store.path is None:
        return int(sql.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    files = (store.path, store.path.with_name(store.path.name + "-wal"))
    return sum(path.stat().st_size for path in files if path.exists())
