"""Short drills; `make faults` runs all of them for longer, also on PostgreSQL and on full disks."""

import random
from pathlib import Path

import pytest

from tests.service.drills import Place, kills, second_server


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, None, random.Random(0))  # noqa: S311 - not a secret


def test_no_acknowledged_write_is_lost_or_made_twice_when_the_server_is_killed(place: Place) -> None:
    result = kills(place, times=2, n_clients=4)
    assert result.wrong == []
    assert result.faults == 3
    assert result.counts["decisions"] > 30
    assert result.counts["outcomes"] > 30


def test_a_second_server_on_a_file_is_refused_until_the_first_is_gone(place: Place) -> None:
    assert second_server(place).wrong == []
