"""Deterministic rules: the largest expected reward, known mean or popularity. The rules of taste, mUCB and popular."""

from dataclasses import dataclass

import numpy as np

from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE_WORK, Arrays
from lpbandits.policies.base import Rule, deterministic, expected_rewards, require
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import averaging_threshold, favourite
from lpbandits.typing import IntArray

# rows of scratch of `Greedy`, per action
MEAN = RULE_WORK
TOTAL = RULE_WORK + 1


@dataclass(frozen=True)
class Greedy(Rule):
    """Play the action with the largest expected reward.

    It is for actions that each person gets once, such as films, where it beats sampling by far. If actions repeat, it
    locks in on one that is good enough and may never find a better one; `LockInWarning` reports this.
    """

    kind = "greedy"
    work_rows = 2
    latent = None
    needs_expectations = True
    handles_repeats = False
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without expected rewards of untried actions."""
        known = policy.evidence.latent or policy.evidence.predictive
        require(policy, known, "expected rewards of untried actions", "'taste' or 'utility'")

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play argmax_a M(a), with M(a) = Σ p_z M_z(a) if there are states."""
        k = b.ranks.shape[1]
        means, total = b.work[MEAN, :k], b.work[TOTAL, :k]
        if b.states.shape[1] == 0:
            expected_rewards(b, n, 0, total)
        else:
            for a in range(k):
                total[a] = 0.0
            least, mass = averaging_threshold(b)
            for z in range(b.states.shape[1]):
                p = b.states[POSTERIOR, z] / mass
                if b.states[POSTERIOR, z] >= least:
                    expected_rewards(b, n, z, means)
                    for a in range(k):
                        total[a] += p * means[a]
        return largest(total, offered)


@dataclass(frozen=True)
class Optimism(Rule):
    """Play the largest known mean over the possible states (mUCB)."""

    kind = "optimism"
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without known means."""
        known = policy.table.shape == (policy.model.n_states, policy.model.n_actions)
        require(policy, known, "known means", "'known-means' or 'consistency'")

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play the action of max over possible states z and allowed actions a of mean_z(a)."""
        action = -1
        largest = -np.inf
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] > 0.0:
                best = favourite(b, z, offered)
                if action < 0 or b.table[z, best] > largest:
                    action = best
                    largest = b.table[z, best]
        return action


@dataclass(frozen=True)
class Popularity(Rule):
    """Play the most popular action; nothing is learned about the person.

    The gain of a policy over this rule is its gain by personalising.
    """

    kind = "popular"
    latent = False
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without popularity."""
        require(policy, policy.table.shape == (1, policy.model.n_actions), "popularity", "'standing'")

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play the largest popularity; ties go to the first."""
        return largest(b.table[0], offered)
