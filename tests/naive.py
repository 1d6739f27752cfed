"""Slow and obvious twins of the kernels, to be checked by eye.

Nothing here calls the package; the last functions only read a policy's settings. A history is a sequence of
(action, reward); every fit starts from the raw rewards; random numbers are Python integers.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_simpson, quad
from scipy.special import ndtri, stdtrit, xlog1py, xlogy

from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy, evidences, rules
from lpbandits.taste_model import TasteModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Order = Sequence[Sequence[int]]
"""The tiers of an ordering, best first."""
History = Sequence[tuple[int, float]]
Duels = Sequence[tuple[int, int]]
Draw = Callable[[int, int], tuple[int, int]]
"""The two 64-bit words of a purpose and an index, in one round."""

STATE, FIRST, VALUE, REWARD, TOP, STEP, ORDER = range(7)
SWAP, MISTAKE = 9, 10
TIER = 12


def isotonic(values: Floats, weights: Floats) -> Floats:
    """The min-max formula: entry i is the least, over starts s ≤ i, of the largest mean of s..t over ends t ≥ i."""
    n = len(values)

    def mean(s: int, t: int) -> float:
        return float(np.average(values[s : t + 1], weights=weights[s : t + 1]))

    return np.array([min(max(mean(s, t) for t in range(i, n)) for s in range(i + 1)) for i in range(n)])


def rewards_by_action(history: History) -> dict[int, list[float]]:
    """The rewards of each tried action."""
    return {a: [reward for action, reward in history if action == a] for a, _ in history}


def orders_of(model: PreferenceModel) -> list[Order]:
    """The tiers of each state, best first; without tiers one action each."""
    sizes = [[1] * model.n_actions] * model.n_states if model.tiers is None else model.tiers
    return [
        [part.tolist() for part in np.split(row, np.cumsum(counts)[:-1])]
        for row, counts in zip(model.orderings, sizes, strict=True)
    ]


def tier_of(order: Order, action: int) -> int:
    return next(i for i, tier in enumerate(order) if action in tier)


def mid_ranks(order: Order) -> Floats:
    """The mean rank of each action over all ways to order its tier."""
    flat = [a for tier in order for a in tier]
    return np.array([np.mean([flat.index(b) for b in order[tier_of(order, a)]]) for a in range(len(flat))])


def fitted_means(order: Order, history: History) -> dict[int, float]:
    """The fitted mean of each tried action under one ordering, best first; within a tier by their own means."""
    rewards = rewards_by_action(history)
    own = {a: float(np.mean(rewards[a])) for a in rewards}
    tried = [a for tier in order for a in sorted(set(tier) & own.keys(), key=lambda a: -own[a])]
    values = np.array([np.mean(rewards[a]) for a in tried])
    weights = np.array([float(len(rewards[a])) for a in tried])
    return dict(zip(tried, isotonic(values, weights).tolist(), strict=True))


def active(order: Order, history: History) -> int:
    """The number of neighbouring tried actions that the fit holds equal, beyond those that are equal in one tier."""
    fit = fitted_means(order, history)
    blocks: list[list[int]] = []
    for a in fit:
        if blocks and np.isclose(fit[blocks[-1][-1]], fit[a], rtol=1e-9, atol=1e-9):
            blocks[-1].append(a)
        else:
            blocks.append([a])
    return sum(len(block) - 1 for block in blocks if tier_of(order, block[0]) < tier_of(order, block[-1]))


def log_likelihood(kind: str, reward: float, mean: float, noise: float) -> float:
    """Log p(reward | mean) up to a constant."""
    if kind == "bernoulli":
        return float(xlogy(reward, mean) + xlog1py(1 - reward, -mean))
    if kind == "poisson":
        return float(xlogy(reward, mean) - mean)
    return -((reward - mean) ** 2) / (2 * noise**2)


def log_evidence(kind: str, history: History, mean_of: dict[int, float], noise: float, weight: float) -> float:
    """Log p(all rewards | means); unknown noise is integrated out under an inverse gamma prior on σ²."""
    if kind in ("unknown-noise", "no-guess"):
        squares = sum((reward - mean_of[action]) ** 2 for action, reward in history)
        return float(-(weight + len(history)) / 2 * np.log(weight * noise**2 + squares))
    return sum(log_likelihood(kind, reward, mean_of[action], noise) for action, reward in history)


def posterior(prior: Floats, scores: Sequence[float] | Floats) -> Floats:
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + np.array(scores)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def refit(
    orderings: Sequence[Order], prior: Floats, history: History, kind: str, noise: float, weight: float
) -> Floats:
    """lpbTS: all rewards at the state's isotonic fit."""
    scores = [log_evidence(kind, history, fitted_means(row, history), noise, weight) for row in orderings]
    return posterior(prior, scores)


