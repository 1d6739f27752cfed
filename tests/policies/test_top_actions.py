"""The top-action subset (Proposition 1): the best actions of states, of all actions or of the allowed ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.model import PreferenceModel
from lpbandits.policies.baselines import TS
from tests.conftest import models

MODEL = PreferenceModel([[3, 1, 0, 2], [1, 3, 2, 0], [3, 0, 2, 1]])


def test_offers_of_a_small_model() -> None:
    top, plain = TS(MODEL, top=True), TS(MODEL)
    everything = np.empty((1, 1, 0), dtype=np.int64)
    assert top.offer(None).tolist() == [1, 3]
    assert top.offer_sets(everything).tolist() == [[[1, 3]]]
    assert top.offer([0, 1, 2]).tolist() == [0, 1]
    assert top.offer_sets(np.array([[[0, 1, 2], [0, 2, -1]]])).tolist() == [[[0, 1, -1], [0, 2, -1]]]
    assert plain.offer([0, 1, 2]).tolist() == [0, 1, 2]
    assert plain.offer_sets(everything) is everything


@pytest.mark.jitless
@given(models(), st.data())
def test_offers_are_the_best_allowed_actions_of_states(model: PreferenceModel, data: st.DataObject) -> None:
    actions = st.sets(st.integers(0, model.n_actions - 1), min_size=1)
    policy = TS(model, top=True)
    for allowed in (sorted(data.draw(actions)), list(range(model.n_actions))):
        expected = sorted({next(a for a in row if a in allowed) for row in model.orderings.tolist()})
        assert policy.offer(allowed).tolist() == expected
        sets = policy.offer_sets(np.array([[allowed]]))
        assert sets[sets >= 0].tolist() == expected
    assert policy.offer(None).tolist() == expected
