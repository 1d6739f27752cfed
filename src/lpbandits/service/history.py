"""A person's facts, and the belief that follows from them.

The belief at any time is that of a new `Agent` that is told the outcomes in force, in the order in which they were
recorded. A correction changes an outcome in its place.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection

from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.io.json import digest
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief
from lpbandits.service.configuration import Setup
from lpbandits.service.store import statements
from lpbandits.typing import Json, Label

CHUNK = 5_000
"""Maximum number of values in one IN."""

Fact = Mapping[str, Any]
"""A row of `starts`, `decisions`, `outcomes` or `corrections`, by column."""


class Outcome(NamedTuple):
    """An outcome as it stands after all corrections; without a reward it is known only that the action was given."""

    n: int
    asked: int | None
    action: Label
    reward: float | None
    withdrawn: bool = False


@dataclass
class History:
    """The facts of one person, each list in order."""

    starts: list[Fact]
    decisions: list[Fact]
    outcomes: list[Fact]
    corrections: list[Fact]

    @classmethod
    def new(cls) -> "History":
        """Return the history of a new person."""
        return cls([], [], [], [])

    def add(self, table: Any, fact: Fact) -> None:
        """Add a fact to the list of its table."""
        getattr(self, table.name).append(fact)

    def before(self, n: int) -> "History":
        """Return the facts with numbers below `n`."""
        return History(*([fact for fact in facts if fact["n"] < n] for facts in self._lists()))

    def _lists(self) -> tuple[list[Fact], ...]:
        return self.starts, self.decisions, self.outcomes, self.corrections

    def current(self) -> list[Outcome]:
        """Return all outcomes as they stand, withdrawn ones included, in the order in which they were recorded."""
        out = {
            row["n"]: Outcome(row["n"], row["asked"], json.loads(row["action"]), row["reward"]) for row in self.outcomes
        }
        for row in self.corrections:
            outcome = out[row["outcome"]]
            action = outcome.action if row["action"] is None else json.loads(row["action"])
            out[outcome.n] = outcome._replace(action=action, reward=row["reward"], withdrawn=row["reward"] is None)
        return list(out.values())

    def in_force(self) -> list[Outcome]:
        """Return the outcomes that were not withdrawn."""
        return [outcome for outcome in self.current() if not outcome.withdrawn]

    def seen(self) -> set[Label]:
        """Return the actions that were given, and those recommended of which nothing was reported."""
        outcomes = self.in_force()
        reported = {outcome.asked for outcome in outcomes}
        waiting = {returned_action(row) for row in self.decisions if row["asked"] not in reported}
        return waiting | {outcome.action for outcome in outcomes}

    def start(self, model: PreferenceModel) -> Json:
        """Return the arguments `prior` and `covariates` of the person's agent.

        A prior belongs to the states for which it was given, and covariates to a model that has them.
        """
        if not self.starts:
            return {}
        latest = self.starts[-1]
        if latest["prior"] is not None:
            return {"prior": json.loads(latest["prior"])} if latest["states"] == states_digest(model) else {}
        values: Json = json.loads(latest["covariates"])
        covariates = {name: value for name, value in values.items() if _has_covariate(model, name, value)}
        return {"covariates": covariates} if covariates else {}

    def agent(self, setup: Setup, label: str, *, holdout: bool, asked: int) -> Agent:
        """Return the person's agent under a setup."""
        policy = setup.policy_for(holdout=holdout)
        start = self.start(policy.model) if policy.evidence.latent else {}
        agent = Agent(policy, seed=setup.seed, person=label, asked=asked, **start)
        known = policy.model.index
        for outcome in self.in_force():
            if outcome.reward is not None and outcome.action in known:
                agent.tell(outcome.action, outcome.reward)
        return agent


def _has_covariate(model: PreferenceModel, name: str, value: Any) -> bool:
    """Return whether a model has a covariate, of the kind of a value."""
    if model.covariates is None or name not in model.covariates.columns:
        return False
    try:
        model.covariates.checked({name: value})
    except InvalidInput:  # the column had text in an earlier model, and has numbers now
        return False
    return True


def states_digest(model: PreferenceModel) -> str:
    """Return a hash of a model's states: equal if their orderings and tiers are."""
    return digest([list(model.actions), model.orderings.tolist(), model.tiers])[:16]


def restored(setup: Setup, label: str, belief: bytes | None, *, holdout: bool, asked: int) -> Agent:
    """Return an agent with a packed belief; None is that of a new person."""
    policy = setup.policy_for(holdout=holdout)
    if belief is None:
        return Agent(policy, seed=setup.seed, person=label, asked=asked)
    return Agent(policy, seed=setup.seed, person=label, asked=asked, belief=Belief.unpack(policy, belief))


def returned_action(row: Fact) -> Label:
    """Return the action that a decision returned to its caller: recommended, or the caller's own in shadow mode."""
    label: Label = json.loads(row["action"] if row["returned"] is None else row["returned"])
    return label


def id_of_decision(person_id: int, asked: int) -> str:
    """Return the id of a decision: unique in the store, for the ids of people are never given again.

    >>> id_of_decision(17, 0)
    'd17-0'
    """
    return f"d{person_id}-{asked}"


def id_of_outcome(person_id: int, n: int) -> str:
    """Return the id of an outcome.

    >>> id_of_outcome(17, 3)
    'o17-3'
    """
    return f"o{person_id}-{n}"


def histories(sql: Connection, person_ids: Iterable[int]) -> dict[int, History]:
    """Return the histories of people from the store."""
    ids = list(person_ids)
    out = {person_id: History.new() for person_id in ids}
    for table, statement in statements.FACTS.items():
        names = table.c.keys()
        for start in range(0, len(ids), CHUNK):
            for row in sql.execute(statement, {"ids": ids[start : start + CHUNK]}):
                out[row[0]].add(table, dict(zip(names, row, strict=True)))
    return out
