"""Dumps of this extension's tables as each of its migrations left them, with rows in every table.

After a new migration, add values for its tables and columns to ``rows.json``, then make the missing dump::

    ./dev run python -m ckanext.freshness.tests.model.heads

Dumps of earlier migrations never change: they are what sites have. Each file has only the tables whose dump
differs from that of the migration before.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import alembic.command
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory

MIGRATIONS = Path(__file__).parents[2] / "migration" / "freshness"
DUMPS = Path(__file__).parent / "dumps"
ROWS = Path(__file__).parent / "rows.json"

_SECTION = re.compile(r"^-- (\w+)\n", re.MULTILINE)
_GONE = "-- dropped\n"

Row = dict[str, Any]


def alembic_config(url: sa.engine.URL) -> Config:
    """Return the configuration of the migrations for a database."""
    config = Config(str(MIGRATIONS / "alembic.ini"))
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("sqlalchemy.url", url.render_as_string(hide_password=False))
    return config


@lru_cache
def revisions() -> tuple[str, ...]:
    """Return all migrations in their order."""
    script = ScriptDirectory(str(MIGRATIONS))
    return tuple(reversed([each.revision for each in script.walk_revisions()]))


def rows_at(revision: str) -> dict[str, list[Row]]:
    """Return the rows of each table as a site had them after a migration, with all columns of today."""
    number = revisions().index(revision)
    found: dict[str, list[Row]] = {}
    for table, rows in json.loads(ROWS.read_text()).items():
        found[table] = []
        for row in rows:
            since, until = row.pop("__since", revisions()[0]), row.pop("__until", {})
            if revisions().index(since) > number:
                continue
            for last, older in until.items():
                if number <= revisions().index(last):
                    row.update(older)
            found[table].append(row)
    return found


@lru_cache
def tables_at(revision: str) -> dict[str, str]:
    """Return the dump of each table that existed after a migration, as statements of SQL.

    :raises FileNotFoundError: that migration, or one before it, has no dump
    """
    found: dict[str, str] = {}
    for each in revisions()[: revisions().index(revision) + 1]:
        _, *parts = _SECTION.split((DUMPS / f"{each}.sql").read_text())
        found.update(zip(parts[::2], parts[1::2], strict=True))
    return {table: dump for table, dump in sorted(found.items()) if dump != _GONE}


def restore(connection: sa.engine.Connection, revision: str) -> None:
    """Replace this extension's tables by those of a migration."""
    drop_tables(connection)
    version = (
        "CREATE TABLE freshness_alembic_version (version_num varchar(32) PRIMARY KEY);\n"
        f"INSERT INTO freshness_alembic_version VALUES ('{revision}')"
    )
    # The driver takes statements without parameters as they are.
    cursor = connection.connection.cursor()
    cursor.execute("".join([*tables_at(revision).values(), version]))
    cursor.close()


def drop_tables(connection: sa.engine.Connection) -> None:
    """Drop all tables of this extension."""
    if names := own_tables(connection):
        connection.exec_driver_sql(f"DROP TABLE {', '.join(names)}")


def own_tables(connection: sa.engine.Connection) -> list[str]:
    """Return the names of this extension's tables, that of the migrations' version included."""
    names = sa.inspect(connection).get_table_names()
    return sorted(name for name in names if name.startswith("freshness_"))


def main() -> None:
    """Make the missing dumps, in a database of its own."""
    from ckan.cli import CKANConfigLoader

    missing = [each for each in revisions() if not (DUMPS / f"{each}.sql").exists()]
    url = sa.engine.make_url(
        CKANConfigLoader(os.environ["CKAN_INI"]).get_config()["sqlalchemy.url"]
    )
    with _database(url) as own:
        engine = sa.create_engine(own, poolclass=sa.pool.NullPool)
        before: dict[str, str] = {}
        for revision in revisions():
            with engine.begin() as connection:
                drop_tables(connection)
            alembic.command.upgrade(alembic_config(own), revision)
            with engine.begin() as connection:
                _fill(connection, revision)
                names = own_tables(connection)
            if revision in missing:
                dumps = {name: _dump(own, name) for name in names if "alembic" not in name}
                _write(revision, before, dumps)
                print(f"Made {revision}")
            before = tables_at(revision)
        engine.dispose()


@contextmanager
def _database(url: sa.engine.URL) -> Iterator[sa.engine.URL]:
    """Make an empty database with those tables of CKAN that migrations read."""
    own = url.set(database=f"{url.database}_heads")
    server = sa.create_engine(
        url.set(database="postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool
    )
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {own.database}")
        connection.exec_driver_sql(f"CREATE DATABASE {own.database} TEMPLATE template0")
    engine = sa.create_engine(own, poolclass=sa.pool.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE package (id text, state text)")
        connection.exec_driver_sql('CREATE TABLE "group" (id text, name text)')
    try:
        yield own
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {own.database}")


def _fill(connection: sa.engine.Connection, revision: str) -> None:
    inspector = sa.inspect(connection)
    for table, rows in rows_at(revision).items():
        if not inspector.has_table(table):
            continue
        columns = [column["name"] for column in inspector.get_columns(table)]
        for row in rows:
            if lacking := set(columns) - set(row):
                raise SystemExit(f"Add values for {sorted(lacking)} of {table} to {ROWS.name}.")
            names = ", ".join(f'"{name}"' for name in columns)
            select = f"SELECT {names} FROM jsonb_populate_record(CAST(NULL AS {table}), :row)"
            insert = sa.text(f"INSERT INTO {table} ({names}) {select}")
            connection.execute(insert, {"row": json.dumps(row)})
        if "id" in columns and table == "freshness_transition":
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}"
            )


def _dump(url: sa.engine.URL, table: str) -> str:
    command = ["pg_dump", "--no-owner", "--no-privileges", "--column-inserts", f"--table={table}"]
    done = subprocess.run(
        [*command, url.render_as_string(hide_password=False)],
        capture_output=True,
        text=True,
        check=True,
    )
    statements = [
        line
        for line in done.stdout.splitlines()
        if line and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", "\\"))
    ]
    return "\n".join(statements) + "\n"


def _write(revision: str, before: dict[str, str], now: dict[str, str]) -> None:
    changed = {name: dump for name, dump in now.items() if before.get(name) != dump}
    changed.update({name: _GONE for name in before if name not in now})
    DUMPS.mkdir(exist_ok=True)
    text = "".join(f"-- {name}\n{dump}" for name, dump in sorted(changed.items()))
    (DUMPS / f"{revision}.sql").write_text(text)


if __name__ == "__main__":
    main()
