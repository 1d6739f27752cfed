"""Model files: round trips, the format, and refusal of truncated, altered or foreign files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.json import digest
from lpbandits.model import PreferenceModel
from tests.conftest import models

LABELS: list[str | int] = [
    *('say "hi"', "a, b", "two\nlines", "π ⪰ ζ", "\t\\", "", " "),
    *("日本語", 7, -1, 2**70, "7", "\u2028", "{}"),
]
MODEL = PreferenceModel(
    [list(range(14)), list(range(13, -1, -1))],
    actions=LABELS,
    prior=[0.1, 0.9],
    utilities=[[i / 13 for i in range(13, -1, -1)], [i / 13 for i in range(14)]],
    provenance={"source": "typed", "rows": 3, "nested": {"π": [1.5, None]}},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    MODEL.save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_a_round_trip_keeps_labels_and_numbers(path: Path) -> None:
    again = PreferenceModel.load(path)
    assert again == MODEL
    assert again.actions == tuple(LABELS)
    assert [type(a) for a in again.actions] == [type(a) for a in LABELS]
    assert again.provenance == MODEL.provenance
    assert again.to_dict() == MODEL.to_dict()
    assert PreferenceModel.load(str(path)) == MODEL


@given(models(), st.data())
def test_any_model_round_trips_through_json(model: PreferenceModel, data: st.DataObject) -> None:
    label = st.text() | st.integers()
    labels = data.draw(st.lists(label, min_size=model.n_actions, max_size=model.n_actions, unique=True))
    named = model.relabelled(labels)
    assert PreferenceModel.from_dict(json.loads(json.dumps(named.to_dict()))) == named


@pytest.mark.parametrize("m", range(2, 12))
def test_a_prior_round_trips_to_the_last_bit(m: int) -> None:
    weights = [1 / (i + 3) for i in range(m)]  # their normalized sum is not always exactly 1
    orderings = [[*range(i, m), *range(i)] for i in range(m)]
    model = PreferenceModel(orderings, prior=[w / sum(weights) for w in weights])
    assert PreferenceModel.from_dict(model.to_dict()) == model


def test_a_file_is_json_with_one_line_per_field(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    assert (content["format"], content["version"]) == ("lpbandits-model", 1)
    assert content["sha256"] == MODEL.sha256
    assert "日本語" in text
    assert len(text.splitlines()) >= len(content)


def test_saving_twice_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    PreferenceModel.load(path).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        PreferenceModel.load(path)
    for part in (str(path), *parts):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_refused(path: Path, share: float) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: int(share * (len(text) - 3))], encoding="utf-8")
    refused(path, "JSON", "line")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"[]", "'format'"),
        (b"3", "'format'"),
        (b"null", "'format'"),
        (b"{}", "'format'"),
        (b'{"format": "other", "version": 1}', "'format'"),
        (b"a,b\n1,2\n", "JSON"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "UTF-8"),
        (b'{"format": "lpbandits-model", "version": 1}', "'actions'"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes, part: str) -> None:
    (tmp_path / "foreign").write_bytes(content)
    refused(tmp_path / "foreign", part)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nothing.json", "No such file")
    refused(tmp_path)


def rewritten(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")


@pytest.mark.parametrize(
    "changes",
    [
        {"prior": [0.5, 0.5]},
        {"orderings": [list(range(14))]},
        {"actions": list(range(14))},
        {"utilities": None},
        {"provenance": {}},
        {"sha256": "0" * 64},
        {"extra": 1},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_altered_file_is_refused(path: Path, changes: dict[str, Any]) -> None:
    rewritten(path, **changes)
    refused(path, "sha256")


@pytest.mark.parametrize("version", [4, 0, None, "1"])
def test_a_file_of_another_version_is_refused(path: Path, version: object) -> None:
    rewritten(path, version=version)
    refused(path, f"{version!r}", "1 to 3")


@pytest.mark.parametrize("key", ["actions", "orderings", "prior", "sha256"])
def test_a_file_without_a_field_is_refused(path: Path, key: str) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    del content[key]
    path.write_text(json.dumps(content), encoding="utf-8")
    refused(path, f"'{key}'")


def test_an_invalid_model_with_a_correct_hash_is_refused_with_its_source() -> None:
    content = {**MODEL.to_dict(), "prior": [0.5, 0.6]}
    del content["sha256"]
    content["sha256"] = digest(content)
    with pytest.raises(FileFormatError, match=r"my file.*prior.*1\.1"):
        PreferenceModel.from_dict(content, source="my file")


def test_a_label_that_utf8_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"actions\[0\]"):
        PreferenceModel([[0, 1]], actions=["\ud800", "b"])


def test_standard_errors_raise_the_format_version(path: Path) -> None:
    plain = PreferenceModel([[0, 1], [1, 0]], utilities=[[0.7, 0.4], [0.3, 0.6]])
    unsure = PreferenceModel([[0, 1], [1, 0]], utilities=[[0.7, 0.4], [0.3, 0.6]], errors=[[0.1, 0.2], [0.3, 0.4]])
    assert (plain.to_dict()["version"], unsure.to_dict()["version"]) == (1, 2)
    assert "errors" not in plain.to_dict()
    unsure.save(path)
    again = PreferenceModel.load(path)
    assert again == unsure != plain
    assert again.errors is not None
    np.testing.assert_array_equal(again.errors, [[0.1, 0.2], [0.3, 0.4]])


@pytest.mark.parametrize(
    ("errors", "utilities", "match"),
    [
        ([[0.1, 0.2]], None, "utilities"),
        ([[0.1, -0.2]], [[0.7, 0.4]], r"errors\[0, 1\].*-0.2"),
        ([[0.1, 1e9]], [[0.7, 0.4]], "errors"),
        ([[0.1]], [[0.7, 0.4]], "shape"),
    ],
)
def test_invalid_standard_errors_are_refused(errors: object, utilities: object, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        PreferenceModel([[0, 1]], utilities=utilities, errors=errors)
