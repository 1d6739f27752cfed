"""Pairs of actions that tell states apart."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss

import lpbandits as lpb
from lpbandits.inspection import questions
from lpbandits.inspection.questions import MIN_BITS, InformativePair, PairSearch
from lpbandits.typing import FloatArray


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


def everywhere(model: lpb.PreferenceModel) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.ones((model.n_states, model.n_actions), dtype=np.bool_)


def say(model: lpb.PreferenceModel, z: int, a: int, b: int) -> float:
    """The chance that a person of the state says a: the integral over both utilities, point by point."""
    assert model.logits is not None
    assert model.errors is not None
    x, w = hermegauss(41)
    away = model.logits[z, a] - model.logits[z, b] + np.hypot(model.errors[z, a], model.errors[z, b]) * x
    return float(np.sum(w / w.sum() / (1.0 + np.exp(-away))))


def closed_form(model: lpb.PreferenceModel, z: int, a: int, b: int) -> float:
    """The same, nearly."""
    assert model.logits is not None
    assert model.errors is not None
    spread = 1.0 + math.pi * (model.errors[z, a] ** 2 + model.errors[z, b] ** 2) / 8.0
    return 1.0 / (1.0 + math.exp(-(model.logits[z, a] - model.logits[z, b]) / math.sqrt(spread)))


def information(joint: FloatArray) -> float:
    """The mutual information of rows and columns, in bits, from its definition."""
    rows, columns = joint.sum(axis=1, keepdims=True), joint.sum(axis=0, keepdims=True)
    ratio = np.where(joint > 0, joint / np.where(joint > 0, rows * columns, 1.0), 1.0)
    return float(np.sum(joint * np.log2(ratio)))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 5), actions=st.integers(3, 6))
def test_the_first_pair_tells_most_of_all(seed: int, states: int, actions: int) -> None:
    model = made(seed, states, actions)
    best = 0.0
    for a, b in itertools.combinations(range(actions), 2):
        chance = np.array([closed_form(model, z, a, b) for z in range(states)])
        best = max(best, information(model.prior[:, None] * np.stack([chance, 1 - chance], axis=1)))
    found = PairSearch.of(model, everywhere(model)).informative(1)
    assert (best >= MIN_BITS) == bool(found)
    for pair in found:
        assert pair.bits == pytest.approx(best)
        for z, share in enumerate(pair.answers):
            assert share == pytest.approx(closed_form(model, z, pair.first, pair.second))
            # For errors of at most 0.6 each the closed form is within 0.004 of the integral.
            assert share == pytest.approx(say(model, z, pair.first, pair.second), abs=0.004)


def together(model: lpb.PreferenceModel, pairs: list[InformativePair]) -> tuple[float, float]:
    """The information of all answers together, and how often the likeliest state is right: over every way to answer."""
    chances = np.array([pair.answers for pair in pairs], dtype=np.float64)
    ways = list(itertools.product([True, False], repeat=len(pairs)))
    joint = np.array(
        [
            [w * np.prod(np.where(way, chances[:, z], 1 - chances[:, z])) for way in ways]
            for z, w in enumerate(model.prior)
        ]
    )
    return information(joint), float(joint.max(axis=0).sum())


@pytest.mark.parametrize("seed", range(3))
def test_each_pair_adds_most_to_those_before(seed: int) -> None:
    model = made(seed, 4, 7)
    found = PairSearch.of(model, everywhere(model)).informative(3)
    assert len(found) == 3
    actions = [a for pair in found for a in (pair.first, pair.second)]
    assert len(set(actions)) == 6, "an action comes again only when others tell nothing more"
    one = PairSearch.of(model, everywhere(model))
    for n in (1, 2, 3):
        bits, right = together(model, found[:n])
        assert found[n - 1].guessed == pytest.approx(right)
        rivals = [
            pair
            for i in range(len(one.first))
            if not {(pair := one._pair(i, 0.0, 0.0)).first, pair.second} & set(actions[: 2 * n - 2])
        ]
        assert bits == pytest.approx(max(together(model, [*found[: n - 1], rival])[0] for rival in rivals))


def test_certain_orders_of_hardly_different_actions_tell_little() -> None:
    """With endless people every order is certain; what one person says is not."""
    near, far = [0.51, 0.49, 0.9, 0.1], [0.49, 0.51, 0.1, 0.9]
    model = lpb.PreferenceModel(
        [[2, 0, 1, 3], [3, 1, 0, 2]], utilities=[near, far], errors=np.full((2, 4), 1e-6), prior=[0.5, 0.5]
    )
    pair = PairSearch.of(model, everywhere(model)).informative(1)[0]
    assert (pair.first, pair.second) == (2, 3)
    assert pair.sure == (1.0, 0.0)
    assert pair.answers[0] == pytest.approx(81 / 82)
    only = np.array([[True, True, False, False]] * 2)
    assert PairSearch.of(model, only).informative(5) == []


def test_large_errors_make_a_pair_tell_less() -> None:
    utilities = [[0.9, 0.1], [0.1, 0.9]]
    bits = [
        PairSearch.of(
            lpb.PreferenceModel([[0, 1], [1, 0]], utilities=utilities, errors=np.full((2, 2), error)),
            np.ones((2, 2), dtype=np.bool_),
        )
        .informative(1)[0]
        .bits
        for error in (0.0, 1.0, 3.0)
    ]
    assert bits[0] > 1.1 * bits[1] > 1.1 * 1.1 * bits[2]


def test_orderings_without_utilities_are_taken_at_their_word() -> None:
    model = lpb.PreferenceModel([[0, 1, 2, 3], [3, 1, 2, 0]], prior=[0.25, 0.75])
    found = PairSearch.of(model, everywhere(model)).informative(5)
    # 0 and 3 are three places apart in both; all pairs but (1, 2) tell as much.
    assert [(pair.first, pair.second) for pair in found] == [(0, 3)]
    assert found[0].answers == found[0].sure == (1.0, 0.0)
    assert found[0].bits == pytest.approx(0.811278, abs=1e-6)
    assert found[0].guessed == 1.0


def test_the_first_of_two_is_what_the_first_state_prefers() -> None:
    found = [pair for seed in range(9) for pair in _pairs(made(seed, 3, 6))]
    assert len(found) > 20
    assert all(pair.answers[0] is not None and pair.answers[0] >= 0.5 for pair in found)


def _pairs(model: lpb.PreferenceModel) -> list[InformativePair]:
    return PairSearch.of(model, everywhere(model)).informative(5)


def test_nothing_is_told_of_states_where_one_of_the_two_is_unknown() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0], [0, 2, 1]], prior=[0.5, 0.3, 0.2])
    known = np.array([[True, True, True], [True, True, True], [True, False, True]])
    search = PairSearch.of(model, known)
    pair = search.informative(1)[0]
    assert (pair.first, pair.second, pair.answers) == (0, 2, (1.0, 0.0, 1.0)), "known in all three"
    known[2] = False
    (pair,) = PairSearch.of(model, known).informative(1)
    assert pair.answers == pair.sure == (1.0, 0.0, None)
    share = 0.5 / 0.8
    assert pair.bits == pytest.approx(0.8 * -(share * np.log2(share) + (1 - share) * np.log2(1 - share)))
    # Of the third state's people as many give either answer: the guess is the first state, or the second.
    assert pair.guessed == pytest.approx(0.8)
    assert PairSearch.of(model, known).apart(2) is None
    assert PairSearch.of(model, known).apart(0) is not None


def test_a_large_state_that_does_not_know_stays_the_guess() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]], prior=[0.2, 0.2, 0.6])
    known = np.array([[True, True, False], [True, True, False], [False, False, True]])
    (pair,) = PairSearch.of(model, known).informative(5)
    assert pair.answers == (1.0, 0.0, None)
    assert pair.guessed == pytest.approx(0.6)


def test_when_nothing_is_left_to_tell_other_pairs_follow() -> None:
    model = lpb.PreferenceModel([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    found = PairSearch.of(model, everywhere(model)).informative(5)
    assert [(pair.first, pair.second, pair.bits, pair.guessed) for pair in found] == [(0, 4, 1, 1), (1, 3, 1, 1)]


def test_one_state_has_nothing_to_tell() -> None:
    model = lpb.PreferenceModel([[0, 1, 2]])
    search = PairSearch.of(model, everywhere(model))
    assert search.informative(5) == []
    assert search.apart(0) is None
    alone = lpb.PreferenceModel([[0]])
    assert PairSearch.of(alone, everywhere(alone)).informative(5) == []


def test_what_sets_a_state_apart() -> None:
    model = made(4, 4, 6)
    for state in range(4):
        apart = PairSearch.of(model, everywhere(model)).apart(state)
        assert apart is not None
        assert apart.own > apart.others
        weight = np.delete(model.prior, state)
        best = 0.0
        for a, b in itertools.permutations(range(6), 2):
            says = np.array([closed_form(model, z, a, b) for z in range(4)])
            others = float(np.delete(says, state) @ weight / weight.sum())
            chances = np.array([says[state], others])
            best = max(best, information(np.stack([chances, 1 - chances], axis=1) / 2))
            if (a, b) == (apart.first, apart.second):
                assert (apart.own, apart.others) == pytest.approx((says[state], others))
        chances = np.array([apart.own, apart.others])
        assert information(np.stack([chances, 1 - chances], axis=1) / 2) == pytest.approx(best)


def test_a_search_among_the_most_contested_finds_nearly_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(1, 5, 120)
    best = PairSearch.of(model, everywhere(model)).informative(1)[0]
    monkeypatch.setattr(questions, "CANDIDATES", 40)
    search = PairSearch.of(model, everywhere(model))
    assert len(search.first) == 40 * 39 // 2
    found = search.informative(1)[0]
    assert found.bits > 0.97 * best.bits
    rng = np.random.default_rng(0)
    some = [
        questions.PairSearch.of(model, _only(model, rng.permutation(120)[:40])).informative(1)[0].bits for _ in "ab"
    ]
    assert found.bits > 1.05 * max(some), "forty at random do worse"


def _only(
    model: lpb.PreferenceModel, actions: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    known = np.zeros((model.n_states, model.n_actions), dtype=np.bool_)
    known[:, actions] = True
    return known


def test_very_many_states_take_little_memory() -> None:
    rng = np.random.default_rng(0)
    model = lpb.PreferenceModel([rng.permutation(60) for _ in range(5000)])
    search = PairSearch.of(model, everywhere(model))
    assert search.answers.size <= questions.MAX_CELLS
    assert len(search.informative(3)) == 3
