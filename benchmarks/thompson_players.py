"""Gaussian Thompson sampling in each package, with the same means, and the same noise and prior if it accepts them.

Rewards have noise 1, and the prior of every mean is N(0, 100²). Packages for rewards of 0 and 1, or within [0, 1], get
the true range of rewards, which users would not know: this is in their favour.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

import lpbandits as lpb
from benchmarks.peers import peer
from lpbandits.typing import FloatArray

PRECISION = 1e-4
"""Precision of the prior: 1 / 100²."""


class Player(Protocol):
    """One person's bandit."""

    def pull(self) -> int:
        """Choose."""

    def update(self, action: int, reward: float) -> None:
        """Learn a reward."""

    def begin(self, rewards: FloatArray) -> None:
        """Learn rewards, k × n, of all actions, before timing starts."""


class OneByOne:
    """A player that learns its first rewards one by one, like all later ones."""

    def pull(self) -> int:
        raise NotImplementedError

    def update(self, action: int, reward: float) -> None:
        raise NotImplementedError

    def begin(self, rewards: FloatArray) -> None:
        for row in rewards.T.tolist():
            for action, reward in enumerate(row):
                self.update(action, reward)


class Ours(OneByOne):
    def __init__(self, k: int, seed: int, low: float, high: float) -> None:  # noqa: ARG002 - all are built alike
        agent = lpb.Agent(lpb.TS(lpb.PreferenceModel([list(range(k))])), seed=seed)
        self.pull = agent.ask  # type: ignore[method-assign,assignment] # labels are the numbers of actions
        self.update = agent.tell  # type: ignore[method-assign]


class Numpy(OneByOne):
    """The exact posterior in four lines."""

    def __init__(self, k: int, seed: int, low: float, high: float) -> None:  # noqa: ARG002
        self.rng, self.counts, self.sums = np.random.default_rng(seed), np.full(k, PRECISION), np.zeros(k)

    def pull(self) -> int:
        draws = self.sums / self.counts + self.rng.standard_normal(len(self.counts)) / np.sqrt(self.counts)
        return int(np.argmax(draws))

    def update(self, action: int, reward: float) -> None:
        self.counts[action] += 1
        self.sums[action] += reward


class River(OneByOne):
    burn_in = 1
    """The value with the least regret among those that `benchmarks.thompson` tries."""

    def __init__(self, k: int, seed: int, low: float, high: float, burn_in: int = burn_in) -> None:  # noqa: ARG002
        reward = peer("river.proba").Gaussian()
        policy = peer("river.bandit").ThompsonSampling(reward_obj=reward, burn_in=burn_in, seed=seed)
        actions = list(range(k))
        self.pull = lambda: policy.pull(actions)  # type: ignore[method-assign]
        self.update = policy.update  # type: ignore[method-assign]


class RiverAsItComes(River):
    def __init__(self, k: int, seed: int, low: float, high: float) -> None:
        super().__init__(k, seed, low, high, burn_in=0)


class MabwiserLinear:
    """LinTS with the constant context 1; each action is played once at the start."""

    def __init__(self, k: int, seed: int, low: float, high: float) -> None:  # noqa: ARG002
        mab = peer("mabwiser.mab")
        self.bandit = mab.MAB(list(range(k)), mab.LearningPolicy.LinTS(alpha=1.0, l2_lambda=PRECISION), seed=seed)
        self.untried = list(range(k))
        self.context = [[1.0]]
        self.learn = self.bandit.fit

    def pull(self) -> int:
        return self.untried[0] if self.untried else int(self.bandit.predict(self.context))

    def update(self, action: int, reward: float) -> None:
        if self.untried:
            self.untried.remove(action)
        self.learn([action], [reward], self.context)
        self.learn = self.bandit.partial_fit

    def begin(self, rewards: FloatArray) -> None:
        actions = np.repeat(np.arange(len(rewards)), rewards.shape[1])
        self.bandit.fit(actions, rewards.ravel(), np.ones((rewards.size, 1)))
        self.untried, self.learn = [], self.bandit.partial_fit


