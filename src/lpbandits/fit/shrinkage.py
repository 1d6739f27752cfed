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
    safe_curvature = np.where(informative, curvature, 1.0)
    values = np.where(informative, utilities * (1 + precision / safe_curvature), 0.0)
    inverse_sd = np.where(informative, safe_curvature / np.sqrt(np.where(informative, squares, 1.0)), 0.0)  # D^-½
    mean, cov = _population(values, inverse_sd, prior_sd)
    centred, errors = _conditional(values - mean[:, None], inverse_sd, cov)
    extreme = known & ~informative
    shrunk = np.where(extreme, utilities, np.clip(mean[:, None] + centred, -MAX_UTILITY, MAX_UTILITY))
    return shrunk, np.where(extreme, scatter.errors(prior_sd), errors)


def _population(values: FloatArray, inverse_sd: FloatArray, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and Σ over actions: Σ = cov(b) − diag(mean D), eigenvalues clipped at 0.

    Actions have the weight 1 / (v + D), v a robust variance of b plus the median D, so that the noise of actions with
    few raters does not dominate. Each variance is at least √(2/n) times the mean D, because a smaller one cannot be
    told from the noise of n actions. The covariances of m states are multiplied by n / (n + m + 1).
    """
    m = len(values)
    known = inverse_sd > 0
    n_known = known.sum(axis=1)
    noise = np.where(known, 1 / np.where(known, inverse_sd, 1.0) ** 2, 0.0)
    typical = [np.median(noise[z][known[z]]) + _spread(values[z][known[z]]) if n_known[z] else 1.0 for z in range(m)]
    weight = np.where(known, 1 / (np.array(typical)[:, None] + noise), 0.0)
    total = np.maximum(weight.sum(axis=1), 1e-300)
    mean = (weight * values).sum(axis=1) / total
    mean_noise = (weight * noise).sum(axis=1) / total
    root_weight = np.sqrt(weight)
    deviations = root_weight * (values - mean[:, None])
    cov = (deviations @ deviations.T) / np.maximum(root_weight @ root_weight.T, 1e-300)
    both = known.astype(np.float64) @ known.T.astype(np.float64)
    shrunk_cov = cov * both / (both + m + 1)
    variances = np.maximum(np.diag(cov) - mean_noise, mean_noise * np.sqrt(2 / np.maximum(n_known, 1)))
    np.fill_diagonal(shrunk_cov, np.where(n_known > 0, variances, prior_sd**2))
    eigenvalues, vectors = np.linalg.eigh(shrunk_cov)
    return mean, (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


def _spread(values: FloatArray) -> float:
    """Return the variance of normal values with the same interquartile range, which ignores outliers."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349) ** 2


def _conditional(values: FloatArray, inverse_sd: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ(Σ + D)⁻¹ values and √diag(Σ − Σ(Σ + D)⁻¹Σ), action by action.

    With W = D^-½, 0 where nothing is known, (Σ + D)⁻¹ = W(1 + WΣW)⁻¹W, whose inverse always exists.
    """
    m, k = values.shape
    means, errors = np.empty((m, k)), np.empty((m, k))
    step = max(CELLS // (m * m), 1)
    for low in range(0, k, step):
        chunk = slice(low, low + step)
        w = inverse_sd[:, chunk].T  # actions × states
        scaled_cov = w[:, :, None] * cov  # WΣ
        matrix = np.eye(m) + scaled_cov * w[:, None, :]
        right = np.concatenate([scaled_cov, (w * values[:, chunk].T)[:, :, None]], axis=2)
        solved = np.linalg.solve(matrix, right)
        means[:, chunk] = np.einsum("ajz,aj->za", scaled_cov, solved[:, :, m])
        variance = np.diag(cov) - np.einsum("ajz,ajz->az", scaled_cov, solved[:, :, :m])
        errors[:, chunk] = np.sqrt(np.maximum(variance, 0.0)).T
    return means, errors
