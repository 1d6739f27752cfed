"""Log densities of how people arranged their ratings under a mixture, relative to arrangements by chance.

A person who follows state z with strength c gives the standardized ratings y_a to the rated actions with a probability
proportional to exp(c Σ_a y_a u_za). The values are given; only their arrangement is random. Relative to arrangements by
chance the density is exp(c Σ_a y_a u_za) / Z, where Z is the mean of the numerator over all arrangements.

Z is exact if that is cheap: few ratings, few different values, or many people with the same values and actions. It is
otherwise approximated (see `scaled_means`). For people with many ratings it is the mean over the sphere on which
standardized ratings are, because their mean is 0 and their mean square 1.
A Gaussian density also scores the length of y, which is the same for all people: more states with smaller variances
always score better.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ive, logsumexp

from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels.arrangements import arrangement_means, scaled_means
from lpbandits.fit.methods.mixture import Components
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray

STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Strengths that are mixed: people differ in how strongly they follow a preference. With one strength, those who follow
one ordering more and less strongly would be better described by two states."""

STEPS, CHUNK = 30, 2**15
"""Number of steps of EM for the shares, and people per chunk."""

MAX_TERMS = 2**12
"""Maximum number of terms per person, state and strength for an exact mean over arrangements."""

MAX_RATINGS = 32
"""Maximum number of a person's ratings for an approximate mean over arrangements."""

DECIMALS = 9
"""Standardized ratings are rounded to this number of decimals, so that equal values are equal."""

MIN_CONCENTRATION, LARGE_ORDER = 1e-3, 50.0
"""Below this concentration the density on the sphere is uniform. From this order on, the Bessel function is replaced by
its uniform expansion, because it can underflow."""


class Shares(NamedTuple):
    """Shares of states and of strengths."""

    states: FloatArray
    strengths: FloatArray

    @property
    def log_products(self) -> FloatArray:
        """Return states × strengths: the log of the product of both shares."""
        with np.errstate(divide="ignore"):  # a share may be 0
            return np.asarray(np.log(self.states)[:, None] + np.log(self.strengths))


def log_densities(log: Blocks, components: Components) -> FloatArray:
    """Return people × states × strengths: the log density of each person's arrangement."""
    return np.concatenate(list(log.map(_block_densities, components.means)))


def mixture_densities(densities: FloatArray, shares: Shares) -> FloatArray:
    """Return the log density of each person's arrangement under the mixture of states and strengths."""
    prior = shares.log_products
    return np.concatenate([logsumexp(part + prior, axis=(1, 2)) for part in _chunks(densities)])


def fit_shares(densities: FloatArray, states: FloatArray) -> Shares:
    """Fit the shares of states and strengths by EM, beginning with the shares `states`."""
    n = len(STRENGTHS)
    shares = Shares(states, np.full(n, 1 / n))
    for _ in range(STEPS):
        prior = shares.log_products
        totals = np.zeros_like(prior)
        for part in _chunks(densities):
            joint = part + prior
            totals += np.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True)).sum(axis=0)
        shares = Shares(totals.sum(axis=1) / totals.sum(), totals.sum(axis=0) / totals.sum())
    return shares


def _chunks(densities: FloatArray) -> Iterator[FloatArray]:
    for start in range(0, len(densities), CHUNK):
        yield densities[start : start + CHUNK]


def log_sphere_mean(dimensions: FloatArray, concentration: FloatArray) -> FloatArray:
    """Return the log of the mean of exp(concentration · x_1) over uniform points x of the unit sphere.

    With d dimensions and ν = d/2 − 1 it is log(Γ(d/2) (2/c)^ν I_ν(c)).

    >>> log_sphere_mean(np.array([1.0, 3.0]), np.array([2.0, 2.0])).round(6).tolist()  # log cosh 2, log(sinh 2 / 2)
    [1.325003, 0.59522]
    """
    order, c = np.broadcast_arrays(dimensions / 2 - 1, np.maximum(concentration, MIN_CONCENTRATION))
    # I_ν(c) = exp(root) (c / (ν + root))^ν / √(2π root) · (1 + (3t − 5t³) / 24ν + …), t = ν / root
    nu = np.maximum(order, 1.0)
    root = np.sqrt(nu**2 + c**2)
    t = nu / root
    series = np.log1p((3 * t - 5 * t**3) / (24 * nu))
    expanded = root + nu * np.log(c / (nu + root)) - 0.5 * np.log(2 * np.pi * root) + series
    exact = np.log(ive(np.minimum(order, LARGE_ORDER), c)) + c
    bessel = np.where(order < LARGE_ORDER, exact, expanded)
    return np.asarray(gammaln(order + 1) + order * np.log(2 / c) + bessel)


