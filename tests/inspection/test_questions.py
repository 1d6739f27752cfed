"""Test the search for informative pairs of actions against enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

import lpbandits as lpb
from lpbandits.inspection import questions
from lpbandits.inspection.questions import MIN_BITS, Pair, PairSearch
from lpbandits.typing import BoolArray, FloatArray, Label


def made(seed: int, states: int, actions: int, *, error: float = 0.3) -> lpb.PreferenceModel:
    rng = np.random.default_rng(seed)
    orderings = np.zeros((states, actions), dtype=np.int64)
    while len(np.unique(orderings, axis=0)) < states:
        utilities = 1.0 / (1.0 + np.exp(-rng.normal(0, 1.5, (states, actions))))
        orderings = np.argsort(-utilities, axis=1)
    return lpb.PreferenceModel(
        orderings,
        prior=rng.dirichlet(np.full(states, 3.0)),
        utilities=utilities,
        errors=rng.uniform(0, 2 * error, (states, actions)),
    )


def search_of(model: lpb.PreferenceModel, known: BoolArray | None = None) -> PairSearch:
    everything = np.ones((model.n_states, model.n_actions), dtype=np.bool_)
    return PairSearch.of(model, everything if known is None else known, model.actions)


def difference(model: lpb.PreferenceModel, first: Label, second: Label) -> tuple[FloatArray, FloatArray]:
    """Return the difference of two utilities in each state, and its standard error."""
    a, b = int(first), int(second)
    assert model.logits is not None
    assert model.errors is not None
    return model.logits[:, a] - model.logits[:, b], np.hypot(model.errors[:, a], model.errors[:, b])


def integral(model: lpb.PreferenceModel, first: Label, second: Label) -> FloatArray:
    """Return the probability that a person of each state prefers the first, by quadrature over both utilities."""
    away, error = difference(model, first, second)
    x, w = hermegauss(41)
    return np.asarray(expit(away[:, None] + error[:, None] * x) @ (w / w.sum()))


def closed_form(model: lpb.PreferenceModel, first: Label, second: Label) -> FloatArray:
    """Return the approximation of `integral`."""
    away, error = difference(model, first, second)
    return np.asarray(expit(away / np.sqrt(1.0 + math.pi * error**2 / 8.0)))


def answers(chance: FloatArray) -> FloatArray:
    """Return the probabilities of both answers, as two columns."""
    return np.stack([chance, 1 - chance], axis=1)


def information(joint: FloatArray) -> float:
    """Return the mutual information of rows and columns in bits, by its definition."""
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    ratio = np.where(joint > 0, joint / np.where(joint > 0, rows * columns, 1.0), 1.0)
    return float(np.sum(joint * np.log2(ratio)))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 5), actions=st.integers(3, 6))
def test_the_first_pair_is_the_most_informative(seed: int, states: int, actions: int) -> None:
    model = made(seed, states, actions)
    pairs = itertools.combinations(range(actions), 2)
    best = max(information(model.prior[:, None] * answers(closed_form(model, a, b))) for a, b in pairs)
    found = search_of(model).informative(1)
    assert (best >= MIN_BITS) == bool(found)
    for pair in found:
        assert pair.tells == pytest.approx(best)
        shares = np.array(pair.says_first, dtype=np.float64)
        np.testing.assert_allclose(shares, closed_form(model, pair.first, pair.second))
        # For errors of at most 0.6 each the closed form is within 0.004 of the integral.
        np.testing.assert_allclose(shares, integral(model, pair.first, pair.second), rtol=0, atol=0.004)


def together(model: lpb.PreferenceModel, pairs: list[Pair]) -> tuple[float, float]:
    """Return the joint information of all answers, and the probability that the likeliest state is right."""
    chances = np.array([pair.says_first for pair in pairs], dtype=np.float64)
    combinations = list(itertools.product([True, False], repeat=len(pairs)))
    joint = np.array(
        [
            [w * np.prod(np.where(way, chances[:, z], 1 - chances[:, z])) for way in combinations]
            for z, w in enumerate(model.prior)
        ]
    )
    return information(joint), float(joint.max(axis=0).sum())


@pytest.mark.parametrize("seed", range(3))
def test_each_pair_adds_most_information_to_those_before(seed: int) -> None:
    model = made(seed, 4, 7)
    found = search_of(model).informative(3)
    assert len(found) == 3
    actions = [a for pair in found for a in (pair.first, pair.second)]
    assert len(set(actions)) == 6
    assert all(pair.says_first[0] is not None and pair.says_first[0] >= 0.5 for pair in found)  # which is first
    search = search_of(model)
    for n in (1, 2, 3):
        bits, right = together(model, found[:n])
        assert found[n - 1].guessed == pytest.approx(right)
        rivals = [
            pair
            for i in range(len(search.first))
            if not {(pair := search._pair(i, 0.0, 0.0)).first, pair.second} & set(actions[: 2 * n - 2])
        ]
        assert bits == pytest.approx(max(together(model, [*found[: n - 1], rival])[0] for rival in rivals))


def test_states_where_one_action_is_unknown_do_not_contribute() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0], [0, 2, 1]], prior=[0.5, 0.3, 0.2])
    known = np.array([[True, True, True], [True, True, True], [True, False, True]])
    search = search_of(model, known)
    pair = search.informative(1)[0]
    assert (pair.first, pair.second, pair.says_first) == (0, 2, (1.0, 0.0, 1.0)), "known in all three"
    known[2] = False
    (pair,) = search_of(model, known).informative(1)
    assert pair.says_first == pair.chance_first == (1.0, 0.0, None)
    share = 0.5 / 0.8
    assert pair.tells == pytest.approx(0.8 * -(share * np.log2(share) + (1 - share) * np.log2(1 - share)))
    # Half of the third state's people give each answer: the likeliest state is the first or the second.
    assert pair.guessed == pytest.approx(0.8)
    assert search_of(model, known).trait(2) is None
    assert search_of(model, known).trait(0) is not None


def test_a_large_state_without_an_answer_stays_the_likeliest() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]], prior=[0.2, 0.2, 0.6])
    known = np.array([[True, True, False], [True, True, False], [False, False, True]])
    (pair,) = search_of(model, known).informative(5)
    assert pair.says_first == (1.0, 0.0, None)
    assert pair.guessed == pytest.approx(0.6)


def test_redundant_pairs_of_other_actions_follow_when_no_information_remains() -> None:
    model = lpb.PreferenceModel([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    found = search_of(model).informative(5)
    assert [(pair.first, pair.second, pair.tells, pair.guessed) for pair in found] == [(0, 4, 1, 1), (1, 3, 1, 1)]


def test_traits_separate_a_state_best() -> None:
    model = made(4, 4, 6)
    for state in range(4):
        trait = search_of(model).trait(state)
        assert trait is not None
        assert trait.says_first > trait.others_say_first
        weight, wanted = np.delete(model.prior, state), {}
        for pair in itertools.permutations(range(6), 2):
            says = closed_form(model, *pair)
            shares = np.array([says[state], np.delete(says, state) @ weight / weight.sum()])
            wanted[pair] = information(answers(shares) / 2), shares
        bits, shares = wanted[int(trait.first), int(trait.second)]
        assert bits == pytest.approx(max(bits for bits, _ in wanted.values()))
        np.testing.assert_allclose([trait.says_first, trait.others_say_first], shares)


def test_the_most_contested_actions_have_nearly_the_best_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(1, 5, 120)
    best = search_of(model).informative(1)[0]
    monkeypatch.setattr(questions, "CANDIDATES", 40)
    search = search_of(model)
    assert len(search.first) == 40 * 39 // 2
    found = search.informative(1)[0]
    assert found.tells > 0.97 * best.tells
    rng = np.random.default_rng(0)
    at_random = (np.isin(np.arange(120), rng.permutation(120)[:40]) for _ in range(2))
    bits = [search_of(model, np.tile(mask, (5, 1))).informative(1)[0].tells for mask in at_random]
    assert found.tells > 1.05 * max(bits)


def test_many_states_have_fewer_candidates() -> None:
    rng = np.random.default_rng(0)
    model = lpb.PreferenceModel([rng.permutation(60) for _ in range(5000)])
    search = search_of(model)
    assert search.answers.size <= questions.MAX_CELLS
    assert len(search.informative(3)) == 3
