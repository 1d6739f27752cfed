"""Shrink utilities towards the other states (empirical Bayes).

The utilities of one action in all states are modelled as a draw from N(mean, Σ), observed with error variances D:
E = mean + Σ(Σ + D)⁻¹(b − mean) and P² = diag(Σ − Σ(Σ + D)⁻¹Σ), mean and Σ being those of all actions.
"""

import numpy as np

from lpbandits.fit.bradley_terry import MAX_UTILITY
from lpbandits.fit.uncertainty import Scatter
from lpbandits.typing import BoolArray, FloatArray

CELLS = 2**20
"""Cells of m×m matrices that are solved at a time."""


def shrink_states(
    utilities: FloatArray, known: BoolArray, scatter: Scatter, *, prior_sd: float
) -> tuple[FloatArray, FloatArray]:
    """Return m×k posterior means and standard deviations of utilities; those not `known` carry no information.

    The prior of the fit multiplied β̂ by H / (H + λ). N(mean, Σ) replaces it, so this is undone first:
    b = β̂ (H + λ) / H, with the variance G / H². In one state with mean 0, Σ = s² and G = H the result is β̂ itself. An
    action that always won or lost, with vanishing curvature under a very weak prior, is kept unchanged.
    """
    squares, curvature, precision = scatter.squares, scatter.curvature, prior_sd**-2
    informative = known & (curvature > 1e-9 * precision) & (squares > 0)
    bend = np.where(informative, curvature, 1.0)
    values = np.where(informative, utilities * (1 + precision / bend), 0.0)
    root = np.where(informative, bend / np.sqrt(np.where(informative, squares, 1.0)), 0.0)  # D^-½
    mean, cov = _population(values, root, prior_sd)
    centred, errors = _conditional(values - mean[:, None], root, cov)
    extreme = known & ~informative
    shrunk = np.where(extreme, utilities, np.clip(mean[:, None] + centred, -MAX_UTILITY, MAX_UTILITY))
    return shrunk, np.where(extreme, scatter.errors(prior_sd), errors)


def _population(values: FloatArray, root: FloatArray, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and Σ over actions: Σ = cov(b) − diag(mean D), eigenvalues clipped at 0.

    Actions have the weight 1 / (v + D), v a robust variance of b plus the median D, so that the noise of actions with
    few raters does not dominate. Each variance is at least √(2/n) times the mean D, because a smaller one cannot be
    told from the noise of n actions. The covariances of m states are multiplied by n / (n + m + 1).
    """
    m = len(values)
    known = root > 0
    many = known.sum(axis=1)
    noise = np.where(known, 1 / np.where(known, root, 1.0) ** 2, 0.0)
    rough = [np.median(noise[z][known[z]]) + _spread(values[z][known[z]]) if many[z] else 1.0 for z in range(m)]
    weight = np.where(known, 1 / (np.array(rough)[:, None] + noise), 0.0)
    total = np.maximum(weight.sum(axis=1), 1e-300)
    mean = (weight * values).sum(axis=1) / total
    level = (weight * noise).sum(axis=1) / total
    half = np.sqrt(weight)
    away = half * (values - mean[:, None])
    cov = (away @ away.T) / np.maximum(half @ half.T, 1e-300)
    both = known.astype(np.float64) @ known.T.astype(np.float64)
    off = cov * both / (both + m + 1)
    least = level * np.sqrt(2 / np.maximum(many, 1))
    np.fill_diagonal(off, np.where(many > 0, np.maximum(np.diag(cov) - level, least), prior_sd**2))
    roots, vectors = np.linalg.eigh(off)
    return mean, (vectors * np.maximum(roots, 0.0)) @ vectors.T


def _spread(values: FloatArray) -> float:
    """Return the variance of normal values with the same interquartile range, which ignores outliers."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349) ** 2


def _conditional(values: FloatArray, root: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ(Σ + D)⁻¹ values and √diag(Σ − Σ(Σ + D)⁻¹Σ), action by action.

    With W = D^-½, 0 where nothing is known, (Σ + D)⁻¹ = W(1 + WΣW)⁻¹W, whose inverse always exists.
    """
    m, k = values.shape
    means, errors = np.empty((m, k)), np.empty((m, k))
    step = max(CELLS // (m * m), 1)
    for low in range(0, k, step):
        chunk = slice(low, low + step)
        w = root[:, chunk].T  # actions × states
        pulled = w[:, :, None] * cov  # WΣ
        matrix = np.eye(m) + pulled * w[:, None, :]
        right = np.concatenate([pulled, (w * values[:, chunk].T)[:, :, None]], axis=2)
        solved = np.linalg.solve(matrix, right)
        means[:, chunk] = np.einsum("ajz,aj->za", pulled, solved[:, :, m])
        variance = np.diag(cov) - np.einsum("ajz,ajz->az", pulled, solved[:, :, :m])
        errors[:, chunk] = np.sqrt(np.maximum(variance, 0.0)).T
    return means, errors
