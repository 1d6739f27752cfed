"""Inner problem of the regret bound: the means of an alternative state nearest to the true ones."""

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray, IntArray


@jit_in_place
def confusing_means(
    orderings: IntArray,
    means: FloatArray,
    best: int,
    pinned: bool,
    rates: FloatArray,
    scratch: FloatArray,
    fitted: FloatArray,
    values: FloatArray,
) -> None:
    """Fit every alternative ordering to `means`, weighted by `rates`; write the fits and half their squared errors.

    Row i of `fitted` minimises Σ rates_a (means_a − λ_a)² / 2 over the λ that row i of `orderings` allows, and
    `values[i]` is that minimum. The best action has no weight. If `pinned`, it keeps its mean: actions that the
    alternative prefers to it are fitted at that mean, and those after it by isotonic regression below it. Otherwise
    its rank is free, and all other actions are fitted together. Rates of 0 get a negligible weight, which selects the
    fit nearest to `means`. `scratch` is 3×k.
    """
    k = orderings.shape[1]
    top = means[best]
    floor = 0.0
    for a in range(k):
        floor = max(floor, rates[a])
    floor = 1e-12 * floor + 1e-300
    for i in range(len(orderings)):
        squares = 0.0
        start = 0
        fitted[i, best] = top
        if pinned:
            while orderings[i, start] != best:
                a = orderings[i, start]
                fitted[i, a] = top
                squares += rates[a] * (top - means[a]) ** 2
                start += 1
        last = -1
        for j in range(start, k):
            a = orderings[i, j]
            if a == best:
                continue
            weight = rates[a] + floor
            mean = means[a]
            size = 1.0
            while last >= 0 and scratch[1, last] <= mean:
                total = scratch[0, last] + weight
                mean += (scratch[1, last] - mean) * (scratch[0, last] / total)
                weight = total
                size += scratch[2, last]
                last -= 1
            last += 1
            scratch[0, last] = weight
            scratch[1, last] = mean
            scratch[2, last] = size
        j = start
        for block in range(last + 1):
            remaining = scratch[2, block]
            while remaining > 0.0:
                a = orderings[i, j]
                if a != best:
                    fitted[i, a] = scratch[1, block]
                    squares += rates[a] * (scratch[1, block] - means[a]) ** 2
                    remaining -= 1.0
                j += 1
        values[i] = 0.5 * squares
