"""What several kinds of requests do: enrol a person, take up and store a belief, check an action, and name an item."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import select

from lpbandits.agent import Agent
from lpbandits.errors import LpbError
from lpbandits.service.configuration import Setup
from lpbandits.service.history import restored
from lpbandits.service.store import schema
from lpbandits.service.unit import Person, Project, Unit
from lpbandits.typing import Label

BATCHES = ("decisions", "outcomes")
"""Kinds of requests about many people."""


def enrolled(unit: Unit, project: Project, setup: Setup, label: str) -> Person:
    """Add a person, and draw whether they belong to the holdout."""
    share = setup.configuration.holdout
    drawn = int.from_bytes(hashlib.sha256(f"holdout {setup.seed} {label}".encode()).digest()[:8], "big")
    return unit.new_person(project, label, holdout=drawn < share * 2**64)


def agent_of(unit: Unit, setup: Setup, person: Person) -> Agent:
    """Return a person's agent under the current setup, from the snapshot if that is of the same version."""
    if person.version == setup.version or person.n == 0:
        return restored(setup, person.label, person.belief, holdout=person.holdout, asked=person.asked)
    history = unit.history(person)
    return history.agent(setup, person.label, holdout=person.holdout, asked=person.asked)


def keep_belief(person: Person, setup: Setup, agent: Agent) -> None:
    """Store an agent's belief in a person's snapshot."""
    person.version = setup.version
    person.belief = agent.belief.pack()


def check_given(unit: Unit, project: Project, setup: Setup, given: Label) -> bool:
    """Return whether an action is in the current model; refuse one that no model of the project has had."""
    if given in setup.model.index:
        return True
    table = schema.configurations
    hashes = select(table.c.model_sha256).where(table.c.project_id == project.id, table.c.model_sha256.is_not(None))
    for sha256 in unit.sql.execute(hashes.distinct()).scalars():
        if given in unit.model(sha256).index:
            return False
    setup.policy.index_of(given)
    raise AssertionError


@contextmanager
def item_of(kind: str, position: int, person: str) -> Iterator[None]:
    """Name an item of a batch in the error that refuses it; a request of another kind is not a batch."""
    try:
        yield
    except LpbError as error:
        if kind not in BATCHES:
            raise
        raise type(error)(f"items[{position}] (person {person!r}): {error}") from None
