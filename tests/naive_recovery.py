"""Plain implementations of the computations of a fit, which tests compare with the fast ones."""

import itertools
import math

import numpy as np

from lpbandits.data import Ratings
from lpbandits.typing import BoolArray, FloatArray, IntArray
from tests.naive import kendall


def histories(ratings: Ratings) -> list[list[tuple[int, float]]]:
    """Return each person's list of (action, rating)."""
    out = []
    for start, end in itertools.pairwise(ratings.offsets.tolist()):
        out.append(list(zip(ratings.action[start:end].tolist(), ratings.rating[start:end].tolist(), strict=True)))
    return out


def halves_won(ratings: Ratings, weight: FloatArray | None = None) -> FloatArray:
    """Return H = 2 × wins + ties, from every ordered pair of every person."""
    k = len(ratings.actions)
    out = np.zeros((k, k))
    for n, history in enumerate(histories(ratings)):
        for (a, mine), (b, other) in itertools.permutations(history, 2):
            points = 2 if mine > other else 1 if mine == other else 0
            out[a, b] += points * (1.0 if weight is None else weight[n])
    return out


def log_likelihood(history: list[tuple[int, float]], utilities: FloatArray) -> float:
    """Return Σ over pairs of log P(the higher rating wins); a tie is half of each outcome."""
    total = 0.0
    for (a, mine), (b, other) in itertools.combinations(history, 2):
        wins = 1.0 if mine > other else 0.5 if mine == other else 0.0
        difference = float(utilities[a] - utilities[b])
        total -= wins * np.logaddexp(0.0, -difference) + (1 - wins) * np.logaddexp(0.0, difference)
    return float(total)


