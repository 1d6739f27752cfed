"""Gaussian Thompson sampling compared with other packages: one decision, a simulation, and regret."""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import lpbandits as lpb
from benchmarks.measure import Measured, Row, Table, Value, again, interleaved, often_enough, ratio, say
from benchmarks.peers import Missing
from benchmarks.thompson_players import ENTRANTS, EXACT, PRECISION, Make, Player, River
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray
from lpbandits.worlds import Population

OURS = "lpbandits"
DECISION_GOALS = {10: 0.5, 100: None, 1000: 0.1}
SIMULATED = {10: 1000, 100: 200, 1000: 40, 8777: 10}
"""Number of people by number of actions."""
ROUNDS = 200
REGRET = {10: (200, 1000), 100: (400, 100)}
"""Rounds and maximum number of people, by number of actions."""
MANY = 20
"""Factor by which more people are used to test that ours is the exact algorithm."""
BURN_INS = (0, 1, 2, 3, 5)
BUDGET, FEWEST = 20.0, 8
"""CPU seconds of a package for its regret, and its minimum number of people."""
SPARE = 3.0
"""Nearly all rewards lie within this many standard deviations of the means; some packages need this range."""


def people(actions: int, count: int, seed: int = 0) -> Population:
    """Return people of the paper's world; with very many actions the means stay in a range like that of ratings."""
    gap = 0.2 if actions < 1000 else 4.0 / actions
    world = lpb.SyntheticWorld(states=1, actions=actions, scale="different", gap=gap, spread=2 * gap)
    return world.draw(people=count, seed=seed)


def means_of(actions: int, count: int, seed: int = 0) -> FloatArray:
    """Return people's means, each in a random order, so that preferring actions with low indices is no advantage."""
    return np.random.default_rng([seed, 8]).permuted(people(actions, count, seed).means, axis=1)


def started(make: Make, means: FloatArray, seed: int) -> Player:
    return make(len(means), seed, float(means.min()) - SPARE, float(means.max()) + SPARE)


def installed() -> dict[str, str]:
    """Return every package with the reason why it cannot be measured; empty text if it can."""
    found = {}
    for name in ENTRANTS:
        try:
            started(ENTRANTS[name].make, np.arange(3.0), 0)
            found[name] = ""
        except Missing as missing:
            found[name] = str(missing)
    return found


def _once(player: Player, means: list[float]) -> None:
    action = player.pull()
    player.update(action, means[action])


def decisions(names: list[str]) -> tuple[list[Row], list[dict[str, Value]]]:
    """Time ask and tell after every action was played twice."""
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for k, goal in DECISION_GOALS.items():
        say(f"one decision, k={k}")
        means = people(k, 1).means[0]
        first = means[:, None] + np.random.default_rng(1).standard_normal((k, 2))
        jobs: list[Callable[[], object]] = []
        calls: list[int] = []
        for name in names:
            player = started(ENTRANTS[name].make, means, 0)
            player.begin(first)
            once = partial(_once, player, means.tolist())
            calls.append(often_enough(once))
            jobs.append(partial(again, once, calls[-1]))
        seconds = dict(zip(names, interleaved(*jobs, repeats=5) / np.array(calls)[:, None], strict=True))
        records += [{"who": name, "k": k, "µs": 1e6 * float(seconds[name].min())} for name in names]
        if goal is not None and "river" in seconds:
            row = ratio(f"TS: one decision over river's, k={k}", seconds[OURS], seconds["river"], goal, at_most=True)
            rows.append(row)
    return rows, records


def numpy_at_once(means: FloatArray, rounds: int, seed: int) -> FloatArray:
    """Play one round of all people at once, the fastest way in numpy; return their regret."""
    rng = np.random.default_rng(seed)
    counts, sums = np.full(means.shape, PRECISION), np.zeros(means.shape)
    rows, best, regret = np.arange(len(means)), means.max(axis=1), np.zeros(len(means))
    for _ in range(rounds):
        draws = sums / counts + rng.standard_normal(means.shape) / np.sqrt(counts)
        chosen = np.argmax(draws, axis=1)
        counts[rows, chosen] += 1
        sums[rows, chosen] += means[rows, chosen] + rng.standard_normal(len(means))
        regret += best - means[rows, chosen]
    return regret


def played(name: str, means: FloatArray, rounds: int, seed: int) -> float:
    return against(ENTRANTS[name].make, means, rounds, seed)


def against(make: Make, means: FloatArray, rounds: int, seed: int) -> float:
    """Return the regret of a player for one person; all players get the same random draws."""
    player = started(make, means, seed)
    own, best, regret = means.tolist(), float(means.max()), 0.0
    for draw in np.random.default_rng([seed, 9]).standard_normal(rounds).tolist():
        action = player.pull()
        player.update(action, own[action] + draw)
        regret += best - own[action]
    return regret


