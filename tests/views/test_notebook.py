"""HTML, charts and reports of objects in notebooks."""

import copy
import functools
import html as html_module
import json
import pickle
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.views.notebook import MAX_ROWS
from lpbandits.views.notebook import html as html_of
from tests.cli.invoke import json_output, output

EVIL = "<script>alert('&')</script>"
LABELS = [EVIL, "two\nlines", "tea", "jam \x1b[31m"]
MODEL = lpb.PreferenceModel(
    [[0, 1, 2, 3], [3, 2, 1, 0]],
    actions=LABELS,
    means=[[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]],
    taste=lpb.TasteModel(np.zeros(4), np.eye(4, 2), np.ones(4)),
    noise=0.5,
    state_names=[EVIL, "bold"],
    evaluation={"verdict": EVIL, "best": "popular", "policies": {}},
)
ROWS = [(n, LABELS[a], (a if n % 2 else 3 - a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(24) for a in range(4)]
LOG = lpb.Ratings.from_arrays(*zip(*ROWS, strict=True))


def agent_of(policy: lpb.Policy) -> lpb.Agent:
    agent = lpb.Agent(policy, seed=1, person=EVIL)
    if policy.feedback == "duels":
        agent.tell_duel(EVIL, "tea")
    else:
        agent.tell(EVIL, 1.0)
        agent.tell("tea", 3.0)
    return agent


SHOWN: dict[str, Callable[[], Any]] = {
    "results": lambda: lpb.simulate(lpb.MeansWorld(MODEL), ["lpbts", "ts"], people=2, rounds=4),
    "duels": lambda: lpb.simulate(lpb.MeansWorld(MODEL), ["lpb-duel"], people=1, rounds=2),
    "evaluation": lambda: lpb.evaluate(LOG, policies=["lpbts"], states=2, rounds=2, max_people=4),
    "fit": lambda: lpb.fit_states(LOG, lpb.TwoStage(restarts=1), states=2, taste=False),
    "model": lambda: MODEL,
    "bare model": lambda: lpb.PreferenceModel([[0]]),
    "inspection": lambda: lpb.inspect(MODEL),
    "agent": lambda: agent_of(lpb.LpbTS(MODEL)),
    "new agent": lambda: lpb.Agent(lpb.LpbTS(MODEL), seed=1),
    "agent of taste": lambda: agent_of(lpb.Taste(MODEL)),
    "agent without states": lambda: agent_of(lpb.TS(MODEL)),
    "agent of duels": lambda: agent_of(lpb.LpbDuel(MODEL)),
    "belief": lambda: agent_of(lpb.LpbTS(MODEL)).belief,
    "new belief": lambda: lpb.TS(MODEL).new_belief(),
    "decision": lambda: agent_of(lpb.LpbTS(MODEL)).decide(),
    "decision of a duel": lambda: agent_of(lpb.LpbDuel(MODEL)).decide(),
    "explanation": lambda: agent_of(lpb.LpbTS(MODEL)).explain(),
    "best": lambda: agent_of(lpb.LpbTS(MODEL)).best(),
    "new best": lambda: lpb.Agent(lpb.LpbTS(MODEL), seed=1).best(allowed=[MODEL.actions[0]]),
    "decisions": lambda: lpb.decide(lpb.LpbTS(MODEL), lpb.Histories.from_ratings(LOG, MODEL)),
}


@functools.cache
def made(name: str) -> Any:
    return SHOWN[name]()


class Checker(HTMLParser):
    """Collect the tags and the text, and check that all tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.styles: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.styles += [value or "" for _, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("name", SHOWN)
def test_html_is_small_escaped_and_has_no_colours(name: str) -> None:
    thing = made(name)
    html = thing._repr_html_()
    checker = Checker()
    checker.feed(html)
    assert not checker.open
    assert checker.tags <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert len(html) < 20_000
    assert "\x1b" not in html
    colours = re.findall(r"color:? ?[^;]*|background[^;]*|#[0-9a-f]{3}", " ".join(checker.styles))
    assert not [colour for colour in colours if "currentColor" not in colour], "a notebook may be light or dark"
    if name not in ("results", "duels", "bare model", "belief", "new belief", "new agent"):
        assert html_module.escape(EVIL).replace("&#x27;", "&#39;") in html or name == "evaluation"
    assert len(repr(thing)) < 300
    assert "array(" not in repr(thing)


def test_tables_say_which_probability_they_have() -> None:
    assert "probability (optimistic)" in made("agent")._repr_html_()
    assert "probability (exact)" in agent_of(lpb.LpbTS(MODEL, likelihood="marginal"))._repr_html_()
    assert "probability (approximate)" in made("agent of duels")._repr_html_()
    assert all("P(played)" in made(name)._repr_html_() for name in ("decision", "decisions"))
    assert "P(best)" in made("best")._repr_html_()
    assert f"{made('best').probability:.0%}" in made("best")._repr_html_()
    assert "nan" not in made("new best")._repr_html_()
    assert "P(played)" not in made("decision of a duel")._repr_html_(), "duels have no exact ones"
    assert "optimistic for lpbTS" in made("results")._repr_html_()
    assert made("explanation").to_dict()["certainty"] == "optimistic"


def test_html_has_the_numbers() -> None:
    results = made("results")
    assert f"{results['ts'].regret.mean[-1]:.1f}" in results._repr_html_()
    assert "over people" in results._repr_html_()
    agent = made("agent")
    assert f"{agent.posterior.max():.0%}" in agent._repr_html_()
    assert "bold" in agent._repr_html_()
    model = lpb.PreferenceModel([["tea", ["jam", "egg"], "rum", "gin"], ["gin", "egg", "jam", "rum", "tea"]])
    words = Checker()
    words.feed(model._repr_html_())
    assert "tea > jam = egg > … > gin" in words.words
    assert "gin > egg > jam > … > tea" in words.words


def test_long_tables_are_cut_with_a_count() -> None:
    rng = np.random.default_rng(0)
    model = lpb.PreferenceModel([rng.permutation(9) for _ in range(MAX_ROWS + 5)])
    html = model._repr_html_()
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "and 5 more" in html
    decisions = lpb.decide(lpb.Uniform(model), lpb.Histories.from_arrays([], [], [], model, people=range(30)))
    assert f"and {30 - MAX_ROWS} more" in decisions._repr_html_()


CHARTS = {
    "results": ["regret", "people", "state"],
    "evaluation": ["gains", "rounds", "groups", "people"],
    "model": ["shares", "kendall", "pairs", "disagreements", "tastes"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_those_of_the_report(name: str, tmp_path: Path) -> None:
    thing = made(name)
    page = thing.save_report(tmp_path / "report")
    assert page == tmp_path / "report" / "report.html"
    drawn = {path.stem for path in page.parent.glob("*.svg")}
    assert set(CHARTS[name]) == drawn
    assert thing.chart().to_dict()["title"] == thing.chart(CHARTS[name][0]).to_dict()["title"]
    for chart in sorted(drawn):
        spec = thing.chart(chart).to_dict()
        assert spec["config"]["background"] == "white", "readable in a dark notebook"
        assert isinstance(thing.chart(chart), alt.LayerChart | alt.ConcatChart | alt.FacetChart)
    with pytest.raises(lpb.InvalidInput, match=r"chart must be one of .*'nope'"):
        thing.chart("nope")
    with pytest.raises(lpb.InvalidInput, match="chart must"):
        thing.chart(7)


def test_the_chart_of_a_fit_is_that_of_its_model() -> None:
    fit = made("fit")
    assert fit.chart("kendall").to_dict() == fit.model.chart("kendall").to_dict()
    assert fit.chart().to_dict() == lpb.inspect(fit.model).chart().to_dict()


@pytest.mark.slow
def test_a_report_of_python_equals_that_of_the_command(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    output("inspect", tmp_path / "model.json", "--out", tmp_path / "one")
    MODEL.save_report(tmp_path / "two")
    one, two = ({path.name: path for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert set(one) == set(two)
    same = [name for name in one if one[name].read_bytes() == two[name].read_bytes()]
    assert set(one) - set(same) <= {"report.html", "manifest.json"}
    text = one["report.html"].read_text(encoding="utf-8")
    assert text.replace("model.json: 2 states", "2 states") == two["report.html"].read_text(encoding="utf-8")


def test_shown_objects_are_copied_and_pickled() -> None:
    for name in ("model", "agent", "explanation", "decisions"):
        thing = made(name)
        for again in (copy.copy(thing), pickle.loads(pickle.dumps(thing))):  # noqa: S301 - our own
            assert again._repr_html_() == thing._repr_html_()


def test_other_objects_have_no_views() -> None:
    with pytest.raises(TypeError, match="int"):
        html_of(7)


def test_the_inspection_equals_that_of_the_command(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    seen = lpb.inspect(MODEL, top=3).to_dict()
    assert json_output("inspect", tmp_path / "model.json", "--top", 3) == json.loads(json.dumps(seen))


@pytest.mark.parametrize("name", ["results", "evaluation", "decisions"])
def test_tables_are_converted_to_pandas_without_pyarrow(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = made(name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    tables: list[tuple[Any, pl.DataFrame]] = {
        "results": lambda: [(thing.to_pandas(), thing.curves()), (thing.to_pandas("people"), thing.people())],
        "evaluation": lambda: [(thing.to_pandas(), thing.table)],
        "decisions": lambda: [(thing.to_pandas(), thing.table())],
    }[name]()
    for got, wanted in tables:
        assert list(got.columns) == wanted.columns
        for column in wanted.columns:
            values = [None if value is None or value != value else value for value in got[column].tolist()]
            assert values == [None if value is None or value != value else value for value in wanted[column].to_list()]
    if name == "results":
        with pytest.raises(lpb.InvalidInput, match="table must be one of curves, people"):
            thing.to_pandas("other")


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(lpb.NotSupported, match="pip install pandas"):
        made("results").to_pandas()
