import signal

import psycopg
import pytest

from tests.service.postgres import Postgres, binaries


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
