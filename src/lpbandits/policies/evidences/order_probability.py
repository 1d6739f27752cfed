"""The probability that independent normal variables fall in a given order, by nested one-dimensional integrals.

P(μ₁ ≥ … ≥ μₙ), μᵢ ~ N(ȳᵢ, sᵢ²), is a chain: A₀ = 1, Aᵢ(x) = ∫ₓ^∞ φᵢ Aᵢ₋₁, and Aₙ(−∞) is the probability. With θ the
means of the isotonic fit and Gᵢ = Σ (ȳⱼ − θⱼ)/sⱼ² from the start of i's block to i (so Gᵢ ≤ 0, and 0 at the block's
end), summation by parts gives

    Π φᵢ(μᵢ) = exp(−Σ (θᵢ − ȳᵢ)²/2sᵢ²) · Π N(μᵢ; θᵢ, sᵢ²) exp(Gᵢ (μᵢ − μᵢ₊₁)).

The first factor is the likelihood ratio of the fit. It bounds the probability from above, because every other factor is
at most a density if the order holds. Nothing overflows, and μᵢ stays within REACH sᵢ of θᵢ: variables whose intervals
do not overlap are independent, and one that overlaps no other needs no integral. The intervals are cut into panels of
Gauss-Legendre nodes, narrow enough for every variable with mass there.

If the rewards strongly contradict an order, 1/|Gᵢ| is far below sᵢ, too short for panels. There Aᵢ ≈ φᵢ Aᵢ₋₁ / |Gᵢ|,
which is as smooth as φᵢ Aᵢ₋₁: for the polynomial p through φᵢ Aᵢ₋₁, ∫ₓ^∞ p(u) e^{Gᵢ (u − x)} du is the finite sum
Σ p⁽ᵏ⁾(x) / |Gᵢ|ᵏ⁺¹. Panels are of width 1/|Gᵢ| only near a variable with a standard deviation below that.
"""

import math

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, RULE_WORK, SUM, Arrays
from lpbandits.typing import FloatArray

NODES = 8
REACH = 6.0
MAX_WIDTH = 2.0
"""Largest width of a panel, in standard deviations and in units of 1/|G| of the variables there."""
CROWD = 6
"""With more overlapping variables than this, panels become narrower in proportion to their number."""
PANELS = 192
"""Largest number of panels; if more are needed (about 150 indistinguishable actions), panels become wider."""
STEEP = 16.0
"""If |G| s is at least this, A varies as slowly as its integrand, and panels may be as wide as s."""
DECAY = 24.0
"""Beyond this many multiples of 1/|G|, e^{Gx} is negligible and A is smooth."""
STIFF = 1.5
"""Above this product of |G| and half its width, a panel is integrated by derivatives."""

VANISHING = 1e-300
INVERSE_ROOT = 1.0 / np.sqrt(2.0 * np.pi)
ROOT_2 = np.sqrt(2.0)
FAR = 20.0
"""From here on the normal tail is computed by a short series."""

# rows of work, a column per variable in the order
FIT = RULE_WORK  # θ
SD = RULE_WORK + 1
TILT = RULE_WORK + 2  # G
LOW = RULE_WORK + 3
HIGH = RULE_WORK + 4
SCALE = RULE_WORK + 5  # smallest of s, 1/|G| and 1/|G| of the previous variable
KNEE = RULE_WORK + 6  # from here down COARSE replaces SCALE
COARSE = RULE_WORK + 7  # smaller of s/2 and 1/|G| of the previous variable
SHAPE = RULE_WORK + 8  # factors shared by panels of one width: see `shape`
# then a row per panel: A at its nodes, the next A, its right end, half its width, and scratch
PANEL = RULE_WORK + 9
FRESH = NODES
RIGHT = 2 * NODES
HALF = 2 * NODES + 1
SPARE = 2 * NODES + 2
WORK_ROWS = PANEL - RULE_WORK + PANELS + 1
WORK_COLUMNS = 3 * NODES + 2

