"""Short drills; `make faults` runs all of them for longer, also on PostgreSQL and on full disks."""

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from lpbandits.service.service import Service
from lpbandits.service.unit import Unit
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


class Waiting:
    """A write that waits."""

    project, key, labels, asked = "", None, (), ()

    def __init__(self) -> None:
        self.event = threading.Event()

    def run(self, _: Unit) -> str:
        self.event.wait(10)
        return "done"


def test_a_write_that_was_accepted_cannot_be_cancelled(sqlite_url: str, opened: Callable[..., Service]) -> None:
    writer = opened(sqlite_url).writer
    request = Waiting()
    writer.submit(request)
    cancelled, later = writer.submit(request), writer.submit(request)
    assert not cancelled.cancel()
    request.event.set()
    assert later.result(10) == "done"
