"""`Decision`: one answered request for an action. `DecisionRecord`: a decision, the given action and its outcome."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lpbandits import validate
from lpbandits.agent.refusals import warn_of_lock_in
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.model_fields import as_prior
from lpbandits.notebook import Shown
from lpbandits.policies.belief import reading_saved
from lpbandits.text import display, significant
from lpbandits.typing import IntArray, Json, Label

if TYPE_CHECKING:
    from lpbandits.agent.agent import Agent

Play: TypeAlias = Label | tuple[Label, Label]
"""An action, or the two actions of a duel."""


@dataclass(frozen=True, repr=False)
class Decision(Shown):
    """One answered request for an action, with what is needed to repeat it.

    An agent with this policy, model, seed, person and prior, after `asked` asks and the first `rounds` outcomes,
    answers a request for the `allowed` actions with `action`.

    Attributes
    ----------
    id
        Text that identifies it: eight digits of a hash of model, policy, seed and person, and `asked`. Its outcome has
        the same id.
    action
        The recommended action; for duels the two actions.
    allowed
        The allowed actions, in the model's order.
    positive
        (action, probability) of each action that could be chosen; None if the policy has no exact probabilities, as
        for duels.
    asked, rounds
        Number of earlier asks, and number of outcomes in the belief.
    seed, person
        Those of the agent.
    policy, policy_sha256, model_sha256
        Kinds of the evidence and the rule, hash of all settings of the policy, and hash of the model.
    prior
        Probability of each state before the first outcome; None if it is the model's.

    Examples
    --------
    >>> from lpbandits import Agent, LpbTS, PreferenceModel
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7, person="alice")
    >>> decision = agent.decide()
    >>> decision.id, decision.action, decision.probability
    ('f98698f7-0', 'drug B', 0.5)
    >>> decision
    <Decision f98698f7-0: drug B, P(played) 0.500>
    >>> decision.probabilities
    {'rest': 0.5, 'drug A': 0.0, 'drug B': 0.5}
    """

    id: str
    action: Play
    allowed: tuple[Label, ...]
    positive: tuple[tuple[Label, float], ...] | None
    asked: int
    rounds: int
    seed: int
    person: Label
    policy: str
    policy_sha256: str
    model_sha256: str
    prior: tuple[float, ...] | None = None

    @property
    def probabilities(self) -> dict[Label, float] | None:
        """Probability that each allowed action was chosen; None if the policy has no exact ones."""
        return None if self.positive is None else dict.fromkeys(self.allowed, 0.0) | dict(self.positive)

    @property
    def probability(self) -> float | None:
        """Probability that `action` was chosen; None if the policy has no exact ones."""
        return None if self.positive is None else dict(self.positive).get(self.action, 0.0)  # type: ignore[arg-type] # duels have none

    def __repr__(self) -> str:
        play = " or ".join(map(display, self.action if isinstance(self.action, tuple) else (self.action,)))
        chance = "" if self.probability is None else f", P(played) {significant(self.probability)}"
        return f"<Decision {display(self.id)}: {play}{chance}>"

    def to_dict(self) -> Json:
        """Return the decision as a JSON object.

        "probabilities" lists the action and the probability of each entry of `positive`. "prior" is absent if it is
        the model's.
        """
        out = {field.name: getattr(self, field.name) for field in fields(self)}
        positive, prior = out.pop("positive"), out.pop("prior")
        out["action"] = list(self.action) if isinstance(self.action, tuple) else self.action
        out["allowed"] = list(self.allowed)
        own = {} if prior is None else {"prior": list(prior)}
        return out | {
            "probability": self.probability,
            "probabilities": None if positive is None else [list(pair) for pair in positive],
            **own,
        }

    @classmethod
    def from_dict(cls, content: Any) -> "Decision":
        """Return the decision that `to_dict` wrote."""
        with reading_saved("decision"):
            return cls(**_validated(content))


@dataclass(frozen=True)
class DecisionRecord:
    """A decision and its outcome.

    Attributes
    ----------
    decision
        What was recommended.
    given
        The action that was given; of a duel, winner and loser. None while there is no outcome.
    reward
        Its reward; None for duels, and while there is no outcome.
    """

    decision: Decision
    given: Play | None = None
    reward: float | None = None

    @property
    def pending(self) -> bool:
        """Whether there is no outcome yet."""
        return self.given is None


def decision_id(model: str, policy: str, seed: int, person: Label, asked: int) -> str:
    """Return the id of a decision, by the hashes of the model and of the policy's settings.

    >>> decision_id("3f25", "9c01", 7, "alice", 12)
    '9c66739f-12'
    """
    return f"{hashlib.sha256(json.dumps([model, policy, seed, person]).encode()).hexdigest()[:8]}-{asked}"


def decided(agent: "Agent", allowed: Sequence[Label] | None) -> Decision:
    """Ask an agent, and return and keep the decision with its probabilities."""
    policy = agent.policy
    indices = policy.indices(allowed)
    positive, rounds, asked = positive_probabilities(agent, indices), agent.rounds, agent.asked
    labels = policy.model.actions
    play = agent._choice(allowed)
    decision = Decision(
        id=decision_id(policy.model.sha256, policy.sha256, agent.seed, agent.person, asked),
        action=labels[play] if policy.feedback == "rewards" else (labels[play[0]], labels[play[1]]),
        allowed=labels if allowed is None else tuple(labels[i] for i in indices.tolist()),
        positive=positive,
        asked=asked,
        rounds=rounds,
        seed=agent.seed,
        person=agent.person,
        policy=f"{policy.evidence.kind} × {policy.rule.kind}",
        policy_sha256=policy.sha256,
        model_sha256=policy.model.sha256,
        prior=own_prior(agent),
    )
    agent._decisions[decision.id] = decision
    if agent._locks_in and play in agent.belief.actions:
        warn_of_lock_in(policy, decision.action)
    return decision


def own_prior(agent: "Agent") -> tuple[float, ...] | None:
    """Return the prior of an agent's person; None if it is the model's."""
    prior = agent.belief.prior
    return None if prior is None or np.array_equal(prior, agent.policy.model.prior) else tuple(prior.tolist())


def positive_probabilities(agent: "Agent", indices: IntArray) -> tuple[tuple[Label, float], ...] | None:
    """Return `Decision.positive` of an agent's next decision among the actions with these indices; empty: all."""
    policy = agent.policy
    if policy.feedback == "duels":
        return None
    try:
        chances = policy._probabilities(agent.belief, indices)
    except NotSupported:
        return None
    labels = policy.model.actions
    return tuple((labels[i], min(float(chances[i]), 1.0)) for i in (chances > 0).nonzero()[0].tolist())  # rounded sums


