"""Regret of lpbTS for a model that knows tiers of actions only: `python -m benchmarks.tiers [--people N] [--draws N]`.

The people of the paper's world have total orders of 20 actions in 10 states; the model knows these as tiers of five.
Each line is the mean regret of 200 rounds, with its standard error over draws of the orderings.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import lpbandits as lpb
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BEST, RULE, RULE_WORK, Arrays
from lpbandits.kernels.random import FIRST, STATE, below, uniform
from lpbandits.kernels.tally import find
from lpbandits.policies.base import Rule, expected_rewards
from lpbandits.policies.evidences import Refit
from lpbandits.policies.posterior import draw_state
from lpbandits.rewards import Rewards
from lpbandits.simulation import rollout
from lpbandits.typing import IntArray

STATES, ACTIONS, SIZE, ROUNDS = 10, 20, 5, 200


class UniformInTier(Rule):
    """Draw a state, play any action of its first tier."""

    kind = "uniform-in-tier"

    @staticmethod
    @kernel
    def choose(b: Arrays, _n: int, _offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play each action of the tier with equal probability."""
        state = draw_state(b, uniform(seed, person, round_, STATE, 0))
        skipped = below(uniform(seed, person, round_, FIRST, 0), SIZE)
        for action in range(b.ranks.shape[1]):
            if b.ranks[state, action] == b.ranks[state, int(b.states[BEST, state])]:
                if skipped == 0:
                    return action
                skipped -= 1
        return -1


@dataclass(frozen=True)
class GreedyInTier(Rule):
    """Draw a state, play the action of its first tier with the largest expected reward: that of the state's fit.

    The expected reward of an untried action is the mean over the tried actions of its tier, or +∞ with `untried_first`.
    """

    untried_first: bool = False
    kind = "greedy-in-tier"
    work_rows = 1
    needs_expectations = True

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, _offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play the action of the tier with the largest value, the first of several."""
        state = draw_state(b, uniform(seed, person, round_, STATE, 0))
        values = b.work[RULE_WORK, : b.ranks.shape[1]]
        expected_rewards(b, n, state, values)
        play, largest = -1, -np.inf
        for action in range(b.ranks.shape[1]):
            if b.ranks[state, action] == b.ranks[state, int(b.states[BEST, state])]:
                if b.settings[RULE, 0] > 0.0 and find(b.order, n, action) < 0:
                    return action
                if values[action] > largest:
                    play, largest = action, values[action]
        return play


def tiered(model: lpb.PreferenceModel) -> lpb.PreferenceModel:
    """Return the model with tiers of `SIZE` actions."""
    sizes = [SIZE] * (ACTIONS // SIZE)
    return lpb.PreferenceModel(model.orderings, tiers=[sizes] * STATES)


def shuffled(model: lpb.PreferenceModel, draw: int) -> lpb.PreferenceModel:
    """Return the model with a random order within each tier."""
    parts = model.orderings.reshape(STATES, -1, SIZE)
    return lpb.PreferenceModel(np.random.default_rng(draw).permuted(parts, axis=2).reshape(STATES, ACTIONS))


POLICIES: dict[str, Callable[[lpb.PreferenceModel, int], lpb.Policy]] = {
    "lpbts: Thompson sampling within the tier": lambda model, _: lpb.LpbTS(tiered(model), noise=1.0),
    "greedy within the tier": lambda model, _: lpb.Policy(tiered(model), Refit(Rewards(noise=1.0)), GreedyInTier()),
    "greedy within the tier, untried actions first": lambda model, _: lpb.Policy(
        tiered(model), Refit(Rewards(noise=1.0)), GreedyInTier(untried_first=True)
    ),
    "uniform within the tier": lambda model, _: lpb.Policy(tiered(model), Refit(Rewards(noise=1.0)), UniformInTier()),
    "lpbts given a random order within tiers": lambda model, draw: lpb.LpbTS(shuffled(model, draw), noise=1.0),
    "ts-top: TS on all actions of a first tier": lambda model, _: lpb.TS(tiered(model), noise=1.0, top=True),
    "lpb-utility": lambda model, _: lpb.LpbUtility(tiered(model), noise=1.0),
    "lpb-ids": lambda model, _: lpb.LpbIDS(tiered(model), noise=1.0),
    "lpb-horizon": lambda model, _: lpb.LpbHorizon(tiered(model), noise=1.0, rounds=ROUNDS),
    "lpbts given the total orders": lambda model, _: lpb.LpbTS(model, noise=1.0),
}


def main() -> None:
    """Print the regret of every policy, on both scales."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20, help="people per state")
    parser.add_argument("--draws", type=int, default=10, help="draws of the orderings")
    options = parser.parse_args()
    for scale in ("same", "different"):
        world = lpb.SyntheticWorld(states=STATES, actions=ACTIONS, scale=scale)
        crowds = [world.draw(people=options.people, seed=0, draw=draw) for draw in range(options.draws)]
        for title, build in POLICIES.items():
            regret = [
                rollout(build(people.model, draw), people, rounds=ROUNDS, seed=draw).regret.sum(axis=1).mean()
                for draw, people in enumerate(crowds)
            ]
            error = np.std(regret, ddof=1) / np.sqrt(len(regret))
            print(f"{scale:<10}{title:<52}{np.mean(regret):7.1f} ± {error:.1f}", flush=True)


if __name__ == "__main__":
    main()
