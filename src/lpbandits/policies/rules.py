"""The rules: Python's side of `lpbandits.kernels.rules`. A new one is a class here and a line in RULES."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from lpbandits import validate
from lpbandits.kernels import layout
from lpbandits.kernels import rules as kernels
from lpbandits.policies.base import Belief, Policy, Rule
from lpbandits.rewards import SMALLEST
from lpbandits.typing import FloatArray, IntArray


def _everyone(policy: Policy, offered: IntArray) -> IntArray:
    return offered if len(offered) else np.arange(policy.model.n_actions)


def _favourites(policy: Policy, offered: IntArray) -> IntArray:
    """Return each state's best allowed action."""
    if not len(offered):
        return np.array(policy.model.orderings[:, 0])
    return np.asarray(offered[np.argmin(policy.model.ranks[:, offered], axis=1)], dtype=np.int64)


def _spread(policy: Policy, actions: IntArray) -> FloatArray:
    """Return equal chances for the given actions."""
    out = np.zeros(policy.model.n_actions)
    out[actions] = 1.0 / len(actions)
    return out


def _candidates(policy: Policy, belief: Belief, offered: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the tried candidates, their slots, and the untried ones."""
    allowed = _everyone(policy, offered)
    slot_of = {int(a): slot for slot, a in enumerate(belief.order[0, : belief.tried])}
    tried = np.array([a for a in allowed if int(a) in slot_of], dtype=np.int64)
    slots = np.array([slot_of[int(a)] for a in tried], dtype=np.int64)
    return tried, slots, np.setdiff1d(allowed, tried)


@dataclass(frozen=True)
class Sample:
    """Draw a state from the posterior, play its best allowed action (Algorithm 1).

    `first="uniform"` plays any action with equal chance while nothing is known, as the expanded algorithm does.

    >>> Sample(first="uniform").first
    'uniform'
    """

    first: str = "prior"
    kind: ClassVar[str] = "sample"
    latent: ClassVar[bool] = True
    needs_means: ClassVar[bool] = False
    top: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.as_choice(self.first, "first", ("prior", "uniform"))

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""
        return kernels.sample_choose

    def numbers(self, settings: FloatArray) -> None:
        """Write how the first action is chosen."""
        settings[layout.FIRST] = float(self.first == "uniform")

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return the posterior mass of the states that prefer each action."""
        if belief.tried == 0 and self.first == "uniform":
            return _spread(policy, _everyone(policy, offered))
        posterior = belief.numbers[layout.POSTERIOR, : policy.model.n_states]
        out = np.zeros(policy.model.n_actions)
        np.add.at(out, _favourites(policy, offered), posterior)
        return out


@dataclass(frozen=True)
class Optimism:
    """Play the best known mean of all states still possible (mUCB).

    >>> Optimism().needs_means
    True
    """

    kind: ClassVar[str] = "optimism"
    latent: ClassVar[bool] = True
    needs_means: ClassVar[bool] = True
    top: ClassVar[bool] = False

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""
        return kernels.optimism_choose

    def numbers(self, settings: FloatArray) -> None:
        """There is nothing to set."""

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play: nothing is random."""
        own = _favourites(policy, offered)
        states = np.arange(policy.model.n_states)
        possible = belief.numbers[layout.POSTERIOR, states] > 0
        promise = np.where(possible, policy.table[states, own], -np.inf)
        return _spread(policy, own[[int(np.argmax(promise))]])


@dataclass(frozen=True)
class Thompson:
    """Draw every action's mean from its normal posterior, play the largest; `top`: among the states' best actions.

    >>> Thompson(prior_sd=10.0).prior_sd
    10.0
    """

    prior_mean: float = 0.0
    prior_sd: float = 100.0
    top: bool = False
    kind: ClassVar[str] = "thompson"
    latent: ClassVar[bool] = False
    needs_means: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate.as_number(self.prior_mean, "prior_mean", low=-validate.LARGEST, high=validate.LARGEST)
        validate.as_number(self.prior_sd, "prior_sd", low=SMALLEST, high=validate.LARGEST)

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""
        return kernels.thompson_choose

    def numbers(self, settings: FloatArray) -> None:
        """Write the prior of a mean."""
        settings[layout.PRIOR_MEAN] = self.prior_mean
        settings[layout.PRIOR_SD] = self.prior_sd

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return the chance that each action's draw is the largest, by quadrature (about 1e-10)."""
        tried, slots, untried = _candidates(policy, belief, offered)
        noise = policy.settings[layout.NOISE]
        precision = self.prior_sd**-2 + belief.numbers[layout.COUNT, slots] / noise**2
        mean = (self.prior_mean * self.prior_sd**-2 + belief.numbers[layout.SUM, slots] / noise**2) / precision
        copies = np.ones(len(tried) + 1)
        copies[-1] = len(untried)
        chance = _chance_of_largest(np.append(mean, self.prior_mean), np.append(precision**-0.5, self.prior_sd), copies)
        out = np.zeros(policy.model.n_actions)
        out[tried] = chance[:-1]
        if len(untried):
            out[untried] = chance[-1] / len(untried)
        out /= out.sum()
        return out


@dataclass(frozen=True)
class UpperBound:
    """Play the largest upper confidence bound (UCB1); `top`: among the states' best actions.

    >>> UpperBound(top=True).top
    True
    """

    top: bool = False
    kind: ClassVar[str] = "upper-bound"
    latent: ClassVar[bool] = False
    needs_means: ClassVar[bool] = False

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""
        return kernels.bound_choose

    def numbers(self, settings: FloatArray) -> None:
        """There is nothing to set."""

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return equal chances for untried actions while there are any, then 1 for the largest bound."""
        tried, slots, untried = _candidates(policy, belief, offered)
        if len(untried):
            return _spread(policy, untried)
        counts = belief.numbers[layout.COUNT, slots]
        width = np.sqrt(2.0 * np.log(belief.rounds + 1.0) / counts)
        bound = belief.numbers[layout.SUM, slots] / counts + policy.settings[layout.NOISE] * width
        return _spread(policy, tried[[int(np.argmax(bound))]])


@dataclass(frozen=True)
class AnyAction:
    """Play any allowed action, each with equal chance.

    >>> AnyAction().latent
    False
    """

    kind: ClassVar[str] = "any"
    latent: ClassVar[bool] = False
    needs_means: ClassVar[bool] = False
    top: ClassVar[bool] = False

    @property
    def choose(self) -> Callable[..., int]:
        """The kernel that chooses."""
        return kernels.uniform_choose

    def numbers(self, settings: FloatArray) -> None:
        """There is nothing to set."""

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:  # noqa: ARG002
        """Return equal chances."""
        return _spread(policy, _everyone(policy, offered))


def _chance_of_largest(mean: FloatArray, sd: FloatArray, copies: FloatArray) -> FloatArray:
    """Return the chance that the largest of independent normals is (one of the copies of) each.

    Gauss-Legendre between knots that follow every normal's own scale, so that very narrow and very wide ones are both
    resolved; products of distribution functions are formed as sums of logarithms. Normals that lie wholly below
    another one (both cut at nine standard deviations) have no chance and are left out.
    """
    out = np.zeros(len(mean))
    present = copies > 0
    mean = mean - mean[present].max()  # only differences count, and far from zero they would drown
    alive = np.flatnonzero(present & (mean + 9.0 * sd >= np.max((mean - 9.0 * sd)[present])))
    mean, sd, copies = mean[alive], sd[alive], copies[alive]
    knots = np.unique((mean[:, None] + sd[:, None] * np.linspace(-9.0, 9.0, 37)).ravel())
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for start in range(0, len(knots) - 1, 512):  # some knots at a time: memory stays small for many actions
        some = knots[start : start + 513]
        half = np.diff(some)[:, None] / 2.0
        x = (some[:-1, None] + half * (1.0 + nodes)).ravel()
        z = (x - mean[:, None]) / sd[:, None]
        below = log_ndtr(z)
        others = (copies[:, None] * below).sum(axis=0) - below
        density = copies[:, None] * np.exp(others - 0.5 * z * z) / (sd[:, None] * np.sqrt(2.0 * np.pi))
        out[alive] += density @ (half * weights).ravel()
    return out


RULES: dict[str, type[Rule]] = {part.kind: part for part in (Sample, Optimism, Thompson, UpperBound, AnyAction)}
"""Every rule by its name in files."""
