"""Counter-based random numbers.

Every draw is a function of its address (seed, person, round, purpose, index): the seed is the key of a Philox4x32-10
block cipher (Salmon et al. 2011), the other four are its counter, and each address gives two words of 64 bits. Results
therefore do not depend on threads, processes or the order of work, and any single decision can be replayed. If one
address needs many words, they are scrambled from its first.
"""

import math

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel, wraps_around
from lpbandits.typing import FloatArray

# Purposes of draws. Policies compared in one run share the world's draws (common random numbers).
STATE = 0  # the state that a sampling rule draws; the second word draws the reward of the round
FIRST = 1  # the uniform first action, and ties among untried actions
VALUE = 2  # Thompson draws
REWARD = 3  # the outcome of a duel
TOP = 4  # the mean of a person's best action
STEP = 5  # the gap between consecutive actions of an ordering; the index is the position
ORDER = 6  # the orderings of a world; the index is the action
OFFER = 7  # the actions offered in a round; the index counts draws
CHALLENGE = 8  # the second action of double Thompson sampling
SWAP = 9  # whether neighbours in a person's ordering are swapped; the index is the position
MISTAKE = 10  # the error of a policy's model; the index counts actions and attempts
EXPLORE = 11  # the exploration floor; index 1 for the second action of a pair
TIER = 12  # a person's order within the tiers of their state; the index is the position

_U32 = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


@kernel
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the Philox4x32-10 block of a counter (four words) and a key (two words), each 32 bits in a uint64."""
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ k0, p1 & _U32, (p0 >> _SHIFT) ^ c3 ^ k1, p0 & _U32
        k0 = (k0 + np.uint64(0x9E3779B9)) & _U32
        k1 = (k1 + np.uint64(0xBB67AE85)) & _U32
    return c0, c1, c2, c3


@kernel
def words(seed: int, person: int, round_: int, purpose: int, index: int) -> tuple[np.uint64, np.uint64]:
    """Return the two words of 64 random bits at this address."""
    key = np.uint64(seed)
    a, b, c, d = philox(
        np.uint64(person) & _U32,
        np.uint64(round_) & _U32,
        np.uint64(purpose) & _U32,
        np.uint64(index) & _U32,
        key & _U32,
        key >> _SHIFT,
    )
    return (a << _SHIFT) | b, (c << _SHIFT) | d


@kernel
def unit(word: np.uint64) -> float:
    """Return a word as a uniform number in (0, 1), on a grid of 2⁻⁵³ that excludes both ends."""
    return (np.float64(word >> np.uint64(12)) + 0.5) * 2.220446049250313e-16  # 2^-52; the half excludes 0 and 1


@kernel
def uniform(seed: int, person: int, round_: int, purpose: int, index: int) -> float:
    """Return the uniform number in (0, 1) of this address's first word."""
    word, _ = words(seed, person, round_, purpose, index)
    return unit(word)


@kernel
@wraps_around
def scrambled(word: np.uint64, index: int) -> np.uint64:
    """Return word number `index` of the SplitMix64 sequence (Steele, Lea and Flood 2014) that starts at `word`."""
    x = word + np.uint64(index) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


LAYERS = 256
TAIL = 3.6541528853610088  # where the lowest layer's tail begins


def _layers() -> tuple[FloatArray, FloatArray]:
    """Return the right edges of 256 layers of equal area under exp(−x²/2), lowest first, and ratios of neighbours."""
    area = TAIL * np.exp(-0.5 * TAIL**2) + np.sqrt(np.pi / 2) * math.erfc(TAIL / math.sqrt(2))
    edges = np.empty(LAYERS + 1)
    edges[0] = area / np.exp(-0.5 * TAIL**2)  # of a rectangle as large as the lowest layer with its tail
    edges[1] = TAIL
    for i in range(2, LAYERS):
        edges[i] = np.sqrt(-2.0 * np.log(np.exp(-0.5 * edges[i - 1] ** 2) + area / edges[i - 1]))
    edges[LAYERS] = 0.0
    return edges, edges[1:] / edges[:-1]


_EDGES, _INSIDE = _layers()


@kernel
def normal(word: np.uint64) -> float:
    """Return a standard normal number from one word, by the ziggurat (Marsaglia and Tsang 2000; Doornik 2005).

    Eight bits choose a layer, 52 others a point of its rectangle; 98.8 % of points lie under the curve. The others need
    further words, scrambled from this one.
    """
    layer = word & np.uint64(LAYERS - 1)
    x = 2.0 * unit(word) - 1.0
    if abs(x) < _INSIDE[layer]:
        return x * _EDGES[layer]
    return normal_at_edge(word)


@jit_in_place
def normal_at_edge(word: np.uint64) -> float:
    """Return the normal number of a word whose point lies in the tail or near the curve."""
    step = 0
    while True:
        layer = word & np.uint64(LAYERS - 1)
        x = 2.0 * unit(word) - 1.0
        if abs(x) < _INSIDE[layer]:
            return x * _EDGES[layer]
        if layer == 0:
            while True:  # the tail beyond TAIL (Marsaglia 1964)
                beyond = -np.log(unit(scrambled(word, step + 1))) / TAIL
                step += 2
                if -2.0 * np.log(unit(scrambled(word, step))) > beyond * beyond:
                    return TAIL + beyond if x > 0.0 else -TAIL - beyond
        x *= _EDGES[layer]
        low = np.exp(-0.5 * (_EDGES[layer] ** 2 - x * x))
        high = np.exp(-0.5 * (_EDGES[layer + np.uint64(1)] ** 2 - x * x))
        if low + unit(scrambled(word, step + 1)) * (high - low) < 1.0:
            return x
        word = scrambled(word, step + 2)
        step = 0


