"""A name that is nearly right gets the one that is."""

import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits import validate
from lpbandits.cli import app
from tests.fuzz.commands import run
from tests.fuzz.values import raising


@pytest.mark.parametrize(
    ("given", "known", "near"),
    [
        ("refitt", ["incremental", "refit"], "'refit'"),
        ("USERID", ["userId", "movieId"], "'userId'"),
        ("usr", ["movieId", "user"], "'user'"),
        ("12", [12, 13], "12"),
        (12, ["12", "x"], "'12'"),
        ("tee", ["tea", "ten"], "'ten'"),  # as near as 'tea': the choice is always the same
    ],
)
def test_the_nearest_name_is_offered(given: str | int, known: list[str | int], near: str) -> None:
    assert validate.did_you_mean(given, known) == f" (did you mean {near}?)"
    assert validate.did_you_mean(given, reversed(known)) == f" (did you mean {near}?)"


@pytest.mark.parametrize("given", ["zzz", "", None, 1.5, True, b"tea", ["tea"], "tea" * 10_000, "x" * 99, 10**400])
def test_what_is_like_nothing_gets_nothing(given: object) -> None:
    assert validate.did_you_mean(given, ["tea", "jam", 7, "x" * 100]) == ""


def test_odd_words_are_harmless() -> None:
    assert validate.did_you_mean(raising("__eq__", "__hash__", kind=str), ["tea"]) == ""
    assert validate.did_you_mean(raising("__index__", "__int__", kind=int), [1, "tea"]) == ""


def test_names_are_offered_wherever_they_are_looked_up() -> None:
    model = lpb.PreferenceModel([[0, 1]], actions=["tea", "jam"])
    with pytest.raises(lpb.InvalidInput, match=r"unknown action 'taa'.*\(did you mean 'tea'\?\)"):
        lpb.Agent(lpb.LpbTS(model), seed=1).tell("taa", 1.0)
    with pytest.raises(lpb.InvalidInput, match=r"policy must .*got 'lpb-ts' \(did you mean 'lpbts'\?\)"):
        lpb.simulate(lpb.SyntheticWorld(), ["lpb-ts"], rounds=2)
    with pytest.raises(lpb.InvalidInput, match=r"'jan'.*\(did you mean 'jam'\?\)"):
        lpb.Ratings.from_arrays([1], ["jan"], [1], actions=["tea", "jam"])
    with pytest.raises(lpb.InvalidInput, match=r"'prio'.*\(did you mean 'prior'\?\)"):
        model.replace(prio=[1.0])


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["simulat"], "'simulate'"),
        (["fit", "log.csv", "--persn", "x"], "--person"),
        (["simulate", "--policies", "lpb-utilty"], "'lpb-utility'"),
        (["simulate", "--set", "stats=3"], "'states'"),
        (["simulate", "--scale", "diferent"], "'different'"),
        (["reproduce", "simplx"], "'simplex'"),
        (["data", "movielens", "1mm"], "'1m'"),
    ],
)
def test_commands_offer_names_once(words: list[str], near: str) -> None:
    code, _, said = run(words)
    assert code == 2
    assert said.count(near) == 1 or "must be one of" in said
    assert near in said
    assert said.lower().count("did you mean") <= 1


def test_help_shows_what_can_be_read() -> None:
    said = CliRunner().invoke(app, ["fit", "--help"]).stdout
    for option in ("--layout", "--rank", "--duplicates", "--decimal-comma"):
        assert option in said
