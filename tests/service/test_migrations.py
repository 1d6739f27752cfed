"""Tables after each migration, and stores that an earlier or a newer version made."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from starlette.testclient import TestClient

from lpbandits.errors import FileFormatError
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store import migrations, schema
from lpbandits.service.store.database import Store
from tests.service.shared import make_project

REVISIONS = [script.revision for script in migrations._scripts().walk_revisions()][::-1]


@pytest.fixture(params=["sqlite", "postgres"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    """Return the URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/empty.db"
    url: str = request.getfixturevalue("postgres").new_database()
    return url


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)


def value_of(column: Any, i: int) -> Any:
    """Return a value for a column of a table that is read from a database."""
    kind = column.type.python_type
    values = {int: i, str: f"text {i}", float: i / 4, bytes: bytes([i]), bool: True, datetime.datetime: None}
    return values[kind]


def test_upgraded_tables_are_those_of_the_schema(empty_url: str) -> None:
    Store(empty_url, serving=True).close()
    with engine_of(empty_url).connect() as sql:
        context = MigrationContext.configure(sql, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, schema.metadata) == []
        names = set(sa.inspect(sql).get_table_names())
        assert names == {*schema.metadata.tables, "alembic_version"}
        for table in schema.metadata.sorted_tables:
            key = sa.inspect(sql).get_pk_constraint(table.name)["constrained_columns"]
            assert key == [column.name for column in table.primary_key.columns], table.name
        if sql.dialect.name == "postgresql":
            assert sa.inspect(sql).has_sequence("person_ids")
        else:
            for table in schema.metadata.sorted_tables:
                text = sql.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE name = '{table.name}'").scalar()  # noqa: S608
                expected = not table.dialect_options["sqlite"]["with_rowid"]
                assert ("WITHOUT ROWID" in str(text)) == expected, table.name


def test_an_upgraded_store_works_and_opens_again(empty_url: str, opened: Callable[..., Service]) -> None:
    for _ in range(2):
        service = opened(empty_url)
        with TestClient(create_app(service)) as client:
            client.post(f"{make_project(client)}/people/ann/decisions")
        service.close()


@pytest.mark.parametrize("revision", REVISIONS)
def test_rows_of_the_revision_before_are_kept(empty_url: str, revision: str) -> None:
    """A store at the revision before `revision`, with three rows in each table, is opened and still has them."""
    before = REVISIONS[: REVISIONS.index(revision)]
    engine = engine_of(empty_url)
    kept: dict[str, list[dict[str, Any]]] = {}
    if before:
        with engine.connect() as sql, sql.begin():
            command.upgrade(migrations._config(sql), before[-1])
        known = sa.MetaData()
        known.reflect(engine)
        with engine.begin() as sql:
            for table in known.sorted_tables:
                if table.name != "alembic_version":
                    kept[table.name] = [{one.name: value_of(one, i) for one in table.columns} for i in (1, 2, 3)]
                    sql.execute(table.insert(), kept[table.name])
        with pytest.raises(FileFormatError, match="earlier"):
            Store(empty_url)
    Store(empty_url, serving=True).close()
    Store(empty_url).close()
    now = sa.MetaData()
    now.reflect(engine)
    with engine.connect() as sql:
        for name, rows in kept.items():
            found = [dict(row) for row in sql.execute(sa.select(now.tables[name])).mappings()]
            for row in rows:
                assert [one for one in found if row.items() <= one.items()], (name, row, found)


def test_stores_of_a_newer_version_and_other_databases_are_refused(empty_url: str) -> None:
    Store(empty_url, serving=True).close()
    with engine_of(empty_url).begin() as sql:
        sql.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    for serving in (True, False):
        with pytest.raises(FileFormatError, match="newer"):
            Store(empty_url, serving=serving)
    with engine_of(empty_url).begin() as sql:
        sql.exec_driver_sql("DELETE FROM alembic_version")
    with pytest.raises(FileFormatError, match="no tables"):
        Store(empty_url)


def test_two_replicas_make_the_tables_once(postgres: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    url = postgres.new_database()
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: Store(url, serving=True), range(4)))
    for store in stores:
        store.close()