def bradley_terry(wins: FloatArray, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return utilities after 100 Newton steps (halved until they gain), and the inverse Hessian."""
    k = len(wins)
    meetings = wins + wins.T

    def value(beta: FloatArray) -> float:
        difference = beta[:, None] - beta[None, :]
        return float(-np.sum(wins * np.logaddexp(0.0, -difference)) - np.sum(beta**2) / (2 * prior_sd**2))

    beta = np.zeros(k)
    for _ in range(100):
        chance = 1 / (1 + np.exp(beta[None, :] - beta[:, None]))
        gradient = wins.sum(axis=1) - (meetings * chance).sum(axis=1) - beta / prior_sd**2
        bend = meetings * chance * chance.T
        hessian = np.diag(bend.sum(axis=1) + prior_sd**-2) - bend
        step = np.linalg.solve(hessian, gradient)
        while value(beta + step) < value(beta) and np.abs(step).max() > 1e-14:
            step = step / 2
        beta = beta + step
    return beta, np.asarray(np.linalg.inv(hessian), dtype=np.float64)


def kendall_loss(ordering: IntArray, other: IntArray) -> float:
    """Return 1 − Kendall's τ, from every pair."""
    return 2 * kendall(ordering.tolist(), other.tolist())


def responsibilities(ratings: Ratings, betas: FloatArray, shares: FloatArray) -> tuple[FloatArray, float]:
    """E step: return each person's probability of each state, and the log-likelihood of all people."""
    chance = np.empty((len(ratings.people), len(shares)))
    total = 0.0
    for n, history in enumerate(histories(ratings)):
        joint = [np.log(w) + log_likelihood(history, beta) for w, beta in zip(shares, betas, strict=True)]
        value = np.logaddexp.reduce(joint)
        chance[n] = np.exp(joint - value)
        total += float(value)
    return chance, total


def em(
    ratings: Ratings, start: IntArray, states: int, *, prior_sd: float, steps: int
) -> tuple[FloatArray, FloatArray, FloatArray, list[float]]:
    """Run `steps` + 1 steps of EM; return utilities, shares, probabilities and log-posteriors.

    M step: a state's share is the mean probability of the state, and its utilities are a Bradley-Terry fit to all
    comparisons, weighted by these probabilities.
    """
    chance = np.eye(states)[start]
    values = []
    for _ in range(steps + 1):
        shares = chance.mean(axis=0)
        betas = np.stack([bradley_terry(halves_won(ratings, column) / 2, prior_sd)[0] for column in chance.T])
        chance, likelihood = responsibilities(ratings, betas, shares)
        values.append(likelihood - float(np.sum(betas**2)) / (2 * prior_sd**2))
    return betas, shares, chance, values


def mixture_step(
    ratings: Ratings, means: FloatArray, shares: FloatArray, variance: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ρ and q by person and state, log-likelihoods of people, and by state and action Σ ρ and Σ ρ (y − α).

    `means` are m×k. People whose ratings are all equal have the shares as ρ, and log-likelihood NaN.
    """
    people, (m, k) = len(ratings.people), means.shape
    chance, squares = np.tile(shares, (people, 1)), np.zeros((people, m))
    values, sums = np.full(people, np.nan), np.zeros((2, m, k))
    varied = np.array([len({rating for _, rating in history}) > 1 for history in histories(ratings)])
    for i, y in enumerate(own_units(ratings, varied)):
        if not y:
            continue
        residuals = [{a: value - means[z, a] for a, value in y.items()} for z in range(m)]
        offsets = [np.mean(list(e.values())) for e in residuals]
        squares[i] = [sum((x - offset) ** 2 for x in e.values()) for e, offset in zip(residuals, offsets, strict=True)]
        joint = np.log(shares) - squares[i] / (2 * variance)
        values[i] = np.logaddexp.reduce(joint)
        chance[i] = np.exp(joint - values[i])
        for z in range(m):
            for a, value in y.items():
                sums[0, z, a] += chance[i, z]
                sums[1, z, a] += chance[i, z] * (value - offsets[z])
    return chance, squares, values, sums


def gaussian_mixture(
    ratings: Ratings, start: tuple[FloatArray, FloatArray, float], prior: FloatArray, kappa: float, steps: int
) -> tuple[FloatArray, FloatArray, float, list[float]]:
    """Run steps of EM from (means, shares, variance); return the last ones, and the log-posterior before each step."""
    means, shares, variance = start
    history = []
    for _ in range(steps):
        chance, squares, values, (raters, totals) = mixture_step(ratings, means, shares, variance)
        told = ~np.isnan(values)
        freedom = float(np.sum(ratings.counts[told] - 1))
        penalty = kappa * float(np.sum((means - prior) ** 2))
        density = -freedom / 2 * np.log(2 * np.pi * variance)
        history.append(float(values[told].sum()) + density - penalty / (2 * variance))
        variance = (float(np.sum(chance[told] * squares[told])) + penalty) / freedom
        shares = chance[told].mean(axis=0)
        means = (totals + kappa * prior) / (raters + kappa)
    return means, shares, variance, history


def log_density(
    y: dict[int, float], means: FloatArray, states: FloatArray, classes: list[tuple[float, float]], *, norms: str
) -> float:
    """Return the log density of one person's standardized ratings, relative to arrangements by chance.

    The norm is the mean over all arrangements ("exact"), its approximation ("scaled"), or the mean over the "sphere",
    an integral over the angle to the state. `classes` are (share, strength).
    """
    values, n = np.array(list(y.values())), len(y)
    arrangements = np.array(list(itertools.permutations(values)))
    joint = []
    for share, u in zip(states, means, strict=True):
        rated = np.array([u[a] for a in y])
        rated -= rated.mean()
        length = np.sqrt(n * np.sum(rated**2))
        for weight, strength in classes:
            c = strength * length
            angles = np.pi * (np.arange(20_000) + 0.5) / 20_000
            area = np.sin(angles) ** (n - 3.0)
            if norms == "exact":
                norm = np.log(np.mean(np.exp(strength * arrangements @ rated)))
            elif norms == "scaled":
                norm = scaled_mean(values, rated, strength)
            elif n == 2:
                norm = np.log(np.cosh(c))
            else:
                norm = np.log(np.sum(area * np.exp(c * (np.cos(angles) - 1))) / area.sum()) + c
            joint.append(np.log(share * weight) + strength * float(values @ rated) - norm)
    return float(np.logaddexp.reduce(joint))


def scaled_mean(y: FloatArray, utilities: FloatArray, strength: float) -> float:
    """Return the approximate log mean of exp(strength Σ y_a u_a) over all arrangements of y.

    The rows and columns of exp(strength y_i u_j) are scaled to sums of 1. Each row chooses a column; the probabilities
    that a column is chosen once are multiplied, each given that the columns before it are.
    """
    n = len(y)
    b, out = np.exp(strength * np.outer(np.sort(y), np.sort(utilities))), -math.lgamma(n + 1)
    for _ in range(1_000):
        for axis in (0, 1):
            sums = b.sum(axis=axis, keepdims=True)
            b, out = b / sums, out + float(np.log(sums).sum())
    covariance = np.eye(n) - b.T @ b
    for j in range(n - 1):
        given = covariance[:j, :j]
        p = covariance[j, j] - covariance[j, :j] @ np.linalg.solve(given, covariance[:j, j])
        out += np.log1p(-p) if p <= 0.5 else p / (1 - p) * np.log(p)
    return out


def scatter(
    ratings: Ratings, weight: FloatArray, beta: FloatArray, *, pseudo: float = 5.0
) -> tuple[FloatArray, FloatArray]:
    """Return G, smoothed, and H, from every ordered pair of every person."""
    k = len(ratings.actions)
    squares, curvature, raters = np.zeros(k), np.zeros(k), np.zeros(k)
    for w, history in zip(weight, histories(ratings), strict=True):
        for a, mine in history:
            others = [(b, other) for b, other in history if b != a]
            if w == 0 or not others:
                continue
            chance = [1 / (1 + np.exp(beta[b] - beta[a])) for b, _ in others]
            against = [1 / (1 + np.exp(beta[a] - beta[b])) for b, _ in others]
            wins = sum(1.0 if mine > other else 0.5 if mine == other else 0.0 for _, other in others)
            squares[a] += (w * (wins - sum(chance))) ** 2
            curvature[a] += w * sum(p * q for p, q in zip(chance, against, strict=True))
            raters[a] += w
    pool = max(squares.sum() / curvature.sum(), 1.0) if curvature.sum() > 0 else 1.0
    return (raters * squares + pseudo * pool * curvature) / (raters + pseudo), curvature


def conditional(
    values: FloatArray, variances: FloatArray, mean: FloatArray, cov: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and sd of one action's utilities given observations with these variances (may be infinite)."""
    seen = np.flatnonzero(np.isfinite(variances))
    gain = cov[:, seen] @ np.linalg.inv(cov[np.ix_(seen, seen)] + np.diag(variances[seen]))
    variance = np.diag(cov - gain @ cov[seen])
    return mean + gain @ (values - mean)[seen], np.sqrt(np.maximum(variance, 0.0))


def even_population(values: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and covariance over actions, less the variance of the errors, which are equal."""
    m, k = values.shape
    mean = values.mean(axis=1)
    cov = np.cov(values, ddof=0).reshape(m, m)
    off = cov * k / (k + m + 1)
    np.fill_diagonal(off, np.maximum(np.diag(cov) - variance, variance * np.sqrt(2 / k)))
    roots, vectors = np.linalg.eigh(off)
    return mean, (vectors * np.maximum(roots, 0.0)) @ vectors.T


def own_units(ratings: Ratings, used: BoolArray) -> list[dict[int, float]]:
    """Return each person's {action: (rating − mean) / sd}; empty for people not in use."""
    out: list[dict[int, float]] = []
    for history, use in zip(histories(ratings), used.tolist(), strict=True):
        given = np.array([rating for _, rating in history])
        out.append({a: (r - given.mean()) / given.std() for a, r in history} if use else {})
    return out


def likings(ratings: Ratings, used: BoolArray, sweeps: int = 20) -> FloatArray:
    """Return item means, with 20 pseudo-raters, alternating with offsets of people."""
    people = own_units(ratings, used)
    means, offsets = [0.0] * len(ratings.actions), [0.0] * len(people)
    for _ in range(sweeps):
        for a in range(len(means)):
            residuals = [y[a] - offset for y, offset in zip(people, offsets, strict=True) if a in y]
            means[a] = sum(residuals) / (len(residuals) + 20)
        offsets = [sum(y[a] - means[a] for a in y) / max(len(y), 1) for y in people]
    return np.array(means)


def crossed(rows: list[dict[int, float]], c: int) -> tuple[FloatArray, FloatArray]:
    """Return Σ e_a e_b over people with both actions, and their number, for all b ≥ a."""
    pairs = [(a, b) for a in range(c) for b in range(a, c)]
    products = [sum(row[a] * row[b] for row in rows if a in row and b in row) for a, b in pairs]
    return np.array(products, dtype=np.float64), np.array(
        [sum(a in row and b in row for row in rows) for a, b in pairs]
    )


def cells(ratings: Ratings, chance: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return m×k numbers and sums of ratings per state and action, and the sum of squares about means."""
    m, k = means.shape
    count, total, squares = np.zeros((m, k)), np.zeros((m, k)), 0.0
    for weights, history in zip(chance, histories(ratings), strict=True):
        for z, (a, rating) in itertools.product(range(m), history):
            count[z, a] += weights[z]
            total[z, a] += weights[z] * rating
            squares += weights[z] * (rating - means[z, a]) ** 2
    return count, total, squares
