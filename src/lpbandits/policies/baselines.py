"""Policies without latent states: bandit baselines, popularity, and the taste model.

All of them take a `model`, whose orderings matter only to `top` and `Popular`, and `explore`, the minimum probability
of each allowed action (see `Policy`). `rewards` is as in `LpbTS`.
"""

from lpbandits.model import PreferenceModel
from lpbandits.policies.assumed import assumed_rewards
from lpbandits.policies.evidences import Standing, Tally, TasteEvidence, Wins
from lpbandits.policies.policy import Policy
from lpbandits.policies.rules import AnyAction, DoubleThompson, Greedy, Popularity, Thompson, UpperBound
from lpbandits.rewards import Rewards


class TS(Policy):
    """Thompson sampling with an independent normal prior per action, without latent states.

    Parameters
    ----------
    noise
        Standard deviation of rewards of any family; 0.5, the largest possible value, for Bernoulli rewards.
    prior_mean, prior_sd
        The normal prior of every action's mean. If it is much narrower than the typical size of rewards, the policy
        repeats the first action it tried; the default is weak.
    top
        Only play actions that are best in some state (the paper's top-action subset, Proposition 1).

    Examples
    --------
    >>> from lpbandits import Agent
    >>> agent = Agent(TS(PreferenceModel([[0, 1]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 2.0)
    >>> agent.probabilities().round(4).tolist()
    [0.2398, 0.7602]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards | None = None,
        prior_mean: float = Thompson.prior_mean,
        prior_sd: float = Thompson.prior_sd,
        top: bool = False,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, known=True)
        super().__init__(model, Tally(family), Thompson(prior_mean, prior_sd, top), explore)


class UCB(Policy):
    """UCB1: play the largest ȳ + σ √(2 log t / n), untried actions first, without latent states.

    The parameters are as in `TS`, without the prior.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> agent = Agent(UCB(PreferenceModel([[0, 1]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 2.0)
    >>> agent.ask()
    1
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards | None = None,
        top: bool = False,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, known=True)
        super().__init__(model, Tally(family), UpperBound(top), explore)


class DoubleTS(Policy):
    """Double Thompson sampling on duels, without latent states.

    `alpha` (above ½) is α of the confidence limits p̂ ± √(α log t / n); `top` is as in `TS`.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> agent = Agent(DoubleTS(PreferenceModel([[0, 1, 2]])), seed=7)
    >>> first, second = agent.ask_pair()
    >>> agent.tell_duel(first, second); agent.rounds
    1
    """

    def __init__(self, model: PreferenceModel, *, alpha: float = 0.51, top: bool = False, explore: float = 0.0) -> None:
        super().__init__(model, Wins(), DoubleThompson(alpha, top), explore)


class Taste(Policy):
    """Play the action with the largest expected reward for this person's taste, level and scale.

    For use with a log of other people's ratings, where each person gets each action once (films, books, exercises). It
    uses `model.taste`, not the orderings: continuous tastes, learned by `lpb fit`. `agent.explain()` gives a prediction
    interval for every action. If actions may repeat, it may play one for ever; pass the remaining ones as `allowed`.
    Rewards of any family are treated as Gaussian with unknown noise.

    Parameters
    ----------
    lasting
        Share of the residual variance that is a lasting preference for the action, from 0 (all noise) to 0.99; the
        model's by default. It matters only if actions repeat.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> from lpbandits.taste_model import TasteModel
    >>> tastes = TasteModel([0.2, 0.0, 0.0], [[0.9], [0.9], [-0.9]], [0.3, 0.3, 0.3], level=3.0)
    >>> agent = Agent(Taste(PreferenceModel([[0, 1, 2]], taste=tastes)), seed=7)
    >>> agent.ask()
    0
    >>> agent.tell(0, 1.0)
    >>> agent.ask(allowed=[1, 2])
    2
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        rewards: str | Rewards | None = None,
        lasting: float | None = None,
        explore: float = 0.0,
    ) -> None:
        super().__init__(model, TasteEvidence(assumed_rewards(model, rewards), lasting), Greedy(), explore)


class Popular(Policy):
    """Play the most popular action, whatever the person's rewards: the baseline of personal policies.

    The order is `model.popular`, as a fit to a log finds it; without it, the mean rank over states.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.4, 0.6])
    >>> Agent(Popular(model), seed=7).ask(allowed=[0, 2])
    2
    >>> Agent(Popular(model.replace(popular=[1, 0, 2])), seed=7).ask(allowed=[0, 2])
    0
    """

    def __init__(self, model: PreferenceModel, *, rewards: str | Rewards | None = None, explore: float = 0.0) -> None:
        super().__init__(model, Standing(assumed_rewards(model, rewards)), Popularity(), explore)


class Uniform(Policy):
    """Play every allowed action with equal probability, whatever the rewards.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> Agent(Uniform(PreferenceModel([[0, 1, 2, 3]])), seed=7).probabilities().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, model: PreferenceModel, *, rewards: str | Rewards | None = None, explore: float = 0.0) -> None:
        super().__init__(model, Tally(assumed_rewards(model, rewards, known=True)), AnyAction(), explore)
