"""Kendall distance between orderings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from lpbandits.kernels.kendall import inversions, kendall_distances
from lpbandits.model import PreferenceModel
from tests import naive
from tests.conftest import models, tiered_models


@pytest.mark.jitless
@given(st.lists(st.integers(-5, 5), max_size=40))
def test_inversions_equal_a_count_over_all_pairs(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert inversions(array, np.empty_like(array)) == naive.inversions(values)
    np.testing.assert_array_equal(array, sorted(values))


@pytest.mark.jitless
@given(models() | tiered_models())
def test_kendall_equals_its_twin(model: PreferenceModel) -> None:
    orders = naive.orders_of(model)
    twin = [[naive.kendall(one, other) for other in orders] for one in orders]
    np.testing.assert_allclose(model.kendall, twin, rtol=1e-15)


@given(st.permutations(range(9)), st.permutations(range(9)))
def test_kendall_equals_scipys_tau(one: list[int], other: list[int]) -> None:
    orderings = np.array([one, other], dtype=np.int64)
    ranks = np.argsort(orderings, axis=1)
    tau = kendalltau(ranks[0], ranks[1]).statistic
    share = kendall_distances(ranks, ranks, True)[0, 1] / 72
    assert kendall_distances(ranks[:1], ranks, False).tolist() == [[0, share * 72]]
    np.testing.assert_allclose(share, (1 - tau) / 2, atol=1e-12)
