"""`PreferenceModel`: what it holds, and one clear error for each kind of bad input."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.taste_model import TasteModel
from tests.conftest import models

TWO = [[0, 1, 2], [2, 1, 0]]


@pytest.mark.parametrize(
    ("orderings", "parts"),
    [
        ([[0, 1, 2], [2, 1, 1]], ["action 1 appears twice in ordering 1", "3 actions must appear once"]),
        ([[0, 1, 2], [2, 0, 2]], ["action 2 appears twice in ordering 1"]),
        ([[0, 1, 3]], ["ordering 0", "0 to 2", "got 3"]),
        ([[0, 1, 2], [0, -1, 2]], ["ordering 1", "got -1"]),
        ([[0, 1], [1, 0], [0, 1]], ["orderings 0 and 2 are equal"]),
        ([[0, 1, 2], [0, 1]], ["orderings", "equal length"]),
        ([0, 1, 2], ["orderings", "one row per state", "got shape (3,)"]),
        ([], ["orderings", "one row per state"]),
        (["a", "b"], ["list of orderings", "got ['a', 'b']", "in a list"]),
        ([["a", "b"], "c", ["d", "e"]], ["list of orderings", "in a list"]),
        ([[0, 1], 2], ["list of orderings", "in a list"]),
        ([[]], ["orderings", "one row per state"]),
        ([[[0, 1], []]], ["tier of ordering 0", "one or more actions"]),
        ([[[0, [1]]]], ["tier of ordering 0", "one or more actions"]),
        ([[[0, 1]], [[1, 0]]], ["orderings 0 and 1 are equal"]),
        ([[[0, 1], 1]], ["action 1 appears twice in ordering 0"]),
        (None, ["orderings", "got shape"]),
        ([["a", "b"], ["a", "c"]], ["ordering 1", "'c'"]),
        ([["a", "b"], ["b"]], ["ordering 1", "lacks 'a'"]),
        ([["a", "b", "a"]], ["'a' appears twice in ordering 0"]),
        ([[True, False]], ["orderings", "got bool"]),
        ([[0, 1, 2], [2, 1, np.nan]], ["orderings[1, 2]", "got nan"]),
        ([[0.0, 1.5, 2.0]], ["orderings[0, 1]", "got 1.5"]),
        ([[0.0, np.inf, 2.0]], ["orderings[0, 1]", "got inf"]),
    ],
)
def test_bad_orderings_are_named(orderings: Any, parts: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        PreferenceModel(orderings)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": [0.5, 0.6]}, "prior must sum to 1 .*got 1.1"),
        ({"prior": [1.5, -0.5]}, r"prior\[1\] must .*got -0.5"),
        ({"prior": [1.0]}, r"prior must .*shape 2, got 1"),
        ({"prior": 1.0}, r"prior must .*shape 2, got a single number"),
        ({"means": [[1.0, 2.0, 3.0]]}, r"means must .*shape 2×3, got 1×3"),
        ({"means": [[3.0, 2.0, 1.0], [1.0, np.inf, 3.0]]}, r"means\[1, 1\] .*inf"),
        (
            {"means": [[3.0, 2.0, 1.0], [1.0, 2.0, 1.5]]},
            r"means\[1\] must .*ordering 1, got 1.5 for action 2 and then 2 for action 1",
        ),
        ({"utilities": [[1.0, 0.5]]}, r"utilities must .*shape 2×3, got 1×2"),
        ({"utilities": [[1.0, 0.5, 0], [0, 0, 3]]}, r"utilities\[1, 2\] must .*got 3"),
        ({"actions": ["a", "b"]}, "actions must have 3 labels.*got 2"),
        ({"actions": ["a", "b", "a"]}, "label 'a' is given to actions 0 and 2; labels must differ"),
        ({"actions": ["a", "b", 1.5]}, r"actions\[2\] must .*got 1.5"),
        ({"actions": "abc"}, "actions must .*got 'abc'"),
        ({"actions": 5}, "actions .*5"),
        *(
            ({"provenance": value}, "provenance must be a JSON object")
            for value in ({"a": object()}, [1], {"a": np.nan}, {"a": "\ud800"}, {1j: 2}, {"a": {3}}, 5)
        ),
        ({"errors": [[0.1, 0.2, 0.3]] * 2}, "give utilities as well"),
        ({"utilities": [[0.5] * 3] * 2, "errors": [[0.1, -0.2, 0.3]] * 2}, r"errors\[0, 1\].*-0.2"),
        ({"utilities": [[0.5] * 3] * 2, "errors": [[0.1, 1e9, 0.3]] * 2}, r"errors\[0, 1\].*1e\+09"),
        ({"utilities": [[0.5] * 3] * 2, "errors": [[0.1]]}, "errors must .*shape"),
        ({"actions": ["\ud800", "b", "c"]}, r"actions\[0\] must be text that UTF-8 can encode"),
        ({"noise": -1}, "noise must .*got -1"),
        ({"names": ["Heat"]}, "names must .*got 1"),
        ({"popular": [0, 1]}, "popular must .*got 2"),
        ({"popular": [0, 0, 1]}, "action 0 appears twice"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PreferenceModel(TWO, **settings)


def test_whole_floats_and_numpy_arrays_are_orderings() -> None:
    model = PreferenceModel(np.array(TWO, dtype=np.float32), actions=np.array(["a", "b", "c"]))  # type: ignore[arg-type] # arrays come from users
    assert model == PreferenceModel(TWO, actions=["a", "b", "c"])
    assert model.orderings.dtype == np.int64


def test_defaults() -> None:
    model = PreferenceModel(TWO)
    assert (model.n_states, model.n_actions) == (2, 3)
    assert model.actions == (0, 1, 2)
    np.testing.assert_allclose(model.prior, [0.5, 0.5])
    assert model.means is None
    assert model.utilities is None
    assert model.provenance == {}
    assert repr(model) == "<PreferenceModel: 2 states, 3 actions>"
    assert "with means" in repr(PreferenceModel(TWO, means=[[1.0, 1.0, 1.0], [2.0, 2.0, 3.0]])), "means may be equal"


def test_a_prior_is_made_to_sum_to_one_exactly() -> None:
    model = PreferenceModel(TWO, prior=[1 / 3, 0.6666666])
    np.testing.assert_allclose(model.prior.sum(), 1.0, rtol=1e-15)


@given(models())
def test_ranks_undo_orderings(model: PreferenceModel) -> None:
    every = np.tile(np.arange(model.n_actions), (model.n_states, 1))
    np.testing.assert_array_equal(np.take_along_axis(model.ranks, model.orderings, axis=1), every)
    np.testing.assert_array_equal(np.take_along_axis(model.orderings, model.ranks, axis=1), every)
    for z in range(model.n_states):
        assert model.ranks[z, model.index[model.best_actions[z]]] == 0


@pytest.mark.parametrize("name", ["orderings", "prior", "ranks", "kendall", "means", "utilities"])
def test_arrays_cannot_be_changed(name: str) -> None:
    model = PreferenceModel(TWO, means=[[3.0, 2, 1], [1, 2, 3]], utilities=[[1.0, 0.5, 0], [0, 0.5, 1]])
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0
    with pytest.raises(AttributeError, match=f"immutable.*{name}="):
        setattr(model, name, None)


CHANGES: list[tuple[Any, ...]] = [
    *(("object", *call) for call in (("__setitem__", "a", 1), ("__delitem__", "a"), ("__ior__", {"x": 1}), ("clear",))),
    *(("object", *call) for call in (("pop", "a"), ("popitem",), ("setdefault", "x", 1), ("update", {"x": 1}))),
    *(("array", *call) for call in (("__setitem__", 0, 9), ("__delitem__", 0), ("__iadd__", [3]), ("__imul__", 2))),
    *(("array", *call) for call in (("append", 3), ("clear",), ("extend", [3]), ("insert", 0, 3), ("pop",))),
    *(("array", *call) for call in (("remove", 2), ("reverse",), ("sort",))),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]}.{change[1]}")
def test_records_cannot_be_changed(change: tuple[Any, ...]) -> None:
    kind, name, *arguments = change
    record: Any = {"a": {"nested": [2, 1]}} if kind == "array" else {"a": 2}

    def attempt(stored: Any) -> None:
        getattr(stored["a"]["nested"] if kind == "array" else stored, name)(*arguments)

    taste = TasteModel(np.zeros(3), np.zeros((3, 0)), np.ones(3), about=record)
    model = PreferenceModel(TWO, taste=taste, provenance=record, evaluation=record)
    content = model.to_dict()
    for each in (model, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301 - ours
        assert each.taste is not None
        for stored in (each.provenance, each.evaluation, each.taste.about):
            with pytest.raises(TypeError, match="read-only"):
                attempt(stored)
            assert stored == record
        assert each.to_dict() == content
    for stored in (content["provenance"], content["evaluation"], content["taste"]["about"]):
        attempt(stored)  # `to_dict` returns copies
        assert stored != record
    assert PreferenceModel.from_dict(model.to_dict()) == model


def test_input_is_copied() -> None:
    orderings, prior = np.array(TWO), np.array([0.5, 0.5])
    model = PreferenceModel(orderings, prior=prior)
    orderings[0, 0] = 2
    prior[0] = 9.0
    assert model == PreferenceModel(TWO)
    assert orderings.flags.writeable


@pytest.mark.parametrize(
    "other",
    [
        {"orderings": [[0, 1, 2], [1, 2, 0]]},
        {"actions": ["a", "b", "c"]},
        {"actions": [0, 1, "2"]},
        {"prior": [0.4, 0.6]},
        {"means": [[3.0, 2, 1], [1, 2, 3]]},
        {"utilities": [[1.0, 0.5, 0], [0, 0.5, 1]]},
        {"provenance": {"by": "hand"}},
    ],
)
def test_models_are_equal_when_all_their_contents_are(other: dict[str, Any]) -> None:
    model = PreferenceModel(TWO)
    assert model == PreferenceModel(np.array(TWO), actions=[0, 1, 2], prior=[0.5, 0.5])
    assert hash(model) == hash(PreferenceModel(TWO))
    different = PreferenceModel(**{"orderings": TWO, **other})
    assert model != different
    assert len({model, different, PreferenceModel(TWO)}) == 2
    assert model != "model"


@given(models(), st.data())
def test_relabelling_changes_labels_alone(model: PreferenceModel, data: st.DataObject) -> None:
    texts = st.text(st.characters(exclude_categories=["Cs", "Cc"])).map("x{}".format)
    labels = data.draw(st.lists(texts, min_size=model.n_actions, max_size=model.n_actions, unique=True))
    other = model.replace(actions=labels)
    assert other.actions == tuple(labels)
    np.testing.assert_array_equal(other.orderings, model.orderings)
    assert other.replace(actions=model.actions) == model


def test_only_fields_of_a_model_can_be_replaced() -> None:
    with pytest.raises(InvalidInput, match=r"the field must be one of .*got 'colour'"):
        PreferenceModel(TWO).replace(colour=1)


def test_logits_are_finite_at_utilities_of_0_and_1() -> None:
    assert PreferenceModel([[0, 1]]).logits is None
    logits = PreferenceModel([[0, 1, 2]], utilities=[[1.0, 0.75, 0.0]]).logits
    assert logits is not None
    np.testing.assert_allclose(logits[0, 1], np.log(3))
    assert np.isfinite(logits).all()


def test_orderings_may_hold_labels_and_tiers() -> None:
    model = PreferenceModel([["a", ["c", "b"], "d"], ["d", "c", "b", "a"]], state_names=["calm", "bold"])
    assert model.actions == ("a", "c", "b", "d")
    assert model.orderings.tolist() == [[0, 1, 2, 3], [3, 1, 2, 0]]
    assert model.tiers == ((1, 2, 1), (1, 1, 1, 1))
    assert model == PreferenceModel(
        [[0, [2, 1], 3], [3, 1, 2, 0]], actions=["a", "c", "b", "d"], state_names=["calm", "bold"]
    )
    assert PreferenceModel.from_dict(model.to_dict()) == model == model.replace()
    assert [model.state_name(z) for z in range(2)] == ["calm", "bold"]


def test_labels_follow_the_given_actions() -> None:
    model = PreferenceModel([["b", "a"], ["a", "b"]], actions=["a", "b"])
    assert model.orderings.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InvalidInput, match=r"'c'.*actions"):
        PreferenceModel([["a", "c"]], actions=["a", "b"])


def test_tiers_of_one_action_are_an_ordering() -> None:
    model = PreferenceModel([[[0], [1]], [[1], [0]]])
    assert model.tiers is None
    assert model == PreferenceModel([[0, 1], [1, 0]])
    assert model.to_dict()["version"] == 1


@pytest.mark.parametrize(
    ("tiers", "message"),
    [([[2]], "each of the 2 states, got 1"), ([[2], [1]], "add up to the 2 actions, got 1"), ([[2], [0, 2]], "got 0")],
)
def test_bad_sizes_of_tiers_are_named(tiers: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PreferenceModel([[0, 1], [1, 0]], tiers=tiers)


def test_the_actions_of_a_tier_share_a_rank() -> None:
    model = PreferenceModel([["a", ["c", "b"], "d"], [["d", "a"], ["b", "c"]]])
    assert model.ranks.tolist() == [[0, 1, 1, 3], [0, 2, 2, 0]]
    assert model.mid_ranks.tolist() == [[0.0, 1.5, 1.5, 3.0], [0.5, 2.5, 2.5, 0.5]]
    assert model.best_actions == ("a", "a", "d")
    assert model.kendall[0, 1] == 2.5 / 6  # (a, d) and (b, c) half or not at all; d before b and c is reversed
    assert PreferenceModel([[0, 1]]).mid_ranks.tolist() == [[0.0, 1.0]]


def test_means_may_have_any_order_within_a_tier_only() -> None:
    tiers: Any = [[0, [1, 2], 3]]
    assert PreferenceModel(tiers, means=[[3.0, 1.0, 2.0, 1.0]]).tiers == ((1, 2, 1),)
    with pytest.raises(InvalidInput, match=r"means\[0\].*1 for action 1 in tier 1 and 1.5 for action 3 in tier 2"):
        PreferenceModel(tiers, means=[[3.0, 1.0, 2.0, 1.5]])
    with pytest.raises(InvalidInput, match=r"means\[0\].*3 for action 0.*4 for action 2"):
        PreferenceModel(tiers, means=[[3.0, 1.0, 4.0, 0.5]])


def test_the_range_of_rewards_is_checked_and_saved() -> None:
    model = PreferenceModel([[0, 1]], reward_range=[1, 5])
    assert model.reward_range == (1.0, 5.0)
    assert (model.to_dict()["version"], model.to_dict()["reward_range"]) == (4, [1.0, 5.0])
    assert PreferenceModel.from_dict(model.to_dict()) == model
    for wrong in ([5, 1], [1], [1, np.nan], "ab", [1, 1e200]):
        with pytest.raises(InvalidInput, match="reward_range"):
            PreferenceModel([[0, 1]], reward_range=wrong)  # type: ignore[arg-type] # that is the point
