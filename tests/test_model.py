"""`PreferenceModel`: what it holds, and one clear error for each kind of bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.errors import InvalidInput, LpbError
from lpbandits.model import PreferenceModel
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
        ([[]], ["orderings", "one row per state"]),
        ([[[0, 1]]], ["orderings", "got shape"]),
        (None, ["orderings", "got shape"]),
        ([["a", "b"]], ["orderings", "got text", "actions=[…]"]),
        ([[True, False]], ["orderings", "got bool"]),
    ],
)
def test_bad_orderings_are_named(orderings: Any, parts: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        PreferenceModel(orderings)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("orderings", "value", "place"),
    [
        ([[0, 1, 2], [2, 1, np.nan]], "nan", ("[1, 2]", "ordering 1")),
        ([[0.0, 1.5, 2.0]], "1.5", ("[0, 1]", "ordering 0")),
        ([[0.0, np.inf, 2.0]], "inf", ("[0, 1]", "ordering 0")),
    ],
)
def test_numbers_that_are_no_actions_are_named_with_their_place(
    orderings: Any, value: str, place: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidInput) as caught:
        PreferenceModel(orderings)
    assert value in str(caught.value)
    assert any(name in str(caught.value) for name in place)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": [0.5, 0.6]}, "prior must sum to 1 .*got 1.1"),
        ({"prior": [1.5, -0.5]}, r"prior\[1\] must .*got -0.5"),
        ({"prior": [np.nan, 1.0]}, r"prior\[0\] must .*got nan"),
        ({"prior": [1.0]}, r"prior must .*shape 2, got 1"),
        ({"prior": 1.0}, r"prior must .*shape 2, got a single number"),
        ({"prior": ["a", "b"]}, "prior must .*got text"),
        ({"means": [[1.0, 2.0, 3.0]]}, r"means must .*shape 2×3, got 1×3"),
        ({"means": [[3.0, 2.0, 1.0], [1.0, np.inf, 3.0]]}, r"means\[1, 1\] .*inf"),
        (
            {"means": [[3.0, 2.0, 1.0], [1.0, 2.0, 1.5]]},
            r"means\[1\] must .*ordering 1, got 1.5 for action 2 and then 2 for action 1",
        ),
        ({"utilities": [[1.0, 0.5]]}, r"utilities must .*shape 2×3, got 1×2"),
        ({"utilities": [[1.0, 0.5, 0], [0, 0, 3]]}, r"utilities\[1, 2\] must .*got 3"),
        ({"utilities": [[1.0, 0.5, np.nan], [0, 0, 0]]}, r"utilities\[0, 2\] .*nan"),
        ({"actions": ["a", "b"]}, "actions must have 3 labels.*got 2"),
        ({"actions": ["a", "b", "a"]}, "label 'a' is given to actions 0 and 2; labels must differ"),
        ({"actions": ["a", "b", 1.5]}, r"actions\[2\] must .*got 1.5"),
        ({"actions": ["a", "b", True]}, r"actions\[2\] must .*got True"),
        ({"actions": ["a", "b", None]}, r"actions\[2\] must .*got None"),
        ({"actions": "abc"}, "actions must .*got 'abc'"),
        ({"actions": 5}, "actions .*5"),
        ({"provenance": {"made": object()}}, "provenance"),
        ({"provenance": [1]}, "provenance"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PreferenceModel(TWO, **settings)


def test_errors_are_of_one_tree_and_also_plain_value_errors() -> None:
    assert issubclass(InvalidInput, LpbError)
    assert issubclass(InvalidInput, ValueError)


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
    assert "with means" in repr(PreferenceModel([[0]], means=[[1.0]]))


def test_a_prior_is_made_to_sum_to_one_exactly() -> None:
    model = PreferenceModel(TWO, prior=[1 / 3, 0.6666666])
    np.testing.assert_allclose(model.prior.sum(), 1.0, rtol=1e-15)


def test_equal_means_along_an_ordering_are_allowed() -> None:
    PreferenceModel(TWO, means=[[1.0, 1.0, 1.0], [2.0, 2.0, 3.0]])


@given(models())
def test_ranks_undo_orderings(model: PreferenceModel) -> None:
    every = np.tile(np.arange(model.n_actions), (model.n_states, 1))
    np.testing.assert_array_equal(np.take_along_axis(model.ranks, model.orderings, axis=1), every)
    np.testing.assert_array_equal(np.take_along_axis(model.orderings, model.ranks, axis=1), every)
    for z in range(model.n_states):
        assert model.ranks[z, model.index[model.best_actions[z]]] == 0


@given(models())
def test_kendall_is_a_distance(model: PreferenceModel) -> None:
    d = model.kendall
    np.testing.assert_array_equal(d, d.T)
    np.testing.assert_array_equal(np.diag(d), 0.0)
    assert np.all((d >= 0) & (d <= 1))
    assert np.all((d > 0) | np.eye(model.n_states, dtype=bool))
    assert np.all(d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12)


def test_kendall_by_hand() -> None:
    model = PreferenceModel([[0, 1, 2, 3], [0, 1, 3, 2], [3, 2, 1, 0]])
    np.testing.assert_allclose(model.kendall, np.array([[0, 1, 6], [1, 0, 5], [6, 5, 0]]) / 6)
    np.testing.assert_array_equal(PreferenceModel([[0]]).kendall, [[0.0]])


@pytest.mark.parametrize("name", ["orderings", "prior", "ranks", "kendall", "means", "utilities"])
def test_arrays_cannot_be_changed(name: str) -> None:
    model = PreferenceModel(TWO, means=[[3.0, 2, 1], [1, 2, 3]], utilities=[[1.0, 0.5, 0], [0, 0.5, 1]])
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0


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
    labels = data.draw(st.lists(st.text(), min_size=model.n_actions, max_size=model.n_actions, unique=True))
    other = model.relabelled(labels)
    assert other.actions == tuple(labels)
    np.testing.assert_array_equal(other.orderings, model.orderings)
    assert other.relabelled(model.actions) == model


def test_what_a_fit_adds_is_kept_and_checked(tmp_path: Path) -> None:
    model = PreferenceModel(
        [[0, 1], [1, 0]],
        actions=[10, 20],
        noise=0.5,
        names=["Heat", "Up"],
        popular=[1, 0],
        evaluation={"best": "taste"},
    )
    model.save(tmp_path / "model.json")
    again = PreferenceModel.load(tmp_path / "model.json")
    assert again == model
    assert (again.noise, again.names, again.name_of(1)) == (0.5, ("Heat", "Up"), "Up")
    assert again.popular is not None
    assert again.popular.tolist() == [1, 0]
    assert again.evaluation == {"best": "taste"}
    assert json.loads((tmp_path / "model.json").read_text())["version"] == 3
    for wrong in ({"noise": -1}, {"names": ["Heat"]}, {"popular": [0]}, {"popular": [0, 0]}, {"colour": 1}):
        with pytest.raises(InvalidInput):
            model.replace(**wrong)


def test_an_evaluation_is_no_part_of_what_a_model_is() -> None:
    model = PreferenceModel([[0, 1], [1, 0]])
    told = model.replace(evaluation={"best": "popular"})
    assert told == model
    assert told.sha256 == model.sha256
    assert told.evaluation != model.evaluation
    assert model.to_dict()["version"] == 1
