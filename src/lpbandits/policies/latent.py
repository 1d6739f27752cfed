"""Policies over latent states: each is an evidence × a rule with its settings (the table is in `named.py`).

All of them take a `model` of the possible orderings and `explore`, the minimum probability of each allowed action
(see `Policy`). `noise`, `noise_known`, `rewards` and `first` are as in `LpbTS`, unless they are described again.
"""

from lpbandits import validate
from lpbandits.model import PreferenceModel
from lpbandits.policies import evidences, rules
from lpbandits.policies.assumed import assumed_rewards
from lpbandits.policies.policy import Policy
from lpbandits.rewards import Rewards

LIKELIHOODS: dict[str, type[evidences.Refit | evidences.Incremental | evidences.Marginal]] = {
    "refit": evidences.Refit,
    "incremental": evidences.Incremental,
    "marginal": evidences.Marginal,
}


class LpbTS(Policy):
    """Thompson sampling for latent preference bandits (the paper's Algorithm 1).

    For each state, isotonic regression fits the observed rewards under the state's ordering; the fits give a posterior
    over states; a state is drawn and its best action played. The policy knows the orderings and nothing about the level
    or scale of rewards, so people of one state may rate quite differently. In a tier of several actions it plays the
    one with the largest draw from the posterior of its own mean.

    Parameters
    ----------
    noise
        Standard deviation of Gaussian rewards. By default the model's noise is a first guess, which each person's
        rewards correct; without one, the noise is estimated from the person's rewards. A given noise is exact.
    noise_known
        False: a given `noise` is only a guess. True: the noise, by default the model's or 1, is exact.
    rewards
        "gaussian", "bernoulli" or "poisson"; or `Rewards(…)`, in place of `noise` and `noise_known`. By default the
        model's, else Gaussian.
    likelihood
        "refit" scores a state by all data at its refitted means, an upper bound of its marginal likelihood;
        "incremental" adds only the newest reward's term each round, as in the paper's expanded algorithm; "marginal" is
        the marginal likelihood itself, with about a fifth less regret at about 100 times the cost; not for tiers.
    first
        "prior" draws the first state from the prior, "uniform" plays a uniformly random first action. In the paper's
        synthetic world the uniform first action has 1 to 2 % less regret, because it can distinguish states with the
        same best action.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7)
    >>> agent.tell("rest", 3.2); agent.tell("drug B", 1.0)
    >>> agent.posterior.round(3).tolist()
    [0.77, 0.23]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool | None = None,
        rewards: str | Rewards | None = None,
        likelihood: str = "refit",
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        evidence = LIKELIHOODS[validate.as_choice(likelihood, "likelihood", LIKELIHOODS)]
        known = True if likelihood == "incremental" else None
        family = assumed_rewards(model, rewards, noise, noise_known, known=known, evidence=evidence)
        super().__init__(model, evidence(family), rules.Sample(first), explore)


class LpbPaired(Policy):
    """lpbTS on rewards that are only compared in consecutive pairs (the paper's absolute to relative feedback).

    It shows the cost of comparing rewards instead of using them. Like lpbTS it plays single actions. `margin` is as
    in `LpbDuel`.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> agent = Agent(LpbPaired(PreferenceModel([[0, 1], [1, 0]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 3.0)
    >>> agent.posterior.round(3).tolist()
    [0.333, 0.667]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        margin: float | None = None,
        rewards: str | Rewards | None = None,
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        super().__init__(
            model, evidences.Paired(margin, assumed_rewards(model, rewards, known=True)), rules.Sample(first), explore
        )


class LpbUtility(Policy):
    """Draw a state and play the action with the largest expected reward in it; the utilities need not be exact.

    Utilities say how much better one action is than another. Each person has a level and a scale, and deviates from the
    utilities by about their standard errors (`model.errors`). The state is therefore learned from few rewards, and a
    state's best action is dropped if its rewards are lower than expected. Without `model.errors`,
    utilities are replaced by equally spaced ranks, in a tier by its mid-rank.

    Parameters
    ----------
    noise
        Standard deviation of rewards of any family: a prior guess that counts as five rewards. By default the guess is
        the model's noise, else the spread of all of the person's rewards.
    noise_known
        True: the noise is exact.
    slack
        Variance of each person's deviation from the utilities, in units of the squared spread of the utilities; for
        equally spaced ranks of k actions it is multiplied by 10/k.
    isotonic
        The weight of lpbTS's isotonic fits in the log-likelihood, from 0 to 1.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> agent = Agent(LpbUtility(model), seed=7)
    >>> agent.tell(0, 3.0); agent.tell(1, 2.0)
    >>> agent.posterior.round(2).tolist()
    [0.67, 0.33]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool | None = None,
        rewards: str | Rewards | None = None,
        slack: float = 0.02,
        isotonic: float = 0.5,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, noise_known, known=False)
        super().__init__(model, evidences.Utility(family, slack, isotonic), rules.BestExpected(), explore)


class LpbIDS(Policy):
    """Play the action with the smallest ratio of squared regret to information about the person's state.

    The evidence and its parameters are as in `LpbUtility`. The rule tries an action on which the states disagree if
    the information is worth its cost. `hope` weights the uncertainty of each action, both as optimism and as
    information gained by trying it; 0 trusts the utilities.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> agent = Agent(LpbIDS(model), seed=7)
    >>> agent.tell(0, 3.0); agent.tell(1, 2.0)
    >>> agent.probabilities().round(2).tolist()
    [0.38, 0.0, 0.62]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool | None = None,
        rewards: str | Rewards | None = None,
        slack: float = 0.02,
        isotonic: float = 0.5,
        hope: float = 0.6,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, noise_known, known=False)
        super().__init__(model, evidences.Utility(family, slack, isotonic), rules.InformationDirected(hope), explore)


class LpbHorizon(Policy):
    """Plan the rounds that are left: try an action only if what it tells pays in the rounds after it.

    The evidence is that of `LpbUtility`, with half the weight of the isotonic fits. The first action is the best on
    average over states. `rounds` is the planned number of outcomes of a person. In the last round it plays the action
    with the largest expected reward. After more outcomes it plans for half as many again.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.6, 0.4])
    >>> agent = Agent(LpbHorizon(model, rounds=3), seed=7)
    >>> agent.ask()
    0
    >>> agent.tell(0, 3.0); agent.tell(1, 2.0)
    >>> agent.ask()
    0
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        rounds: int = 20,
        noise: float | None = None,
        noise_known: bool | None = None,
        rewards: str | Rewards | None = None,
        slack: float = 0.02,
        isotonic: float = 0.25,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, noise_known, known=False)
        super().__init__(model, evidences.Utility(family, slack, isotonic), rules.KnowledgeGradient(rounds), explore)


class LpbDuel(Policy):
    """lpbTS for duels: a posterior over states from counted inversions; the best actions of two drawn states duel.

    `margin` is ρ of the paper: the preferred action of any pair wins with probability at least ½ + ρ. None: unknown.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbDuel(model), seed=7)
    >>> agent.ask_pair()
    ('drug B', 'rest')
    >>> agent.tell_duel("rest", "drug B"); agent.tell_duel("rest", "drug A")
    >>> agent.posterior.round(3).tolist()
    [0.8, 0.2]
    """

    def __init__(self, model: PreferenceModel, *, margin: float | None = None, explore: float = 0.0) -> None:
        super().__init__(model, evidences.Inversions(margin), rules.TwoStates(), explore)


class LpbOrderUcb(Policy):
    """Upper confidence bounds for known orderings (after *Latent Order Bandits*, Carlsson et al. 2026).

    A state is dropped while it prefers an action to another although the confidence bounds of their mean rewards,
    ȳ ± σ √(2 log t / n), say otherwise. Of the actions that are best in a state that is left, the one with the largest
    upper bound is played; in a model with tiers, all actions of a state's first tier are. Untried ones come first, in
    the order of the prior. If no state is left, all are. The policy is deterministic.

    `noise` is the standard deviation of rewards of any family; 0.5, the largest possible value, for Bernoulli rewards.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbOrderUcb(model, noise=1.0), seed=7)
    >>> agent.ask()
    'rest'
    >>> agent.tell("rest", 0.0); agent.tell("drug A", 6.0)
    >>> agent.posterior.tolist(), agent.ask()
    ([0.0, 1.0], 'drug B')
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards | None = None,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, known=True)
        super().__init__(model, evidences.OrderBounds(family), rules.OrderOptimism(), explore)


