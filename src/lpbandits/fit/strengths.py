"""Log densities of people's ratings under a mixture, with classes of how strongly people follow their state.

People differ in how strongly their ratings follow a preference. Without classes, those who follow one ordering more
and less strongly are better described by two states than by one, so that their number would be overestimated.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from lpbandits.data.blocks import Blocks
from lpbandits.fit.methods.mixture import Components, squared_residuals
from lpbandits.typing import FloatArray

SLOPES, STEPS = (0.5, 1.0, 1.5), 20
"""Slopes of the classes before the first step of EM, and number of steps."""

MIN_VARIANCE = 0.01
"""Minimum variance of standardized ratings about the means of a state."""


class Strengths(NamedTuple):
    """Shares of states and of classes, and the slope and variance of each class.

    A person in state z and class s rates y = slope_s u_z + α + noise of variance v_s, in standard units.
    """

    states: FloatArray
    classes: FloatArray
    slopes: FloatArray
    variances: FloatArray


class Projections(NamedTuple):
    """Sums over each person's ratings about the person's means: Σ y², Σ y u_z, Σ u_z², and number of ratings − 1.

    For a person whose ratings are equal all are 0.
    """

    square: FloatArray
    cross: FloatArray
    own: FloatArray
    freedom: FloatArray

    @classmethod
    def of(cls, log: Blocks, components: Components) -> "Projections":
        """Compute the sums from the squared residuals about u and 2u."""
        doubled = components._replace(means=2 * components.means)
        (once, told), (twice, _) = (squared_residuals(log, one) for one in (components, doubled))
        square = np.where(told, log.log.counts, 0)[:, None]  # standardized ratings have the variance 1
        own = np.maximum((twice - 2 * once + square) / 2, 0.0)
        return cls(square, (square + own - once) / 2, own, np.where(told, log.log.counts - 1.0, 0.0))

    def joint(self, strengths: Strengths) -> tuple[FloatArray, FloatArray]:
        """Return people × states × classes: the log of share times density, and the squared residuals."""
        states, classes, slopes, variances = strengths
        square = self.square[:, :, None] - 2 * slopes * self.cross[:, :, None] + slopes**2 * self.own[:, :, None]
        scale = self.freedom[:, None, None] * np.log(2 * np.pi * variances)
        with np.errstate(divide="ignore"):  # a share may be 0
            prior = np.log(states)[:, None] + np.log(classes)
        return prior - 0.5 * (square / variances + scale), square

    def densities(self, strengths: Strengths) -> FloatArray:
        """Return the log density of each person's ratings, 0 for people whose ratings are equal."""
        return np.where(self.freedom > 0, logsumexp(self.joint(strengths)[0], axis=(1, 2)), 0.0)


def fit_strengths(people: Projections, components: Components) -> Strengths:
    """Fit the classes to people by EM, given the means of the states."""
    n = len(SLOPES)
    fitted = Strengths(components.shares, np.full(n, 1 / n), np.array(SLOPES), np.full(n, components.variance))
    told = people.freedom > 0
    if not told.any():
        return fitted
    people = Projections(*(array[told] for array in people))
    for _ in range(STEPS):
        joint, square = people.joint(fitted)
        chance = np.exp(joint - logsumexp(joint, axis=(1, 2), keepdims=True))
        freedom = (chance * people.freedom[:, None, None]).sum(axis=(0, 1))
        own = (chance * people.own[:, :, None]).sum(axis=(0, 1))
        cross = (chance * people.cross[:, :, None]).sum(axis=(0, 1))
        fitted = Strengths(
            chance.mean(axis=0).sum(axis=1),
            chance.mean(axis=0).sum(axis=0),
            cross / np.maximum(own, 1e-9),
            np.maximum((chance * square).sum(axis=(0, 1)) / np.maximum(freedom, 1e-9), MIN_VARIANCE),
        )
    return fitted
