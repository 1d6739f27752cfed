"""The chance that independent normal variables fall in a given order, by one integral after the other along the order.

P(μ₁ ≥ … ≥ μₙ), μᵢ ~ N(ȳᵢ, sᵢ²), is a chain: A₀ = 1, Aᵢ(x) = ∫ₓ^∞ φᵢ Aᵢ₋₁, and Aₙ(−∞) is the chance. With θ the means
of the isotonic fit and Gᵢ = Σ (ȳⱼ − θⱼ)/sⱼ² from the start of i's block to i (so Gᵢ ≤ 0, and 0 at the block's end),
summing by parts gives

    Π φᵢ(μᵢ) = exp(−Σ (θᵢ − ȳᵢ)²/2sᵢ²) · Π N(μᵢ; θᵢ, sᵢ²) exp(Gᵢ (μᵢ − μᵢ₊₁)).

The first factor is the likelihood ratio of the fit: an upper bound of the chance, since in the order every other factor
is at most a density. So nothing overflows, and μᵢ stays within REACH sᵢ of θᵢ: no other places need integrals, actions
whose places do not meet are independent, and one that meets none costs nothing. Places are cut into panels of
Gauss-Legendre nodes, each narrow for all variables that can be there, so sharp and vague ones go together.

Where an order is strongly refuted, 1/|Gᵢ| is far below sᵢ, and panels are not so narrow. There Aᵢ is about
φᵢ Aᵢ₋₁ / |Gᵢ| and as smooth as that: of the polynomial p through φᵢ Aᵢ₋₁, ∫ₓ^∞ p(u) e^{Gᵢ (u − x)} du is the finite sum
Σ p⁽ᵏ⁾(x) / |Gᵢ|ᵏ⁺¹. Only within some 1/|Gᵢ| of a variable sharper than that, where Aᵢ is rough, panels are so narrow.
"""

import math

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, RULE_WORK, SUM, Arrays
from lpbandits.typing import FloatArray

NODES = 8
REACH = 6.0
WIDEST = 2.0
"""A panel's width in standard deviations, and in units of 1/|G|, of what is there: at most so much."""
CROWD = 6
"""Where more variables than this can be, A is steeper by their number, and panels are as much narrower."""
PANELS = 192
"""Panels at a time; where more are needed (some 150 actions that cannot be told apart), they are made wider."""
STEEP = 16.0
"""Where |G| is at least so much in units of 1/s, A follows what it is the integral of, and panels are as wide as s."""
DECAY = 24.0
"""What falls like e^{Gx} is gone, and A smooth, beyond this many 1/|G|."""
STIFF = 1.5
"""Above this |G| times half its width, a panel is integrated by derivatives."""

VANISHING = 1e-300
INVERSE_ROOT = 1.0 / np.sqrt(2.0 * np.pi)
ROOT_2 = np.sqrt(2.0)
FAR = 20.0
"""From here on a tail of the normal is a short series."""

# rows of work, by place in the order
FIT = RULE_WORK  # θ
SD = RULE_WORK + 1
TILT = RULE_WORK + 2  # G
LOW = RULE_WORK + 3
HIGH = RULE_WORK + 4
SCALE = RULE_WORK + 5  # the shortest of s, 1/|G| and 1/|G| of the one before
KNEE = RULE_WORK + 6  # at and below this place, not SCALE but
COARSE = RULE_WORK + 7  # the shorter of s/2 and 1/|G| of the one before
SHAPE = RULE_WORK + 8  # what panels of one width have in common: see `shape`
# and then a row per panel: A at its nodes, A in the making, its right end, half its width, and scratch
PANEL = RULE_WORK + 9
FRESH = NODES
RIGHT = 2 * NODES
HALF = 2 * NODES + 1
SPARE = 2 * NODES + 2
WORK_ROWS = PANEL - RULE_WORK + PANELS + 1
WORK_COLUMNS = 3 * NODES + 2

