"""`lpb reproduce`: files, resuming, interrupts, groups and data, at a very small size."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from lpbandits.cli import app
from lpbandits.datasets.movielens import install, locate
from lpbandits.errors import InvalidInput
from lpbandits.io.atomic import write_bytes
from lpbandits.paper import cases
from lpbandits.paper import reproduce as module
from lpbandits.paper.cases import place_of
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import NOTHING, TRUE
from lpbandits.paper.reproduce import reproduce
from lpbandits.paper.spec import GROUPS, Case, Size
from lpbandits.views.charts.base import Chart
from tests.conftest import without_report

TINY = Size(people=2, rounds=12, draws=2, quick=True)
SMALL = ["regret-curves", "vary-noise"]
runner = CliRunner()
SHARED = Path(os.environ.get("LPB_DATA", Path(__file__).parents[3] / "shared" / "data"))


def test_tables_charts_claims_and_report_are_written(tmp_path: Path) -> None:
    done = reproduce([*SMALL, "simplex"], out=tmp_path, size=TINY)
    for name in (*SMALL, "simplex"):
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


def _swap(file: Path) -> None:
    other = next(one for one in sorted(file.parent.glob("*.parquet")) if one != file)
    file.write_bytes(other.read_bytes())


def _swap_with_record(file: Path) -> None:
    _swap(file)
    other = next(one for one in sorted(file.parent.glob("*.json")) if one.stem != file.stem)
    file.with_suffix(".json").write_bytes(other.read_bytes())


def _of_another_version(file: Path) -> None:
    record = file.with_suffix(".json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "lpbandits": "0.0.1"}))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    out = tmp_path_factory.mktemp("finished")
    with without_report():
        return out, reproduce(["simplex", "vary-noise"], out=out, size=TINY).tables["vary-noise"]


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_cut, "hash"),
        (lambda file: file.write_bytes(b""), "hash"),
        (_swap, "hash"),
        (_swap_with_record, "the record of another case"),
        (_of_another_version, "the record of another case, seed or version"),
        (lambda file: file.with_suffix(".json").unlink(), "no valid record"),
        (lambda file: file.with_suffix(".json").write_text("{"), "no valid record"),
        (lambda file: file.with_suffix(".json").write_text("[]"), "the record of another case"),
    ],
)
def test_resume_recomputes_a_case_that_does_not_match_its_record(
    finished: tuple[Path, pl.DataFrame], tmp_path: Path, damage: Callable[[Path], object], reason: str
) -> None:
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    damage(sorted((tmp_path / "cases").glob("vary-noise-*.parquet"))[0])
    ran: list[str] = []
    again = reproduce(
        ["simplex", "vary-noise"], out=tmp_path, size=TINY, resume=True, progress=lambda what, *_: ran.append(what)
    )
    assert len(again.recomputed) == 1
    assert reason in again.recomputed[0]
    assert len(ran) == 2  # the start, and one case
    assert again.tables["vary-noise"].equals(finished[1])


@pytest.mark.usefixtures("no_report")
def test_recomputed_cases_are_reported(tmp_path: Path) -> None:
    arguments = ["reproduce", "simplex", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    assert runner.invoke(app, arguments).exit_code == 0
    _cut(next((tmp_path / "cases").glob("*.parquet")))
    done = runner.invoke(app, [*arguments, "--resume", "--json"])
    assert "note: computed again: simplex-" in done.stderr
    assert len(json.loads(done.stdout)["recomputed"]) == 1


@pytest.mark.usefixtures("no_report")
def test_resume_runs_missing_cases_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reproduce(["vary-noise"], out=tmp_path, size=TINY)
    kept = sorted((tmp_path / "cases").glob("*.parquet"))
    kept[0].unlink()
    ran: list[str] = []
    again = reproduce(["vary-noise"], out=tmp_path, size=TINY, resume=True, progress=lambda what, *_: ran.append(what))
    assert len(ran) == 2  # the start, and one case
    assert again.tables["vary-noise"].equals(first.tables["vary-noise"])
    monkeypatch.setattr(module, "run_case", None)
    reproduce(["vary-noise"], out=tmp_path, size=TINY, resume=True)


@pytest.mark.usefixtures("no_report")
def test_finished_cases_are_stored_when_a_later_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = FIGURES["vary-noise"]
    last = figure.cases(TINY)[-1].name

    def failing(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
        if case.name == last:
            raise InvalidInput("interrupted")
        return figure.run(case, seed, threads)

    monkeypatch.setitem(FIGURES, "vary-noise", replace(figure, run=failing))
    with pytest.raises(InvalidInput, match="interrupted"):
        reproduce(["vary-noise"], out=tmp_path, size=TINY)
    kept = [json.loads(path.with_suffix(".json").read_text())["name"] for path in tmp_path.glob("cases/*.parquet")]
    assert sorted(kept) == sorted(case.name for case in figure.cases(TINY)[:-1])


@pytest.mark.usefixtures("no_report")
def test_an_interrupt_leaves_no_table_without_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, data: bytes) -> None:
        write_bytes(path, data)
        signal.raise_signal(signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    monkeypatch.setattr(cases, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["vary-noise"], out=tmp_path, size=TINY)
    assert [path.suffix for path in sorted((tmp_path / "cases").iterdir())] == [".json", ".parquet"]
    monkeypatch.undo()
    assert reproduce(["vary-noise"], out=tmp_path, size=TINY, resume=True).recomputed == []


def test_charts_are_built_once_and_other_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = FIGURES["simplex"]
    built: list[int] = []

    def counting(table: pl.DataFrame) -> Chart:
        built.append(len(table))
        return figure.chart(table)

    other = tmp_path / "cases" / "other.txt"
    other.parent.mkdir()
    other.write_text("text")
    monkeypatch.setitem(FIGURES, "simplex", replace(figure, chart=counting))
    reproduce(["simplex"], out=tmp_path, size=TINY)
    assert len(built) == 1
    assert other.read_text() == "text"


@pytest.mark.usefixtures("no_report")
def test_cases_of_another_seed_are_not_reused(tmp_path: Path) -> None:
    one = reproduce(["vary-noise"], out=tmp_path, size=TINY, seed=1)
    two = reproduce(["vary-noise"], out=tmp_path, size=TINY, seed=2, resume=True)
    assert not one.tables["vary-noise"].equals(two.tables["vary-noise"])


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
    assert of["beyond"] == ["looseness", *(name for name in FIGURES if name.startswith("ladder-"))]
    data = [name for name in of["paper"] if FIGURES[name].data]
    without_data = [name for name in of["paper"] if not FIGURES[name].data]

    def chosen(*names: str) -> tuple[list[str], list[str]]:
        figures, skipped = module._chosen(names)
        return [figure.name for figure in figures], list(skipped)

    assert chosen("beyond") == (of["beyond"], [])
    assert chosen("paper") == (without_data, data)
    assert chosen() == ([*without_data, *of["beyond"]], data)
    assert chosen("looseness", "beyond", "simplex") == ([*of["beyond"], "simplex"], [])
    with pytest.raises(InvalidInput, match="MovieLens 20m"):
        chosen("beyond", "movielens-20m")


def test_group_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {name: figure for name, figure in FIGURES.items() if figure.group != "beyond" or name == "ladder-tails"}
    monkeypatch.setattr(module, "FIGURES", kept)
    arguments = ["--quick", "--rounds", "9", "--people", "2", "--jobs", "1", "--out", str(tmp_path), "--json"]
    done = runner.invoke(app, ["reproduce", "beyond", *arguments], catch_exceptions=False)
    assert {claim["figures"][0] for claim in json.loads(done.stdout)["claims"]} == {"ladder-tails"}
    assert (tmp_path / "ladder-tails.png").is_file()


def test_unknown_figure_and_missing_data_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match=r"figure.*simplex.*'nope'"):
        reproduce(["nope"], out=tmp_path)
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    with pytest.raises(InvalidInput, match="lpb data movielens 20m"):
        reproduce(["movielens-20m"], out=tmp_path)


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


@pytest.mark.skipif(not (SHARED / "ml-1m").is_dir(), reason="MovieLens 1M is not in LPB_DATA or ../shared/data")
def test_small_movielens_reproduction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(SHARED))
    done = reproduce(["movielens-1m"], out=tmp_path, size=Size(people=10, rounds=60, draws=1, quick=True))
    ends = done.tables["movielens-1m"].filter(kind="final", environment="same")
    regret = {(row["policy"], row["level"]): row["regret"] for row in ends.iter_rows(named=True)}
    assert regret["lpbts", TRUE] < 0.3 * regret["ts", NOTHING]
    assert [claim.verdict for claim in done.claims] == ["not settled"] * 16


def test_changed_data_is_another_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    (folder / "movies.dat").write_text("1::Heat::Crime\n")
    (folder / "ratings.dat").write_text("1::1::5::0\n")
    figure = FIGURES["movielens-1m"]
    case = figure.cases(TINY)[0]
    before = place_of(tmp_path, figure, case, 0)
    assert place_of(tmp_path, figure, case, 0) == before
    (folder / "ratings.dat").write_text("1::1::4::00\n")
    assert place_of(tmp_path, figure, case, 0) != before
