"""The page of one person: its facts, its words for how sure they are, and hostile labels."""

import html
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.errors import InvalidInput, ResourceError
from lpbandits.views.agent_report import MAX_ROWS
from lpbandits.views.agent_words import chances_of_best, percent
from tests.agent.test_agent import MODEL
from tests.conftest import CASES, Case, random_orderings

HOSTILE = "</svg></script><script>alert(1)</script>\x1b[31m & 'x' \"y\""


def text_of(page: str) -> str:
    """Return the text of a page, without charts and tags."""
    body = re.sub(r"<svg.*?</svg>", "", page.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def told() -> lpb.Agent:
    agent = lpb.Agent(lpb.LpbTS(MODEL, noise=1.0), seed=7, person="alice")
    first, second, third = (agent.decide(["rest", "drug B"]) for _ in range(3))
    agent.tell(reward=4.5 if first.action == "drug B" else 1.0, decision=first)
    agent.tell("rest" if second.action == "drug B" else "drug B", 2.0, decision=second)
    agent.tell("drug A", 3.0)
    assert agent.pending == [third]
    return agent


def test_the_page_tells_what_was_recommended_given_and_open() -> None:
    agent = told()
    text = text_of(agent.report())
    first, second, third = (record.decision for record in agent.decisions)
    other = "rest" if second.action == "drug B" else "drug B"
    assert "Record of alice 3 outcomes of " in text
    assert "1 decision waits for an outcome" in text
    assert f"3 {third.action} 50% – waiting" in text
    assert f"2 {second.action} 50% {other} 2.00" in text
    assert f"1 {first.action} 50% the same {agent.outcomes[0][1]:.2f}" in text
    assert f"3 {third.action} {third.id}" in text
    assert "1 outcome came without a decision" in text
    assert "drug A 1 3.00 3.00" in text
    for fact in (agent.policy.sha256, agent.policy.model.sha256, "seed 7", "3 asks"):
        assert fact in text


def test_the_prior_of_the_person_is_stated_exactly() -> None:
    policy = lpb.LpbTS(MODEL, noise=1.0)
    assert "Prior of the person" not in text_of(lpb.Agent(policy, seed=7).report())
    assert "Prior of the person: 0.1875, 0.8125." in text_of(lpb.Agent(policy, seed=7, prior=[0.1875, 0.8125]).report())


def test_how_sure_follows_the_probability_of_the_best() -> None:
    agent = lpb.Agent(lpb.LpbTS(MODEL, noise=1.0), seed=7)
    words = []
    for _ in range(20):
        (best, p), *_ = chances_of_best(agent).items()
        assert (best, p) == (agent.best().action, agent.best().probability)
        text = text_of(agent.report())
        assert f"{best} ({percent(p)})." in text
        words.append(text.partition("What is probably best ")[2].partition(f" {best}")[0])
        agent.tell("drug B", 3.0)
        agent.tell("rest", 1.5)
    assert words[0] == "Not clear yet; the first guess is", "at 50%"
    assert words[-1] == "Almost certainly"


def test_the_reasons_name_the_averages_that_contradict_a_state() -> None:
    model = MODEL.replace(names=["Rest", "Drug A", "Drug B"], state_names=["calm", "active"], prior=[0.6, 0.4])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7)
    for outcome in (("drug B", 4.5), ("rest", 1.0), ("drug A", 3.0)):
        agent.tell(*outcome)
    text = text_of(agent.report())
    assert (
        "Active prefers Drug B, Drug A, Rest. All averages are in this order, from Drug B (4.50) to Rest (1.00)."
        in text
    )
    assert "Calm prefers Rest, Drug A, Drug B. 0 of 3 pairs of averages agree; against it: Drug B (4.50) did" in text
    assert "calm <1% 60%" in text or re.search(r"calm \d% 60%", text)


def test_a_tier_has_no_order_and_its_actions_share_the_chance_of_the_best() -> None:
    model = lpb.PreferenceModel([[["tea", "jam"], "pie"], ["pie", ["tea", "jam"]]])
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=7)
    for outcome in (("tea", 4.0), ("jam", 2.0), ("pie", 1.0)):
        agent.tell(*outcome)
    text = text_of(agent.report())
    assert "State 0 prefers tea or jam, pie. All averages are in this order, from tea (4.00) to pie (1.00)." in text
    assert "State 1 prefers pie, tea or jam. 0 of 2 pairs of averages agree" in text
    chances = chances_of_best(agent)
    np.testing.assert_allclose([chances[a] for a in model.actions], agent.probabilities())
    assert 0.5 < chances["tea"] < 0.95


def test_reasons_follow_the_direction_of_the_numbers() -> None:
    agent = lpb.Agent(lpb.LpbTS(MODEL.replace(lower_is_better=True), noise=1.0), seed=7)
    for outcome in (("rest", 1.0), ("drug A", 2.0), ("drug B", 3.0)):
        agent.tell(*outcome)
    text = text_of(agent.report())
    assert "prefers rest, drug A, drug B. All averages are in this order, from rest (1.00) to drug B (3.00)." in text
    assert "prefers drug B, drug A, rest. 0 of 3 pairs of averages agree; against it: rest (1.00) did better" in text


