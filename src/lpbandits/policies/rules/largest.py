"""The exact probability that one of several independent random means is the largest, by quadrature."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lpbandits.kernels.layout import BERNOULLI, COUNT, FAMILY, POISSON, REWARDS, SUM
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.tiers import gamma_rate, normal_prior
from lpbandits.typing import FloatArray, IntArray

LEAST_LOG = -1e5
"""Smaller logarithms are not told apart; their exponential is 0."""


def probability_of_largest_normal(mean: FloatArray, sd: FloatArray, copies: FloatArray) -> FloatArray:
    """Return, for each normal variable, the probability that it is the largest of all.

    There are `copies` independent copies of each variable; its probability is that one of its copies is the largest.
    Normals entirely below another one (both cut at nine standard deviations) get 0.
    """
    from scipy.special import log_ndtr  # noqa: PLC0415 - heavy, and not needed for decisions

    out = np.zeros(len(mean))
    present = copies > 0
    mean = mean - mean[present].max()  # only differences matter; this keeps their precision
    alive = np.flatnonzero(present & (mean + 9.0 * sd >= np.max((mean - 9.0 * sd)[present])))
    mean, sd = mean[alive, None], sd[alive, None]

    def log_density(x: FloatArray) -> FloatArray:
        return np.asarray(-0.5 * ((x - mean) / sd) ** 2 - np.log(sd * np.sqrt(2.0 * np.pi)))

    knots = mean + sd * np.linspace(-9.0, 9.0, 37)
    out[alive] = _integrate(knots, copies[alive], lambda x: log_ndtr((x - mean) / sd), log_density)
    return out


def _integrate(
    knots: FloatArray,
    copies: FloatArray,
    log_below: Callable[[FloatArray], FloatArray],
    log_density: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return ∫ copies f_i F_i^(copies − 1) Π F_j^copies of the other variables, with density f and distribution F.

    Gauss-Legendre between knots on every variable's scale, so that very narrow and very wide ones are both resolved;
    products of distribution functions are sums of logarithms.
    """
    out = np.zeros(len(copies))
    knots = np.unique(knots.ravel())
    nodes, weights = np.polynomial.legendre.leggauss(8)
    for start in range(0, len(knots) - 1, 512):  # in chunks, to bound memory
        chunk = knots[start : start + 513]
        half = np.diff(chunk)[:, None] / 2.0
        x = (chunk[:-1, None] + half * (1.0 + nodes)).ravel()
        below = np.maximum(log_below(x), LEAST_LOG)
        others = (copies[:, None] * below).sum(axis=0) - below
        out += (copies[:, None] * np.exp(others + log_density(x))) @ (half * weights).ravel()
    return out


def probability_of_largest(variables: Any, copies: FloatArray) -> FloatArray:
    """Return the same for variables of a frozen distribution of `scipy.stats`, one per row."""
    from scipy.special import ndtr  # noqa: PLC0415 - heavy, and not needed for decisions

    tails = ndtr(np.linspace(-9.0, 0.0, 19))
    with np.errstate(divide="ignore"):
        knots = np.concatenate([variables.ppf(tails), variables.isf(tails)])
        return _integrate(knots, copies, variables.logcdf, variables.logpdf)


def probability_in_tier(policy: Policy, belief: Belief, actions: IntArray) -> FloatArray:
    """Return the probability of each of the k actions to have the largest draw among `actions`, those of a tier."""
    tried, _, slots = np.intersect1d(actions, belief.actions, assume_unique=True, return_indices=True)
    untried = np.setdiff1d(actions, tried)
    out = np.zeros(policy.model.n_actions)
    if not len(tried) or len(actions) == 1:
        out[actions] = 1.0 / len(actions)
        return out
    count, total = np.append(belief.slots[COUNT, slots], 0.0), np.append(belief.slots[SUM, slots], 0.0)
    copies = np.ones(len(count))
    copies[-1] = len(untried)
    if not len(untried):
        count, total, copies = count[:-1], total[:-1], copies[:-1]
    family = BERNOULLI if policy.feedback == "duels" else int(policy.settings[REWARDS, FAMILY])
    if family in (BERNOULLI, POISSON):
        from scipy.stats import beta, gamma  # noqa: PLC0415 - heavy, and not needed for decisions

        shapes = 1.0 + total[:, None], 1.0 + (count - total)[:, None]
        rate = policy._call(gamma_rate, belief)
        variables = beta(*shapes) if family == BERNOULLI else gamma(shapes[0], scale=1.0 / (rate + count[:, None]))
        probability = probability_of_largest(variables, copies)
    else:
        centre, weak, precise = policy._call(normal_prior, belief)
        precision = weak + count * precise
        means = (total / np.maximum(count, 1.0) - centre) * (count * precise / precision)
        probability = probability_of_largest_normal(means, precision**-0.5, copies)
    out[tried] = probability[: len(tried)]
    if len(untried):
        out[untried] = probability[-1] / len(untried)
    out /= out.sum()
    return out
