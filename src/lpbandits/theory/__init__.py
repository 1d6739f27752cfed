"""Theory of the paper: regret lower bounds, and distances between random orderings."""

from lpbandits.theory.bounds import LowerBound, latent_bound, lower_bound, plain_bound
from lpbandits.theory.distances import differ_probability, expected_inversions, inversion_counts, nearest_inversions

__all__ = [
    "LowerBound",
    "differ_probability",
    "expected_inversions",
    "inversion_counts",
    "latent_bound",
    "lower_bound",
    "nearest_inversions",
    "plain_bound",
]