@jit_in_place
def below(u: float, n: int) -> int:
    """Return the integer ⌊u n⌋ in [0, n)."""
    return min(int(u * n), n - 1)


_AS_241 = np.array(
    """
    2.5090809287301226727e3 3.3430575583588128105e4 6.7265770927008700853e4 4.5921953931549871457e4
    1.3731693765509461125e4 1.9715909503065514427e3 1.3314166789178437745e2 3.387132872796366608
    5.226495278852545925e3 2.8729085735721942674e4 3.9307895800092710610e4 2.1213794301586595867e4
    5.3941960214247511077e3 6.8718700749205790830e2 4.2313330701600911252e1 1.0

    7.74545014278341407640e-4 2.27238449892691845833e-2 2.41780725177450611770e-1 1.27045825245236838258
    3.64784832476320460504 5.76949722146069140550 4.63033784615654529590 1.42343711074968357734
    1.05075007164441684324e-9 5.475938084995344946e-4 1.51986665636164571966e-2 1.48103976427480074590e-1
    6.89767334985100004550e-1 1.67638483018380384940 2.05319162663775882187 1.0

    2.01033439929228813265e-7 2.71155556874348757815e-5 1.24266094738807843860e-3 2.65321895265761230930e-2
    2.96560571828504891230e-1 1.78482653991729133580 5.46378491116411436990 6.65790464350110377720
    2.04426310338993978564e-15 1.42151175831644588870e-7 1.84631831751005468180e-5 7.86869131145613259100e-4
    1.48753612908506148525e-2 1.36929880922735805310e-1 5.99832206555887937690e-1 1.0
    """.split(),
    dtype=np.float64,
).reshape(3, 2, 8)
"""Wichura's AS 241, PPND16: for each of three ranges, a numerator and a denominator, highest power first."""
CENTRE, TAIL_NEAR, TAIL_FAR = range(3)


@kernel
def rational(part: int, r: float, factor: float) -> float:
    """Return factor · p(r) / q(r) with the polynomials of one range."""
    top = 0.0
    low = 0.0
    for i in range(8):
        top = top * r + _AS_241[part, 0, i]
        low = low * r + _AS_241[part, 1, i]
    return factor * top / low


@kernel
def normal_quantile(p: float) -> float:
    """Return the standard normal quantile of p in (0, 1), to about 16 digits."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return rational(CENTRE, 0.180625 - q * q, q)
    return -upper_quantile(p) if q < 0.0 else upper_quantile(1.0 - p)


@jit_in_place
def upper_quantile(tail: float) -> float:
    """Return x with P(Z > x) = tail for a tail below 0.075, accurate even if 1 − tail rounds to 1."""
    r = np.sqrt(-np.log(tail))
    if r <= 5.0:
        return rational(TAIL_NEAR, r - 1.6, 1.0)
    return rational(TAIL_FAR, r - 5.0, 1.0)


@jit_in_place
def largest_normal(u: float, n: int) -> float:
    """Return the largest of n independent standard normal numbers as one draw: the quantile of u^(1/n).

    The upper tail 1 − u^(1/n) is computed without cancellation, so n may be millions.
    """
    tail = -np.expm1(np.log(u) / n)
    if tail < 0.075:
        return upper_quantile(tail)
    return normal_quantile(1.0 - tail)


TRIES = 32  # of a gamma draw; each is rejected with probability at most 5 %


@jit_in_place
def gamma(shape: float, seed: int, person: int, round_: int, purpose: int, index: int) -> float:
    """Return a gamma number of shape ≥ 1 (Marsaglia and Tsang 2000), drawn at indices from 32·index on."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    for i in range(TRIES):
        word, second_word = words(seed, person, round_, purpose, TRIES * index + i)
        x = normal(word)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if np.log(unit(second_word)) < 0.5 * x * x + d - d * v + d * np.log(v):
                return float(d * v)
    return d


@jit_in_place
def student_quantile(p: float) -> float:
    """Return the quantile of p in (0, 1) of Student's t with 4 degrees of freedom, scaled to standard deviation 1.

    Shaw's closed form t = ±2 √(cos(φ/3) / cos φ − 1) with cos φ = √(4p(1 − p)), without its cancellation near p = ½;
    t itself has the standard deviation √2.
    """
    cosine = np.sqrt(4.0 * p * (1.0 - p))
    angle = np.arctan2(abs(2.0 * p - 1.0), cosine)
    value = 2.0 * np.sqrt(np.sin(2.0 * angle / 3.0) * np.sin(angle / 3.0) / cosine)
    return value if p > 0.5 else -value


@jit_in_place
def poisson_quantile(p: float, mean: float) -> float:
    """Return the Poisson quantile of p by walking up the distribution from 0 (means up to about 700)."""
    mass = np.exp(-mean)
    total = mass
    count = 0.0
    while total < p and mass > 0.0:
        count += 1.0
        mass *= mean / count
        total += mass
    return count
