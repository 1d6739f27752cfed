"""Hostile input at every door: a small budget here, minutes of it in `make fuzz`, and all past findings."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.doors import ALL
from tests.doors.runner import attempt, corpus, read

SECONDS = 120.0
"""A first try may compile."""


@pytest.mark.parametrize("name", ALL)
def test_a_door_lets_no_foreign_error_out(name: str) -> None:
    door = ALL[name]

    @settings(
        max_examples=door.budget,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(door.code)
    def try_(code: str) -> None:
        outcome = attempt(door, code, SECONDS)
        assert not outcome.finding, f"{outcome.kind}: {outcome.cause}\n{code}"

    try_()


@pytest.mark.parametrize(("name", "file"), corpus(), ids=lambda value: value.stem if isinstance(value, Path) else value)
def test_what_was_found_once_stays_mended(name: str, file: Path) -> None:
    source, wanted = read(file)
    outcome = attempt(ALL[name], source, SECONDS)
    assert outcome.kind == wanted, f"{outcome.kind}: {outcome.cause}"
