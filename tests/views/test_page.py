"""The HTML page: escaping, verdict marks, panels and the cached scripts."""

import json
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
import vl_convert

from lpbandits.io import paths
from lpbandits.views.charts.base import deferred_validation, grid
from lpbandits.views.charts.policies import round_chart
from lpbandits.views.folder import save_chart
from lpbandits.views.page import VERDICTS, Drawing, Link, Panel, Remark, Section, Table, page, vega_scripts

EVIL = "<script>alert('&')</script>"


def html_of(*sections: Section, drawings: dict[str, Drawing] | None = None) -> str:
    return page(title=EVIL, lead=EVIL, sections=sections, foot=EVIL, drawings=drawings or {})


def test_all_text_is_escaped() -> None:
    cells = Table(["", "verdict", EVIL], [[EVIL, EVIL, Link(EVIL, EVIL)]], note=EVIL)
    small = Table(["", "b"], [[EVIL], ["holds", EVIL]], summary=True, note=Link(EVIL, EVIL))
    html = html_of(Section(EVIL, [EVIL], tables=[cells, small], remarks=[Remark(EVIL, EVIL, [EVIL] * 2)], anchor=EVIL))
    assert "<script" not in html
    assert html.count("&lt;script&gt;") > 20


def test_control_characters_are_shown_as_escapes() -> None:
    assert r"a\x1b[31m\nb" in html_of(Section("a\x1b[31m\nb"))


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_verdict_has_its_symbol_and_name(verdict: str) -> None:
    symbol, look = VERDICTS[verdict]
    html = html_of(Section("a", tables=[Table(["", "claim"], [[verdict, "A"]])]))
    assert f'<span class="verdict {look}" role="img" aria-label="{verdict}" title="{verdict}">{symbol}</span>' in html
    assert len({mark for mark, _ in VERDICTS.values()}) == len(VERDICTS), "symbols are read without colour"


def chart(title: str) -> Any:
    curves = pl.DataFrame({"policy": "ts", "round": [1, 2], "regret": [1.0, 2.0], "regret_sd": 0.5})
    return deferred_validation(round_chart)(curves, title=title)


def test_panels_of_a_chart_stand_alone(tmp_path: Path) -> None:
    drawing = save_chart(grid(chart(title) for title in "abcd"), tmp_path / "chart")
    assert drawing.columns == 2
    specs = [json.loads(panel.spec) for panel in drawing.panels]
    assert [spec["title"]["text"] for spec in specs] == [["a"], ["b"], ["c"], ["d"]]
    for spec, panel in zip(specs, drawing.panels, strict=True):
        assert (spec["width"], panel.width) == ("container", 520)
        assert spec["config"]["font"].startswith("Arial")
        assert [param["name"] for param in spec["params"]] == [f"toggle_{spec['title']['text'][0]}"]
        assert vl_convert.vegalite_to_svg({**spec, "width": 200}).count("TS") >= 1, "its data came along"
    html = html_of(Section("a", charts={"x": chart("a")}), drawings={"x": drawing})
    assert all(f'id="chart-x-{i}"' in html and f'vegaEmbed("#chart-x-{i}"' in html for i in (1, 2, 3, 4))


def test_a_chart_of_fixed_steps_is_one_panel_of_its_own_size(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "y": [1, 2]})
    bars = alt.layer(alt.Chart(frame).mark_bar().encode(x="x:N", y="y:Q")).properties(width=alt.Step(20))
    assert [panel.width for panel in save_chart(bars, tmp_path / "chart").panels] == [None]


@pytest.mark.parametrize(("width", "beside"), [(500, True), (2000, False)])
def test_remarks_are_to_the_right_of_charts_that_leave_room(width: int, beside: bool) -> None:
    section = Section("a", charts={"x": chart("a")}, remarks=[Remark("holds", "A.")])
    html = html_of(section, drawings={"x": Drawing([Panel("{}", width)], 1)})
    assert ('<div class="beside">' in html) == beside


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[None]:
    """Count how often scripts are bundled, with a cache folder in `tmp_path`."""
    calls: list[None] = []

    def bundle(_: None) -> str:
        calls.append(None)
        return "let all = 'für alle';"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(paths, "cache_path", lambda: tmp_path / "cache")
    return calls


def test_scripts_are_bundled_once_per_version(
    bundled: list[None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = vega_scripts.__wrapped__
    assert scripts() == scripts() == "let all = 'für alle';"
    assert len(bundled) == 1
    monkeypatch.setattr("lpbandits.views.page.version", lambda _: "99.0")
    assert scripts() == "let all = 'für alle';"
    assert len(bundled) == len(list((tmp_path / "cache").iterdir())) == 2


def test_scripts_without_a_cache_folder_are_bundled_each_time(bundled: list[None], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert [vega_scripts.__wrapped__() for _ in range(2)] == ["let all = 'für alle';"] * 2
    assert len(bundled) == 2