# rows of the table: where the nodes are in (−1, 1); for every node, ∫₋₁¹ of the polynomial that is 1 there and 0 at the
# others; then, a row per node, ∫ of its polynomial from every node to 1; its derivative at every node; and at 1 itself
PLACE = 0
WHOLE = 1
BEYOND = 2
DERIVATIVE = BEYOND + NODES
AT_END = DERIVATIVE + NODES


def legendre_rule() -> FloatArray:
    """Return the table of the rule.

    >>> rule = legendre_rule()
    >>> x = rule[PLACE]
    >>> round(float(rule[WHOLE] @ x**4), 12), round(float(x**4 @ rule[BEYOND:DERIVATIVE, 0] + x[0] ** 5 / 5), 12)
    (0.4, 0.2)
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    powers = np.arange(NODES)
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))
    beyond = (1.0 - nodes[:, None] ** (powers + 1)) / (powers + 1) @ inverse
    derivative = powers * nodes[:, None] ** np.maximum(powers - 1, 0) @ inverse
    return np.vstack([nodes, weights, beyond.T, derivative.T, inverse.sum(axis=0)])


@kernel
def spread_out(b: Arrays, row: int, n: int, centre: float, noise: float) -> None:
    """Write θ, s, G and where each variable can be, in the order of `b.order[row]`, of a fit that `pool` just made.

    No variable is above those before it, nor below those behind it, nor more than some 1/|G| below the one before.
    """
    work = b.work
    block = 0
    left = work[BLOCK_COUNT, 0]
    tilt = 0.0
    highest = np.inf
    for i in range(n):
        if left <= 0.0:
            block += 1
            left = work[BLOCK_COUNT, block]
            tilt = 0.0
        slot = b.order[row, i]
        count = b.slots[COUNT, slot]
        left -= count
        fit = work[BLOCK_SUM, block] / work[BLOCK_COUNT, block] - centre
        sd = noise / np.sqrt(count)
        tilt = min(tilt + (b.slots[SUM, slot] / count - centre - fit) / (sd * sd), 0.0) if left > 0.0 else 0.0
        highest = min(highest, fit + REACH * sd)
        work[FIT, i] = fit
        work[SD, i] = sd
        work[TILT, i] = tilt
        work[HIGH, i] = highest
    lowest = -np.inf
    for i in range(n - 1, -1, -1):
        lowest = max(lowest, work[FIT, i] - REACH * work[SD, i])
        work[LOW, i] = lowest
    tail = 0.0  # the fall of the A before below its place, if that is anything there
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
    """Return the place below which Aᵢ is smooth though 1/|Gᵢ| is short: −∞ if that is not short."""
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
    """Return how wide panels below x may be for variable i, in units of `WIDEST`."""
    return work[COARSE, i] if x <= work[KNEE, i] else work[SCALE, i]


@kernel
def cut(work: FloatArray, start: int, end: int, widest: float) -> int:
    """Cut the places of variables start … end − 1 into panels from above, and return how many; −1 if too many."""
    x = work[HIGH, start]
    panels = 0
    while x > work[LOW, end - 1]:
        if panels == PANELS:
            return -1
        while work[LOW, start] >= x:
            start += 1
        below = x - widest * scale_at(work, start, x)
        i = start + 1
        while i < end and work[HIGH, i] > below:
            below = max(below, min(x - widest * scale_at(work, i, x), work[HIGH, i]))
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
        other = NODES - 1 - j  # where t has the other sign
        u = width * rule[PLACE, j]
        work[SHAPE, j] = np.exp(-0.5 * u * u)
        work[SHAPE, other] = work[SHAPE, j]
        factor = 1.0 if tilt == 0.0 else np.exp(tilt * rule[PLACE, j])
        work[SHAPE, NODES + j] = fall / factor
        work[SHAPE, NODES + other] = fall * factor
    work[SHAPE, 2 * NODES] = fall * fall


@kernel
def follow(panel: FloatArray, rule: FloatArray, stiffness: float, edge: float) -> float:
    """Turn what is to be integrated over a panel into A at its nodes, given A at its right end; return A at its left.

    A is a polynomial plus what is left of its difference from A at the right end: nothing, but for rounding, unless a
    variable begins here.
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
    left = 0.0
    for j in range(NODES):
        edge -= panel[FRESH + j] * rule[AT_END, j]
        left += panel[FRESH + j] * rule[AT_END, NODES - 1 - j]
    for j in range(NODES):
        panel[j] = panel[FRESH + j] + edge * np.exp(stiffness * (rule[PLACE, j] - 1.0))
    return left + edge * np.exp(-2.0 * stiffness)


