"""The report of a reproduction: every claim in short, beside its figure and in full; and charts that can be read."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.inspection.inspect import inspect_model
from lpbandits.model import PreferenceModel
from lpbandits.paper.claims.check import Claim, judge
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.figures.movielens import LEVELS, NOTHING
from lpbandits.paper.figures.simplex import MODEL, region
from lpbandits.paper.report import _settings, save_reproduction
from lpbandits.paper.spec import FULL, QUICK, Size
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, hstack, line_chart, regret_chart
from lpbandits.views.charts.labels import covering
from lpbandits.views.charts.models import DOTS, STATE_COLOURS, disagreement_chart, share_chart
from lpbandits.views.charts.spread import final_chart
from lpbandits.views.folder import save_chart, slim
from lpbandits.views.page import VERDICTS, Link, Remark, Section, Table, page

BELOW = np.array([-3.0, -2.5, -2.0, -2.5])
EVIL = "<script>alert('&')</script>"


def claims() -> list[Claim]:
    """One claim of each verdict, one of several settings, a hostile one beyond the paper, one that is no headline."""
    made = [
        judge("A loses less than B.", BELOW, measure="A − B", below=0, detail="A 1, B 3"),
        judge("B loses less than A.", -BELOW, measure="B − A", below=0),
        judge("A is like B.", {"x = 1": BELOW + 2.5, "x = 2": BELOW}, measure="A / B", below=0),
        judge(f"Beyond {EVIL}.", BELOW, measure="C − D", below=0, beyond=True),
    ]
    where = ("simplex", "simplex", "recovery", "recovery", "recovery")
    made.append(judge("A is no headline.", BELOW, measure="E − F", below=0))
    return [
        replace(claim, figures=(name,), headline=claim is not made[-1]) for claim, name in zip(made, where, strict=True)
    ]


def in_short(found: list[Claim]) -> list[Claim]:
    return [claim for claim in found if claim.headline]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Claim]]:
    figures = [FIGURES["simplex"], FIGURES["recovery"]]
    tables = {"simplex": figures[0].run(figures[0].cases(QUICK)[0], 0, 1), "recovery": recovered()}
    found = claims()
    folder = tmp_path_factory.mktemp("report")
    report = save_reproduction(
        folder, figures, tables, claims=found, skipped={}, size=Size(draws=2, quick=True), seed=0, seconds=1.0
    )
    return report.read_text(), found


def recovered() -> pl.DataFrame:
    """A table such as the figure's: errors of every method, log and scale."""
    rows = [
        {"method": method, "log": log, "scale": scale, "people": people, "draw": draw, "error": error + 0.01 * draw}
        for log in ("complete", "incomplete")
        for scale, error in (("same", 0.2), ("different", 0.6))
        for method in ("two-stage", "two-stage-cosine", "em")
        for people in (50, 200)
        for draw in range(2)
    ]
    return pl.DataFrame(rows)


def sections(html: str) -> dict[str, str]:
    """The page's sections by heading."""
    body = html.split("<script>", 1)[0]
    return {part.split("</h2>")[0].split("<h2>")[1]: part for part in re.findall(r"<section.*?</section>", body, re.S)}


def test_every_claim_is_in_short_beside_its_figure_and_in_full(written: tuple[str, list[Claim]]) -> None:
    html, found = written
    parts = sections(html)
    first, *_, last = parts
    assert (first, last) == ("In short", "All claims in full")
    for claim in found:
        sentence = claim.claim.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#x27;")
        figure = FIGURES[claim.figures[0]]
        assert (f'<a href="#{figure.name}">{sentence}</a>' in parts["In short"]) == (claim in in_short(found))
        assert f'id="{figure.name}"' in parts[figure.title]
        assert sentence in parts[figure.title]
        assert claim.effect_text in parts[figure.title]
        assert f"must be {claim.standard}" in parts[figure.title]
        assert sentence in parts["All claims in full"]
    others = parts[FIGURES["recovery"].title]
    assert "A loses less than B." not in others
    assert all(where in parts["All claims in full"] for where in ("x = 1", "x = 2"))


