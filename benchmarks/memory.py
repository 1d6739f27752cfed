"""Peak memory of imports, of many agents and of long computations, each in a separate process."""

from benchmarks.child import Child, run
from benchmarks.measure import Measured, Row, Table, Value, say

AGENTS = 10_000
FEW = 500
"""Number of agents of packages that are slow to build them."""
OUTCOMES = 20
"""Number of outcomes per agent."""

IMPORTS = {
    "Python alone": "",
    "numpy": "import numpy",
    "lpbandits": "import lpbandits",
    "river": "from river import bandit, proba",
    "MABWiser": "from mabwiser.mab import MAB",
    "mabby": "import mabby",
    "bayesianbandits": "import bayesianbandits",
    "choix": "import choix",
    "evalica": "import evalica",
    "implicit": "import implicit.nearest_neighbours",
    "surprise": "import surprise",
}

START = {
    "lpbandits": """
import lpbandits as lpb
policy = lpb.TS(lpb.PreferenceModel([list(range(10))]))
def make(i):
    agent = lpb.Agent(policy, seed=1, person=i)
    return agent, agent.ask, agent.tell
""",
    "river": """
from river import bandit, proba
actions = list(range(10))
def make(i):
    agent = bandit.ThompsonSampling(reward_obj=proba.Gaussian(), burn_in=1, seed=i)
    return agent, lambda: agent.pull(actions), agent.update
""",
    "mabby": """
import numpy as np
from mabby.strategies.thompson import BetaTSStrategy
rng = np.random.default_rng(0)
def make(i):
    agent = BetaTSStrategy(general=True)
    agent.prime(10, 0)
    return agent, lambda: agent.choose(rng), lambda a, r: agent.update(a, r / 10, rng)
""",
    "MABWiser": """
from mabwiser.mab import MAB, LearningPolicy
def make(i):
    agent = MAB(list(range(10)), LearningPolicy.LinTS(l2_lambda=1e-4), seed=i)
    agent.fit([0], [0.0], [[1.0]])
    return agent, lambda: agent.predict([[1.0]]), lambda a, r: agent.partial_fit([a], [r], [[1.0]])
""",
    "bayesianbandits": """
import numpy as np
import bayesianbandits as bb
def make(i):
    arms = [bb.Arm(a, learner=bb.NormalRegressor(alpha=1e-4, beta=1.0)) for a in range(10)]
    agent = bb.Agent(arms, bb.ThompsonSampling(), random_seed=i)
    return agent, lambda: agent.pull()[0], lambda a, r: agent.update(np.array([r]))
""",
}
SLOW = ("MABWiser", "bayesianbandits")

LIVE = """
def live(i):
    agent, ask, tell = make(i)
    for t in range({outcomes}):
        tell(ask(), float((7 * t + i) % 10))
    return agent
"""

MANY = """
import pathlib
def held():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
first = [live(i) for i in range(20)]  # loads what all agents share
before = held()
kept = [live(i) for i in range({agents})]
report = {{"KiB each": (held() - before) / {agents}}}
"""

WORK = {
    "simulate: 100,000 people × 200 rounds, lpbTS, 5 states, 10 actions": (
        """
import lpbandits as lpb
world = lpb.SyntheticWorld(states=5, actions=10, scale="different")
lpb.simulate(world, ["lpbts"], people=20_000, rounds=200, threads=1)
""",
        512.0,
    ),
    "fit: 1 million ratings of 5,000 people, 1,000 actions, 5 states": (
        """
import numpy as np
from lpbandits.data import Ratings
from lpbandits.fit import TwoStage, fit_states
rng = np.random.default_rng(0)
person = np.repeat(np.arange(5_000), 200)
action = np.argsort(rng.random((5_000, 1_000), dtype=np.float32), axis=1)[:, :200].ravel()
preference = rng.normal(size=(5, 1_000))
rating = np.clip(np.rint(3 + preference[person % 5, action] + rng.normal(size=len(person))), 1, 5)
log = Ratings.from_arrays(person, action, rating)
fit_states(log, TwoStage(scale="cosine"), states=5, threads=1)
""",
        1024.0,
    ),
    "decide: 1 million people with 10 outcomes each, 5 states, 10 actions": (
        """
import numpy as np
import lpbandits as lpb
rng = np.random.default_rng(0)
person = np.repeat(np.arange(1_000_000), 10)
model = lpb.PreferenceModel([rng.permutation(10) for _ in range(5)])
rewards = rng.normal(size=len(person))
log = lpb.Ratings.from_arrays(person, np.tile(np.arange(10), 1_000_000), rewards, actions=range(10))
lpb.decide(lpb.LpbTS(model), log, threads=1)
""",
        2048.0,
    ),
}
"""Program and goal in MiB of each computation."""


def imports() -> list[dict[str, Value]]:
    return [{"what": name, **_needed(run(program))} for name, program in IMPORTS.items()]


def agents() -> list[dict[str, Value]]:
    """Return the memory of one agent: the growth of the process while many are built, divided by their number."""
    records: list[dict[str, Value]] = []
    for name, start in START.items():
        say(f"agents of {name}")
        count = FEW if name in SLOW else AGENTS
        many = run(start + LIVE.format(outcomes=OUTCOMES) + MANY.format(agents=count))
        record: dict[str, Value] = {"who": name, "agents": count}
        if isinstance(many, Child):
            records.append({**record, "KiB each": many.report["KiB each"], "peak MiB": many.mib, "missing": ""})
        else:
            records.append({**record, "KiB each": None, "peak MiB": None, "missing": many})
    return records


def work() -> tuple[list[Row], list[dict[str, Value]]]:
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for what, (program, goal) in WORK.items():
        say(what)
        needed = run(program)
        records.append({"what": what, **_needed(needed)})
        if isinstance(needed, str):
            raise SystemExit(f"memory: {what} failed: {needed}")
        rows.append(Row(f"memory of {what.partition(':')[0]}", needed.mib, goal, at_most=True, unit=" MiB"))
    return rows, records


def _needed(child: Child | str) -> dict[str, Value]:
    if isinstance(child, str):
        return {"peak MiB": None, "seconds": None, "missing": child}
    return {"peak MiB": child.mib, "seconds": child.seconds, "missing": ""}


def measured() -> Measured:
    """Measure everything in this file."""
    say("imports")
    imported, lived = imports(), agents()
    rows, worked = work()
    return Measured(
        rows, [Table("memory-imports", imported), Table("memory-agents", lived), Table("memory-work", worked)]
    )
