"""`Twin`: what the service should know, in plain Python: lists of facts, and a new `Agent` for every question."""

from dataclasses import dataclass, field
from typing import Any

import lpbandits as lpb
from lpbandits.agent import Agent, Decision
from lpbandits.model import PreferenceModel
from lpbandits.typing import Label


@dataclass
class TwinOutcome:
    """An outcome as it stands."""

    id: str
    decision: str | None
    given: Label
    reward: float | None
    withdrawn: bool = False


@dataclass
class TwinPerson:
    """What is known about a person."""

    holdout: bool
    asked: int = 0
    decisions: dict[str, Label] = field(default_factory=dict)
    outcomes: list[TwinOutcome] = field(default_factory=list)
    prior: tuple[list[list[int]], list[float]] | None = None

    def of(self, decision: str) -> list[TwinOutcome]:
        """Return the outcomes in force of a decision."""
        return [one for one in self.outcomes if one.decision == decision and not one.withdrawn]

    def seen(self) -> set[Label]:
        """Return the actions given, and those recommended of which nothing was reported."""
        waiting = {action for key, action in self.decisions.items() if not self.of(key)}
        return waiting | {one.given for one in self.outcomes if not one.withdrawn}


@dataclass
class Twin:
    """A project."""

    model: PreferenceModel
    policy: str = "lpbts"
    seed: int = 0
    holdout: float = 0.0
    holdout_policy: str = "popular"
    settings: dict[str, Any] = field(default_factory=dict)
    people: dict[str, TwinPerson] = field(default_factory=dict)

    def person(self, label: str) -> TwinPerson:
        """Return a person, who is enrolled if new; the share of the holdout must be 0 or 1."""
        return self.people.setdefault(label, TwinPerson(self.holdout == 1))

    def agent(self, label: str) -> Agent:
        """Return a new agent that is told all outcomes in force."""
        known = self.people.get(label) or TwinPerson(self.holdout == 1)
        if known.holdout:
            policy = lpb.policy(self.model, self.holdout_policy, explore=self.settings.get("explore", 0.0))
        else:
            policy = lpb.policy(self.model, self.policy, **self.settings)
        prior = None
        if policy.evidence.latent and known.prior and known.prior[0] == self.model.orderings.tolist():
            prior = known.prior[1]
        agent = Agent(policy, seed=self.seed, person=label, asked=known.asked, prior=prior)
        for one in known.outcomes:
            if not one.withdrawn and one.reward is not None and one.given in self.model.index:
                agent.tell(one.given, one.reward)
        return agent

    def decide(self, label: str, allowed: list[Label] | None, *, exclude_seen: bool, n: int = 1) -> list[Decision]:
        """Return the next decisions, all with today's knowledge; none if no action is left before the last."""
        agent, out = self.agent(label), []
        actions = list(self.model.actions) if allowed is None else [a for a in self.model.actions if a in allowed]
        if exclude_seen and label in self.people:
            actions = [a for a in actions if a not in self.people[label].seen()]
        for _ in range(n):
            if not actions:
                return []
            out.append(agent.decide(actions if allowed is not None or exclude_seen else None))
            if exclude_seen:
                actions = [a for a in actions if a != out[-1].action]
        return out

    def keep(self, label: str, decisions: list[Decision], ids: list[str]) -> None:
        """Remember decisions."""
        person = self.person(label)
        for decision, name in zip(decisions, ids, strict=True):
            person.decisions[name] = decision.action  # type: ignore[assignment] # no duels
        person.asked += len(decisions)
