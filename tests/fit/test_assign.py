"""Test the assignment of people to states, and the matching of the states of two models."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import match_orderings
from lpbandits.model import PreferenceModel
from tests import naive_recovery as naive
from tests.conftest import random_orderings
from tests.synthetic_recovery import arrays_of, log_from, paper_world, quick_fit, raters


def test_people_are_assigned_to_their_states_in_and_out_of_the_fit() -> None:
    truth, log, state = paper_world(0, people=200, same_scale=False, rounds=60, states=3)
    model = quick_fit(log.subset(np.arange(100)), states=3).model
    table = lpb.states_of(model, log)
    assert table.columns == ["person", "state", "probability", "ratings", "left_out"]
    assert table["person"].to_list() == list(log.people)
    true = np.argsort(match_orderings(truth, model).assignment)[table["state"].to_numpy()]
    for part in (slice(0, 100), slice(100, 200)):
        assert np.mean(true[part] == state[part]) > 0.95
    assert lpb.states_of(model, log, threads=2).equals(table)


def test_probabilities_are_those_of_the_mixture_with_n_minus_1_comparisons() -> None:
    _, log, _ = raters(1, people=30, actions=7, rated=4, states=2)
    fit = quick_fit(log, states=2)
    beta, table = logit(arrays_of(fit)[0]), lpb.states_of(fit.model, log)
    for history, row in zip(naive.histories(log), table.iter_rows(named=True), strict=True):
        likelihoods = np.array([naive.log_likelihood(history, utilities) for utilities in beta])
        scores = np.log(fit.model.prior) + likelihoods * 2 / len(history)
        chance = np.exp(scores - np.logaddexp.reduce(scores))
        assert row["state"] == int(np.argmax(chance))
        assert row["probability"] == pytest.approx(chance.max())


def test_other_actions_are_left_out_and_counted() -> None:
    model = PreferenceModel(
        [[0, 1], [1, 0]], actions=["tea", "jam"], prior=[0.3, 0.7], utilities=[[0.9, 0.1], [0.2, 0.8]]
    )
    rows = [("ann", "tea", 5), ("ann", "jam", 1), ("ann", "rum", 9), ("bo", "rum", 2), ("cy", "tea", 3)]
    table = lpb.states_of(model, log_from(rows))
    assert table["state"].to_list() == [0, 1, 1]
    assert table["ratings"].to_list() == [2, 0, 1]
    assert table["left_out"].to_list() == [1, 1, 0]
    np.testing.assert_allclose(table["probability"][1:], 0.7)  # the prior
    with pytest.raises(InvalidInput, match=r"actions.*'tea'.*'gin'"):
        lpb.states_of(model, Ratings.from_arrays(["ann"], ["gin"], [1]))
    with pytest.raises(InvalidInput, match="utilities"):
        lpb.states_of(PreferenceModel([[0, 1]]), Ratings.from_arrays([0, 0], [0, 1], [1, 2]))


def test_assignments_do_not_depend_on_blocks_or_the_order_of_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, log, _ = raters(1, people=60, actions=7, rated=4, states=2)
    fit = quick_fit(log, states=2)
    model, table, order = fit.model, lpb.states_of(fit.model, log), [4, 1, 6, 0, 2, 5, 3]
    other = PreferenceModel(
        np.argsort(order)[model.orderings],
        actions=[model.actions[a] for a in order],
        prior=model.prior,
        utilities=arrays_of(fit)[0][:, order],
    )
    reordered = lpb.states_of(other, log)
    assert reordered.drop("probability").equals(table.drop("probability"))
    np.testing.assert_allclose(reordered["probability"], table["probability"], rtol=1e-12)
    rows = zip(log.owner.tolist(), log.action.tolist(), log.rating.tolist(), strict=True)
    larger = log_from([*rows, *((n, 99, n) for n in range(60, 100))])
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 20)  # the last blocks have no action of the model
    assigned = lpb.states_of(model, larger)
    assert assigned[: len(table)].drop("left_out", "person").equals(table.drop("left_out", "person"))
    assert assigned["probability"][len(table) :].to_list() == [model.prior.max()] * 40
    assert assigned["ratings"][len(table) :].to_list() == [0] * 40


def test_people_with_labels_of_mixed_types_are_assigned() -> None:
    model = PreferenceModel([[0, 1], [1, 0]], utilities=[[0.9, 0.1], [0.2, 0.8]])
    codes = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]), np.array([1.0, 2, 3, 4])
    log = Ratings.from_codes(*codes, people=("ann", 7, 2**70), actions=(0, 1))
    assert lpb.states_of(model, log)["person"].to_list() == ["ann", "7", str(2**70)]


@pytest.mark.jitless
@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10_000))
def test_the_matching_is_optimal(states: int, seed: int) -> None:
    true, fitted = (PreferenceModel(random_orderings(states, 6, seed + i)) for i in range(2))
    matching = match_orderings(true, fitted)
    losses = [[naive.kendall_loss(a, b) for b in fitted.orderings] for a in true.orderings]
    best = min(
        sum(losses[y][z] for y, z in enumerate(order)) / states for order in itertools.permutations(range(states))
    )
    np.testing.assert_allclose(matching.error, best, rtol=1e-12)
    np.testing.assert_allclose(matching.errors, [losses[y][z] for y, z in enumerate(matching.assignment.tolist())])
    assert sorted(matching.assignment.tolist()) == list(range(states))


def test_orders_of_states_and_actions_do_not_matter() -> None:
    true = PreferenceModel(random_orderings(4, 12, 1), actions=[f"a{i}" for i in range(12)])
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


def test_tiers_that_order_no_pair_otherwise_cost_half() -> None:
    true = PreferenceModel([[[0, 1], 2, 3], [3, 2, 1, 0]])
    matching = match_orderings(true, PreferenceModel([[3, 2, 1, 0], [0, 1, 2, 3]]), top=1)
    assert matching.assignment.tolist() == [1, 0]
    np.testing.assert_allclose(matching.errors, [1 / 6, 0.0])  # 1 − τ is twice the distance
    assert matching.top_overlap == (0.5 + 1.0) / 2  # of two first actions, one is shared


def test_different_actions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'b'"):
        match_orderings(PreferenceModel([[0, 1]], actions=["a", "b"]), PreferenceModel([[0, 1]], actions=["a", "c"]))