def own_decision(decisions: Mapping[str, Decision], decision: Any, id_: Hashable) -> Decision:
    """Return the decision of an agent that a caller gives by itself or by its id."""
    if id_ is not None:
        raise InvalidInput(
            f"id must be left out with a decision, got {validate.short_repr(id_)}; the id of the outcome is that of "
            "the decision"
        )
    key = decision.id if isinstance(decision, Decision) else decision
    own = decisions.get(key) if isinstance(key, str) else None
    if own is None or (isinstance(decision, Decision) and decision != own):
        raise InvalidInput(
            f"decision must be one that this agent made with decide(), got {validate.short_repr(key)}; give it to the "
            "agent that made it, or leave it out"
        )
    return own


def records_of(agent: "Agent") -> list[DecisionRecord]:
    """Return the records of all decisions of an agent, in order; an outcome has the id of its decision."""
    out = []
    for key, decision in agent._decisions.items():
        told = agent.log.ids.get(key)
        if told is None:
            out.append(DecisionRecord(decision))
        else:
            action, outcome = agent.log.named((told[1], told[2]))
            duel = isinstance(decision.action, tuple)
            out.append(DecisionRecord(decision, (action, outcome) if duel else action, None if duel else outcome))
    return out


def saved_decisions(agent: "Agent") -> list[Json]:
    """Return the decisions as JSON objects; null stands for all actions of the agent's model."""
    everything = agent.policy.model.actions
    return [
        one.to_dict() | ({"allowed": None} if one.allowed == everything else {}) for one in agent._decisions.values()
    ]


def restored_decisions(agent: "Agent", content: Iterable[Any]) -> dict[str, Decision]:
    """Return the decisions of `saved_decisions`, of this agent only."""
    out: dict[str, Decision] = {}
    for entry in content:
        allowed = list(agent.policy.model.actions) if entry["allowed"] is None else entry["allowed"]
        decision = Decision.from_dict({**entry, "allowed": allowed})
        if (decision.seed, decision.person) != (agent.seed, agent.person) or decision.asked >= agent.asked:
            raise InvalidInput(f"decision {decision.id!r} is one of another agent")
        out[decision.id] = decision
    return out


def kept_decisions(before: "Agent", after: "Agent") -> dict[str, Decision]:
    """Return the decisions that an agent over another model keeps: all but those whose outcome it dropped."""
    told, kept = before.log.ids, after.log.ids
    return {key: one for key, one in before._decisions.items() if key not in told or key in kept}


def _validated(content: Any) -> Json:
    """Return the fields of a saved decision."""
    seed, person = validate.as_seed(content["seed"]), validate.as_label(content["person"], "person")
    asked = validate.as_count(content["asked"], "asked", low=0, high=2**32 - 1)
    texts = {name: validate.as_text(content[name], name) for name in ("policy", "policy_sha256", "model_sha256")}
    expected = decision_id(texts["model_sha256"], texts["policy_sha256"], seed, person, asked)
    if not validate.is_exactly(content["id"], expected):
        raise validate.invalid("id", repr(expected), content["id"])
    allowed = validate.as_labels(validate.as_list(content["allowed"], "allowed", "actions"), name="allowed")
    known = frozenset(allowed)
    play, positive = content["action"], content["probabilities"]
    action: Play
    if isinstance(play, list):
        first, second = (_among(known, label) for label in play)
        action = first, second
    else:
        action = _among(known, play)
    prior = content.get("prior")
    if prior is not None:
        prior = tuple(as_prior(prior, len(prior)).tolist())
    if positive is not None:
        positive = tuple((_among(known, a), validate.as_number(p, "probability", low=0, high=1)) for a, p in positive)
    return {
        "id": content["id"],
        "action": action,
        "allowed": allowed,
        "positive": positive,
        "asked": asked,
        "rounds": validate.as_count(content["rounds"], "rounds", low=0, high=2**53),
        "seed": seed,
        "person": person,
        **texts,
        "prior": prior,
    }


def _among(allowed: frozenset[Label], label: Any) -> Label:
    if validate.as_label(label, "action") not in allowed:
        raise validate.invalid("action", "one of the allowed actions", label)
    return validate.as_label(label, "action")