@kernel
def log_group(b: Arrays, start: int, end: int) -> float:
    """Return log ∫ Π N(μᵢ; θᵢ, sᵢ²) exp(Gᵢ (μᵢ − μᵢ₊₁)) over the ordered variables start … end − 1.

    In a panel with right end r, Aᵢ(x) = e^{Gᵢ (r − x)} [Aᵢ(r) + ∫ₓʳ N(u; θᵢ, sᵢ²) Aᵢ₋₁(u) e^{Gᵢ (u − r)} du]. Each A is
    divided by the largest it gets, so that long chains do not vanish. Places are taken from the first, so that those of
    sharp variables are not rounded.
    """
    work, rule = b.work, b.table
    origin = work[FIT, start]
    for i in range(start, end):
        work[FIT, i] -= origin
        work[LOW, i] -= origin
        work[HIGH, i] -= origin
        work[KNEE, i] -= origin
    widest = WIDEST
    panels = cut(work, start, end, widest)
    while panels < 0:
        widest *= 2.0
        panels = cut(work, start, end, widest)
    total = 0.0
    first = 0
    held = 0  # panels above this one hold the A before; from `bottom` down it is level e^{drift (bottom − x)}
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
                factor = np.exp(slope * rule[PLACE, j])
                panel[FRESH + j] = height * factor
                panel[FRESH + NODES - 1 - j] = height / factor
            for j in range(NODES):
                before = panel[j] if q < held else 1.0
                panel[j] = before * panel[FRESH + j] * work[SHAPE, j]
                panel[FRESH + j] = edge
            if stiff:
                edge = follow(panel, rule, -tilt * half, edge)
            else:
                for k in range(NODES):
                    edge += panel[k] * rule[WHOLE, k]
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
    """Return what `log_group` returns, were every variable but tied to one in the place of all of its block before it.

    Exact for two, and the limit for a block of steep tilts. Only if the integral cannot be had.
    """
    total = 0.0
    variance = work[SD, start] ** 2
    for i in range(start + 1, end):
        own = work[SD, i] ** 2
        both = np.sqrt(variance + own)
        if work[FIT, i] == work[FIT, i - 1]:
            total += log_mills(-work[TILT, i - 1] * both)
            variance = variance / (1.0 + variance / own)
        else:
            total += np.log(0.5 * math.erfc((work[FIT, i] - work[FIT, i - 1]) / (both * ROOT_2)))
            variance = own
    return total


@kernel
def log_mills(x: float) -> float:
    """Return log(e^{x²/2} P(standard normal > x)) of x ≥ 0."""
    if x < FAR:
        return 0.5 * x * x + np.log(0.5 * math.erfc(x / ROOT_2))
    y = 1.0 / (x * x)
    return np.log(INVERSE_ROOT / x) + np.log1p(-y * (1.0 - y * (3.0 - y * (15.0 - y * (105.0 - 945.0 * y)))))


@kernel
def log_chance(b: Arrays, row: int, n: int, centre: float, noise: float) -> float:
    """Return log P(order) − log of its bound, in the order of `b.order[row]`, of a fit that `pool` just made."""
    spread_out(b, row, n, centre, noise)
    total = 0.0
    start = 0
    for i in range(1, n + 1):
        if i == n or b.work[HIGH, i] <= b.work[LOW, i - 1]:
            if i > start + 1:
                total += log_group(b, start, i)
            start = i
    return total
