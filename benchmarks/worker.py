"""Worker of `benchmarks.against` for one tree: reads one job name per line and prints its seconds per decision.

It is run by path with the tree's PYTHONPATH, and uses only functions that every version of the package has.
"""

import functools
import json
import sys
import time
from collections.abc import Callable

import lpbandits as lpb

play_rounds = lpb.roll if hasattr(lpb, "roll") else lpb.simulation.rollout  # `roll` up to version 0.2
ROUNDS = 200
PEOPLE = {(5, 10): 100, (10, 20): 40, (50, 50): 4, (100, 20): 2}
"""People per state, so that a run takes some tens of milliseconds at every size."""


@functools.cache
def population(states: int, actions: int):  # type: ignore[no-untyped-def] # the trees may name its type differently
    world = lpb.SyntheticWorld(states=states, actions=actions, scale="different")
    return world.draw(people=PEOPLE[states, actions], seed=0)


def rollout(policy: str, states: int, actions: int) -> float:
    """Return the seconds of one decision in the simulator, one thread."""
    people = population(states, actions)
    own = getattr(lpb, policy)(people.model)
    started = time.process_time()
    play_rounds(own, people, rounds=ROUNDS, seed=0)
    return (time.process_time() - started) / (len(people.truth) * ROUNDS)


def ask_and_tell() -> float:
    """Return the seconds of one ask and one tell, at 5 states and 10 actions, with arbitrary rewards."""
    agents = [lpb.Agent(lpb.LpbTS(population(5, 10).model), seed=1, person=person) for person in range(50)]
    rewards = [float((17 * i) % 23) / 5.0 for i in range(ROUNDS)]
    started = time.process_time()
    for agent in agents:
        ask, tell = agent.ask, agent.tell
        for reward in rewards:
            tell(ask(), reward)
    return (time.process_time() - started) / (len(agents) * ROUNDS)


def build() -> float:
    """Return the seconds of building one Agent."""
    policy = lpb.LpbTS(population(5, 10).model)
    started = time.process_time()
    for person in range(500):
        lpb.Agent(policy, seed=1, person=person)
    return (time.process_time() - started) / 500


def restore() -> float:
    """Return the seconds of building one Agent from a packed belief of ten outcomes."""
    policy = lpb.LpbTS(population(10, 20).model)
    agent = lpb.Agent(policy, seed=1)
    for i in range(10):
        agent.tell((7 * i) % 20, float((17 * i) % 23) / 5.0)
    data = agent.belief.pack()
    started = time.process_time()
    for person in range(500):
        lpb.Agent(policy, seed=1, person=person, belief=lpb.Belief.unpack(policy, data))
    return (time.process_time() - started) / 500


def work(name: str) -> float:
    """Run one job by name: `rollout LpbTS 5 10`, `agent`, `build` or `restore`."""
    jobs: dict[str, Callable[[], float]] = {"agent": ask_and_tell, "build": build, "restore": restore}
    kind, *rest = name.split()
    return rollout(rest[0], int(rest[1]), int(rest[2])) if kind == "rollout" else jobs[kind]()


if __name__ == "__main__":
    print(json.dumps({"file": lpb.__file__}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"seconds": work(line)}), flush=True)
