"""Invalid options: every command prints one line to stderr and exits with code 2."""

from pathlib import Path

import pytest

from tests.fuzz.commands import run

Row = tuple[list[str], list[str]]
ERRORS: dict[str, list[Row]] = {
    "simulate": [
        (["--states", "0"], ["states must", "got 0"]),
        (["--policies", "lpbts,nope"], ["'nope'", "lpbts-incremental", "uniform"]),
        (["--policies", ""], ["policies must", "lpb policies"]),
        (["--people", "100000000", "--rounds", "10000"], ["GiB of memory", "fewer people"]),
        (["--model", "missing.json"], ["missing.json", "No such file"]),
        (["--rewards", "bernoulli"], ["--rewards is not a setting of the world 'synthetic'"]),
        (["--model", "m.json", "--gap", "0.3"], ["--gap is not a setting of the world 'means'"]),
        (["--model", "m.json", "--model-error", "0.3"], ["--model-error is not a setting of the world 'means'"]),
        (["--world", "replay", "--assumed-noise", "2"], ["--assumed-noise is not a setting of the world 'replay'"]),
        (["--feedback", "duels", "--assumed-noise", "2"], ["--assumed-noise has no effect for duels"]),
        (["--swap", "1.5"], ["swap must", "got 1.5"]),
        (["--world", "means"], ["'means' needs a model", "--model model.json"]),
        (["--world", "moon"], ["world must", "got 'moon'"]),
        (["--comparison", "bradley-terry"], ["--comparison has no effect for rewards"]),
        (["--feedback", "duels", "--first", "uniform"], ["--first has no effect for duels"]),
        (["--feedback", "duels", "--policies", "ts"], ["'ts' learns from rewards", "--feedback rewards"]),
        (["--feedback", "duel"], ["feedback must", "got 'duel'"]),
        (["--missing", "error"], ["--missing needs --log"]),
        (["--out", "pyproject.toml"], ["pyproject.toml", "not a folder"]),
    ],
    "fit": [
        (["--states", "many"], ["states must", "got 'many'"]),
        (["--states", "0"], ["states must", "got 0"]),
        (["--method", "magic"], ["'magic'", "mixture, two-stage, em"]),
        (["--scale", "raw"], ["--scale must be left out with --method mixture", "'raw'", "--method two-stage"]),
        (["--method", "em", "--scale", "odd"], ["'odd'", "raw, centered, standardized, cosine"]),
        (["--person", "who"], ["'who'", "userId"]),
        (["--person", "usrId"], ["did you mean 'userId'?"]),
        (["--layout", "tall"], ["layout must", "got 'tall'"]),
        (["--duplicates", "first"], ["duplicates must", "got 'first'"]),
        (["--rank", "place"], ["no column 'place' for the rank"]),
        (["--time", "when"], ["no column 'when' for the time"]),
        (["--missing", "drop"], ["missing must", "got 'drop'"]),
        (["--ignore", "movieID"], ["'movieID'", "did you mean 'movieId'?"]),
        (
            ["--columns", "rating", "--action", "movieId"],
            ["columns is 'rating'", "one rating per row", "--layout wide"],
        ),
        (["--rank", "rating", "--lower-is-better"], ["lower_is_better must", "'rating'"]),
        (["--min-person", "100"], ["min_person 100", "lower"]),
        (["--out", "nowhere/model.json"], ["nowhere", "nowhere"]),
        (["--out", "."], ["cannot write .: ", "it is a folder", "model.json"]),
        (["--prior-sd", "0"], ["prior_sd must", "got 0"]),
        (["--assignments", "people.xlsx"], ["people.xlsx", ".parquet or .csv"]),
        (["--names", "nowhere.csv"], ["nowhere.csv", "name a file"]),
        (["--max-states", "3"], ["max_states", "--states auto"]),
        (["--states", "auto", "--max-states", "0"], ["max_states must", "got 0"]),
    ],
    "evaluate": [
        (["--policies", "no-such"], ["no-such"]),
        (["--policies", "lpb-duel"], ["lpb-duel"]),
        (["--states", "many"], ["states", "many"]),
        (["--scale", "loud"], ["scale", "loud"]),
        (["--rounds", "0"], ["rounds", "0"]),
        (["--people", "0"], ["people", "0"]),
    ],
    "bound": [
        (["--against", "noise"], ["against", "size, states, gap", "'noise'"]),
        (["--state", "1"], ["--state needs --model"]),
        (["--model", "missing.json"], ["missing.json"]),
        (["--model", "m.json", "--policies", "ts"], ["--policies has no effect with --model"]),
        (["--model", "m.json", "--states", "3"], ["--states has no effect with --model"]),
        (["--rounds", "50"], ["--rounds needs --policies"]),
        (["--policies", "ts", "--rounds", "5"], ["rounds", "10", "got 5"]),
        (["--policies", "ts", "--repeats", "-1"], ["repeats", "-1"]),
        (["--threads", "0"], ["threads", "0"]),
        (["--policies", "ts,lpbts,ts"], ["'ts' twice"]),
        (["--policies", "nope"], ["'nope'"]),
        (["--policies", "lpb-duel"], ["'lpb-duel'", "duels"]),
        (["--people", "0"], ["people", "0"]),
    ],
}
"""Arguments, and words of the message."""


@pytest.mark.parametrize(
    ("command", "arguments", "words"), [(command, *row) for command, rows in ERRORS.items() for row in rows]
)
def test_invalid_options_are_one_line_with_exit_code_2(
    log: Path, command: str, arguments: list[str], words: list[str]
) -> None:
    source = [str(log)] if command in ("fit", "evaluate") else []
    code, out, error = run([command, *source, *arguments])
    assert (code, out, error.count("\n")) == (2, "", 1)
    for word in words:
        assert word in error
