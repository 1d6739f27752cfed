"""Model files: round trips, the format, and refusal of truncated, altered or foreign files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpbandits.errors import FileFormatError
from lpbandits.io.json import digest
from lpbandits.model import PreferenceModel
from tests.conftest import models, taste_for

LABELS: list[str | int] = [
    *('say "hi"', "a, b", "two\nlines", "π ⪰ ζ", "\t\\", "tea ", " tea"),
    *("日本語", 7, -1, 2**70, "07", "\u2028x", "{}"),
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
    label = st.text(st.characters(exclude_categories=["Cs", "Cc"])).map("x{}".format) | st.integers()
    labels = data.draw(st.lists(label, min_size=model.n_actions, max_size=model.n_actions, unique=True))
    named = model.replace(actions=labels)
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


@pytest.mark.parametrize(
    ("content", "part"),
    [
        *((content, "'format'") for content in (b"[]", b"3", b"null", b"{}", b'{"format": "other", "version": 1}')),
        (b'{"format": "lpbandits-model", "version": 1}', "'actions'"),
        (b"a,b\n1,2\n", "JSON"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "UTF-8"),
        *((json.dumps(MODEL.to_dict()).encode()[:length], "JSON (line 1") for length in (0, 1, 500, 1000)),
    ],
)
def test_a_truncated_or_foreign_file_is_refused(tmp_path: Path, content: bytes, part: str) -> None:
    (tmp_path / "foreign").write_bytes(content)
    refused(tmp_path / "foreign", part)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nothing.json", "No such file")
    refused(tmp_path)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        *(({"version": version}, f"from 1 to 4, got {version!r}") for version in (5, 0, None, "1")),
        ({"prior": [0.5, 0.5]}, "sha256"),
        ({"orderings": [list(range(14))]}, "sha256"),
        ({"actions": list(range(14))}, "sha256"),
        ({"utilities": None}, "sha256"),
        ({"provenance": {}}, "sha256"),
        ({"sha256": "0" * 64}, "sha256"),
        ({"extra": 1}, "sha256"),
        *(({key: ...}, f"'{key}' is missing") for key in ("actions", "orderings", "prior", "sha256")),
    ],
    ids=repr,
)
def test_an_altered_file_is_refused(path: Path, changes: dict[str, Any], part: str) -> None:
    content = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not ...}), encoding="utf-8")
    refused(path, part)


def test_an_invalid_model_with_a_correct_hash_is_refused_with_its_source() -> None:
    content = {**MODEL.to_dict(), "prior": [0.5, 0.6]}
    del content["sha256"]
    content["sha256"] = digest(content)
    with pytest.raises(FileFormatError, match=r"my file.*prior.*1\.1"):
        PreferenceModel.from_dict(content, source="my file")


ERRORS = {"utilities": [[0.7, 0.4], [0.3, 0.6]], "errors": [[0.1, 0.2], [0.3, 0.4]]}


@pytest.mark.parametrize(
    ("parts", "version"),
    [
        ({"utilities": ERRORS["utilities"]}, 1),
        (ERRORS, 2),
        ({"taste": taste_for(2)}, 2),
        ({"noise": 0.5}, 3),
        ({"names": ("Heat", "Up")}, 3),
        ({"popular": [1, 0]}, 3),
        ({"evaluation": {"best": "taste"}}, 1),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_a_model_is_stored_in_the_lowest_version_with_its_fields(
    parts: dict[str, Any], version: int, path: Path
) -> None:
    plain = PreferenceModel([[0, 1], [1, 0]], actions=[10, 20])
    model = plain.replace(**parts)
    model.save(path)
    again = PreferenceModel.load(path)
    assert (again, again.to_dict()["version"]) == (model, version)
    assert (again == plain) == ("evaluation" in parts), "an evaluation does not change the hash"
    for name, value in parts.items():
        stored = getattr(again, name)
        assert stored.tolist() == value if isinstance(stored, np.ndarray) else stored == value
        assert name not in plain.to_dict() or plain.to_dict()[name] is None
