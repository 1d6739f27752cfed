"""One step of EM for a Gaussian mixture over people's standardized ratings.

Person i's rating of action a in standard units is y = (rating − mean_i) / sd_i. In state z the residuals y − u_za have
the mean α_iz, the person's offset, and Σ (y − u_za − α_iz)² is q_iz. With n ratings, log p(i | z) is −q_iz / 2v and a
constant: the offset takes one of n degrees of freedom.

`people` is (edges, offsets, action, rating), as in `ratings`: sums are made per part, for any number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.fit.kernels.ratings import RATERS, TOTAL
from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray

MIN_VARIATION = 1e-9  # least sd of ratings that differ, relative to 1 + |mean|
MIN_PROBABILITY = 1e-9  # a person does not count in states that are less probable


@jit_in_place
def mixture_step(low: int, high: int, people: Any, mixture: Any, fitted: Any, sums: FloatArray) -> None:
    """Fill what each person tells of the states, and sums[part, ·, a, z]: Σ ρ_iz and Σ ρ_iz (y − α_iz) over raters.

    `mixture` is (u by action and state, log shares, variance v), and `fitted` (ρ, α, q by person and state, log Σ_z w_z
    exp(−q_iz / 2v)). People whose ratings are all equal tell nothing: they have the shares as ρ, NaN as the last, and
    count in no sum.
    """
    edges, offsets, action, rating = people
    means, log_shares, variance = mixture
    membership, alpha, square, value = fitted
    states = len(log_shares)
    for part in range(low, high):
        raters, total = sums[part, RATERS], sums[part, TOTAL]
        raters[:] = 0.0
        total[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            n = len(rated)
            chance, offset, squares = membership[i], alpha[i], square[i]
            mean = 0.0
            for t in range(n):
                mean += values[t] / n
            spread = 0.0
            for t in range(n):
                spread += (values[t] - mean) * (values[t] - mean) / n
            spread = np.sqrt(spread)
            value[i] = np.nan
            for z in range(states):
                chance[z] = np.exp(log_shares[z])
                offset[z] = 0.0
                squares[z] = 0.0
            if not spread > MIN_VARIATION * (1.0 + abs(mean)):
                continue
            for t in range(n):
                y = (values[t] - mean) / spread
                expected = means[rated[t]]
                for z in range(states):
                    e = y - expected[z]
                    offset[z] += e
                    squares[z] += e * e
            highest = -np.inf
            for z in range(states):
                offset[z] /= n
                squares[z] = max(squares[z] - n * offset[z] * offset[z], 0.0)
                chance[z] = log_shares[z] - 0.5 * squares[z] / variance
                highest = max(highest, chance[z])
            norm = 0.0
            for z in range(states):
                chance[z] = np.exp(chance[z] - highest)
                norm += chance[z]
            value[i] = highest + np.log(norm)
            for z in range(states):
                chance[z] /= norm
                weight = chance[z]
                if weight > MIN_PROBABILITY:
                    for t in range(n):
                        raters[rated[t], z] += weight
                        total[rated[t], z] += weight * ((values[t] - mean) / spread - offset[z])