def test_only_headlines_are_in_short_with_what_was_found(written: tuple[str, list[Claim]]) -> None:
    html, found = written
    short = sections(html)["In short"]
    told = in_short(found)
    assert len(told) == len(found) - 1
    assert short.count('<td class="mark">') == len(told)
    assert all(f"{claim.measure}: {claim.effect_text}" in short for claim in told)
    assert "E − F" not in short
    assert "; x = 1; holds in 1 of 2" in short
    assert "<th>What the paper says</th><th>What we find: effect [interval]</th>" in short
    assert '<a href="#all-claims">Of all 5 claims, ✓ holds: 3, ✗ does not hold: 1, ? not settled: 1.' in short
    assert 'id="all-claims"' in html
    assert "rackets" not in short


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_settings_are_said_in_words(size: Size) -> None:
    said = {name: _settings(figure, size) for name, figure in FIGURES.items()}
    words = set(re.findall(r"[a-z_]+", " ".join(said.values())))
    known = "draws of people rounds models recovered in the first a state orderings or each with their own times"
    assert words <= set(known.split()), "no internal name leaks"
    assert said["simplex"] == ""
    assert all(text.endswith(".") for name, text in said.items() if name != "simplex")
    if size == FULL:
        assert said["duels"] == f"50 people a state, 500 rounds, {FIGURES['duels'].draws} draws of the orderings."
        assert said["recovery"].startswith("10, 40 or 160 people a state, ")
        draws = FIGURES["movielens-1m"].draws
        assert said["movielens-1m"].startswith(f"{draws} draws of 100 people, 200 rounds")
        learned = sum(case.settings["recovered"] for case in FIGURES["movielens-1m"].cases(FULL))
        assert (f", models recovered in the first {learned}." in said["movielens-1m"]) == (learned < draws)


def test_the_papers_claims_stand_before_those_beyond_it(written: tuple[str, list[Claim]]) -> None:
    short = sections(written[0])["In short"]
    assert short.index("What the paper says") < short.index("A is like B.") < short.index("Beyond the paper")
    assert short.index("Beyond the paper") < short.index("Beyond &lt;script")


def test_marks_match_verdicts(written: tuple[str, list[Claim]]) -> None:
    html, found = written
    short = sections(html)["In short"]
    for claim in in_short(found):
        start = claim.claim.split("<")[0]
        row = next(row for row in short.split("<tr>") if f'<a href="#{claim.figures[0]}">{start}' in row)
        mark, look = VERDICTS[claim.verdict]
        assert f'class="verdict {look}"' in row
        assert f'aria-label="{claim.verdict}"' in row
        assert f">{mark}</span>" in row
    marks = {mark for mark, _ in VERDICTS.values()}
    assert len(marks) == len(VERDICTS), "a mark is read without its colour"


def test_text_stays_escaped(written: tuple[str, list[Claim]]) -> None:
    assert EVIL not in written[0]
    cells = Table(["", "verdict", EVIL], [[EVIL, EVIL, Link(EVIL, EVIL)]], note=EVIL)
    small = Table(["", "b"], [[EVIL], ["holds", EVIL]], summary=True, note=Link(EVIL, EVIL))
    section = Section(EVIL, [EVIL], tables=[cells, small], remarks=[Remark(EVIL, EVIL, [EVIL, EVIL])], anchor=EVIL)
    html = page(title=EVIL, lead=EVIL, sections=[section], foot=EVIL, specs={})
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;") > 10


def spec_of(chart: Chart, folder: Path) -> Json:
    out: Json = json.loads(save_chart(chart, folder / "chart"))
    return out


def test_data_is_there_once_and_short(tmp_path: Path) -> None:
    rounds = np.arange(1, 1001)
    curves = pl.DataFrame({"policy": "ts", "round": rounds, "regret": np.sqrt(rounds), "regret_sd": 1 / 3, "more": 1.0})
    spec = spec_of(hstack(regret_chart(curves, title="a"), regret_chart(curves, title="b")), tmp_path)
    long = [rows for rows in spec["datasets"].values() if len(rows) > 10]
    assert len(long) == 1, "both panels share their data"
    assert len(long[0]) <= 200
    assert set(long[0][0]) == {"name", "round", "regret", "regret_sd"}
    assert long[0][0]["regret_sd"] == 0.33333
    assert slim({"mark": "point"}) == {"mark": "point"}


def test_lines_end_in_bars_of_one_standard_error(tmp_path: Path) -> None:
    rounds = np.arange(1, 301)
    curves = pl.concat(
        pl.DataFrame({"policy": name, "round": rounds, "regret": rounds / 10, "regret_sd": 5.0, "regret_se": error})
        for name, error in (("ts", 0.5), ("lpbts", float("nan")))
    )
    assert bars_of(spec_of(regret_chart(curves, title="a"), tmp_path)) == [
        {"name": "TS", "round": 300, "low": 29.5, "high": 30.5}
    ]
    assert bars_of(spec_of(regret_chart(curves.drop("regret_se"), title="a"), tmp_path)) == []


def bars_of(spec: Json) -> list[Json]:
    """The data of the bars at the ends of lines."""
    bars = [layer for layer in spec["layer"] if layer["encoding"].get("y2", {}).get("field") == "high"]
    rules = [layer for layer in bars if layer["mark"]["type"] == "rule"]
    return [row for layer in rules for row in spec["datasets"][layer["data"]["name"]]]


