import signal

import psycopg
import pytest

from lpbandits.service.store.database import Store
from tests.service.postgres import Postgres, binaries

LIMITS = ("lock_timeout", "idle_in_transaction_session_timeout")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
def test_a_server_keeps_its_databases_when_it_is_stopped(how: signal.Signals) -> None:
    folder = binaries()
    if folder is None:
        pytest.skip("no PostgreSQL runs here")
    with Postgres(folder, durable=False) as server:
        url = server.new_database()
        with psycopg.connect(url) as sql:
            sql.execute("CREATE TABLE t AS SELECT 17 AS x")
        server.restart(how)
        with psycopg.connect(url) as sql:
            assert sql.execute("SELECT x FROM t").fetchall() == [(17,)]
    assert not server.folder.exists()


def test_a_replica_that_hangs_does_not_keep_the_others_waiting(postgres: Postgres) -> None:
    with Store(postgres.new_database(), serving=True) as store, store.writing() as sql:
        limits = [sql.exec_driver_sql(f"SHOW {name}").scalar() for name in LIMITS]
    assert limits == ["30s", "1min"]
