"""Test `lpb inspect` and `inspect`: states, pairs, ties, names, tastes and verdicts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.fit.provenance import Provenance
from lpbandits.inspection.contrasts import Contrasts, pair_note, pair_table
from lpbandits.inspection.facts import CHANCE, TasteView, fit_lines, taste_lines, verdict_lines, warning_lines
from lpbandits.inspection.inspect import COMPLETE, inspect, state_table
from lpbandits.taste_model import TasteModel

runner = CliRunner()


def inspected(model: lpb.PreferenceModel, folder: Path, *options: str) -> Result:
    path = folder / "model.json"
    model.save(path)
    return runner.invoke(app, ["inspect", str(path), *options], catch_exceptions=False)


def inspected_json(model: lpb.PreferenceModel, folder: Path, *options: str) -> Any:
    return json.loads(inspected(model, folder, *options, "--json").stdout)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def model() -> lpb.PreferenceModel:
    """Return a model whose states disagree on Heat and Up."""
    return lpb.PreferenceModel(
        [[0, 1, 2], [1, 0, 2], [1, 2, 0]],
        actions=["Heat", "Up", "Cats"],
        prior=[0.5, 0.3, 0.2],
        utilities=[[0.95, 0.5, 0.1], [0.3, 0.9, 0.1], [0.2, 0.7, 0.4]],
        errors=np.full((3, 3), 0.4),
    )


def test_informative_pairs_are_shown_on_the_screen_and_in_json(model: lpb.PreferenceModel, tmp_path: Path) -> None:
    result = inspected(model, tmp_path, "--out", str(tmp_path / "out"))
    assert "Most informative questions" in result.stdout
    table = result.stdout[result.stdout.index("either") :].splitlines()
    # Heat is 2.94 logits above Up in state 0: 1 / (1 + exp(−2.94 / √(1 + π · 0.32 / 8))) = 94 %; in the others 5 and
    # 11 %. H(.508) − .5 H(.941) − .3 H(.054) − .2 H(.109) = .65; and .5 · .941 + .3 · .946 = 75 % are guessed.
    assert in_one_line(table[1]) == "Heat state 0 (94%) Up states 1, 2 (89 to 95%) 0.65 bits 75%"
    assert "(50% without answers)" in in_one_line(result.stdout)
    assert "Most distinctive preference" in result.stdout
    assert (tmp_path / "out" / "pairs.png").read_bytes().startswith(b"\x89PNG")
    assert '"values":[1,2,3]' in (tmp_path / "out" / "report.html").read_text()  # ranks have integer ticks
    content = inspected_json(model, tmp_path)
    pair = content["pairs"][0]
    assert set(pair) == {"first", "second", "chance_first", "says_first", "tells", "guessed"}
    assert (pair["first"], pair["second"]) == ("Heat", "Up")
    numbers = pair["chance_first"][0], pair["says_first"][0], pair["tells"], pair["guessed"]
    assert numbers == pytest.approx((1.0, 0.9413, 0.649, 0.7545), abs=1e-3)
    assert content["bits"] == pytest.approx(-sum(p * np.log2(p) for p in (0.5, 0.3, 0.2)))
    assert [trait["state"] for trait in content["traits"]] == [0, 1, 2]
    assert content["disagreements"][0]["action"] == "Heat"


def test_uncertain_orders_are_marked() -> None:
    utilities = [[0.9, 0.1, 0.5], [0.4, 0.6, 0.3], [0.1, 0.9, 0.5]]
    errors = [[0.1] * 3, [1.5] * 3, [0.1] * 3]
    seen = inspect(lpb.PreferenceModel([[0, 2, 1], [1, 0, 2], [1, 2, 0]], utilities=utilities, errors=errors))
    columns, rows = pair_table(seen.contrasts)
    assert columns[1] == columns[3]
    assert rows[0][1] == "state 0 (99%)"
    assert rows[0][3].startswith("states 1?, 2 (")
    assert "(below 90%)" in pair_note(seen.contrasts, actions=3, largest=1 / 3)


def test_many_states_are_counted_instead_of_listed() -> None:
    rng = np.random.default_rng(0)
    seen = inspect(lpb.PreferenceModel([rng.permutation(8) for _ in range(20)]), top=3)
    for row in pair_table(seen.contrasts)[1]:
        assert {row[1], row[3]} <= {f"{n} states" for n in range(7, 14)}
    rule = pair_note(seen.contrasts, actions=8, largest=0.05)
    assert "exactly" in rule
    assert "most contested" not in rule
    assert "300 most contested" in pair_note(seen.contrasts, actions=301, largest=0.05)
    few = seen.first(4).contrasts
    assert len(few.pairs) == 3
    assert len(few.pairs[0].says_first) == len(few.kendall) == len(few.kendall[0]) == len(few.traits) == 4


def test_short_orderings_are_listed_completely() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    columns, rows = state_table(inspect(model))
    assert columns == ["state", "share", COMPLETE]
    assert rows[0] == ["0", "50%", "rest · drug A · drug B"]
    columns, rows = state_table(inspect(model, top=1))
    assert columns == ["state", "share", "prefers", "likes least"]
    assert rows[1] == ["1", "50%", "drug B", "… rest"]
    provenance = {"never_compared": [[], [0, 1, 2]]}
    partly = lpb.PreferenceModel([range(6), range(5, -1, -1)], provenance=provenance)
    columns, rows = state_table(inspect(partly, top=2))
    assert rows[0][2:4] == ["0 · 1", "… 4 · 5"]
    assert rows[1][2:4] == ["5 · 4 · 3", ""]
    assert columns[4] == "never compared"


@pytest.mark.parametrize("top", [1, 2, 3, 4, 5, 9])
def test_no_action_is_at_both_ends(top: int) -> None:
    (state,) = inspect(lpb.PreferenceModel([list(range(7))]), top=top).states
    assert len(state.top) + state.between + len(state.bottom) == 7
    assert list(state.top) == list(range(min(top, 7)))
    assert list(state.bottom) == list(range(max(top, 7 - top), 7))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"utilities": [[0.5] * 3] * 2, "errors": [[0.1] * 3] * 2}, "all actions tie"),
        ({"utilities": [[0.3] * 3] * 2}, "all actions tie"),
        ({"means": [[2.0] * 3] * 2}, "all actions tie"),
        ({"provenance": {"report": {"ties": 1.0}}}, "all actions tie"),
        ({"provenance": {"never_compared": [[0, 1, 2]] * 2}}, "no actions were compared"),
        (
            {"utilities": [[0.5] * 3] * 2, "provenance": {"never_compared": [[0, 1, 2], []]}},
            "all actions tie or no actions were compared",
        ),
    ],
)
def test_a_model_without_known_preferences_lists_no_actions(parts: dict[str, Any], words: str, tmp_path: Path) -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"], **parts)
    result = inspected(model, tmp_path, "--out", str(tmp_path / "out")).stdout
    assert f"no known preferences: {words}." in in_one_line(result)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no known preferences" in page
    for text in (result, page[page.index("<main>") : page.index("</main>")]):
        assert "drug" not in text
    content = inspected_json(model, tmp_path)
    assert content["pairs"] == content["traits"] == content["disagreements"] == []
    assert all(state["top"] == state["bottom"] == [] and state["silent"] for state in content["states"])


def test_one_state_of_ties_beside_others(tmp_path: Path) -> None:
    utilities = [[0.5] * 3, [0.1, 0.5, 0.9], [0.9, 0.5, 0.1]]
    model = lpb.PreferenceModel([[0, 2, 1], [2, 1, 0], [0, 1, 2]], utilities=utilities, actions=list("abc"))
    seen = inspect(model)
    assert [state.silent for state in seen.states] == ["ties", None, None]
    assert seen.silence is None
    assert seen.contrasts.kendall[0][1] is None
    assert seen.contrasts.pairs[0].says_first[0] is None
    assert "unknown: all actions tie" in inspected(model, tmp_path).stdout


REPORT = {
    "people": 1234,
    "state_people": [1000, 234],
    "heldout_log_likelihood": -0.5,
    "heldout_people": 1,
    "ties": 0.25,
    "warnings": ["few people\x1b"],
}
EVALUATION = {"verdict": "taste helps.", "best": "taste", "policies": {"taste": {"gain": 1}, "popular": {}}}
SHOWN: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "fit": (
        {"provenance": {"report": REPORT}},
        [
            "fitted to 1,234 people",
            "of 1 held-out person: -0.5000 (chance level: -0.6931; best possible: 0)",
            "25% of the comparisons in the log are ties",
            r"few people\x1b",
            "1,000",
        ],
        {"people": 1234, "heldout": -0.5, "ties": 0.25},
    ),
    "means": (
        {"means": [[3.0, -1.0], [0.5, 4.25]], "noise": 0.75},
        ["-1 to 3", "0.5 to 4.25", "standard deviation of 0.75"],
        {"noise": 0.75},
    ),
    "verdict": (
        {"evaluation": EVALUATION},
        ["Verdict: taste helps.", "Best policy on held-out people: taste (tried: taste, popular)."],
        {"evaluation": EVALUATION},
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_facts_are_shown_on_the_screen_on_the_page_and_in_json(name: str, tmp_path: Path) -> None:
    parts, phrases, fields = SHOWN[name]
    model = lpb.PreferenceModel([[0, 1], [1, 0]], **parts)
    result = inspected(model, tmp_path, "--out", str(tmp_path / "out")).stdout
    page = (tmp_path / "out" / "report.html").read_text()
    for phrase in phrases:
        assert phrase in in_one_line(result)
        assert phrase in page
    if name == "verdict":
        assert result.startswith(phrases[0])
        assert page.index(phrases[0]) < page.index("<h2>States</h2>")
    content = inspected_json(model, tmp_path)
    assert content | fields == content


@pytest.mark.parametrize(("score", "worse"), [(CHANCE, True), (-0.8, True), (-0.69, False)])
def test_a_score_no_better_than_a_coin_toss_has_a_sentence(score: float, worse: bool) -> None:
    lines = fit_lines(Provenance(heldout_log_likelihood=score))
    assert any("no better than chance" in line for line in lines) is worse


def test_the_first_of_many_warnings_are_shown() -> None:
    lines = warning_lines(Provenance(warnings=[f"warning {i}" for i in range(40)]))
    assert (len(lines), lines[0], lines[-1]) == (13, "warning 0", "and 28 more (--json)")


def with_taste(about: dict[str, Any]) -> lpb.PreferenceModel:
    factors = np.array([[0.9, 0.0], [0.5, 0.0], [0.0, 0.0], [-0.4, 0.0], [-0.8, 0.0]])
    taste = TasteModel(np.zeros(5), factors, np.full(5, 0.5), about=about)
    return lpb.PreferenceModel([range(5)], actions=list("abcde"), taste=taste)


def test_a_taste_is_shown_by_the_ends_of_its_factors(tmp_path: Path) -> None:
    about = {"score": -1.2, "score_without": -1.25, "heldout_people": 30, "level": 0.8, "coverage": 0.815}
    result = inspected(with_taste(about), tmp_path, "--top", "3", "--out", str(tmp_path / "out")).stdout
    assert "Taste: 2 factors; log density per rating of 30 held-out people -1.2000, 0.0500 better" in result
    assert "Coverage of its 80% intervals: 81.5% in random order." in result
    content = inspected_json(with_taste(about), tmp_path, "--top", "3")["taste"]
    # Two of five at each end, so that none is at both; the second factor has no ends.
    assert content["directions"] == [
        {"factor": 1, "one_end": [["a", 0.9], ["b", 0.5]], "other_end": [["e", -0.8], ["d", -0.4]]}
    ]
    assert (tmp_path / "out" / "tastes.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("about", [{}, {"score": "x", "score_without": 1}, {"level": True, "coverage": None, "a": []}])
def test_invalid_numbers_of_a_taste_are_ignored(about: dict[str, Any]) -> None:
    taste = with_taste(about).taste
    assert taste is not None
    assert taste_lines(TasteView.of(taste, "abcde", 3)) == ["Taste: 2 factors"]


@pytest.mark.parametrize(
    "evaluation",
    [None, {}, {"verdict": 3, "best": None}, {"verdict": "", "policies": 7}, {"verdict": ["x"], "best": {"a": 1}}],
)
def test_an_invalid_evaluation_is_ignored(evaluation: dict[str, Any] | None) -> None:
    assert verdict_lines(evaluation) == []


def test_names_of_a_file_replace_names_of_the_model_or_give_a_warning(tmp_path: Path) -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]], actions=[10, 20], names=["Heat", "Up"])
    assert inspected_json(model, tmp_path)["states"][0]["top"] == ["Heat", "Up"]
    names = tmp_path / "names.csv"
    for label, first, words in (("10", "Heat (1995)", []), ("tt0010", "Heat", ["warning", "'tt0010'", "'10'"])):
        names.write_text(f"id,title\n{label},Heat (1995)\n")
        result = inspected(model, tmp_path, "--names", str(names), "--json")
        assert json.loads(result.stdout)["states"][0]["top"] == [first, "Up"]
        assert bool(result.stderr) == bool(words)
        assert all(word in result.stderr for word in words)


def test_contrasts_of_one_state_are_empty() -> None:
    for ordering in ([0, 1], [0]):
        assert inspect(lpb.PreferenceModel([ordering])).contrasts == Contrasts(((0.0,),), (), (), (), 0.0)


@pytest.mark.parametrize(
    ("actions", "rounds"), [(2, "1 greedy round"), (8, "4 greedy rounds"), (90, "20 greedy rounds")]
)
def test_greedy_rounds_are_at_most_half_of_the_actions(actions: int, rounds: str) -> None:
    about = {"level": 0.8, "coverage": 0.8, "coverage_greedy": 0.79}
    taste = lpb.TasteModel(np.zeros(actions), np.zeros((actions, 0)), np.ones(actions), about=about)
    assert taste_lines(TasteView.of(taste, range(actions), 3))[-1].endswith(f"79.0% after up to {rounds}.")


@pytest.mark.parametrize(("score", "words"), [(-1.2, "0.1000 better"), (-1.4, "0.1000 worse"), (-1.30001, "no better")])
def test_the_gain_of_factors_is_stated(score: float, words: str) -> None:
    about = {"score": score, "score_without": -1.3}
    taste = lpb.TasteModel(np.zeros(2), np.zeros((2, 0)), np.ones(2), about=about)
    assert words in taste_lines(TasteView.of(taste, "ab", 1))[0]
