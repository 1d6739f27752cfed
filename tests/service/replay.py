"""Whether a store holds exactly what was acknowledged, and whether new agents repeat all its decisions."""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import lpbandits as lpb
from tests.service.load import ACTIONS, MODEL, NOISE, PROJECT, SEED, Acknowledged, GivenUp, Load
from tests.service.running import Caller, Server

POLICY = lpb.policy(MODEL, "lpbts", noise=NOISE)
RETRIED = 200
"""Maximum number of acknowledged requests that are sent again at the end."""


def check(load: Load, server: Server, *, complete: bool = True, only: str = "") -> Counter[str]:
    """Add to `load.wrong` what is lost, duplicated or not repeatable, and return what was counted.

    While clients write, `complete` must be false: facts whose acknowledgements are under way are then allowed.
    `only` is how the labels of the people begin about whom it is.
    """
    acknowledged = list(load.acknowledged)
    call = Caller(server)
    listed = call("GET", f"{PROJECT}/people")
    people = [person for person in listed.body["people"] if person.startswith(only)]
    histories = {person: call("GET", f"{PROJECT}/people/{person}").body for person in people}
    counts = compared(acknowledged, histories, load.wrong, complete=complete)
    for person, body in histories.items():
        load.wrong += [f"{person}: {fault}" for fault in replayed(person, body)]
    if complete:
        some = random.Random(0).sample(acknowledged, min(RETRIED, len(acknowledged)))  # noqa: S311 - not a secret
        with suppress(GivenUp):  # it said why
            for before in some:
                load.repeat(call, before)
        counts["retried"] = len(some)
    call.close()
    return counts


def compared(
    acknowledged: Sequence[Acknowledged], histories: dict[str, Any], wrong: list[str], *, complete: bool
) -> Counter[str]:
    """Count the acknowledged requests whose facts are missing or differ, and the facts that no request explains."""
    names = {"decisions": "decision", "outcomes": "outcome", "corrections": "correction"}
    stored: dict[str, list[Any]] = {kind: [] for kind in names}
    for body in histories.values():
        for fact in body["history"]:
            stored[f"{fact['kind']}s"].append(fact)
    counts: Counter[str] = Counter()
    for kind, name in names.items():
        requests = [one for one in acknowledged if one.kind == kind]
        ids = [_identity(name, fact) for fact in stored[kind]]
        facts = dict(zip(ids, stored[kind], strict=True))
        lost = [one.key for one in requests if not _agrees(facts.get(_identity(name, one.answer)), one.answer)]
        twice = len(ids) - len(facts) if name != "correction" else 0
        if name == "outcome":  # each request has a reward of its own
            twice += len(ids) - len({fact["reward"] for fact in stored[kind]})
        explained = {_identity(name, one.answer) for one in requests}
        more = len(set(ids) - explained)
        wrong += [f"{kind}: the fact of {key} is lost or differs" for key in lost]
        if len(explained) < len(requests) and name != "correction":
            wrong.append(f"{kind}: {len(requests) - len(explained)} requests share a fact with another")
        if twice or (more and complete):
            wrong.append(f"{kind}: {twice} duplicates, {more} that no request explains")
        counts.update({kind: len(requests), "lost": len(lost), "duplicated": twice + (more if complete else 0)})
    return counts


def _identity(name: str, fact: Any) -> Any:
    return (fact["outcome"], fact["reward"]) if name == "correction" else fact[name]


def _agrees(fact: Any, answer: Any) -> bool:
    """Return whether a fact of a history has the values of the acknowledged answer."""
    if fact is None:
        return False
    # a history shows an outcome's time of arrival, and in a correction only what changed
    names = set(answer) & set(fact) - {"person", "withdrawn"}
    return all(fact[name] == answer[name] for name in names)


def replayed(person: str, body: Any) -> list[str]:
    """Return where a new agent, told the outcomes in force at the time, decides otherwise."""
    wrong = []
    current: dict[str, tuple[str, float | None]] = {}
    agent = _agent(person, 0, current)
    for fact in body["history"]:
        if fact["kind"] == "outcome":
            current[fact["outcome"]] = (fact["given"], fact["reward"])
            agent.tell(fact["given"], fact["reward"])
        elif fact["kind"] == "correction":
            action, _ = current[fact["outcome"]]
            current[fact["outcome"]] = (fact["given"] or action, fact["reward"])
            agent = _agent(person, agent.asked, current)
        else:
            allowed = list(fact["probabilities"])
            made = agent.decide(None if allowed == ACTIONS else allowed)
            if (made.action, made.probabilities) != (fact["action"], fact["probabilities"]):
                wrong.append(f"decision {fact['decision']} is {fact['action']}, but a new agent decides {made}")
    shown = (body["posterior"], body["rounds"], body["asked"])
    for told in (agent, _agent(person, agent.asked, current)):
        if (told.posterior.tolist(), told.rounds, told.asked) != shown:
            wrong.append("the posterior differs from that of a new agent")  # noqa: PERF401 - as above
    return wrong


def _agent(person: str, asked: int, current: dict[str, tuple[str, float | None]]) -> lpb.Agent:
    agent = lpb.Agent(POLICY, seed=SEED, person=person, asked=asked)
    for action, reward in current.values():
        if reward is not None:
            agent.tell(action, reward)
    return agent