def simulations(names: list[str]) -> tuple[list[Row], list[dict[str, Value]]]:
    """Time a decision in runs of 200 rounds; slow packages play only the first rounds."""
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for k, count in SIMULATED.items():
        say(f"a simulation, k={k}")
        some = people(k, count)
        policy, few = lpb.TS(some.model), some.means[: max(1, count // 20)]
        jobs: list[Callable[[], object]] = [
            partial(rollout, policy, some, rounds=ROUNDS, seed=0),
            partial(numpy_at_once, some.means, ROUNDS, 0),
            lambda few=few: [played(EXACT, one, ROUNDS, i) for i, one in enumerate(few)],  # type: ignore[misc]
        ]
        sizes = [count * ROUNDS, count * ROUNDS, len(few) * ROUNDS]
        who = [OURS, "numpy, all people at once", "numpy, one by one"]
        for name in names if k <= 1000 else []:
            if name in (OURS, EXACT, "river, default settings"):
                continue
            start = time.process_time()
            played(name, some.means[0], 4, 0)
            sizes.append(max(4, min(ROUNDS, int(2.0 / (time.process_time() - start)))))
            jobs.append(partial(played, name, some.means[0], sizes[-1], 0))
            who.append(name)
        seconds = dict(zip(who, interleaved(*jobs, repeats=5) / np.array(sizes)[:, None], strict=True))
        records += [{"who": name, "k": k, "µs": 1e6 * float(seconds[name].min())} for name in who]
        rivals = [seconds[name] for name in who[1:3]]
        fastest = min(rivals, key=np.min)
        rows.append(ratio(f"TS: simulation vs the faster numpy loop, k={k}", fastest, seconds[OURS], 1.0))
    return rows, records


def regrets(names: list[str]) -> tuple[list[Row], list[dict[str, Value]]]:
    """Play the same people with all packages, as many as the budget allows; differences are paired by person."""
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for k, (rounds, most) in REGRET.items():
        means = means_of(k, most)
        found: dict[str, FloatArray] = {}
        for name in sorted(names, key=lambda name: name != EXACT):
            say(f"regret, k={k}: {name}")
            started_at, regret = time.process_time(), []
            for person, own in enumerate(means):
                if person >= FEWEST and time.process_time() - started_at > BUDGET:
                    break
                regret.append(played(name, own, rounds, person))
            found[name] = np.array(regret)
        for name in names:
            own, gap = found[name], found[name] - found[EXACT][: len(found[name])]
            records.append(
                {
                    "who": name,
                    "k": k,
                    "rounds": rounds,
                    "people": len(own),
                    "regret": float(own.mean()),
                    "se": _error(own),
                    "sd": float(own.std(ddof=1)),
                    "more than exact": float(gap.mean()),
                    "its se": _error(gap),
                    "exact": ENTRANTS[name].exact,
                    "why": ENTRANTS[name].why,
                }
            )
        rows.append(same_regret(k, rounds, MANY * most))
    return rows, records


def same_regret(k: int, rounds: int, count: int) -> Row:
    """Compare the mean regret of the simulator with that of the exact loop, in standard errors of the difference."""
    say(f"regret, k={k}: the simulator and the exact loop, {count:,} people")
    some = people(k, count, seed=1)
    ours = rollout(lpb.TS(some.model), some, rounds=rounds, seed=0).regret.sum(axis=1)
    exact = numpy_at_once(some.means, rounds, 0)
    gap, error = float(ours.mean() - exact.mean()), float(np.hypot(_error(ours), _error(exact)))
    best = f"{ours.mean():.2f} - {exact.mean():.2f} = {gap:+.2f} ± {error:.2f}"
    what = f"TS: regret minus that of the exact loop, k={k}, {count:,} people"
    return Row(what, abs(gap) / error, 3.0, at_most=True, unit=" s.e.", best=best)


def burn_ins() -> list[dict[str, Value]]:
    """Return river's regret by its `burn_in`, on other people than the comparison."""
    records: list[dict[str, Value]] = []
    means = means_of(10, 200, seed=2)
    for burn_in in BURN_INS:
        player = partial(River, burn_in=burn_in)
        own = np.array([against(player, one, ROUNDS, person) for person, one in enumerate(means)])
        records.append({"burn_in": burn_in, "regret": float(own.mean()), "se": _error(own)})
    return records


def _error(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def measured() -> Measured:
    """Measure everything in this file."""
    here = installed()
    names = [name for name, why_not in here.items() if not why_not]
    absent: list[dict[str, Value]] = [{"who": name, "missing": why} for name, why in here.items() if why]
    decided, decision_table = decisions(names)
    simulated, simulation_table = simulations(names)
    regretted, regret_table = regrets(names)
    return Measured(
        decided + simulated + regretted,
        [
            Table("thompson-decision", decision_table),
            Table("thompson-simulation", simulation_table),
            Table("thompson-regret", regret_table),
            Table("thompson-burn-in", burn_ins() if "river" in names else []),
            Table("thompson-missing", absent),
        ],
    )