# rows of the table: the nodes in (−1, 1); per node, ∫₋₁¹ of its Lagrange polynomial; then, a row per node, the integral
# of its polynomial from every node to 1; its derivative at every node; and its value at 1
NODE = 0
WEIGHT = 1
BEYOND = 2
DERIVATIVE = BEYOND + NODES
AT_END = DERIVATIVE + NODES


def legendre_rule() -> FloatArray:
    """Return the table of Gauss-Legendre integration on (−1, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    powers = np.arange(NODES)
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))
    beyond = (1.0 - nodes[:, None] ** (powers + 1)) / (powers + 1) @ inverse
    derivative = powers * nodes[:, None] ** np.maximum(powers - 1, 0) @ inverse
    return np.vstack([nodes, weights, beyond.T, derivative.T, inverse.sum(axis=0)])


@kernel
def find_intervals(b: Arrays, row: int, n: int, centre: float, noise: float) -> None:
    """Write θ, s, G and the interval of each variable in the order of `b.order[row]`, given the latest fit of `pool`.

    Each interval is clipped: not above the earlier ones, not below the later ones, and at most a few 1/|G| below the
    previous one.
    """
    work = b.work
    block = 0
    remaining = work[BLOCK_COUNT, 0]
    tilt = 0.0
    highest = np.inf
    for i in range(n):
        if remaining <= 0.0:
            block += 1
            remaining = work[BLOCK_COUNT, block]
            tilt = 0.0
        slot = b.order[row, i]
        count = b.slots[COUNT, slot]
        remaining -= count
        fit = work[BLOCK_SUM, block] / work[BLOCK_COUNT, block] - centre
        sd = noise / np.sqrt(count)
        tilt = min(tilt + (b.slots[SUM, slot] / count - centre - fit) / (sd * sd), 0.0) if remaining > 0.0 else 0.0
        highest = min(highest, fit + REACH * sd)
        work[FIT, i] = fit
        work[SD, i] = sd
        work[TILT, i] = tilt
        work[HIGH, i] = highest
    lowest = -np.inf
    for i in range(n - 1, -1, -1):
        lowest = max(lowest, work[FIT, i] - REACH * work[SD, i])
        work[LOW, i] = lowest
    tail = 0.0  # decay rate of the previous A below its interval, 0 if negligible
    for i in range(n):
        sd, tilt = work[SD, i], -work[TILT, i]
        work[SCALE, i] = 1.0 / max(1.0 / sd, tilt, tail)
        work[COARSE, i] = 1.0 / max(2.0 / sd, tail)
        work[KNEE, i] = knee(work, i, tail)
        tail = tilt if work[KNEE, i] <= work[LOW, i] else 0.0
        if tilt > 0.0 and i + 1 < n:
            beyond = DECAY / tilt if tail > 0.0 else 0.0
            work[LOW, i + 1] = max(work[LOW, i + 1], work[LOW, i] - beyond)


@kernel
def knee(work: FloatArray, i: int, tail: float) -> float:
    """Return the point below which Aᵢ is smooth although 1/|Gᵢ| is short; −∞ if it is not short."""
    tilt = -work[TILT, i]
    if tilt * work[SD, i] < STEEP or 2.0 * tail > tilt:
        return -np.inf
    j = i - 1
    while j >= 0 and work[LOW, j] - DECAY / tilt < work[HIGH, i]:
        if tilt * work[SD, j] < STEEP:
            return work[LOW, j] - DECAY / tilt
        j -= 1
    return np.inf


@kernel
def scale_at(work: FloatArray, i: int, x: float) -> float:
    """Return the largest width of panels below x for variable i, in units of `MAX_WIDTH`."""
    return work[COARSE, i] if x <= work[KNEE, i] else work[SCALE, i]


@kernel
def cut(work: FloatArray, start: int, end: int, max_width: float) -> int:
    """Cut the intervals of variables start … end − 1 into panels, from above; return their number, −1 if too many."""
    x = work[HIGH, start]
    panels = 0
    while x > work[LOW, end - 1]:
        if panels == PANELS:
            return -1
        while work[LOW, start] >= x:
            start += 1
        below = x - max_width * scale_at(work, start, x)
        i = start + 1
        while i < end and work[HIGH, i] > below:
            below = max(below, min(x - max_width * scale_at(work, i, x), work[HIGH, i]))
            i += 1
        if i - start > CROWD:
            below = x - (x - below) * CROWD / (i - start)
        work[PANEL + panels, RIGHT] = x
        work[PANEL + panels, HALF] = 0.5 * (x - below)
        panels += 1
        x = below
    work[PANEL + panels, RIGHT] = x
    return panels


@kernel
def shape(work: FloatArray, rule: FloatArray, width: float, tilt: float) -> None:
    """Write exp(−(width t)²/2) and exp(tilt (1 − t)) at all nodes t, and the latter at t = −1."""
    fall = 1.0 if tilt == 0.0 else np.exp(tilt)
    for j in range(NODES // 2):
        mirrored = NODES - 1 - j  # the node −t
        u = width * rule[NODE, j]
        work[SHAPE, j] = np.exp(-0.5 * u * u)
        work[SHAPE, mirrored] = work[SHAPE, j]
        factor = 1.0 if tilt == 0.0 else np.exp(tilt * rule[NODE, j])
        work[SHAPE, NODES + j] = fall / factor
        work[SHAPE, NODES + mirrored] = fall * factor
    work[SHAPE, 2 * NODES] = fall * fall


@kernel
def integrate_by_derivatives(panel: FloatArray, rule: FloatArray, stiffness: float, edge: float) -> float:
    """Replace the integrand at a panel's nodes by A, given A at its right end (`edge`); return A at its left end.

    A is a polynomial plus a decaying exponential that matches `edge`.
    """
    for j in range(NODES):
        panel[FRESH + j] = panel[j] / stiffness
    for _ in range(NODES - 1):
        for j in range(NODES):
            slope = 0.0
            for k in range(NODES):
                slope += panel[FRESH + k] * rule[DERIVATIVE + k, j]
            panel[SPARE + j] = (panel[j] + slope) / stiffness
        for j in range(NODES):
            panel[FRESH + j] = panel[SPARE + j]
    at_left = 0.0
    for j in range(NODES):
        edge -= panel[FRESH + j] * rule[AT_END, j]
        at_left += panel[FRESH + j] * rule[AT_END, NODES - 1 - j]
    for j in range(NODES):
        panel[j] = panel[FRESH + j] + edge * np.exp(stiffness * (rule[NODE, j] - 1.0))
    return at_left + edge * np.exp(-2.0 * stiffness)


@kernel
def log_group(b: Arrays, start: int, end: int) -> float:
    """Return log ∫ Π N(μᵢ; θᵢ, sᵢ²) exp(Gᵢ (μᵢ − μᵢ₊₁)) over the ordered variables start … end − 1.

    In a panel with right end r, Aᵢ(x) = e^{Gᵢ (r − x)} [Aᵢ(r) + ∫ₓʳ N(u; θᵢ, sᵢ²) Aᵢ₋₁(u) e^{Gᵢ (u − r)} du]. Each A is
    divided by its maximum, so that long chains do not underflow. Intervals are shifted by the first θ, so that those of
    small standard deviations keep their precision.
    """
    work, rule = b.work, b.table
    origin = work[FIT, start]
    for i in range(start, end):
        work[FIT, i] -= origin
        work[LOW, i] -= origin
        work[HIGH, i] -= origin
        work[KNEE, i] -= origin
    max_width = MAX_WIDTH
    panels = cut(work, start, end, max_width)
    while panels < 0:
        max_width *= 2.0
        panels = cut(work, start, end, max_width)
    total = 0.0
    first = 0
    held = 0  # panels before this one hold the previous A; below `bottom` it equals level e^{drift (bottom − x)}
    level = 1.0
    drift = 0.0
    bottom = 0.0
    peak = 1.0
    for i in range(start, end):
        fit, precision, tilt = work[FIT, i], 1.0 / work[SD, i], work[TILT, i]
        scale = precision * INVERSE_ROOT / peak
        edge = 0.0
        peak = 0.0
        half = 0.0
        stiff = False
        while work[PANEL + first + 1, RIGHT] >= work[HIGH, i]:
            first += 1
        q = first
        while q < panels and work[PANEL + q, RIGHT] > work[LOW, i]:
            panel = work[PANEL + q]
            if panel[HALF] != half:
                half = panel[HALF]
                stiff = -tilt * half > STIFF
                shape(work, rule, precision * half, 0.0 if stiff else tilt * half)
            lean = 0.0 if stiff else tilt
            z = (panel[RIGHT] - half - fit) * precision
            slope = (lean - z * precision) * half
            power = -0.5 * z * z - lean * half
            height = half * scale
            if q >= held:
                slope -= drift * half
                power += drift * (bottom - panel[RIGHT] + half)
                height *= level
            height *= np.exp(power)
            for j in range(NODES // 2):
                factor = np.exp(slope * rule[NODE, j])
                panel[FRESH + j] = height * factor
                panel[FRESH + NODES - 1 - j] = height / factor
            for j in range(NODES):
                before = panel[j] if q < held else 1.0
                panel[j] = before * panel[FRESH + j] * work[SHAPE, j]
                panel[FRESH + j] = edge
            if stiff:
                edge = integrate_by_derivatives(panel, rule, -tilt * half, edge)
            else:
                for k in range(NODES):
                    edge += panel[k] * rule[WEIGHT, k]
                    for j in range(NODES):
                        panel[FRESH + j] += panel[k] * rule[BEYOND + k, j]
                for j in range(NODES):
                    panel[j] = panel[FRESH + j] * work[SHAPE, NODES + j]
                edge *= work[SHAPE, 2 * NODES]
            peak = max(peak, edge)
            q += 1
        if not VANISHING < peak < np.inf:
            return log_pairs(work, start, end)
        held = q
        level = edge
        drift = tilt
        bottom = work[PANEL + q, RIGHT]
        total += np.log(peak)
    return total


@kernel
def log_pairs(work: FloatArray, start: int, end: int) -> float:
    """Approximate `log_group` if its integral under- or overflows: compare each variable with the pooled previous ones.

    It happens with 30 or more tried actions of very different counts. Exact for two variables, and the limit for a
    block with large |G|.
    """
    total = 0.0
    pooled = work[SD, start] ** 2
    for i in range(start + 1, end):
        variance = work[SD, i] ** 2
        sd = np.sqrt(pooled + variance)
        if work[FIT, i] == work[FIT, i - 1]:
            total += log_mills(-work[TILT, i - 1] * sd)
            pooled = pooled / (1.0 + pooled / variance)
        else:
            total += np.log(0.5 * math.erfc((work[FIT, i] - work[FIT, i - 1]) / (sd * ROOT_2)))
            pooled = variance
    return total


@kernel
def log_mills(x: float) -> float:
    """Return log(e^{x²/2} P(Z > x)) of a standard normal Z, for x ≥ 0."""
    if x < FAR:
        return 0.5 * x * x + np.log(0.5 * math.erfc(x / ROOT_2))
    y = 1.0 / (x * x)
    return np.log(INVERSE_ROOT / x) + np.log1p(-y * (1.0 - y * (3.0 - y * (15.0 - y * (105.0 - 945.0 * y)))))


@kernel
def log_ratio(b: Arrays, row: int, n: int, centre: float, noise: float) -> float:
    """Return log P(order) − log of its bound for the order `b.order[row]`, given the latest fit of `pool`."""
    find_intervals(b, row, n, centre, noise)
    total = 0.0
    start = 0
    for i in range(1, n + 1):
        if i == n or b.work[HIGH, i] <= b.work[LOW, i - 1]:
            if i > start + 1:
                total += log_group(b, start, i)
            start = i
    return total
