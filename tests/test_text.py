"""Labels, names and paths are displayed as one safe line, shortened if long, and unchanged in JSON."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.cli.screen import progress_bar
from lpbandits.inspection.inspect import inspect
from lpbandits.text import LABEL, display, unique_labels
from lpbandits.views.folder import save_chart
from lpbandits.views.model_report import save_inspection
from lpbandits.views.tables import names_of

PLAIN = (
    *("[/red] closed", "[bold]x", "Film [1999]", "<!--<script>", "</script><b>&amp;", ":smile: {0} %s \\n"),
    "é 日本 🎬",
)
"""Labels that are displayed unchanged."""
UNSAFE = (
    *("a\x1b[31mred", "two\nlines", "start\x01", "bell\x07\b", "\u202eturned\u2066", "\ufffe", "\x9b1m", "a\u2028"),
    "ta\tb",
)
"""Labels with terminal control codes, or characters that XML cannot hold."""
LONG = ["x" * 999, "x" * 1_000]
LABELS: list[str] = [*PLAIN, *UNSAFE, *LONG, "q\x07", r"q\x07"]

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
"""Characters that must not be printed, except newlines."""


def run(*words: object) -> str:
    """Return the standard output of a command, which must be safe to print."""
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0
    assert not CONTROL.search(done.stdout)
    return done.stdout


@pytest.fixture
def model() -> lpb.PreferenceModel:
    order = list(range(len(LABELS)))
    provenance: dict[str, Any] = {
        "versions": {"o\x1bdd": "[/red]"},
        "report": {"warnings": ["<b>\x1b[2J\n", "w" * 10**6]},
    }
    return lpb.PreferenceModel([order, order[::-1]], actions=LABELS, prior=[0.25, 0.75], provenance=provenance)


@pytest.fixture
def model_file(model: lpb.PreferenceModel, tmp_path: Path) -> Path:
    path = tmp_path / "[bold] o\x1bdd\nname.json"
    model.save(path)
    return path


@pytest.fixture
def hostile_policy() -> Iterator[str]:
    """Register a policy whose name, title and description contain markup and control codes."""
    name = "[/red]\x1b[2J<!--<script>"
    lpb.register(
        lpb.policies.Entry(name, lambda s: lpb.TS(s.model), f"[bold]{name}" + "y" * 20_000, "\x07[/b]", "\x00" * 9)
    )
    yield name
    del lpb.policies.POLICIES[name]


@given(st.text(), st.integers(1, 30))
def test_displayed_text_is_one_safe_line(text: str, width: int) -> None:
    line = display(text, width)
    assert len(line) <= width
    assert line.replace("\u200c", "").replace("\u200d", "").isprintable()
    assert display(display(text, None), None) == display(text, None)


def test_plain_text_is_displayed_unchanged_and_long_text_keeps_both_ends() -> None:
    assert tuple(map(display, PLAIN)) == PLAIN
    assert display("a" * 10**6 + "b" * 10**6, 7) == "aaa…bbb"
    assert display("caf\u00a0é") == "caf é"
    assert unique_labels(["a"] * 100_000)[-1] == "a (100000)", "in linear time"


@given(st.lists(st.sampled_from(["a", "a (2)", "a (3)", "b", "\x00", "\\x00"]), max_size=8))
def test_equal_labels_are_numbered(texts: list[str]) -> None:
    names = unique_labels(texts)
    assert len(set(names)) == len(names) == len(texts)


def test_an_error_is_one_safe_line() -> None:
    with pytest.raises(lpb.InvalidInput) as caught:
        lpb.PreferenceModel([[0, 1]], actions=["\x1b[31m\n" + "x" * 900] * 2)
    assert not CONTROL.search(str(caught.value))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 1000
    assert str(caught.value).endswith("labels must differ")


def test_inspect_prints_safe_labels(model_file: Path) -> None:
    out = run("inspect", model_file, "--top", len(LABELS))
    text = re.sub(r"\s+", " ", out)
    table = text[text.index("Actions with the most different ranks") :]
    for label in [*PLAIN, *map(display, UNSAFE), "7", "7 (2)"]:
        assert label in table
    assert r"[bold] o\x1bdd\nname.json: 2 states" in out.replace("\n", "")
    assert max(map(len, re.findall("x…x+|x+…x+", out))) <= LABEL
    assert len(out) < 100 * LABEL * 3


def test_json_has_the_original_labels(model_file: Path) -> None:
    assert json.loads(run("inspect", model_file, "--top", 50, "--json"))["states"][0]["top"] == LABELS


def test_inspect_prints_safe_names(tmp_path: Path) -> None:
    path, names = tmp_path / "model.json", tmp_path / "names.csv"
    lpb.PreferenceModel([[0, 1], [1, 0]], actions=[10, 20]).save(path)
    names.write_text("label,name\n10,[/red]\x1b[31m\n20," + "n" * 20_000 + "\n")
    out = run("inspect", path, "--names", names)
    assert r"[/red]\x1b[31m" in out
    assert len(out) < 5000


def _check_charts(folder: Path, charts: set[str]) -> None:
    for name in charts:
        svg = (folder / f"{name}.svg").read_text()
        ET.fromstring(svg)  # noqa: S314 - written by the line above
        assert not CONTROL.search(svg.replace("\n", ""))
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text()
    script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
    assert script.count('\nvegaEmbed("#chart-') == len(charts)
    assert "<" not in script  # browsers look for the end of a script, and for comments, anywhere in it
    body = page[page.index("<main>") : page.index("</main>")]
    assert not CONTROL.search(body)
    assert "<b>" not in body
    assert "x" * LABEL not in page
    assert "y" * LABEL not in page
    assert "w" * 1000 not in page


def test_a_report_contains_safe_labels(model: lpb.PreferenceModel, tmp_path: Path) -> None:
    save_inspection(inspect(model, top=len(LABELS)), tmp_path, source="[/red]<b>\x1b")
    _check_charts(tmp_path, {"shares", "kendall", "pairs", "disagreements"})
    page = (tmp_path / "report.html").read_text()
    assert r"[/red]&lt;b&gt;\x1b: 2 states" in page
    assert r"o\x1bdd [/red]" in page
    svg = (tmp_path / "disagreements.svg").read_text()
    assert "7 (2)" in svg
    assert "Film [1999]" in svg


def test_commands_print_safe_policy_names(hostile_policy: str, tmp_path: Path) -> None:
    world = ("--states", 2, "--actions", 3, "--people", 2, "--rounds", 10)
    out = run("simulate", *world, "--policies", f"{hostile_policy},lpbts", "--out", tmp_path)
    assert r"[bold][/red]\x1b[2J" in out
    _check_charts(tmp_path, {"regret", "people", "state"})
    assert len(run("policies")) < 20_000
    run("bound", *world, "--repeats", 1, "--policies", hostile_policy, "--against", "gap", "--out", tmp_path / "bound")
    _check_charts(tmp_path / "bound", {"people", "rates", "against-gap", "neighbour"})


def test_bounds_with_unsafe_labels_are_drawn(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    means = [[3.0 - a / 10 for a in range(len(LABELS))]]
    lpb.PreferenceModel([list(range(len(LABELS)))], actions=LABELS, means=means).save(path)
    run("bound", "--model", path, "--out", tmp_path / "out")
    _check_charts(tmp_path / "out", {"people", "rates", "neighbour"})


def test_progress_bars_do_not_interpret_markup(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    for bars in (progress_bar("working"), progress_bar()):
        with bars as report:
            report("[/red]\x1b[2J" + "z" * 20_000, 1, 2)
    err = capsys.readouterr().err
    assert r"[/red]\x1b[2J" in err
    assert "\x1b[2J" not in err
    assert "z" * 100 not in err


def test_a_chart_accepts_any_text_and_many_rows(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": range(6000), "name": "\x00<\x1b"})
    drawing = save_chart(alt.layer(alt.Chart(frame).mark_point().encode(x="x:Q", color="name:N")), tmp_path / "it")
    (panel,) = drawing.panels
    assert "<" not in panel.spec
    assert json.loads(panel.spec)["layer"]
    ET.fromstring((tmp_path / "it.svg").read_text())  # noqa: S314 - written by the line above


def test_policies_with_equal_titles_get_different_names() -> None:
    assert len(set(names_of(["lpbts", "lpbTS", "ts"]).values())) == 3


def test_an_explanation_is_safe_to_print() -> None:
    agent = lpb.Agent(lpb.LpbTS(lpb.PreferenceModel([[0, 1]], actions=["a\x1b[31m\n", "x" * 900])), seed=0)
    agent.tell("a\x1b[31m\n", 1.0)
    agent.tell("x" * 900, 1.0)
    text = str(agent.explain())
    assert not CONTROL.search(text)
    assert len(text) < 500


@pytest.mark.parametrize("options", [[], ["--out", "out"], ["--json"]])
def test_malformed_provenance_prints_nothing(options: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    lpb.PreferenceModel([[0, 1]], provenance={"report": "x"}).save("model.json")
    done = CliRunner().invoke(app, ["inspect", "model.json", *options])
    assert isinstance(done.exception, lpb.errors.FileFormatError)
    assert not done.stdout


@pytest.mark.parametrize("provenance", [{}, {"by": "hand"}, {"report": None, "versions": {}}])
def test_a_model_without_fit_record_can_be_inspected(provenance: dict[str, Any], tmp_path: Path) -> None:
    inspection = inspect(lpb.PreferenceModel([[0, 1], [1, 0]], provenance=provenance))
    assert [state.unknown for state in inspection.states] == [0, 0]
    assert inspection.contrasts.kendall == ((0.0, 1.0), (1.0, 0.0))
    assert save_inspection(inspection, tmp_path, source="it").is_file()
