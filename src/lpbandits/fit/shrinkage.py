"""Shrinkage over states: what one state's people said too little of is borrowed from the others.

Per action the utilities of all states are one draw from N(mean, Σ), seen with the errors D of the log's scatter:
E = mean + Σ(Σ + D)⁻¹(b − mean) and P² = diag(Σ − Σ(Σ + D)⁻¹Σ), mean and Σ being those of all actions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits.fit.scatter import Scatter
from lpbandits.typing import BoolArray, FloatArray

LARGEST = 300.0
"""Of a utility, as in Bradley-Terry fits."""

AT_ONCE = 2**20
"""Cells of m×m matrices that are solved at a time."""


@dataclass(frozen=True, eq=False)
class Shrunk:
    """m×k: the utilities that a log and all states together support, and their standard deviations."""

    utilities: FloatArray
    errors: FloatArray


def shrink(utilities: FloatArray, known: BoolArray, scatters: Sequence[Scatter], *, prior_sd: float) -> Shrunk:
    """Shrink m×k utilities, those not `known` being without information of their own.

    The prior of the fit pulled β̂ to 0 by H / (H + λ). Here its place is taken by N(mean, Σ), so the pull is undone
    first: b = β̂ (H + λ) / H, with the variance G / H². In one state with mean 0, Σ = s² and G = H the result is β̂
    itself. An action that always won or lost, so that a very weak prior let its curvature vanish, stays as it is.

    >>> one = [Scatter(np.full(3, 10.0), np.full(3, 10.0))]
    >>> found = shrink(np.array([[1.0, 0.0, -1.0]]), np.ones((1, 3), dtype=bool), one, prior_sd=1.0)
    >>> found.utilities.round(3).tolist(), found.errors.round(3).tolist()
    ([[0.964, 0.0, -0.964]], [[0.296, 0.296, 0.296]])
    """
    squares = np.stack([part.squares for part in scatters])
    curvature = np.stack([part.curvature for part in scatters])
    precision = prior_sd**-2
    told = known & (curvature > 1e-9 * precision) & (squares > 0)
    bend = np.where(told, curvature, 1.0)
    values = np.where(told, utilities * (1 + precision / bend), 0.0)
    root = np.where(told, bend / np.sqrt(np.where(told, squares, 1.0)), 0.0)  # D^-½
    mean, cov = _population(values, root, prior_sd)
    centred, errors = _conditional(values - mean[:, None], root, cov)
    extreme = known & ~told
    plain = np.stack([part.errors(prior_sd) for part in scatters])
    found = np.where(extreme, utilities, np.clip(mean[:, None] + centred, -LARGEST, LARGEST))
    return Shrunk(found, np.where(extreme, plain, errors))


def _population(values: FloatArray, root: FloatArray, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and Σ over actions: Σ = cov(b) − diag(mean D), eigenvalues clipped at 0.

    Actions count by 1 / (v + D), v a robust variance of b and the median D, so that a few raters' noise does not drown
    what many say; where D hardly differs, all count alike. With n actions a variance is not taken for less than √(2/n)
    of the mean D, which noise alone could hide, and covariances of m states count n / (n + m + 1): few actions tell
    little of how states go together.
    """
    m = len(values)
    told = root > 0
    many = told.sum(axis=1)
    noise = np.where(told, 1 / np.where(told, root, 1.0) ** 2, 0.0)
    rough = np.array([np.median(noise[z][told[z]]) + _spread(values[z][told[z]]) if many[z] else 1.0 for z in range(m)])
    weight = np.where(told, 1 / (rough[:, None] + noise), 0.0)
    total = np.maximum(weight.sum(axis=1), 1e-300)
    mean = (weight * values).sum(axis=1) / total
    level = (weight * noise).sum(axis=1) / total
    half = np.sqrt(weight)
    away = half * (values - mean[:, None])
    cov = (away @ away.T) / np.maximum(half @ half.T, 1e-300)
    both = told.astype(np.float64) @ told.T.astype(np.float64)
    off = cov * both / (both + m + 1)
    least = level * np.sqrt(2 / np.maximum(many, 1))
    np.fill_diagonal(off, np.where(many > 0, np.maximum(np.diag(cov) - level, least), prior_sd**2))
    roots, vectors = np.linalg.eigh(off)
    return mean, (vectors * np.maximum(roots, 0.0)) @ vectors.T


def _spread(values: FloatArray) -> float:
    """Return the variance as the middle half of normal values shows it: outliers do not matter."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349) ** 2


def _conditional(values: FloatArray, root: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ(Σ + D)⁻¹ values and √diag(Σ − Σ(Σ + D)⁻¹Σ), action by action.

    With W = D^-½, 0 where nothing is known, (Σ + D)⁻¹ = W(1 + WΣW)⁻¹W, whose inverse always exists.
    """
    m, k = values.shape
    found, errors = np.empty((m, k)), np.empty((m, k))
    step = max(AT_ONCE // (m * m), 1)
    for low in range(0, k, step):
        some = slice(low, low + step)
        w = root[:, some].T  # actions × states
        pulled = w[:, :, None] * cov  # WΣ
        whole = np.eye(m) + pulled * w[:, None, :]
        right = np.concatenate([pulled, (w * values[:, some].T)[:, :, None]], axis=2)
        solved = np.linalg.solve(whole, right)
        found[:, some] = np.einsum("ajz,aj->za", pulled, solved[:, :, m])
        left = np.diag(cov) - np.einsum("ajz,ajz->az", pulled, solved[:, :, :m])
        errors[:, some] = np.sqrt(np.maximum(left, 0.0)).T
    return found, errors