def test_no_two_states_share_a_colour(tmp_path: Path) -> None:
    assert len(set(STATE_COLOURS)) == len(STATE_COLOURS) >= 20
    rng = np.random.default_rng(0)
    for states in (3, DOTS, DOTS + 1, len(STATE_COLOURS), len(STATE_COLOURS) + 5):
        seen = inspect_model(PreferenceModel([rng.permutation(10) for _ in range(states)]), top=4)
        for chart in (share_chart(seen), disagreement_chart(seen)):
            spec = spec_of(chart, tmp_path)
            for scale in scales(spec, "state"):
                assert len(set(scale["range"])) == len(scale["domain"]) == states
    # Many states: every place is a number in the state's own column.
    assert {row["number"] for rows in spec["datasets"].values() for row in rows} == set(map(str, range(states)))
    assert scales(spec, "state") == []


def scales(content: Any, field: str) -> list[Json]:
    """The colour scales of a field, wherever they are in a specification."""
    if isinstance(content, list):
        return [scale for part in content for scale in scales(part, field)]
    if not isinstance(content, dict):
        return []
    here = content.get("color", {})
    found = [here["scale"]] if isinstance(here, dict) and here.get("field") == field else []
    return found + [scale for part in content.values() for scale in scales(part, field)]


def test_a_line_over_another_is_dashed() -> None:
    x = np.arange(20)
    frame = pl.DataFrame(
        {"name": np.repeat(["a", "b", "c"], 20), "x": np.tile(x, 3), "y": np.r_[x, x + 0.05, 19.0 - x]}
    )
    assert covering(frame, value="y", along="x", top=20.0) == {"b"}
    assert covering(frame.filter(pl.col("name") != "a"), value="y", along="x", top=20.0) == set()


def test_words_of_charts_are_in_the_font(tmp_path: Path) -> None:
    """A character that the font lacks, such as a diamond, takes its whole line to another font."""
    people = pl.DataFrame({"policy": ["ts"] * 4 + ["lpbts"] * 4, "regret": np.arange(8.0)})
    spec = spec_of(final_chart(people, title="Regret per person"), tmp_path)
    words = json.dumps({key: value for key, value in spec.items() if key != "datasets"}, ensure_ascii=False)
    assert all(ord(c) < 0x2200 for c in words)
    assert spec["config"]["font"].startswith("Arial, Liberation Sans")


def test_recovery_has_one_axis(tmp_path: Path) -> None:
    spec = spec_of(FIGURES["recovery"].chart(recovered()), tmp_path)
    text = json.dumps(spec)
    tops = {tuple(found) for found in re.findall(r'"domain": \[(0), ([\d.]+)\]', text)}
    assert len(spec["concat"]) == 4
    assert len(tops) == 1
    assert "lower is better" in text
    assert "(log scale)" in text


def test_a_sweep_shows_both_spreads(tmp_path: Path) -> None:
    frame = pl.DataFrame({"policy": "ts", "x": [1.0, 2.0], "y": [5.0, 6.0], "se": [0.1, 0.1], "sd": [7.0, 2.0]})
    spec = spec_of(line_chart(frame, x="x", y="y", title="t"), tmp_path)
    row = next(rows for rows in spec["datasets"].values() if "under" in rows[0])[0]
    assert (row["low"], row["high"], row["under"], row["over"]) == (4.9, 5.1, 0.0, 12.0)


def test_movielens_compares_at_equal_information(tmp_path: Path) -> None:
    rows = [
        {
            "kind": kind,
            "environment": env,
            "policy": policy,
            "level": level,
            "draw": draw,
            "round": t,
            **numbers(policy),
        }
        for env in ("same", "different", "different-noisy")
        for level, policies in (*((level, ("lpbts", "mts", "ts-top")) for level in LEVELS), (NOTHING, ("ts",)))
        for policy in policies
        for draw in range(2)
        for kind, t in (("curve", 1), ("curve", 2), ("final", None))
    ]
    spec = spec_of(FIGURES["movielens-1m"].chart(pl.DataFrame(rows, infer_schema_length=None)), tmp_path)
    panels = spec["concat"]
    assert len(panels) == 3 * len(LEVELS) + 3
    assert "off the chart" in panels[0]["title"]["subtitle"]
    assert "344" in panels[0]["title"]["subtitle"]
    assert all(panel["title"]["subtitle"].startswith("2 draws; ") for panel in panels[: 3 * len(LEVELS)])
    assert "sqrt" not in json.dumps(spec)
    assert all(row.get("name") != "TS" for rows in spec["datasets"].values() for row in rows)


def numbers(policy: str) -> dict[str, float]:
    regret = 344.0 if policy == "ts" else 20.0
    return {"regret": regret, "regret_sd": 5.0, "z": 1.5, "z_se": 0.1}


def test_the_simplex_is_exact() -> None:
    for ordering in MODEL.orderings:
        corners = region(ordering)
        np.testing.assert_allclose(corners.sum(axis=1), 1.0)
        assert np.all(np.diff(corners[:, ordering], axis=1) <= 0)
        area = abs(np.linalg.det(corners))  # of the simplex's: the determinant of its own corners is 1
        np.testing.assert_allclose(area, 1 / 6)
