"""Exports: tables that say what the API says, and that `lpb fit` and `lpb evaluate` read."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from starlette.testclient import TestClient

import lpbandits as lpb
from lpbandits.data.exports import manifest_of, reading_of
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.io.atomic import sha256
from lpbandits.service.api import exports
from lpbandits.service.api.app import create_app
from lpbandits.service.export import TABLES, export_folder, export_zip
from lpbandits.service.service import Service
from lpbandits.service.store import queries
from tests.cli.invoke import error_of, json_output
from tests.service.histories import live, shadow
from tests.service.shared import Keyed, make_project

pytestmark = pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")
lite = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)


def read(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(folder / f"{name}.parquet")


def facts_of(client: TestClient, path: str) -> dict[str, list[Any]]:
    """Return all facts that the API shows, by kind, each with its person."""
    out: dict[str, list[Any]] = {"decision": [], "outcome": [], "correction": [], "start": []}
    for label in client.get(f"{path}/people").json()["people"]:
        for fact in client.get(f"{path}/people/{label}").json()["history"]:
            out[fact["kind"]].append({**fact, "person": label})
    return out


def test_tables_have_what_the_api_shows(service: Service, client: TestClient, tmp_path: Path) -> None:
    path = live(client)
    live(client, "other", seed=1)
    manifest = export_folder(service.store, tmp_path / "out", project="p")
    facts = facts_of(client, path)
    tables = {name: read(tmp_path / "out", name) for name in TABLES}
    assert manifest["counts"] == {name: len(table) for name, table in tables.items()}
    assert len(tables["people"]) == 5
    for name, kind in (("decisions", "decision"), ("outcomes", "outcome"), ("corrections", "correction")):
        assert len(tables[name]) == len(facts[kind]) > 0

    decisions = {row["decision"]: row for row in tables["decisions"].to_dicts()}
    for fact in facts["decision"]:
        row = decisions[fact["decision"]]
        assert row["recommended"] == str(fact["recommended"])
        assert row["returned"] == str(fact["returned"])
        assert row["probability"] == fact["probability"]
        assert (row["model"], row["configuration"], row["holdout"]) == (fact["model"], fact["version"], fact["holdout"])
        assert {str(a): p for a, p in json.loads(row["probabilities"])} == {
            a: p for a, p in fact["probabilities"].items() if p
        }
        assert row["policy"] == ("popular" if fact["holdout"] else row["policy"])
    outcomes = {row["outcome"]: row for row in tables["outcomes"].to_dicts()}
    for fact in facts["outcome"]:
        row, now = outcomes[fact["outcome"]], fact["current"]
        assert (row["given"], row["reward"]) == (str(fact["given"]), fact["reward"])
        assert (row["current_given"], row["current_reward"]) == (str(now["given"]), now["reward"])
        assert (row["withdrawn"], row["decision"]) == (now["withdrawn"], fact["decision"])
        assert (row["occurred_at"] is None) == (fact["occurred_at"] is None)
    ratings = sorted(
        (fact["person"], str(fact["current"]["given"]), fact["current"]["reward"])
        for fact in facts["outcome"]
        if fact["current"]["reward"] is not None
    )
    assert sorted(tables["ratings"].select("person", "action", "rating").rows()) == ratings
    assert 7.5 in tables["ratings"]["rating"].to_list()
    assert [row["version"] for row in tables["configurations"].to_dicts()] == [1, 2, 3, 4]
    assert manifest["models"] == [row for row in dict.fromkeys(tables["configurations"]["model"]) if row]
    assert manifest["lower_is_better"] is False


@lite
def test_ranges_change_nothing(
    service: Service, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(client)
    done: list[int] = []
    for name, rows in (("one", 10**6), ("many", 20)):
        monkeypatch.setattr(queries, "MAX_ROWS", rows)
        export_folder(service.store, tmp_path / name, progress=lambda _, n, total: done.append(total - n))
    assert len(done) > 3
    assert done[-1] == 0
    for name in TABLES:
        assert_frame_equal(read(tmp_path / "one", name), read(tmp_path / "many", name))


@lite
def test_formats_and_files_are_equal(service: Service, client: TestClient, tmp_path: Path) -> None:
    path = live(client, rounds=2)
    export_folder(service.store, tmp_path / "parquet")
    export_folder(service.store, tmp_path / "csv", table_format="csv")
    export_zip(service.store, tmp_path / "out.zip", table_format="csv")
    answer = client.get(f"{path}/export")
    assert answer.headers["content-type"] == "application/zip"
    assert int(answer.headers["content-length"]) == len(answer.content)
    (tmp_path / "http.zip").write_bytes(answer.content)
    csv = client.get(f"{path}/export", params={"format": "csv"}).content
    with zipfile.ZipFile(tmp_path / "out.zip") as first, zipfile.ZipFile(io.BytesIO(csv)) as second:
        assert first.testzip() is second.testzip() is None
        assert first.namelist() == second.namelist() == [*(f"{name}.csv" for name in TABLES), "manifest.json"]
        for name in TABLES:
            assert first.read(f"{name}.csv") == second.read(f"{name}.csv")
            assert first.read(f"{name}.csv") == (tmp_path / "csv" / f"{name}.csv").read_bytes()
            assert pl.read_csv(first.read(f"{name}.csv")).height == read(tmp_path / "parquet", name).height
    for place in (tmp_path / "parquet", tmp_path / "csv"):
        manifest = json.loads((place / "manifest.json").read_text())
        assert manifest["files"] == {file: sha256(place / file) for file in manifest["files"]}
        assert len(manifest["files"]) == len(TABLES)
        assert (manifest["format"], manifest["version"]) == ("lpbandits-export", 1)
    logs = [lpb.read_ratings(tmp_path / name, duplicates="mean") for name in ("parquet", "csv", "out.zip", "http.zip")]
    assert len({log.sha256 for log in logs}) == 1
    assert not list(tmp_path.glob(".lpb-*"))


@lite
def test_an_export_is_read_with_means_and_its_direction(service: Service, client: TestClient, tmp_path: Path) -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]], actions=[10, 20], lower_is_better=True)
    path = make_project(client, model=model)
    for person, action, reward in (("ann", 10, 1.0), ("ann", 10, 4.0), ("bob", 20, 3.0), ("bob", 10, 3.5)):
        client.post(f"{path}/people/{person}/outcomes", json={"action": action, "reward": reward})
    export_folder(service.store, tmp_path / "out")
    export_zip(service.store, tmp_path / "out.zip")
    for name in ("out", "out.zip"):
        assert reading_of(tmp_path / name) == {"duplicates": "mean", "lower_is_better": True}
        log = lpb.read_ratings(tmp_path / name, **reading_of(tmp_path / name))
        assert log.actions == (10, 20)
        assert log.rating.tolist() == [-2.5, -3.5, -3.0]
        assert log.dropped["averaged_ratings"] == 1
    assert read(tmp_path / "out", "ratings").schema["action"] == pl.Int64
    assert reading_of(tmp_path) == {}


@lite
def test_an_altered_export_is_refused(service: Service, client: TestClient, tmp_path: Path) -> None:
    live(client, rounds=2)
    out = tmp_path / "out"
    export_folder(service.store, out, table_format="csv")
    content = (out / "ratings.csv").read_text()
    (out / "ratings.csv").write_text(content.replace("7.5", "8.5"))
    with pytest.raises(FileFormatError, match="manifest"):
        lpb.read_ratings(out)
    for altered in ('{"format": "lpbandits-export", "version": 2}', '{"format": "lpbandits-export", "version": 1}'):
        (out / "manifest.json").write_text(altered)
        with pytest.raises(FileFormatError, match=r"manifest\.json"):
            manifest_of(out)


@lite
def test_another_format_replaces_an_export(service: Service, client: TestClient, tmp_path: Path) -> None:
    shadow(client)
    for table_format in ("parquet", "csv"):
        export_folder(service.store, tmp_path / "out", table_format=table_format)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        ["manifest.json", *(f"{name}.csv" for name in TABLES)]
    )
    decisions = pl.read_csv(tmp_path / "out" / "decisions.csv")
    assert decisions["returned"].to_list() == ["walk", "rest", "3"]


def test_projects_without_people_or_model_are_exported(service: Service, client: TestClient, tmp_path: Path) -> None:
    make_project(client, "empty", None)
    manifest = export_folder(service.store, tmp_path / "out", project="empty")
    assert manifest["counts"] == {name: int(name == "configurations") for name in TABLES}
    assert read(tmp_path / "out", "ratings").columns == ["person", "action", "rating", "time"]


def test_only_readers_export_and_never_another_project(keyed: Keyed) -> None:
    for name in ("p", "q"):
        make_project(keyed.client, name, headers=keyed.bearer())
    reader = keyed.bearer(keyed.new_key("reader", "p"))
    for route in ("export", "stats"):
        assert keyed.client.get(f"/v1/projects/p/{route}", headers=reader).status_code == 200
        assert keyed.client.get(f"/v1/projects/q/{route}", headers=reader).status_code == 403
        assert keyed.client.get(f"/v1/projects/p/{route}").status_code == 401
        assert keyed.client.get(f"/v1/projects/none/{route}", headers=keyed.bearer()).status_code == 404
    secrets = keyed.client.get("/v1/projects/p/export", headers=reader, params={"format": "csv"}).content
    assert b"lpb_" not in secrets


@lite
def test_exports_at_a_time_are_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_project(client)
    monkeypatch.setattr(exports, "MAX_EXPORTS", 0)
    assert client.get(f"{path}/export").status_code == 429
    assert client.get(f"{path}/export", params={"format": "xls"}).status_code == 422


@lite
def test_a_full_disk_is_an_error_of_the_server(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_project(client)

    def full(*_: object, **__: object) -> None:
        raise InvalidInput("no space left")

    monkeypatch.setattr(exports, "export_zip", full)
    assert client.get(f"{path}/export").status_code == 503


def test_the_command_exports(sqlite_url: str, opened: Callable[..., Service], tmp_path: Path) -> None:
    with TestClient(create_app(opened(sqlite_url))) as client:
        live(client, rounds=2)
        make_project(client, "q")
    words = ["store", "export", "--store", sqlite_url, "--project", "p", "--out"]
    for out in (tmp_path / "folder", tmp_path / "file.zip"):
        assert json_output(*words, out)["counts"]["people"] == 5
        assert manifest_of(out) is not None
    assert "p, q" in str(error_of("store", "export", "--store", sqlite_url, "--out", tmp_path / "x"))
    assert isinstance(error_of(*words, tmp_path / "x", "--format", "xls"), InvalidInput)
    missing = error_of("store", "export", "--store", f"sqlite:///{tmp_path}/none.db", "--out", tmp_path / "x")
    assert isinstance(missing, InvalidInput)


def test_every_record_says_with_which_key_it_was_made(keyed: Keyed, tmp_path: Path) -> None:
    client, path = keyed.client, make_project(keyed.client, headers=keyed.bearer())
    recorder = keyed.bearer(keyed.new_key("recorder", "p"))
    ids = []
    for person in ("ann", "bob"):
        own = f"{path}/people/{person}"
        assert client.put(own, json={"prior": [0.2, 0.2, 0.6]}, headers=recorder).status_code == 200
        decision = client.post(f"{own}/decisions", headers=recorder).json()["decision"]
        told = client.post(f"{own}/outcomes", json={"decision": decision, "reward": 1}, headers=recorder).json()
        body = {"reward": 2, "reason": "typing error"}
        ids.append(int(decision.partition("-")[0].removeprefix("d")))
        place = f"{path}/outcomes/{told['outcome']}/corrections"
        assert client.post(place, json=body, headers=recorder).status_code == 201
    for person in ("bob", "ann"):
        by = {
            fact["kind"]: fact["by"]
            for fact in client.get(f"{path}/people/{person}", headers=recorder).json()["history"]
        }
        assert by == {"start": 2, "decision": 2, "outcome": 2, "correction": 2}
        client.delete(f"{path}/people/{person}", params={"reason": f"{person} left"}, headers=keyed.bearer())
        if person == "bob":
            export_folder(keyed.service.store, tmp_path)
    for name in ("starts", "decisions", "outcomes", "corrections"):
        assert read(tmp_path, name)["by"].to_list() == [2]
    assert read(tmp_path, "configurations")["by"].to_list() == [1, 1]
    answer = client.get(f"{path}/deletions", headers=recorder).json()
    assert answer["next"] is None
    fields = ("person_id", "decisions", "outcomes", "reason", "by")
    first, second = ([row[name] for name in fields] for row in answer["deletions"])
    assert [first, second] == [[ids[0], 1, 1, "ann left", 1], [ids[1], 1, 1, "bob left", 1]]
    pages = [client.get(f"{path}/deletions?limit=1&after={n}", headers=recorder).json() for n in (0, *ids)]
    assert [[row["person_id"] for row in page["deletions"]] for page in pages] == [[ids[0]], [ids[1]], []]
    assert [page["next"] for page in pages] == [*ids, None]
    (row,) = read(tmp_path, "deletions").to_dicts()
    assert [row[name] for name in fields] == second
    assert row["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ") == answer["deletions"][1]["at"]
