"""Counts of one are singular in representations and in the output of commands."""

import re
from pathlib import Path

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.views.evaluation_report import describe
from tests.cli.invoke import output

PLURAL = re.compile(
    r"(?<![\d.,])1 (states|actions|people|persons|rounds|draws|outcomes|ratings|factors|comparisons|repeats|names)\b"
)


def check(text: str) -> None:
    assert not PLURAL.search(text), PLURAL.search(text)


def test_representations() -> None:
    taste = lpb.TasteModel(np.zeros(1), np.ones((1, 1)), np.ones(1))
    model = lpb.PreferenceModel([[0]], means=[[1.0]], taste=taste)
    agent = lpb.Agent(lpb.LpbTS(model), seed=0)
    agent.tell(0, 1.0)
    past = lpb.Histories.from_arrays(["ann"], [0], [1.0], model)
    results = lpb.simulate(lpb.MeansWorld(model), ["ts"], people=1, rounds=1)
    log = lpb.Ratings.from_arrays(["ann"], [0], [1.0])
    things = [model, taste, agent, agent.policy, past, lpb.decide(agent.policy, past), results, results["ts"], log]
    for thing in things:
        check(repr(thing))
    assert repr(log) == "<Ratings: 1 by 1 person of 1 action>"


def test_errors() -> None:
    model = lpb.PreferenceModel([["tea"]])
    for call in (
        lambda: lpb.Agent(lpb.LpbTS(model), seed=0).tell("jam", 1.0),
        lambda: model.replace(prior=[0.5]),
        lambda: lpb.PreferenceModel([[1]]),
        lambda: model.replace(taste=lpb.TasteModel(np.zeros(2), np.zeros((2, 0)), np.ones(2))),
    ):
        with pytest.raises(lpb.InvalidInput) as caught:
            call()
        check(str(caught.value))


@pytest.mark.parametrize("feedback", ["rewards", "duels"])
def test_output_of_simulate(feedback: str) -> None:
    words = ["--states", 1, "--actions", 1, "--people", 1, "--rounds", 1, "--feedback", feedback]
    check(output("simulate", *words))


def test_output_of_commands_on_a_tiny_log(tmp_path: Path) -> None:
    log, model = tmp_path / "log.csv", tmp_path / "model.json"
    log.write_text("user,item,rating\nann,tea,5\nann,jam,3\n")
    check(output("fit", log, "--states", 1, "--out", model))
    check(output("inspect", model))
    check(output("decide", "--model", model, log, "--policy", "lpbts"))


def test_description_of_an_evaluation() -> None:
    rows = [(n, a, (a if n % 2 else 5 - a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(24) for a in range(6)]
    log = lpb.Ratings.from_arrays(*zip(*rows, strict=True))
    check(describe(lpb.evaluate(log, policies=["lpbts"], states=2, max_people=1, rounds=1)))
