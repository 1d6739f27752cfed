"""Policies are compared draw by draw: what two of them share in a draw is no uncertainty of their difference."""

import numpy as np
import polars as pl

from lpbandits.paper.claims.check import judge
from lpbandits.paper.claims.numbers import per_draw

DRAWS = 6


def table() -> pl.DataFrame:
    """Draws differ by tens; in each, one policy loses 1 more than the other, give or take. Rows are shuffled."""
    level = np.array([40.0, 10.0, 60.0, 20.0, 50.0, 30.0])
    small = np.array([0.1, -0.1, 0.2, -0.2, 0.0, 0.1])
    rows = [("a", d, level[d]) for d in range(DRAWS)] + [("b", d, level[d] + 1 + small[d]) for d in range(DRAWS)]
    return pl.DataFrame(rows, schema=["policy", "draw", "regret"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )


def test_numbers_come_in_the_order_of_the_draws() -> None:
    np.testing.assert_array_equal(per_draw(table(), "a"), [40, 10, 60, 20, 50, 30])
    np.testing.assert_allclose(per_draw(table(), "b"), [41.1, 10.9, 61.2, 20.8, 51.0, 31.1])


def test_a_difference_is_paired_within_draws() -> None:
    a, b = per_draw(table(), "a"), per_draw(table(), "b")
    assert judge("a loses less", a - b, measure="a − b", below=0).verdict == "holds"
    part = judge("a loses less", a - b, measure="a − b", below=0).parts[0]
    assert part.low is not None
    assert part.high is not None
    assert part.high - part.low < 0.4  # over unpaired draws it would be about 30