def probability_of_order(means: Sequence[float], sds: Sequence[float], points: int = 6001) -> float:
    """P(μ₁ ≥ μ₂ ≥ …) of independent normal μ: integrate each density times P(the previous ones are above in order)."""
    means_, sds_ = np.array(means), np.array(sds)
    x = np.linspace((means_ + 10 * sds_).max(), (means_ - 10 * sds_).min(), points)
    above = np.ones(points)
    for mean, sd in zip(means_, sds_, strict=True):
        density = np.exp(-(((x - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))
        above = cumulative_simpson(density * above, dx=(x[0] - x[-1]) / (points - 1), initial=0)
    return float(above[-1])


def marginal(orderings: Sequence[Order], prior: Floats, history: History, noise: float) -> Floats:
    """The probability that the means are in the state's order, under a flat prior."""
    rewards = rewards_by_action(history)
    weights = prior.copy()
    for z, ordering in enumerate(orderings):
        tried = [rewards[a] for (a,) in ordering if a in rewards]
        if tried:
            weights[z] *= probability_of_order(list(map(np.mean, tried)), [noise / math.sqrt(len(x)) for x in tried])
    return np.asarray(weights / weights.sum())


def guess_of(history: History, noise: float | None) -> float:
    """A guessed noise; without one, the standard deviation of all rewards, and 1 if they are all the same."""
    if noise is not None:
        return noise
    rewards = np.array([reward for _, reward in history])
    squares = float(np.sum((rewards - rewards.mean()) ** 2))
    return math.sqrt(squares / (len(rewards) - 1)) if squares > 1e-18 * len(rewards) * rewards.mean() ** 2 else 1.0


def pooled_noise(history: History, guess: float, weight: float) -> float:
    """The standard deviation of rewards within actions, with a guess worth `weight` rewards."""
    groups = rewards_by_action(history).values()
    squares = sum(float(np.sum((np.array(rewards) - np.mean(rewards)) ** 2)) for rewards in groups)
    return math.sqrt((weight * guess**2 + squares) / (weight + sum(len(rewards) - 1 for rewards in groups)))


def incremental(orderings: Sequence[Order], prior: Floats, history: History, kind: str, noise: float) -> Floats:
    """lpbTS, incremental: each reward once, at the fit that includes it."""
    scores = [0.0] * len(orderings)
    for t, (action, reward) in enumerate(history):
        for z, row in enumerate(orderings):
            mean = fitted_means(row, history[: t + 1])[action]
            scores[z] += log_likelihood(kind, reward, mean, noise)
    return posterior(prior, scores)


def known_means(means: Floats, prior: Floats, history: History, kind: str, noise: float, weight: float) -> Floats:
    """mTS: all rewards at the state's known means."""
    return posterior(
        prior, [log_evidence(kind, history, dict(enumerate(row.tolist())), noise, weight) for row in means]
    )


def consistency(
    means: Floats, prior: Floats, history: History, noise: float, planned: int, slack: float = 0.0
) -> Floats:
    """mUCB: equal weights on the states with a shortfall of at most σ √(6 N log T)."""
    m = len(means)
    possible = prior > 0
    rounds = np.zeros(m)
    short = np.zeros(m)
    consistent = possible.copy()
    for action, reward in history:
        optimist = max(np.flatnonzero(consistent), key=lambda z: means[z, action])
        rounds[optimist] += 1
        short[optimist] += means[optimist, action] - slack - reward
        margin = noise * np.sqrt(6 * rounds * np.log(max(planned, 2))) - short
        consistent = possible & (margin >= 0)
        if not consistent.any():
            consistent = np.arange(m) == np.argmax(np.where(possible, margin, -np.inf))
    return np.asarray(consistent / consistent.sum())


def confidence_bounds(history: History, noise: float) -> dict[int, tuple[float, float]]:
    """Lower and upper confidence bounds ȳ ± σ √(2 log t / n) of the mean of each tried action (UCB1)."""
    out = {}
    for a, rewards in rewards_by_action(history).items():
        mean, width = sum(rewards) / len(rewards), noise * math.sqrt(2 * math.log(len(history) + 1) / len(rewards))
        out[a] = mean - width, mean + width
    return out


def order_bounds(ranks: Ints, prior: Floats, history: History, noise: float) -> Floats:
    """lpb-order-ucb: equal weights on the states of which no pair is contradicted; on all if there are none."""
    bounds = confidence_bounds(history, noise)
    pairs = list(itertools.permutations(bounds, 2))
    wrong = [any(row[a] < row[c] and bounds[a][1] < bounds[c][0] for a, c in pairs) for row in ranks]
    left = (prior > 0) & ~np.array(wrong)
    left = left if left.any() else prior > 0
    return np.asarray(left / left.sum())


def paired(orderings: Sequence[Order], prior: Floats, history: History, margin: float | None) -> Floats:
    """Compare plays 1 and 2, 3 and 4, …; each loss of a state's preferred action costs a factor ½ − margin."""
    pairs = [sorted(pair, key=lambda play: -play[1]) for pair in zip(history[::2], history[1::2], strict=False)]
    duels = [(one, other) for (one, reward), (other, other_reward) in pairs if reward > other_reward]
    return inverted(orderings, prior, duels, margin)


def inverted(orderings: Sequence[Order], prior: Floats, duels: Duels, margin: float | None) -> Floats:
    """Count, per state, the duels (winner, loser) that its preferred action lost."""
    inversions = [sum(tier_of(order, lost) < tier_of(order, won) for won, lost in duels) for order in orderings]
    return posterior(prior, [n * math.log(0.5 - (margin or 0.0)) for n in inversions])


def best_tier(order: Order, allowed: Sequence[int]) -> list[int]:
    """The allowed actions of the best tier that has any."""
    return next([a for a in sorted(tier) if a in allowed] for tier in order if set(tier) & set(allowed))


def pick(actions: Sequence[int], u: float) -> int:
    return sorted(actions)[int(u * len(actions))]


def drawn_state(weights: Floats, draw: Draw) -> int:
    """The state that a uniform number selects."""
    state = int(np.searchsorted(np.cumsum(weights), unit(draw(STATE, 0)[0]), side="right"))
    return min(state, len(weights) - 1)


def best_of(values: Any, allowed: Sequence[int]) -> set[int]:
    """The allowed actions with the largest value, up to rounding."""
    top = max(values[a] for a in allowed)
    return {a for a in allowed if values[a] >= top - 1e-9 * max(1.0, abs(top))}


def play_information(expected: Floats, weights: Floats, unsure: Any, allowed: Sequence[int], u: float) -> set[int]:
    """The possible plays of the mix with the smallest gap² / information, found by trying all pairs and shares."""
    known = weights >= 1e-3 * weights.max()
    p, means = weights[known] / weights[known].sum(), expected[known][:, allowed]
    extra = np.broadcast_to(unsure, expected.shape[1])[allowed]
    gap = np.maximum(p @ (means + extra).max(axis=1) - p @ means, 0.0)
    information = np.maximum(p @ ((means - means[0, 0]) ** 2 + extra**2) - (p @ (means - means[0, 0])) ** 2, 0.0)
    mixes = []
    for i, j in itertools.product(range(len(allowed)), repeat=2):
        if gap[i] <= gap[j]:
            more, gain = gap[j] - gap[i], information[j] - information[i]
            turn = (gain * gap[i] - 2 * more * information[i]) / (more * gain) if more * gain != 0 else 0.0
            for share in {0.0, 1.0, min(max(turn, 0.0), 1.0)}:
                regret, learned = gap[i] + share * more, information[i] + share * gain
                mixes.append((regret**2 / learned if learned > 0 else np.inf, i, j, share))
    best = min(ratio for ratio, *_ in mixes)
    if not np.isfinite(best):
        return {allowed[int(i)] for i in np.flatnonzero(gap <= gap.min() + 1e-9 * (1 + abs(gap.min())))}
    near = [mix for mix in mixes if mix[0] <= best * (1 + 1e-7) + 1e-12]
    return {allowed[j if u < share else i] for _, i, j, share in near}


def gain_by_trying(means: Floats, weights: Floats, a: int, goals: Sequence[int], doubt: float, square: float) -> float:
    """E max M′ − max E M′ over the goals and action a, over two outcomes ± √v per state."""
    goals = sorted({*goals, a})
    variance = square + doubt**2
    rows, shares = [], []
    for state, side in itertools.product(range(len(weights)), (-1.0, 1.0)):
        y = means[state, a] + side * math.sqrt(variance)
        p = weights * np.exp(-((y - means[:, a]) ** 2) / (2 * variance))
        p /= p.sum()
        after = p @ means
        after[a] += doubt**2 / variance * (p @ (y - means[:, a]))
        rows.append(after[goals])
        shares.append(weights[state] / 2)
    share, values = np.array(shares), np.array(rows)
    return float(share @ values.max(axis=1) - (share @ values).max())


def play_plans(
    expected: Floats, weights: Floats, doubts: Floats, noise: float, outcomes: int, left: float, allowed: Sequence[int]
) -> set[int]:
    """The first actions of the best plans "one action for j rounds, then the best action"."""
    known = weights >= 1e-3 * weights.max()
    average = weights[known] @ expected[known] / weights[known].sum()
    if outcomes == 0 or left == 1:
        return best_of(average, allowed)
    if left < 1:
        left = max(2, outcomes / 2)
    best = max(allowed, key=lambda a: (average[a], -a))
    equal = [weights >= (1 - 1e-9) * w for w in sorted(weights) if w >= 0.05 * weights.max()]
    used = np.flatnonzero(next((states for states in equal if states.sum() <= 20), equal[-1]))[:20]
    w, means = weights[used] / weights[used].sum(), expected[used]
    goals = {best, *(max(allowed, key=lambda a, row=row: (row[a], -a)) for row in means)}  # type: ignore[misc]
    factor = 1 + left / (2 * (left + 10))
    certain = w @ (means[:, allowed].max(axis=1) - means[:, best])
    most = factor * (certain + 0.5 * max(doubts[a] for a in allowed))
    spread = w @ (means - w @ means) ** 2 + doubts**2
    square = noise**2
    promise = average + (left - 1) * most * np.sqrt(spread / (spread + square * (1 + 1 / outcomes)))
    worth = {best: [0.0]}
    for a in sorted(allowed, key=lambda a: -promise[a])[:12]:
        gain, j = most, 1 << max(math.ceil(math.log2(left)) - 1, 0)
        while j >= 1:
            found = gain_by_trying(means, w, a, sorted(goals), doubts[a], square * (1 / j + 1 / outcomes))
            gain = min(gain, factor * found)
            worth.setdefault(a, []).append((left - j) * gain + j * (average[a] - average[best]))
            j //= 2
    top = max(max(values) for values in worth.values())
    near = 1e-9 * left * max(1.0, float(np.abs(expected[:, allowed]).max()))
    return {a for a, values in worth.items() if max(values) >= top - near}


def play_thompson(
    history: History,
    allowed: Sequence[int],
    draw: Draw,
    *,
    noise: float,
    prior_mean: float = 0.0,
    prior_sd: float = 100.0,
) -> int:
    """A draw per tried action, and one draw for the largest of all untried ones."""
    word, second_word = draw(VALUE, 0)
    values: dict[int, float] = {}
    rewards_of = rewards_by_action(history)
    for action in sorted(rewards_of.keys() & set(allowed)):
        rewards = rewards_of[action]
        precision = prior_sd**-2 + len(rewards) / noise**2
        mean = (prior_mean / prior_sd**2 + sum(rewards) / noise**2) / precision
        values[action] = mean + normal(splitmix(word, action + 1)) / np.sqrt(precision)
    untried = sorted(set(allowed) - set(values))
    if untried:
        largest = prior_mean + prior_sd * float(ndtri(unit(second_word) ** (1 / len(untried))))
        if not values or largest > max(values.values()):
            return pick(untried, unit(draw(FIRST, 0)[0]))
    return max(values, key=lambda a: values[a])


def play_upper_bound(history: History, allowed: Sequence[int], draw: Draw, noise: float) -> int:
    """Untried actions first, then the largest ȳ + σ √(2 log t / n)."""
    rewards = rewards_by_action(history)
    untried = [a for a in allowed if a not in rewards]
    if untried:
        return pick(untried, unit(draw(FIRST, 0)[0]))
    bonus = 2 * np.log(len(history) + 1)
    return max(sorted(allowed), key=lambda a: np.mean(rewards[a]) + noise * np.sqrt(bonus / len(rewards[a])))


def philox(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Philox4x32-10 (Salmon et al. 2011) on Python integers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c0, c1, c2, c3


def words(seed: int, person: int, round_: int, purpose: int, index: int) -> tuple[int, int]:
    """The block at this address as two numbers of 64 bits."""
    a, b, c, d = philox((person, round_, purpose, index), (seed % 2**32, seed // 2**32))
    return a * 2**32 + b, c * 2**32 + d


def unit(word: int) -> float:
    """The middle of one of 2⁵² equal cells of (0, 1), selected by the first 52 bits."""
    return (word // 2**12 + 0.5) / 2**52


def uniform(seed: int, person: int, round_: int, purpose: int, index: int) -> float:
    return unit(words(seed, person, round_, purpose, index)[0])


def splitmix(word: int, index: int) -> int:
    """SplitMix64 (Steele, Lea and Flood 2014) on Python integers: number `index` of the sequence from `word`."""
    x = (word + index * 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def ziggurat(layers: int = 256, tail: float = 3.6541528853610088) -> list[float]:
    """The right edges of layers of equal area under exp(−x²/2); the lowest includes the tail."""

    def height(x: float) -> float:
        return math.exp(-x * x / 2)

    area = tail * height(tail) + float(quad(height, tail, np.inf, epsabs=0)[0])
    edges = [area / height(tail), tail]
    while len(edges) < layers:
        edges.append(math.sqrt(-2 * math.log(height(edges[-1]) + area / edges[-1])))
    return [*edges, 0.0]


EDGES = ziggurat()


def normal(word: int) -> float:
    """Accept a point of a layer within the next layer's width; else compare with the curve, or draw from the tail."""
    while True:
        layer, x = word % 256, 2 * unit(word) - 1
        if abs(x) * EDGES[layer] < EDGES[layer + 1]:
            return x * EDGES[layer]
        if layer == 0:
            for i in range(1, 1000, 2):
                beyond = -math.log(unit(splitmix(word, i))) / EDGES[1]
                if -2 * math.log(unit(splitmix(word, i + 1))) > beyond**2:
                    return math.copysign(EDGES[1] + beyond, x)
        x *= EDGES[layer]
        bottom, top = math.exp(-(EDGES[layer] ** 2) / 2), math.exp(-(EDGES[layer + 1] ** 2) / 2)
        if bottom + unit(splitmix(word, 1)) * (top - bottom) < math.exp(-x * x / 2):
            return x
        word = splitmix(word, 2)


def reward(kind: str, mean: float, noise: float, word: int) -> float:
    """The reward drawn by a word."""
    u = unit(word)
    if kind == "bernoulli":
        return float(u < mean)
    if kind == "poisson":
        count, mass = 0, np.exp(-mean)
        total = mass
        while total < u:
            count += 1
            mass = mass * mean / count
            total += mass
        return float(count)
    if kind == "student":
        return mean + noise * float(stdtrit(4, u)) / math.sqrt(2)
    return mean + noise * normal(word)


def inversions(values: Sequence[int]) -> int:
    """The number of pairs in the wrong order."""
    n = len(values)
    return sum(values[i] > values[j] for i in range(n) for j in range(i + 1, n))


def kendall(one: Order, other: Order) -> float:
    """The share of action pairs that two orderings order differently; half if only one of them orders a pair."""
    k = sum(map(len, one))
    places = [[tier_of(order, a) for a in range(k)] for order in (one, other)]
    signs = [[np.sign(tier[b] - tier[a]) for a, b in itertools.combinations(range(k), 2)] for tier in places]
    return float(np.abs(np.diff(signs, axis=0)).sum()) / 2 / max(k * (k - 1) / 2, 1)


def synthetic_gap(family: str, place: int, actions: int, u: float, gap: float, jitter: float) -> float:
    """The gap between the action at this place and the previous one."""
    match family:
        case "exponential":
            return -0.225 * math.log(1 - u)
        case "cliff":
            return 2.0 if (place - 1, place) == (actions // 2 - 1, actions // 2) else 0.05
        case "steps":
            return 1.0 if u < 0.2 else 0.02
    return gap + jitter * u


def synthetic_means(
    ordering: Sequence[int],
    seed: int,
    person: int,
    low: float,
    width: float,
    gap: float,
    jitter: float,
    family: str = "paper",
) -> Floats:
    """A best mean U(low, low + width), and gaps of gap + U(0, jitter), or of another family."""
    k = len(ordering)
    means = np.empty(k)
    value = low + width * uniform(seed, person, 0, TOP, 0)
    for i, action in enumerate(ordering):
        value -= synthetic_gap(family, i, k, uniform(seed, person, 0, STEP, i), gap, jitter) if i else 0.0
        means[action] = value
    return means


def shuffled(ordering: Sequence[int], size: int, seed: int, person: int) -> list[int]:
    """A person's ordering: each tier of `size` actions is inserted at random positions, one after the other."""
    out: list[int] = []
    for i, action in enumerate(ordering):
        members = i % size + 1  # of its tier, so far
        at = i - i % size + int(uniform(seed, person, 0, TIER, i) * members)
        out.append(action)
        out[i], out[at] = out[at], out[i]
    return out


def swapped(ordering: Sequence[int], seed: int, person: int, chance: float) -> list[int]:
    """A person's ordering: one pass, in which places i and i + 1 may be swapped."""
    out = list(ordering)
    for i in range(len(out) - 1):
        if uniform(seed, person, 0, SWAP, i) < chance:
            out[i], out[i + 1] = out[i + 1], out[i]
    return out


def noisy_utilities(
    ordering: Sequence[int], noise: float, seed: int, draw: int, state: int, attempt: int = 0
) -> Floats:
    """Standardised ranks of actions, largest for the best, with normal noise."""
    k = len(ordering)
    x = np.empty(k)
    for rank, action in enumerate(ordering):
        word, _ = words(seed, draw, state, MISTAKE, attempt * k + action)
        x[action] = ((k - 1) / 2 - rank) / math.sqrt((k**2 - 1) / 12) + noise * normal(word)
    return x


@dataclass(frozen=True)
class UtilityTwin:
    """Approximate utilities: the rewards of a person as one multivariate normal per state, with a positive slope."""

    prior: Floats
    """Of the states."""
    x: Floats
    """m×k."""
    slack: Floats
    """t of every action."""
    counts: Floats
    """Number of rewards of every action."""
    means: Floats
    noise: float
    share: float
    misfits: Floats
    """Σ n (ȳ − isotonic fit)² per state."""

    @property
    def tried(self) -> Ints:
        return np.flatnonzero(self.counts)

    @property
    def scale(self) -> float:
        """g: the spread of the tried actions' means beyond their noise, and the guess."""
        n, counts, y = len(self.tried), self.counts[self.tried], self.means[self.tried]
        if not n:
            return self.noise
        beyond = np.sum((y - y.mean()) ** 2) - self.noise**2 * (1 - 1 / n) * np.sum(1 / counts)
        return math.sqrt(max(beyond, 0.0) / max(n - 1, 1) + self.noise**2 * 2 / (n + 1))

    def joint(self, z: int) -> tuple[Floats, Floats]:
        """Mean and covariance of the tried actions' mean rewards without the level: β ~ N(¾ g, (g/2)²)."""
        g, tried = self.scale, self.tried
        x = self.x[z, tried]
        own = np.diag(self.noise**2 / self.counts[tried] + g**2 * self.slack[tried])
        return 0.75 * g * x, own + (g / 2) ** 2 * np.outer(x, x)

    def log_likelihood(self, z: int) -> tuple[float, float]:
        """Log p(rewards | z) under a flat prior of the level, and its log determinant minus that of the residuals."""
        mean, covariance = self.joint(z)
        inverse = np.linalg.inv(covariance)
        away = self.means[self.tried] - mean
        squares = away @ inverse @ away - (inverse.sum(axis=0) @ away) ** 2 / inverse.sum()
        own = self.noise**2 / self.counts[self.tried] + self.scale**2 * self.slack[self.tried]
        volume = np.linalg.slogdet(covariance)[1] + math.log(inverse.sum())
        return -0.5 * (volume + squares), volume - np.sum(np.log(own)) - math.log(np.sum(1 / own))

    def posterior(self) -> Floats:
        if not len(self.tried):
            return self.prior
        with np.errstate(divide="ignore"):
            logs = np.log(self.prior)
        likelihoods = np.array([self.log_likelihood(z) for z in range(len(logs))])
        exact = (1 - self.share) * likelihoods[:, 0] - self.share * self.misfits / (2 * self.noise**2)
        bound = (1 - self.share) * (likelihoods[:, 0] + likelihoods[:, 1] / 2)
        most = (logs + exact)[(logs + bound).argmax()]
        hopeless = logs + bound < most - 10 - math.log(len(logs))  # these keep their bound
        return posterior(self.prior, np.where(hopeless, bound, exact))

    def line(self, z: int) -> tuple[float, float, float, float]:
        """Mean x of the tried actions, level there, and mode and variance of the slope β, with prior β N(¾ g, (g/2)²).

        The mode is where the derivative of log β − ½ p β² + q β is 0; the variance follows from the second derivative.
        """
        g, tried = self.scale, self.tried
        x = self.x[z, tried]
        weights = 1 / (self.noise**2 / self.counts[tried] + g**2 * self.slack[tried])
        centre, level = (weights @ x / weights.sum(), weights @ self.means[tried] / weights.sum()) if len(x) else (0, 0)
        p = 4 / g**2 + weights @ (x - centre) ** 2
        q = 3 / g + weights @ ((x - centre) * (self.means[tried] - level))
        slope = max(np.roots([-p, q, 1]).real)
        return centre, level, slope, 1 / (p + 1 / slope**2)

    def expected(self, z: int) -> Floats:
        """E[μ | z]: α + β x, shrunk towards the mean reward for a tried action."""
        g = self.scale
        centre, level, slope, _ = self.line(z)
        out = level + slope * (self.x[z] - centre)
        for a in self.tried:
            share = g**2 * self.slack[a] / (g**2 * self.slack[a] + self.noise**2 / self.counts[a])
            out[a] += share * (self.means[a] - out[a])
        return np.asarray(out)

    def doubts(self) -> Floats:
        """The standard deviation of each action: its deviation, given prior g² t and its rewards, and the slope's."""
        prior = self.scale**2 * self.slack
        variance = 1 / (1 / prior + self.counts / self.noise**2)
        for z, p in enumerate(self.posterior()):
            centre, _, _, slope = self.line(z)
            variance += (p >= 1e-3 / len(self.prior)) * p * slope * (self.x[z] - centre) ** 2
        return np.asarray(np.sqrt(variance))


def utility_of(policy: Policy, history: History) -> UtilityTwin:
    """The twin of the utility evidence, for a policy."""
    model, evidence = policy.model, policy.evidence
    assert isinstance(evidence, evidences.Utility)
    m, k = model.n_states, model.n_actions
    x, slack = np.empty((m, k)), np.full(k, evidence.slack * 10 / k)
    unit = np.arange(k).std() if k > 1 else 1.0
    for z, order in enumerate(orders_of(model)):
        row, spread = -mid_ranks(order), unit
        within = np.array([np.arange(len(order[tier_of(order, a)])).std() for a in range(k)]) / unit
        if model.utilities is not None and model.errors is not None:
            row = np.log(model.utilities[z] / (1 - model.utilities[z]))
            spread, within = row.std(), model.errors[z] / row.std()
            slack[:] = evidence.slack if z == 0 else slack
        slack += model.prior[z] * within**2
        x[z] = (row - row.mean()) / spread
    rewards = rewards_by_action(history)
    counts = np.array([len(rewards.get(a, ())) for a in range(k)], dtype=np.float64)
    means = np.array([np.mean(rewards[a]) if a in rewards else 0.0 for a in range(k)])
    fits = [fitted_means(order, history) for order in orders_of(model)]
    misfits = np.array([sum(counts[a] * (means[a] - fit[a]) ** 2 for a in fit) for fit in fits])
    slack = np.maximum(slack, 1e-6)
    return UtilityTwin(model.prior, x, slack, counts, means, noise_for(policy, history), evidence.isotonic, misfits)


def noise_for(policy: Policy, history: History) -> float:
    """The noise of a policy: known, or estimated from the spread within actions."""
    rewards = policy.rewards
    if rewards.noise_known or not history:
        return rewards.sd
    return pooled_noise(history, guess_of(history, rewards.noise), rewards.weight)


def posterior_of(policy: Policy, kind: str, history: History) -> Floats:
    """The twin of a policy's evidence."""
    model, rewards, orders = policy.model, policy.rewards, orders_of(policy.model)
    means = np.empty((0, 0)) if model.means is None else model.means
    guess = guess_of(history, rewards.noise) if history else rewards.sd
    match policy.evidence:
        case evidences.Refit():
            return refit(orders, model.prior, history, kind, guess, rewards.weight)
        case evidences.Utility():
            return utility_of(policy, history).posterior()
        case evidences.Marginal():
            return marginal(orders, model.prior, history, noise_for(policy, history))
        case evidences.Incremental():
            return incremental(orders, model.prior, history, kind, rewards.sd)
        case evidences.KnownMeans():
            return known_means(means, model.prior, history, kind, guess, rewards.weight)
        case evidences.Consistency(rounds=rounds, slack=slack):
            return consistency(means, model.prior, history, rewards.sd, rounds, slack)
        case evidences.OrderBounds():
            return order_bounds(model.ranks, model.prior, history, rewards.sd)
        case evidences.Paired(margin=factor):
            return paired(orders, model.prior, history, factor)
    raise NotImplementedError(policy.evidence.kind)


def actions_of(policy: Policy, kind: str, history: History, allowed: Sequence[int], draw: Draw) -> set[int]:
    """The twin of a policy: its play after this history; several actions if they are tied."""
    model, rule = policy.model, policy.rule
    noise = policy.rewards.sd
    orders = orders_of(model)
    if rule.top:
        allowed = [a for order in orders for a in best_tier(order, allowed)]
    candidates = sorted(set(allowed))
    weights = posterior_of(policy, kind, history) if policy.evidence.latent else np.ones(1)
    expected = [expected_of(policy, history, z) for z in range(len(weights))] if rule.needs_expectations else []
    match rule:
        case rules.Sample(first=first):
            if first == "uniform" and not history:
                return {pick(candidates, unit(draw(FIRST, 0)[0]))}
            return set(best_tier(orders[drawn_state(weights, draw)], candidates))
        case rules.Optimism():
            means = np.array(model.means)
            best = [(means[z, a], a) for z in np.flatnonzero(weights > 0) for a in best_tier(orders[z], candidates)]
            return {a for mean, a in best if mean == max(best)[0]}
        case rules.OrderOptimism():
            bounds = confidence_bounds(history, noise)
            tops = {
                (a, model.prior[z])
                for z in np.flatnonzero(weights > 0)
                for a in candidates
                if model.ranks[z, a] == model.ranks[z, candidates].min()
            }
            values = {(a, share): (bounds[a][1] if a in bounds else np.inf, share) for a, share in tops}
            return {a for (a, _), value in values.items() if value == max(values.values())}
        case rules.Thompson(prior_mean=mean, prior_sd=sd):
            return {play_thompson(history, candidates, draw, noise=noise, prior_mean=mean, prior_sd=sd)}
        case rules.UpperBound():
            return {play_upper_bound(history, candidates, draw, noise)}
        case rules.AnyAction():
            return {pick(candidates, unit(draw(FIRST, 0)[0]))}
        case rules.BestExpected():
            return best_of(expected[drawn_state(weights, draw)], candidates)
        case rules.Greedy():
            known = weights >= 1e-3 * weights.max()
            return best_of(weights[known] @ np.array(expected)[known], candidates)
        case rules.InformationDirected(hope=hope):
            doubts = utility_of(policy, history).doubts() if isinstance(policy.evidence, evidences.Utility) else 0.0
            return play_information(np.array(expected), weights, hope * doubts, candidates, unit(draw(STATE, 0)[0]))
        case rules.KnowledgeGradient(rounds=planned):
            utility = isinstance(policy.evidence, evidences.Utility)
            doubts = utility_of(policy, history).doubts() if utility else np.zeros(model.n_actions)
            left = planned - len(history)
            return play_plans(
                np.array(expected), weights, doubts, noise_for(policy, history), len(history), left, candidates
            )
        case rules.Popularity():
            return best_of(standing(policy), candidates)
    raise NotImplementedError(rule.kind)


def standing(policy: Policy) -> Floats:
    """Popularity of each action: minus its place in the popular ordering, or its mean rank over states."""
    model = policy.model
    if model.popular is None:
        return np.asarray(-(model.prior @ [mid_ranks(order) for order in orders_of(model)]))
    return np.array([-model.popular.tolist().index(a) for a in range(model.n_actions)], dtype=np.float64)


def taste_given(taste: TasteModel, lasting: float, history: History, spreads: bool) -> tuple[Floats, Floats, Floats]:
    """Weights of nine scales, means (scales × k), and the posterior covariance of lasting values / s².

    By conditioning a dense Gaussian. Row i of `design` marks the action of reward i. Without `spreads`, the spread of
    an action's rewards is not informative about the scale.
    """
    k = taste.n_actions
    shared = taste.offset + taste.factors @ taste.factors.T + np.diag(lasting * taste.variances)
    noise = (1 - lasting) * taste.variances
    design = np.array([np.arange(k) == a for a, _ in history], dtype=np.float64).reshape(-1, k)
    rewards = np.array([r for _, r in history])
    counts = design.sum(axis=0)
    tried = counts > 0
    x = np.linspace(-2, 2, 9)
    logs, means = -(x**2) / 2, np.empty((9, k))
    covariance = design @ shared @ design.T + np.diag(design @ noise)
    across = shared @ design.T @ np.linalg.inv(covariance)
    average = design.T / np.maximum(counts, 1)[:, None]  # from rewards to means of actions
    for i, s in enumerate(np.exp(taste.log_scale + taste.log_scale_sd * x)):
        centre = taste.level + s * taste.means
        away = rewards - design @ centre
        means[i] = centre + across @ away
        seen, matrix = (away, covariance) if spreads else (average @ away, average @ covariance @ average.T)
        if not spreads:
            seen, matrix = seen[tried], matrix[np.ix_(tried, tried)]
        logs[i] += -0.5 * seen @ np.linalg.inv(matrix) @ seen / s**2 - len(seen) * np.log(s)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum(), means, shared - across @ design @ shared


def taste_forecast(taste: TasteModel, lasting: float, history: History, spreads: bool) -> tuple[Floats, Floats, Floats]:
    """Mean and sd of every action's next reward, and the weights of the scales."""
    weights, means, covariance = taste_given(taste, lasting, history, spreads)
    square = weights @ np.exp(2 * (taste.log_scale + taste.log_scale_sd * np.linspace(-2, 2, 9)))
    mean = weights @ means
    variances = square * (np.diag(covariance) + (1 - lasting) * taste.variances)
    variances += weights @ (means - mean) ** 2
    return mean, taste.calibration * np.sqrt(variances), weights


def taste_of(policy: Policy, history: History) -> tuple[Floats, Floats, Floats]:
    """The twin of the taste evidence; it records the spread within actions of Gaussian rewards."""
    taste, evidence = policy.model.taste, policy.evidence
    assert taste is not None
    assert isinstance(evidence, evidences.TasteEvidence)
    lasting = taste.lasting if evidence.lasting is None else evidence.lasting
    return taste_forecast(taste, lasting, history, policy.rewards.family == "gaussian")


def between_neighbours(order: Order, fit: dict[int, float]) -> Floats:
    """The mean over the tried actions of an untried one's tier; else interpolate by mid-rank, constant at the ends.

    The neighbours are the tried actions of the next tiers with the smallest mean above and the largest below.
    """
    ranks = mid_ranks(order)
    out = np.zeros(len(ranks))
    for a in range(len(ranks) if fit else 0):
        own = [fit[b] for b in order[tier_of(order, a)] if b in fit]
        above = sorted((fit[b], -ranks[b]) for b in fit if ranks[b] < ranks[a])[:1]
        below = sorted((fit[b], -ranks[b]) for b in fit if ranks[b] > ranks[a])[-1:]
        places, means = [-rank for _, rank in above + below], [mean for mean, _ in above + below]
        out[a] = fit[a] if a in fit else np.mean(own) if own else np.interp(ranks[a], places, means)
    return out


def expected_of(policy: Policy, history: History, z: int) -> Floats:
    """The twin of an evidence's `expected_rewards`."""
    model = policy.model
    k = model.n_actions
    match policy.evidence:
        case evidences.Refit() | evidences.Incremental() | evidences.Marginal() | evidences.OrderBounds():
            order = orders_of(model)[z]
            return between_neighbours(order, fitted_means(order, history))
        case evidences.KnownMeans() | evidences.Consistency():
            assert model.means is not None
            return np.array(model.means[z])
        case evidences.TasteEvidence():
            return taste_of(policy, history)[0]
        case evidences.Utility():
            return utility_of(policy, history).expected(z)
        case evidences.Tally() | evidences.Standing():
            rewards = rewards_by_action(history)
            return np.array([np.mean(rewards[a]) if a in rewards else np.nan for a in range(k)])
        case evidences.Paired():
            return np.asarray((k - 1 - mid_ranks(orders_of(model)[z])) / max(k - 1, 1))
    raise NotImplementedError(policy.evidence.kind)


def possible_slots(slots: Floats, largest: float) -> bool:
    """Whether rewards within ±largest can have these counts, sums and spreads (a row each)."""
    counts, sums, spreads = slots
    bound = largest * (1.0 + 1e-9)
    whole = (counts >= 1) & (counts <= 2.0**53) & (counts == np.floor(counts))
    with np.errstate(over="ignore"):
        near = (abs(sums) <= bound * counts) & (spreads >= 0) & (spreads <= 16.0 * bound**2 * counts)
    return bool(np.all(whole & near))
