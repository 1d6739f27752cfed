"""Kinds of people: the sums of one step of EM over what is left of ratings after everybody's likings.

In state z a rating in the person's units, less the action's liking, is v = α_iz + shift_az + noise.
"""

from typing import Any

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray, IntArray

RATERS, LIKED = 0, 1  # rows of a part's sums: Σ chance, and Σ chance (v − α)
FITTED, BENT = 0, 1  # columns of a person: Σ_a shift, and Σ_a shift (shift − 2 v)


@jit_in_place
def add_kinds(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    means: FloatArray,
    spreads: FloatArray,
    chance: FloatArray,
    alpha: FloatArray,
    likings: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, ·, a, z] over the part's people: Σ chance_iz, and Σ chance_iz (v_ia − α_iz)."""
    m = chance.shape[1]
    for part in range(low, high):
        raters, liked = sums[part, RATERS], sums[part, LIKED]
        raters[:] = 0.0
        liked[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            given = rating[offsets[i] : offsets[i + 1]]
            for t in range(len(rated)):
                a = rated[t]
                v = (given[t] - means[i]) / spreads[i] - likings[a]
                for z in range(m):
                    raters[a, z] += chance[i, z]
                    liked[a, z] += chance[i, z] * (v - alpha[i, z])


@jit_in_place
def fit_kinds(
    low: int,
    high: int,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    means: FloatArray,
    spreads: FloatArray,
    likings: FloatArray,
    shifts: FloatArray,
    fitted: FloatArray,
) -> None:
    """Fill fitted[i, ·, z] of people low..high−1: Σ_a shift_az, and Σ_a shift_az (shift_az − 2 v_ia)."""
    for i in range(low, high):
        own = fitted[i]
        own[:] = 0.0
        rated = action[offsets[i] : offsets[i + 1]]
        given = rating[offsets[i] : offsets[i + 1]]
        for t in range(len(rated)):
            a = rated[t]
            v = (given[t] - means[i]) / spreads[i] - likings[a]
            for z in range(shifts.shape[1]):
                own[FITTED, z] += shifts[a, z]
                own[BENT, z] += shifts[a, z] * (shifts[a, z] - 2.0 * v)
