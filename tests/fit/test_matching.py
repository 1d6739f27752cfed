import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbandits.errors import InvalidInput
from lpbandits.fit import match_orderings
from lpbandits.model import PreferenceModel
from tests import naive_recovery as naive


def _model(seed: int, states: int, actions: int) -> PreferenceModel:
    rng = np.random.default_rng(seed)
    rows: dict[bytes, list[int]] = {}
    while len(rows) < states:
        row = rng.permutation(actions)
        rows[row.tobytes()] = row.tolist()
    return PreferenceModel(list(rows.values()))


@pytest.mark.jitless
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10_000))
def test_the_matching_is_optimal(states: int, seed: int) -> None:
    true, fitted = _model(seed, states, 6), _model(seed + 1, states, 6)
    matching = match_orderings(true, fitted)
    losses = [[naive.kendall_loss(a, b) for b in fitted.orderings] for a in true.orderings]
    best = min(
        sum(losses[y][z] for y, z in enumerate(order)) / states for order in itertools.permutations(range(states))
    )
    np.testing.assert_allclose(matching.error, best, rtol=1e-12)
    np.testing.assert_allclose(matching.errors, [losses[y][z] for y, z in enumerate(matching.assignment.tolist())])
    assert sorted(matching.assignment.tolist()) == list(range(states))


def test_orders_of_states_and_actions_do_not_matter() -> None:
    true = _model(1, 4, 12).relabelled([f"a{i}" for i in range(12)])
    order = np.random.default_rng(2).permutation(12)
    place = np.argsort(order)
    fitted = PreferenceModel(place[true.orderings[[2, 0, 3, 1]]], actions=[true.actions[i] for i in order])
    matching = match_orderings(true, fitted)
    assert matching.error == 0
    assert matching.top_overlap == 1
    assert matching.assignment.tolist() == [1, 3, 0, 2]


def test_fewer_fitted_states_are_matched_repeatedly_and_top_overlap_counts_the_best_ten() -> None:
    true = PreferenceModel([[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 3, 2]])
    matching = match_orderings(true, PreferenceModel([[0, 1, 2, 3], [3, 2, 1, 0]]))
    assert matching.assignment.tolist() == [0, 1, 0]
    np.testing.assert_allclose(matching.errors, [0, 0, 1 / 3])
    half = PreferenceModel([[*range(5), *range(10, 20), *range(5, 10)]])
    assert match_orderings(PreferenceModel([range(20)]), half).top_overlap == 0.5


def test_different_actions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'b'"):
        match_orderings(PreferenceModel([[0, 1]], actions=["a", "b"]), PreferenceModel([[0, 1]], actions=["a", "c"]))