def _block_densities(block: Ratings, threads: Threads, means: FloatArray) -> FloatArray:
    owner, people, counts = block.owner, len(block.people), block.counts

    def centred(values: FloatArray) -> FloatArray:
        return np.asarray(values - (np.bincount(owner, values, people) / np.maximum(counts, 1))[owner])

    y = centred(block.rating)
    sd = np.sqrt(np.bincount(owner, y * y, people) / np.maximum(counts, 1))
    y = np.round(y / np.where(sd > 0, sd, 1.0)[owner], DECIMALS)
    cross, own = np.empty((2, people, means.shape[1]))
    for z, mean in enumerate(means.T):
        u = centred(mean[block.action])
        cross[:, z] = np.bincount(owner, y * u, people)
        own[:, z] = np.bincount(owner, u * u, people)
    strengths = np.array(STRENGTHS)
    out = strengths * cross[:, :, None]
    values = Ratings.trusted(block.offsets, block.action, y[np.lexsort((y, owner))], block.people, block.actions)
    first, exact = _first_alike(values)
    chosen = np.flatnonzero(first < 0)
    concentration = strengths * np.sqrt(counts[chosen, None] * own[chosen])[:, :, None]
    out[chosen] -= log_sphere_mean(np.asarray(counts[chosen, None, None] - 1.0), np.asarray(concentration))
    for kernel, used in ((arrangement_means, exact), (scaled_means, (first >= 0) & ~exact)):
        chosen = np.flatnonzero(used)
        different, place = np.unique(first[chosen], return_inverse=True)
        some = values.subset(different)
        norms = np.empty((len(different), means.shape[1], len(strengths)))
        arrays = (some.offsets, some.action, some.rating), np.ascontiguousarray(means), strengths, norms
        threads.run(kernel, len(norms), *arrays, blocks=16, smallest=16)
        out[chosen] -= norms[place]
    return np.asarray(out)


def _first_alike(values: Ratings) -> tuple[IntArray, BoolArray]:
    """Return the first person with the same actions and values, sorted per person, and whether an exact mean is cheap.

    The first person is −1 if even an approximate mean is not cheap. The cost of an exact mean is counted once for
    people who are alike, and is averaged over people with the same number of ratings.
    """
    owner, counts, people = values.owner, values.counts, len(values.people)
    starts = np.flatnonzero(np.append(True, (np.diff(values.rating) != 0) | (np.diff(owner) != 0)))
    ties = np.diff(np.append(starts, len(owner)))
    n_values = np.bincount(owner[starts], minlength=people)
    log_terms = np.bincount(owner[starts], np.log(ties + 1.0), people) + np.log(np.maximum(n_values, 1))
    out, exact = np.full(people, -1), np.zeros(people, dtype=np.bool_)
    for n in np.unique(counts).tolist():
        chosen = np.flatnonzero(counts == n)
        log_limit = np.log(MAX_TERMS * len(chosen))
        if n > MAX_RATINGS and log_terms[chosen].min() > log_limit:
            continue
        rows = values.offsets[chosen][:, None] + np.arange(n)
        keys = np.concatenate([values.action[rows], values.rating[rows]], axis=1)
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        exact[chosen] = log_terms[chosen] + np.log(len(first)) <= log_limit
        used = exact[chosen] | (n <= MAX_RATINGS)
        out[chosen[used]] = chosen[first[place.ravel()]][used]
    return out, exact
