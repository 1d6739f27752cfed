"""`lpb reproduce`: files, resuming, groups and data, at a very small size."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from lpbandits.cli import app
from lpbandits.datasets.movielens import install, locate
from lpbandits.errors import InvalidInput
from lpbandits.paper import reproduce as module
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.reproduce import reproduce
from lpbandits.paper.spec import GROUPS, Size, case_path
from lpbandits.typing import Json
from tests.conftest import without_report

TINY = Size(people=2, rounds=12, draws=2, quick=True)
SMALL = ["simplex", "vary-noise"]
runner = CliRunner()


def test_tables_charts_claims_and_report_are_written(tmp_path: Path) -> None:
    done = reproduce(SMALL, out=tmp_path, size=TINY)
    for name in SMALL:
        for ending in ("png", "svg", "parquet", "json"):
            assert (tmp_path / f"{name}.{ending}").stat().st_size > 100
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert claims == json.loads(json.dumps([asdict(claim) for claim in done.claims]))
    keys = "claim verdict measure standard above below parts detail source figures headline"
    assert all(set(claim) == set(keys.split()) for claim in claims)
    keys = "where effect low high level draws verdict"
    assert all(set(part) == set(keys.split()) for claim in claims for part in claim["parts"])
    report = (tmp_path / "report.html").read_text()
    assert "window.vegaEmbed=" in report
    assert claims[0]["claim"] in report.replace("&#x27;", "'")


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    out = tmp_path_factory.mktemp("finished")
    with without_report():
        return out, reproduce(SMALL, out=out, size=TINY).tables["vary-noise"]


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(
    ("damage", "ran", "recomputed"),
    [
        (lambda _: None, 0, 0),
        (Path.unlink, 1, 0),
        (_cut, 1, 1),
        (lambda file: file.write_bytes(b""), 1, 1),
        (lambda file: file.with_suffix(".json").unlink(), 1, 1),
        (lambda file: file.with_suffix(".json").write_text("{"), 1, 1),
        (lambda file: file.with_suffix(".json").write_text("[]"), 1, 1),
    ],
)
def test_resume_runs_cases_that_are_missing_or_do_not_match_their_record(
    finished: tuple[Path, pl.DataFrame], tmp_path: Path, damage: Callable[[Path], object], ran: int, recomputed: int
) -> None:
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    damage(sorted((tmp_path / "cases").glob("vary-noise-*.parquet"))[0])
    stages: list[str] = []
    again = reproduce(SMALL, out=tmp_path, size=TINY, resume=True, progress=lambda what, *_: stages.append(what))
    assert len(stages) == 1 + ran  # the start, and one case
    assert ["vary-noise-" in message for message in again.recomputed] == [True] * recomputed
    assert again.tables["vary-noise"].equals(finished[1])


@pytest.mark.usefixtures("no_report")
def test_recomputed_cases_are_reported(tmp_path: Path) -> None:
    arguments = ["reproduce", "simplex", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    assert runner.invoke(app, arguments).exit_code == 0
    _cut(next((tmp_path / "cases").glob("*.parquet")))
    done = runner.invoke(app, [*arguments, "--resume", "--json"])
    assert "note: recomputed: simplex-" in done.stderr
    assert len(json.loads(done.stdout)["recomputed"]) == 1


@pytest.mark.usefixtures("no_report")
def test_finished_cases_are_stored_when_a_later_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = FIGURES["vary-noise"]
    last = figure.cases(TINY)[-1].settings

    def failing(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
        if settings == last:
            raise InvalidInput("interrupted")
        return figure.run(settings, seed, threads)

    monkeypatch.setitem(FIGURES, "vary-noise", replace(figure, run=failing))
    with pytest.raises(InvalidInput, match="interrupted"):
        reproduce(["vary-noise"], out=tmp_path, size=TINY)
    kept = [json.loads(path.with_suffix(".json").read_text())["name"] for path in tmp_path.glob("cases/*.parquet")]
    assert sorted(kept) == sorted(case.name for case in figure.cases(TINY)[:-1])


def test_list_has_all_figures() -> None:
    content = json.loads(runner.invoke(app, ["reproduce", "--list", "--json"]).stdout)
    assert [entry["name"] for entry in content["figures"]] == list(FIGURES)
    assert [entry["group"] for entry in content["figures"]] == [figure.group for figure in FIGURES.values()]
    assert [entry["draws"] for entry in content["figures"]] == [figure.draws for figure in FIGURES.values()]
    text = runner.invoke(app, ["reproduce", "--list"]).stdout
    assert "vary-states-same" in text


def test_groups_select_their_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    of = {group: [name for name, figure in FIGURES.items() if figure.group == group] for group in GROUPS}
    assert of["beyond"] == ["first-rounds", "looseness", *(name for name in FIGURES if name.startswith("ladder-"))]
    data = [name for name in of["paper"] if FIGURES[name].data]
    without_data = [name for name in of["paper"] if not FIGURES[name].data]

    def chosen(*names: str) -> tuple[list[str], list[str]]:
        figures, skipped = module._chosen(names)
        return [figure.name for figure in figures], list(skipped)

    assert chosen("beyond") == (of["beyond"], [])
    assert chosen("paper") == (without_data, data)
    assert chosen() == ([*without_data, *of["beyond"]], data)
    assert chosen("first-rounds", "beyond", "simplex") == ([*of["beyond"], "simplex"], [])
    with pytest.raises(InvalidInput, match="lpb data movielens 20m"):
        chosen("beyond", "movielens-20m")
    with pytest.raises(InvalidInput, match=r"figure.*simplex.*'nope'"):
        chosen("nope")


def test_group_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: figure for name, figure in FIGURES.items() if figure.group != "beyond" or name == "ladder-tails"}
    monkeypatch.setattr(module, "FIGURES", kept)
    arguments = ["--quick", "--rounds", "9", "--people", "2", "--jobs", "1", "--out", str(tmp_path), "--json"]
    done = runner.invoke(app, ["reproduce", "beyond", *arguments], catch_exceptions=False)
    assert {claim["figures"][0] for claim in json.loads(done.stdout)["claims"]} == {"ladder-tails"}
    assert (tmp_path / "ladder-tails.png").is_file()


def test_install_checks_the_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LPB_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    wrong = tmp_path / "ml-1m.zip"
    wrong.write_bytes(b"not a zip")
    with pytest.raises(InvalidInput, match="checksum"):
        install("1m", wrong)
    with pytest.raises(InvalidInput, match="is not MovieLens"):
        install("1m", tmp_path)
    assert locate("1m") is None
    folder = tmp_path / "own"
    folder.mkdir()
    many = [f"{person},{movie},{movie % 5}" for person in range(210) for movie in range(210)]
    (folder / "ratings.csv").write_text("userId,movieId,rating\n" + "\n".join(many) + "\n")
    (folder / "movies.csv").write_text("movieId,title,genres\n1,Heat,Action|Crime\n")
    with pytest.raises(InvalidInput, match=r"MovieLens 1m.* 210 people"):
        install("1m", folder)
    (folder / "ratings.csv").write_text("userId,movieId,rating\n1,1,5\n")
    (folder / "movies.csv").write_text("movieId,title,genres\n1,Heat,Action|Crime\n")
    assert install("latest-small", folder) == locate("latest-small")


def test_another_seed_or_changed_data_is_another_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    (folder / "movies.dat").write_text("1::Heat::Crime\n")
    (folder / "ratings.dat").write_text("1::1::5::0\n")
    figure = FIGURES["movielens-1m"]
    case = figure.cases(TINY)[0]
    before = case_path(tmp_path, figure, case, 0)
    assert case_path(tmp_path, figure, case, 0) == before != case_path(tmp_path, figure, case, 1)
    (folder / "ratings.dat").write_text("1::1::4::00\n")
    assert case_path(tmp_path, figure, case, 0) != before
