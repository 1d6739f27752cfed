"""Drawing the paper's synthetic people."""

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.kernels.random import ORDER, STEP, TOP, uniform
from lpbandits.typing import FloatArray, IntArray


@jit_in_place
def order_keys(seed: int, draw: int, attempt: int, out: FloatArray) -> None:
    """Fill `out` with the sort keys of one random ordering."""
    for a in range(len(out)):
        out[a] = uniform(seed, draw, attempt, ORDER, a)


@jit_in_place
def descending_means(
    orderings: IntArray,
    truth: IntArray,
    ids: IntArray,
    seed: int,
    low: float,
    width: float,
    gap: float,
    jitter: float,
    out: FloatArray,
) -> None:
    """Give each person the best mean U(low, low + width); each next action is lower by gap + U(0, jitter)."""
    for p in range(len(truth)):
        mean = low + width * uniform(seed, ids[p], 0, TOP, 0)
        for i in range(orderings.shape[1]):
            if i > 0:
                mean -= gap + jitter * uniform(seed, ids[p], 0, STEP, i)
            out[p, orderings[truth[p], i]] = mean