class MabwiserBinary:
    """Its ThompsonSampling: Beta posteriors of whether a reward was above the middle of their range."""

    def __init__(self, k: int, seed: int, low: float, high: float) -> None:
        mab = peer("mabwiser.mab")
        middle = (low + high) / 2
        policy = mab.LearningPolicy.ThompsonSampling(binarizer=lambda _, reward: int(reward > middle))
        self.bandit = mab.MAB(list(range(k)), policy, seed=seed)
        self.first = int(np.random.default_rng(seed).integers(k))
        self.learn = self.bandit.fit

    def pull(self) -> int:
        return int(self.bandit.predict()) if self.learn == self.bandit.partial_fit else self.first

    def update(self, action: int, reward: float) -> None:
        self.learn([action], [reward])
        self.learn = self.bandit.partial_fit

    def begin(self, rewards: FloatArray) -> None:
        self.bandit.fit(np.repeat(np.arange(len(rewards)), rewards.shape[1]), rewards.ravel())
        self.learn = self.bandit.partial_fit


class Mabby(OneByOne):
    """Its generalised Beta strategy, with rewards rescaled to [0, 1]."""

    def __init__(self, k: int, seed: int, low: float, high: float) -> None:
        self.strategy = peer("mabby.strategies.thompson").BetaTSStrategy(general=True)
        self.strategy.prime(k, 0)
        self.rng, self.low, self.width = np.random.default_rng(seed), low, high - low

    def pull(self) -> int:
        return int(self.strategy.choose(self.rng))

    def update(self, action: int, reward: float) -> None:
        self.strategy.update(action, min(max((reward - self.low) / self.width, 0.0), 1.0), self.rng)


class Bayesianbandits:
    """An agent with a normal regression per action: prior precision `alpha`, precision of rewards `beta`."""

    def __init__(self, k: int, seed: int, low: float, high: float) -> None:  # noqa: ARG002
        bb = peer("bayesianbandits")
        arms = [bb.Arm(a, learner=bb.NormalRegressor(alpha=PRECISION, beta=1.0)) for a in range(k)]
        self.agent = bb.Agent(arms, bb.ThompsonSampling(), random_seed=seed)

    def pull(self) -> int:
        return int(self.agent.pull()[0])

    def update(self, action: int, reward: float) -> None:
        self.agent.select_for_update(action).update(np.array([reward]))

    def begin(self, rewards: FloatArray) -> None:
        for action, own in enumerate(rewards):
            self.agent.select_for_update(action).update(own)


Make: TypeAlias = Callable[[int, int, float, float], Player]
"""From the number of actions, a seed, and the lowest and highest reward, to a player."""


@dataclass(frozen=True)
class Entrant:
    """A constructor of players, and one sentence that describes the algorithm."""

    make: Make
    why: str
    exact: bool = False
    """Whether it draws every action's mean, independently, from the exact posterior."""


EXACT = "numpy loop"
ENTRANTS = {
    "lpbandits": Entrant(
        Ours, "is exact: normal prior, known noise; untried actions share one draw of their maximum", exact=True
    ),
    EXACT: Entrant(Numpy, "is exact: the posterior in closed form, and a normal draw for every action", exact=True),
    "river": Entrant(
        River,
        "samples a reward instead of a mean: the standard deviation of its samples is that of an action's rewards, "
        "which does not decrease with their number and is 0 after the first reward; `burn_in=1`",
    ),
    "river, default settings": Entrant(
        RiverAsItComes,
        "has `burn_in=0`: the sample of an untried action is exactly 0, so it keeps playing the first action with a "
        "positive reward",
    ),
    "MABWiser LinTS": Entrant(
        MabwiserLinear,
        "has the exact posterior (`alpha=1`, `l2_lambda=1e-4`, constant context), but the models of all actions copy "
        "one random generator, so that they share one draw: it explores less, which gives lower mean regret here but a "
        "larger standard deviation over people. Before an action's first reward its prior variance is λ instead of "
        "1/λ, so each action is played once first",
    ),
    "MABWiser TS": Entrant(
        MabwiserBinary,
        "is for rewards of 0 and 1: it learns only whether a reward was above the middle of the given range",
    ),
    "mabby": Entrant(
        Mabby,
        "has no Gaussian strategy: the reward, rescaled to [0, 1], is the probability of a Bernoulli draw, which "
        "updates a Beta posterior; most of the information of a reward is lost",
    ),
    "bayesianbandits": Entrant(
        Bayesianbandits,
        "is exact: a normal regression per action, with the same prior and noise",
        exact=True,
    ),
}
