"""Known means: the likelihood of rewards at each state's known means, or the states consistent with the rewards.

The evidences of mTS and mUCB.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import EVIDENCE, FAMILY, GAUSSIAN_UNKNOWN, LOG_PRIOR, NOISE, REWARDS, SCORE, Arrays
from lpbandits.kernels.likelihood import guessed_square, log_likelihood, unknown_noise
from lpbandits.kernels.tally import record, totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray, IntArray

MISFIT = 0  # the row of `own` of known means, per state: sum of squared residuals, or negative log-likelihood
# settings of consistency
LOG_ROUNDS, SLACK = range(2)
# rows of its `own`, a column per state
CHARGED = 0  # N(s): number of rounds attributed to s, the optimistic state of these rounds
SHORT = 1  # G(s): sum of its means minus the rewards of these rounds


def means_of(model: PreferenceModel, family: str, user: str) -> FloatArray:
    """Return the model's means; raise `InvalidInput` if it has none or they do not suit the rewards."""
    if model.means is None:
        raise InvalidInput(f"{user} needs a model with means; give `means`, or use lpbts, which does not need them")
    low, high = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(family, (-math.inf, math.inf))
    wrong = (model.means <= low) | (model.means >= high)
    validate.check_entries(model.means, "means", wrong, f"lie in ({low:g}, {high:g}) ({family})")
    return model.means


def ranks_by_means(model: PreferenceModel) -> IntArray:
    """Return the ranks of the actions, ordered within a tier by the known means; equal means by index.

    >>> ranks_by_means(PreferenceModel([[0, [1, 2]]], means=[[3.0, 1.0, 2.0]])).tolist()
    [[0, 2, 1]]
    """
    if model.tiers is None or model.means is None:
        return model.ranks
    by_state = zip(model.means, model.ranks, strict=True)
    return np.argsort([np.lexsort((-means, ranks)) for means, ranks in by_state], axis=1)


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z − misfit_z / 2σ²."""
    family = int(b.settings[REWARDS, FAMILY])
    scale = 0.5 * b.settings[REWARDS, NOISE] ** -2 if family == layout.GAUSSIAN else 1.0
    count, _ = totals(b, n)
    guess = guessed_square(b, n) if family == GAUSSIAN_UNKNOWN else 0.0
    for z in range(b.states.shape[1]):
        fit = -scale * b.own[MISFIT, z]
        if family == GAUSSIAN_UNKNOWN:
            fit = unknown_noise(b, b.own[MISFIT, z], count, guess)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + fit
    normalise(b)


@dataclass(frozen=True)
class KnownMeans(Evidence):
    """The likelihood of all rewards at the state's known means: the full latent bandit of Hong et al. (2020)."""

    rewards: Rewards = field(default_factory=Rewards)
    kind = "known-means"
    certainty = "exact"
    gaussian_noise = True
    ordered = False
    own_rows = 1
    update_posterior = staticmethod(update_posterior)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return means_of(model, self.rewards.family, "mts")

    def ranks(self, model: PreferenceModel) -> IntArray:
        """Return the ranks, by known means within a tier."""
        return ranks_by_means(model)

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """misfit_z += (reward − mean_z(action))², or −log p(reward | mean)."""
        n, _ = record(b, n, action, reward)
        family = int(b.settings[REWARDS, FAMILY])
        for z in range(b.states.shape[1]):
            mean = b.table[z, action]
            if family <= GAUSSIAN_UNKNOWN:
                b.own[MISFIT, z] += (reward - mean) ** 2
            else:
                b.own[MISFIT, z] -= log_likelihood(family, reward, mean, b.settings[REWARDS, NOISE])
        update_posterior(b, n)
        return n

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write the known means."""
        for action in range(b.ranks.shape[1]):
            out[action] = b.table[state, action]

    @staticmethod
    @kernel
    def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
        """Return the known mean of one action."""
        return float(b.table[state, action])


@kernel
def mark_consistent(b: Arrays, n: int) -> None:
    """Mark the states s that are consistent: G(s) ≤ σ √(6 N(s) log T). The score is that bound − G.

    The posterior is uniform over the consistent states; if there are none, it is 1 for the state that exceeds its
    bound least.
    """
    m = b.states.shape[1]
    consistent = 0.0
    least = -1
    for z in range(m):
        bound = b.settings[REWARDS, NOISE] * np.sqrt(6.0 * b.own[CHARGED, z] * b.settings[EVIDENCE, LOG_ROUNDS])
        b.states[SCORE, z] = bound - b.own[SHORT, z]
        if b.states[LOG_PRIOR, z] == -np.inf:
            continue
        if b.states[SCORE, z] >= 0.0:
            consistent += 1.0
        if least < 0 or b.states[SCORE, z] > b.states[SCORE, least]:
            least = z
    for z in range(m):
        if b.states[LOG_PRIOR, z] == -np.inf:
            b.states[layout.POSTERIOR, z] = 0.0
        elif consistent == 0.0:
            b.states[layout.POSTERIOR, z] = 1.0 if z == least else 0.0
        else:
            b.states[layout.POSTERIOR, z] = 1.0 / consistent if b.states[SCORE, z] >= 0.0 else 0.0


@dataclass(frozen=True)
class Consistency(Evidence):
    """The states consistent with the rewards, as in mUCB (Hong et al. 2020).

    `slack` is the largest error of the known means (ε of the paper). Rewards of any family are treated as Gaussian.
    """

    rewards: Rewards = field(default_factory=Rewards)
    rounds: int = 200
    slack: float = 0.0
    kind = "consistency"
    certainty = "equal for possible states"
    ordered = False
    own_rows = 2
    probabilistic = False
    expected_rewards = staticmethod(KnownMeans.expected_rewards)
    expected_reward = staticmethod(KnownMeans.expected_reward)
    update_posterior = staticmethod(mark_consistent)

    def __post_init__(self) -> None:
        slack = validate.as_number(self.slack, "slack", low=0, high=validate.MAX_ABS_VALUE)
        set_frozen(self, rounds=validate.as_count(self.rounds, "rounds"), slack=slack)
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("mucb needs a known noise; give noise, or use mts with noise_known=False")

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return means_of(model, "gaussian", "mucb")

    def ranks(self, model: PreferenceModel) -> IntArray:
        """Return the ranks, by known means within a tier."""
        return ranks_by_means(model)

    def settings(self) -> tuple[float, ...]:
        """Return log T and the slack ε."""
        return (math.log(max(self.rounds, 2)), self.slack)

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """G(s) += mean − ε − reward for the optimistic state s: consistent, with the largest mean of the action."""
        n, _ = record(b, n, action, reward)
        m = b.states.shape[1]
        charged = -1
        for z in range(m):
            if b.states[layout.POSTERIOR, z] > 0.0 and (charged < 0 or b.table[z, action] > b.table[charged, action]):
                charged = z
        b.own[CHARGED, charged] += 1.0
        b.own[SHORT, charged] += b.table[charged, action] - b.settings[EVIDENCE, SLACK] - reward
        mark_consistent(b, n)
        return n
