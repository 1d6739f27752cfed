"""`Replay`: repeat all that was recorded of one person, and compare it bit for bit."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from lpbandits import __version__
from lpbandits.agent import Agent
from lpbandits.agent.record import positive_probabilities
from lpbandits.errors import LpbError
from lpbandits.policies import Belief
from lpbandits.service.configuration import Setup
from lpbandits.service.history import Fact, History, id_of_decision
from lpbandits.validate import CONVERSION_ERRORS, short_repr


class Differs(Exception):
    """A fact or a snapshot is not what its replay gives."""


class Replay:
    """The facts of one person, told forward to one agent; a correction, a start and a new version rebuild it.

    Parameters
    ----------
    label, holdout
        Those of the person.
    setup_of
        Returns a version of the project's setup.
    """

    def __init__(self, label: str, *, holdout: bool, setup_of: Callable[[int], Setup]) -> None:
        self.label, self.holdout, self.setup_of = label, holdout, setup_of
        self.past = History.new()
        self.asked = self.version = 0
        self._agent: Agent | None = None
        self._setup: Setup | None = None
        self._waiting: list[Fact] = []
        self._outcomes: set[int] = set()
        self._count = 0

    def run(self, history: History) -> None:
        """Replay all facts; raise `Differs` at the first that differs."""
        kinds = {"starts": "start", "decisions": "decision", "outcomes": "outcome", "corrections": "correction"}
        facts = sorted(
            ((fact["n"], name, fact) for name in kinds for fact in getattr(history, name)), key=lambda entry: entry[0]
        )
        for expected, (n, name, fact) in enumerate(facts, start=1):
            if n != expected:
                what = f"fact {expected} is missing" if n > expected else f"two facts have the number {n}"
                raise Differs(f"{what}; facts must be numbered 1 to {len(facts)}")
            try:
                getattr(self, f"_{kinds[name]}")(fact)
            except (Differs, LpbError, *CONVERSION_ERRORS) as error:
                raise Differs(f"{kinds[name]} {self._named(name, fact)}: {error}{_made_by(fact)}") from None

    def check_snapshot(self, row: Mapping[Any, Any] | None) -> None:
        """Compare the snapshot with the belief that follows from all facts."""
        if row is None:
            raise Differs("the snapshot is missing")
        for name, value in (("n", self._count), ("asked", self.asked)):
            if row[name] != value:
                raise Differs(f"snapshot: {name} is {row[name]}, replayed {value}")
        if row["belief"] is None and row["version"] == 0:  # to be derived at the next request
            return
        try:
            agent = self._under(self.setup_of(row["version"]))
            replayed, stored = agent.belief.pack(), bytes(row["belief"] or b"")
            if stored != replayed:  # an earlier version of the library may have named the same belief otherwise
                stored = Belief.unpack(agent.policy, stored).pack()
        except (LpbError, *CONVERSION_ERRORS) as error:
            raise Differs(f"snapshot: {error}") from None
        if stored != replayed:
            raise Differs(f"snapshot: the belief under version {row['version']} is not that of the facts")

    def _start(self, fact: Fact) -> None:
        self._add("starts", fact)
        self._agent = None

    def _decision(self, fact: Fact) -> None:
        if fact["asked"] != self.asked:
            raise Differs(f"asked is {fact['asked']}, replayed {self.asked}")
        if fact["version"] < self.version:
            raise Differs(f"its version is {fact['version']}, after a decision under version {self.version}")
        self.version = fact["version"]
        setup = self.setup_of(self.version)
        agent = self._under(setup)
        allowed = None if fact["allowed"] is None else json.loads(fact["allowed"])
        positive = positive_probabilities(agent, agent.policy.indices(allowed))
        action = agent.ask(allowed)
        if fact["positive"] != (None if positive is None else json.dumps(positive)):
            raise Differs(_difference_of(fact["positive"], positive))
        if fact["action"] != json.dumps(action):
            raise Differs(f"action is {short_repr(json.loads(fact['action']))}, replayed {short_repr(action)}")
        is_shadow = setup.configuration.mode == "shadow"
        if is_shadow != (fact["returned"] is not None):
            raise Differs(
                f"the caller's action is {'missing' if is_shadow else 'there'}, in {setup.configuration.mode}"
            )
        self.asked += 1
        self._add("decisions", fact)

    def _outcome(self, fact: Fact) -> None:
        if fact["asked"] is not None and not 0 <= fact["asked"] < self.asked:
            raise Differs(f"it belongs to decision number {fact['asked']}, of {self.asked}")
        self._add("outcomes", fact)
        self._outcomes.add(fact["n"])
        self._waiting.append(fact)

    def _correction(self, fact: Fact) -> None:
        if fact["outcome"] not in self._outcomes:
            raise Differs(f"it corrects fact {fact['outcome']}, which is not an earlier outcome")
        self._add("corrections", fact)
        self._agent = None

    def _add(self, name: str, fact: Fact) -> None:
        getattr(self.past, name).append(fact)
        self._count += 1

    def _under(self, setup: Setup) -> Agent:
        """Return the agent under a setup, which knows all outcomes so far."""
        agent = self._agent
        if agent is None or self._setup is not setup:
            agent = self.past.agent(setup, self.label, holdout=self.holdout, asked=self.asked)
            self._agent, self._setup = agent, setup
        else:
            for fact in self._waiting:
                action = json.loads(fact["action"])
                if fact["reward"] is not None and action in agent.policy.model.index:
                    agent.tell(action, fact["reward"])
        self._waiting.clear()
        return agent

    def _named(self, name: str, fact: Fact) -> str:
        """Return the number of a fact, and the id of a decision."""
        if name != "decisions":
            return str(fact["n"])
        return f"{fact['n']} (id {id_of_decision(fact['person_id'], fact['asked'])})"


def _difference_of(stored: str | None, replayed: Any) -> str:
    """Return in words how probabilities differ."""
    if stored is None or replayed is None:
        return f"probabilities are {'absent' if stored is None else 'there'}, replayed the other way"
    before, after = dict(json.loads(stored)), dict(replayed)
    for label in [*before, *after]:
        if before.get(label, 0.0) != after.get(label, 0.0):
            return (
                f"probability of {short_repr(label)} is {before.get(label, 0.0)!r}, replayed {after.get(label, 0.0)!r}"
            )
    return f"probabilities are written as {short_repr(stored)}"


def _made_by(fact: Fact) -> str:
    """Return which other version of the library recorded a decision."""
    library = fact.get("library", __version__)
    return "" if library == __version__ else f" (recorded by lpbandits {library}, replayed by {__version__})"
