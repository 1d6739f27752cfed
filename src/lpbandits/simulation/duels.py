"""People × duels × policies, on common random numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import joblib
import numpy as np

from lpbandits import validate
from lpbandits.duels import COMPARISONS, DUEL_POLICIES, DuellingWorld, hands_of, make_duel_policy
from lpbandits.errors import NotSupported
from lpbandits.kernels.duel_rollout import duel_rollout_of
from lpbandits.policies import Policy
from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.run import Build, Progress, about_world, builders_of, pieces_of, play, populations_of
from lpbandits.simulation.tables import number
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json
from lpbandits.worlds import Population, World

COLUMNS = ["policy", "knows", "regret", "± se", "sd", "median", "5-95 %", "weak regret", "both best", "true state"]


@dataclass(frozen=True)
class DuelTrace:
    """What happened to some people: pairs (people × rounds × 2), and arrays of people × rounds.

    `won` is 1 where the first of a pair won; `strong` is what both lost, `weak` what the better of them lost.
    """

    pairs: Int32Array
    won: Int32Array
    strong: FloatArray
    weak: FloatArray
    mass: FloatArray


@dataclass(frozen=True, repr=False)
class DuelResult(PolicyResult):
    """How one policy for duels did: `regret` is strong regret, what both actions of a pair lose together.

    `weak` is the weak regret, what the better of the two loses; `reward` the mean of the pair's mean rewards, and
    `best_share` the share of people for whom both were the best action.
    """

    weak: Curve

    def to_dict(self) -> Json:
        """Return the summary as a JSON object, with the weak regret beside the strong."""
        own = super().to_dict()
        return {"regret": own.pop("regret"), "weak_regret": self.weak.last(), **own}


def roll_duels(
    policy: Policy, people: Population, *, rounds: int, seed: int, comparison: str = "rewards", first: int = 0
) -> DuelTrace:
    """Play `rounds` duels with every person of a population; person i has the address first + i.

    >>> from lpbandits import LpbDuel, SyntheticWorld
    >>> people = SyntheticWorld(states=2, actions=3).draw(people=1, seed=0)
    >>> roll_duels(LpbDuel(people.model), people, rounds=4, seed=0).pairs.shape
    (2, 4, 2)
    """
    validate.as_choice(comparison, "comparison", COMPARISONS)
    hands = hands_of(policy)
    if hands is None:
        raise NotSupported(f"{policy!r} plays one action at a time; use simulate, or a policy for duels")
    count = len(people.truth)
    belief = policy.new_belief(max(hands.room, min(2 * rounds, policy.model.n_actions)))
    trace = DuelTrace(
        pairs=np.empty((count, rounds, 2), dtype=np.int32),
        won=np.empty((count, rounds), dtype=np.int32),
        strong=np.empty((count, rounds)),
        weak=np.empty((count, rounds)),
        mass=np.empty((count, rounds)),
    )
    duel_rollout_of(hands.tell, hands.choose)(
        policy.ranks,
        policy.start,
        people.means,
        people.truth,
        COMPARISONS[comparison],
        people.rewards.code,
        people.rewards.sd,
        policy.offer_sets(people.offered),
        seed,
        first,
        trace.pairs,
        trace.won,
        trace.strong,
        trace.weak,
        trace.mass,
        belief.numbers,
        belief.order,
        hands.wins,
    )
    return trace


def simulate_duels(
    world: World,
    policies: Sequence[str] | Mapping[str, str | Build] = ("lpb-duel", "double-ts"),
    *,
    people: int = 50,
    rounds: int = 500,
    draws: int = 1,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Compare policies for duels on the same people with the same luck.

    The arguments are those of `simulate`. `world` may be a `DuellingWorld`, which says how duels are decided, or any
    other, whose noisy rewards are then compared. Results are those of `simulate`, with `DuelResult` per policy.

    >>> from lpbandits import SyntheticWorld
    >>> results = simulate_duels(SyntheticWorld(states=2, actions=4), people=10, rounds=100)
    >>> bool(results["lpb-duel"].regret.mean[-1] < results["double-ts"].regret.mean[-1])
    True
    """
    world = world if isinstance(world, DuellingWorld) else DuellingWorld(world)
    about_world(world.world)
    builders = builders_of(policies, DUEL_POLICIES, make_duel_policy, "policy for duels")
    people = validate.as_count(people, "people")
    rounds = validate.as_count(rounds, "rounds")
    draws = validate.as_count(draws, "draws")
    seed = validate.as_seed(seed)
    threads = joblib.cpu_count() if threads is None else validate.as_count(threads, "threads", high=1024)
    populations = populations_of(world, people, rounds, draws, seed)
    pieces = pieces_of(builders, populations, rounds)
    whole = partial(roll_duels, rounds=rounds, seed=seed, comparison=world.comparison)
    traces, seconds = play(pieces, whole, partial(roll_duels, rounds=1, seed=seed), threads, progress)
    truth = np.concatenate([population.truth for population in populations])
    settings = {**world.to_dict(), "people": people, "rounds": rounds, "draws": draws, "seed": seed}
    results = {name: _result(traces.pop(name), truth, draws) for name in builders}
    return Results(settings=settings, policies=results, seconds=seconds)


def duel_comparison(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return the results as columns and rows of text for people, lowest strong regret first."""
    rows = []
    for name, result in sorted(results.policies.items(), key=lambda item: item[1].regret.mean[-1]):
        summary = result.to_dict()
        strong, weak, state = summary["regret"], summary["weak_regret"], summary["true_state"]
        entry = DUEL_POLICIES.get(name)
        rows.append(
            [
                entry.title if entry else name,
                entry.knows if entry else "",
                *(number(strong[part]) for part in ("mean", "se", "sd", "p50")),
                f"{strong['p05']:.0f}-{strong['p95']:.0f}",
                f"{weak['mean']:.1f}",
                f"{summary['best_share']:.0%}",
                "–" if state is None else f"{state:.0%}",
            ]
        )
    return COLUMNS, rows


def _result(traces: list[tuple[DuelTrace, Population]], truth: IntArray, draws: int) -> DuelResult:
    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(trace, name) for trace, _ in traces])

    rewards = np.concatenate(
        [
            np.take_along_axis(part.means, trace.pairs.reshape(len(part.means), -1).astype(np.int64), axis=1)
            .reshape(trace.pairs.shape)
            .mean(axis=2)
            for trace, part in traces
        ]
    )
    plain = PolicyResult.of(
        rewards=rewards,
        regret=joined("strong"),
        mass=joined("mass"),
        active=np.full((len(truth), 3), np.nan),
        truth=truth,
        draws=draws,
    )
    weak = np.cumsum(joined("weak"), axis=1)
    people = {**plain.people, "weak_regret": weak[:, -1].copy()}
    return DuelResult(
        plain.regret, plain.reward, plain.best_share, plain.true_state, people, weak=Curve.of(weak, draws)
    )