class MTS(Policy):
    """Thompson sampling for the fully known latent bandit (Hong et al. 2020).

    States are weighted by the likelihood of the rewards at `model.means`; one is drawn and its best action played. It
    is hard to beat if the means are exact for every person, but fails if people of one state rate on different scales.

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
    >>> agent = Agent(MTS(model, noise=1.0), seed=7)
    >>> agent.tell(0, 2.0)
    >>> agent.posterior.round(3).tolist()
    [0.622, 0.378]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool | None = None,
        rewards: str | Rewards | None = None,
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, noise_known, evidence=evidences.KnownMeans)
        super().__init__(model, evidences.KnownMeans(family), rules.Sample(first), explore)


class MUCB(Policy):
    """Upper confidence bounds for the fully known latent bandit (Hong et al. 2020).

    Among the states consistent with the rewards it plays the action with the largest known mean. A state is dropped
    when the rewards of the rounds in which it had the largest mean fall short of its means by more than
    σ √(6 N log T). The policy is deterministic.

    Parameters
    ----------
    noise
        Standard deviation of rewards of any family; 0.5, the largest possible value, for Bernoulli rewards.
    rounds
        The planned number T of rounds.
    slack
        Largest error of the known means (ε).

    Examples
    --------
    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[9.0, 1.0], [1.0, 8.0]])
    >>> agent = Agent(MUCB(model, noise=1.0), seed=7)
    >>> agent.ask()
    0
    >>> agent.tell(0, 1.0)
    >>> agent.ask()
    1
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards | None = None,
        rounds: int = 200,
        slack: float = 0.0,
        explore: float = 0.0,
    ) -> None:
        family = assumed_rewards(model, rewards, noise, known=True)
        super().__init__(model, evidences.Consistency(family, rounds, slack), rules.Optimism(), explore)
