"""Suggestions of the nearest known name in error messages."""

import pytest

import lpbandits as lpb
from lpbandits import validate
from tests.fuzz.commands import run


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("refitt", ["incremental", "refit"], "'refit'"),
        ("USERID", ["userId", "movieId"], "'userId'"),
        ("usr", ["movieId", "user"], "'user'"),
        ("12", [12, 13], "12"),
        (12, ["12", "x"], "'12'"),
        ("tee", ["tea", "ten"], "'ten'"),  # 'tea' is as near; the choice is deterministic
    ],
)
def test_nearest_name_is_suggested(name: str | int, known: list[str | int], near: str) -> None:
    assert validate.did_you_mean(name, known) == f" (did you mean {near}?)"
    assert validate.did_you_mean(name, reversed(known)) == f" (did you mean {near}?)"


@pytest.mark.parametrize("name", ["zzz", "", None, 1.5, True, b"tea", ["tea"], "tea" * 10_000, "x" * 99, 10**400])
def test_distant_names_have_no_suggestion(name: object) -> None:
    assert validate.did_you_mean(name, ["tea", "jam", 7, "x" * 100]) == ""


def test_lookups_suggest_names() -> None:
    model = lpb.PreferenceModel([[0, 1]], actions=["tea", "jam"])
    with pytest.raises(lpb.InvalidInput, match=r"'taa'.*'tea'"):
        lpb.Agent(lpb.LpbTS(model), seed=1).tell("taa", 1.0)
    with pytest.raises(lpb.InvalidInput, match=r"policy.*'lpb-ts'.*'lpbts'"):
        lpb.simulate(lpb.SyntheticWorld(), ["lpb-ts"], rounds=2)
    with pytest.raises(lpb.InvalidInput, match=r"'jan'.*'jam'"):
        lpb.Ratings.from_arrays([1], ["jan"], [1], actions=["tea", "jam"])
    with pytest.raises(lpb.InvalidInput, match=r"'prio'.*'prior'"):
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
def test_commands_suggest_a_name_once(words: list[str], near: str) -> None:
    code, _, error = run(words)
    assert code == 2
    assert near in error
    assert error.count(near) == 1 or "must be one of" in error
    assert error.lower().count("did you mean") <= 1
