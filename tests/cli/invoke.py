"""Run commands in this process."""

import json
from typing import Any

from typer.testing import CliRunner

from lpbandits.cli import app


def output(*arguments: object) -> str:
    """Run a command that must succeed; return its standard output."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def json_output(*arguments: object) -> Any:
    """Run a command with --json; return the printed object. NaN and infinities are not JSON."""
    return json.loads(output(*arguments, "--json"), parse_constant=_reject)


def error_of(*arguments: object) -> BaseException:
    """Run a command that must fail; return its exception."""
    exception = CliRunner().invoke(app, [str(argument) for argument in arguments]).exception
    assert exception is not None
    return exception


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
