"""`Workers` and the options of commands: what is refused, in one line."""

from typing import Any

import pytest

import lpbandits as lpb
from tests.fuzz.commands import run


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"jobs": 0}, "jobs.*0"),
        ({"jobs": 100_000}, "jobs.*100000"),
        ({"backend": "spark"}, "backend.*'spark'"),
        ({"address": "tcp://10.0.0.1:8786"}, "address.*tcp://10.0.0.1:8786.*backend='dask'"),
        ({"backend": "dask", "address": "here"}, "address.*'here'"),
        ({"backend": "dask", "address": "tcp://10.0.0.1"}, "address.*'tcp://10.0.0.1'"),
        ({"backend": "dask", "address": "tcp://10.0.0.1:99999"}, "address.*99999"),
    ],
)
def test_invalid_settings_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=message):
        lpb.Workers(**settings)


@pytest.mark.parametrize(
    "command",
    [
        ["simulate", "--people", "1", "--rounds", "2"],
        ["reproduce", "simplex", "--quick"],
        ["evaluate", "missing.csv"],
        ["decide", "missing.csv", "--model", "missing.json"],
        ["fit", "missing.csv", "--states", "2"],
    ],
    ids=lambda command: command[0],
)
def test_commands_refuse_invalid_options_before_they_read_files(command: list[str]) -> None:
    for words, value in ((["--jobs", "0"], "jobs must be"), (["--backend", "spark"], "'spark'")):
        code, out, error = run([*command, *words])
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert value in error
