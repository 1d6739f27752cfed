"""Test the search for informative pairs of actions against enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss

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


def integral(model: lpb.PreferenceModel, z: int, first: Label, second: Label) -> float:
    """Return the probability that a person of state z prefers the first, by quadrature over both utilities."""
    logits, errors, a, b = model.logits, model.errors, int(first), int(second)
    assert logits is not None
    assert errors is not None
    x, w = hermegauss(41)
    away = logits[z, a] - logits[z, b] + np.hypot(errors[z, a], errors[z, b]) * x
    return float(np.sum(w / w.sum() / (1.0 + np.exp(-away))))


def closed_form(model: lpb.PreferenceModel, z: int, first: Label, second: Label) -> float:
    """Return the approximation of `integral`."""
    logits, errors, a, b = model.logits, model.errors, int(first), int(second)
    assert logits is not None
    assert errors is not None
    spread = 1.0 + math.pi * (errors[z, a] ** 2 + errors[z, b] ** 2) / 8.0
    return 1.0 / (1.0 + math.exp(-(logits[z, a] - logits[z, b]) / math.sqrt(spread)))


def information(joint: FloatArray) -> float:
    """Return the mutual information of rows and columns in bits, by its definition."""
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    ratio = np.where(joint > 0, joint / np.where(joint > 0, rows * columns, 1.0), 1.0)
    return float(np.sum(joint * np.log2(ratio)))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 5), actions=st.integers(3, 6))
def test_the_first_pair_is_the_most_informative(seed: int, states: int, actions: int) -> None:
    model = made(seed, states, actions)
    best = 0.0
    for a, b in itertools.combinations(range(actions), 2):
        chance = np.array([closed_form(model, z, a, b) for z in range(states)])
        best = max(best, information(model.prior[:, None] * np.stack([chance, 1 - chance], axis=1)))
    found = search_of(model).informative(1)
    assert (best >= MIN_BITS) == bool(found)
    for pair in found:
        assert pair.tells == pytest.approx(best)
        for z, share in enumerate(pair.says_first):
            assert share == pytest.approx(closed_form(model, z, pair.first, pair.second))
            # For errors of at most 0.6 each the closed form is within 0.004 of the integral.
            assert share == pytest.approx(integral(model, z, pair.first, pair.second), abs=0.004)


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


def test_certain_orders_of_similar_actions_carry_little_information() -> None:
    """With very many people every order is certain; the answer of one person is not."""
    near, far = [0.51, 0.49, 0.9, 0.1], [0.49, 0.51, 0.1, 0.9]
    model = lpb.PreferenceModel(
        [[2, 0, 1, 3], [3, 1, 0, 2]], utilities=[near, far], errors=np.full((2, 4), 1e-6), prior=[0.5, 0.5]
    )
    pair = search_of(model).informative(1)[0]
    assert (pair.first, pair.second) == (2, 3)
    assert pair.chance_first == (1.0, 0.0)
    assert pair.says_first[0] == pytest.approx(81 / 82)
    only = np.array([[True, True, False, False]] * 2)
    assert search_of(model, only).informative(5) == []


def test_large_errors_reduce_the_information() -> None:
    utilities = [[0.9, 0.1], [0.1, 0.9]]
    models = (
        lpb.PreferenceModel([[0, 1], [1, 0]], utilities=utilities, errors=np.full((2, 2), error))
        for error in (0.0, 1.0, 3.0)
    )
    bits = [search_of(model).informative(1)[0].tells for model in models]
    assert bits[0] > 1.1 * bits[1] > 1.1 * 1.1 * bits[2]


def test_without_utilities_answers_follow_the_orderings() -> None:
    model = lpb.PreferenceModel([[0, 1, 2, 3], [3, 1, 2, 0]], prior=[0.25, 0.75])
    found = search_of(model).informative(5)
    # 0 and 3 are three places trait in both; all pairs but (1, 2) are as informative.
    assert [(pair.first, pair.second) for pair in found] == [(0, 3)]
    assert found[0].says_first == found[0].chance_first == (1.0, 0.0)
    assert found[0].tells == pytest.approx(0.811278, abs=1e-6)
    assert found[0].guessed == 1.0


def test_the_first_state_prefers_the_first_action() -> None:
    pairs = [pair for seed in range(9) for pair in search_of(made(seed, 3, 6)).informative(5)]
    assert len(pairs) > 20
    assert all(pair.says_first[0] is not None and pair.says_first[0] >= 0.5 for pair in pairs)


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


def test_one_state_has_no_informative_pairs() -> None:
    model = lpb.PreferenceModel([[0, 1, 2]])
    search = search_of(model)
    assert search.informative(5) == []
    assert search.trait(0) is None
    assert search_of(lpb.PreferenceModel([[0]])).informative(5) == []


def test_traits_separate_a_state_best() -> None:
    model = made(4, 4, 6)
    for state in range(4):
        trait = search_of(model).trait(state)
        assert trait is not None
        assert trait.says_first > trait.others_say_first
        weight = np.delete(model.prior, state)
        best = 0.0
        for a, b in itertools.permutations(range(6), 2):
            says = np.array([closed_form(model, z, a, b) for z in range(4)])
            others = float(np.delete(says, state) @ weight / weight.sum())
            chances = np.array([says[state], others])
            best = max(best, information(np.stack([chances, 1 - chances], axis=1) / 2))
            if (a, b) == (trait.first, trait.second):
                assert (trait.says_first, trait.others_say_first) == pytest.approx((says[state], others))
        chances = np.array([trait.says_first, trait.others_say_first])
        assert information(np.stack([chances, 1 - chances], axis=1) / 2) == pytest.approx(best)


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