def test_equal_agents_have_equal_pages_and_a_path_is_written(tmp_path: Path) -> None:
    agent = told()
    page = agent.report(tmp_path / "alice.html")
    assert page == (tmp_path / "alice.html").read_text(encoding="utf-8")
    assert page == lpb.Agent.from_json(agent.to_json()).report()
    assert "http" not in page.replace("http://www.w3.org/", "")
    assert len(page) < 100_000
    with pytest.raises((InvalidInput, ResourceError)):
        agent.report(tmp_path / "none" / "alice.html")


def test_hostile_labels_are_escaped() -> None:
    model = lpb.PreferenceModel(
        [[0, 1], [1, 0]], actions=["a", HOSTILE], names=[HOSTILE, HOSTILE + "2"], state_names=[HOSTILE, "b"]
    )
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=1, person=HOSTILE)
    agent.tell(reward=1.0, decision=agent.decide())
    agent.tell(HOSTILE, 2.0)
    agent.decide()
    page = agent.report()
    assert "<script" not in page
    assert "\x1b" not in page
    assert page.count("</svg>") == page.count("<svg") == 2


@pytest.mark.parametrize("case", [case for case in CASES if case.kind in ("gaussian", "bernoulli")], ids=str)
def test_every_policy_has_a_page(case: Case) -> None:
    agent = lpb.Agent(case.policy(), seed=1)
    for i in range(3):
        agent.tell(i, float(i % 2))
    agent.decide()
    text = text_of(agent.report())
    assert "What is probably best" in text
    assert "nan" not in text.lower().replace("finance", "")


@pytest.mark.parametrize("make", [lpb.LpbDuel, lpb.DoubleTS])
def test_the_page_of_duels(make: Any) -> None:
    agent = lpb.Agent(make(MODEL), seed=7)
    decision = agent.decide()
    agent.decide()
    agent.tell_duel("rest", "drug B", decision=decision)
    text = text_of(agent.report())
    assert "1 comparison of 2 actions" in text
    assert "rest 1 100%" in text
    assert "rest won" in text


def test_an_agent_without_outcomes_or_saved_without_them() -> None:
    empty = lpb.Agent(lpb.LpbTS(MODEL), seed=7)
    text = text_of(empty.report())
    assert "No outcome yet. No decision waits" in text
    assert "Nothing yet." in text
    assert text.count("Fewer than two actions were tried") == 1
    unsure = text_of(lpb.Agent(lpb.MUCB(MODEL), seed=7).report())
    assert "Not clear yet; the first guess is rest (50%)." in unsure
    assert "state 0 possible 50%" in unsure
    assert "<svg" not in empty.report()
    short = lpb.Agent.from_json(told().to_json(outcomes=False))
    text = text_of(short.report())
    assert "range" not in text
    assert "drug A 1 3.00" in text


def test_long_tables_are_cut() -> None:
    k = 2 * MAX_ROWS
    agent = lpb.Agent(lpb.TS(lpb.PreferenceModel(random_orderings(2, k, 1))), seed=1)
    for action in range(k):
        agent.tell(action, 1.0, decision=agent.decide([action]))
    text = text_of(agent.report())
    assert text.count(f"The table shows {MAX_ROWS} of {k}.") == 2
    assert agent.report().count("<tr>") < 2 * MAX_ROWS + 20


def test_the_page_says_which_probability_each_number_is() -> None:
    optimistic = lpb.Agent(lpb.LpbTS(MODEL, noise=1.0), seed=7)
    optimistic.decide()
    text = text_of(optimistic.report())
    assert "chance of being best" in text
    assert "that of being recommended, not that of being best" in text
    assert "now at first" in text
    assert "These are not calibrated: each group is judged by its best fit" in text
    assert "optimistic" not in text, "a patient reads it as a hopeful prognosis"
    assert "It follows from the probabilities of the groups" not in text
    assert "These are exact if the model is right" in text_of(
        lpb.Agent(lpb.LpbTS(MODEL, likelihood="marginal", noise=1.0), seed=7).report()
    )
    tiers = lpb.PreferenceModel([[["a", "b"], "c"], ["c", ["a", "b"]]])
    told = text_of(lpb.Agent(lpb.LpbTS(tiers, noise=1.0), seed=7).report())
    assert "It follows from the probabilities of the groups below. These are not calibrated" in told
    possible = text_of(lpb.Agent(lpb.LpbOrderUcb(tiers), seed=7).report())
    assert "now at first" in possible


def test_reasons_of_duels_are_shares_of_won_comparisons() -> None:
    agent = lpb.Agent(lpb.LpbDuel(MODEL), seed=7)
    agent.tell_duel("rest", "drug A")
    text = text_of(agent.report())
    assert "All shares of won comparisons are in this order, from rest (100%) to drug A (0%)." in text
