"""A clock that is set back changes times, and nothing else."""

from functools import partial

from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from lpbandits.service.writer import Writer
from tests.service.shared import dump
from tests.service.test_replicas import ask, check, sending, start, tell


def test_a_clock_set_back_changes_neither_order_nor_beliefs(store_url: str, sqlite_url: str) -> None:
    tables = []
    for url, times in ((store_url, [5e9, 5e9 - 3600, 5e9 - 7200]), (sqlite_url + "2", [1e9, 2e9, 3e9])):
        with Service(Store(url, serving=True), dev=True) as service:
            start(service)
            service.writer.stop()
            now = times[:1]
            service.writer = Writer(service.store, service.setups, clock=partial(now.__getitem__, 0))
            for now[0] in times:
                first = sending(service, ask())()["decision"]
                sending(service, tell(decision=first, reward=0.5), tell(given="walk", reward=1.0))()
                told = dump(service)["outcomes"]
                assert max(row[1] for row in told) == dump(service)["snapshots"][0][1]
            check(service)
            rows = dump(service)
            tables.append(([row[:-1] for row in rows["decisions"]], rows["snapshots"]))
            assert {row[-1] for row in rows["decisions"]} == {int(time * 1e6) for time in times}
    assert tables[0] == tables[1]
