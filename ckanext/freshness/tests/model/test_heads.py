"""Upgrades from each migration, and the way back: no row is lost, and the tables are those of the models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import alembic.command
import pytest
import sqlalchemy as sa
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.datasets import stored
from ckanext.freshness.tests.model import heads

Contents = dict[str, list[heads.Row]]

HEAD = heads.revisions()[-1]
KEPT = [each for each in heads.revisions() if (heads.DUMPS / f"{each}.sql").exists()]
FILLED = {
    "freshness_check": {"failed_at", "strip"},
    "freshness_mail_person": {"told_at"},
}
"""The new columns whose values migrations compute from what a site has; all others begin with a default."""
ORGANIZATION, DATASET, RESOURCE = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
SECOND_HALF = datetime(2026, 7, 1, tzinfo=timezone.utc)


def make_world() -> None:
    """Make the dataset and the organization that the rows of the dumps are about."""
    factories.Organization(id=ORGANIZATION, name="relief")
    factories.Dataset(
        id=DATASET,
        extras=[{"key": "frequency", "value": "weekly"}],
        resources=[{"id": RESOURCE, "url": "http://x.org/1"}],
    )
    for table, column in (("package", "metadata_created"), ("resource", "created")):
        model.Session.execute(sa.text(f"UPDATE {table} SET {column} = '2026-01-01'"))
    model.Session.commit()


@pytest.fixture
def engine(world: None) -> sa.engine.Engine:
    model.Session.remove()
    return model.meta.engine


@pytest.fixture(autouse=True, scope="module")
def newest_tables() -> Iterator[None]:
    """Leave the tables as other tests expect them."""
    yield
    engine = model.meta.engine
    with engine.begin() as connection:
        heads.drop_tables(connection)
    alembic.command.upgrade(heads.alembic_config(engine.url), "head")


def contents(connection: sa.engine.Connection) -> Contents:
    """Return all rows of this extension's tables, but for the version."""
    names = [name for name in heads.own_tables(connection) if "alembic" not in name]
    return {
        name: ordered(connection.exec_driver_sql(f"SELECT to_jsonb(t) FROM {name} t").scalars())
        for name in names
    }


def ordered(rows: Any) -> list[heads.Row]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def structure(connection: sa.engine.Connection) -> dict[str, set[Any]]:
    """Return the columns, indexes and comments of this extension's tables; the order of columns may differ."""
    statements = {
        "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid), col_description(c.oid, a.attnum)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relkind = 'r'""",
        "indexes": "SELECT tablename AS relname, indexdef FROM pg_indexes",
        "comments": """
        SELECT c.relname, obj_description(c.oid) FROM pg_class c
        WHERE c.relkind = 'r' AND obj_description(c.oid) IS NOT NULL""",
    }
    where = "relname LIKE 'freshness%%' AND relname NOT LIKE '%%alembic%%'"
    return {
        name: {
            tuple(row)
            for row in connection.exec_driver_sql(f"SELECT * FROM ({statement}) s WHERE {where}")
        }
        for name, statement in statements.items()
    }


def test_each_migration_has_a_dump() -> None:
    missing = set(heads.revisions()) - set(KEPT)
    assert not missing, (
        f"No dump of the tables after {', '.join(sorted(missing))}. Add the values of its new columns to "
        "model/rows.json, then: ./dev run python -m ckanext.freshness.tests.model.heads"
    )
    strange = {path.stem for path in heads.DUMPS.glob("*.sql")} - set(heads.revisions())
    assert not strange, f"Dumps of migrations that do not exist: {sorted(strange)}"


@pytest.mark.parametrize("revision", KEPT)
def test_a_site_is_upgraded(revision: str, engine: sa.engine.Engine) -> None:
    with engine.begin() as connection:
        heads.restore(connection, revision)
        had = contents(connection)
    alembic.command.upgrade(heads.alembic_config(engine.url), "head")
    with engine.begin() as connection:
        has, made = contents(connection), structure(connection)
    wanted = heads.rows_at(HEAD)
    for table, rows in had.items():
        kept = {*rows[0], *FILLED.get(table, ())} if rows else set()
        if revision < "016_mail_kinds" and table == "freshness_mail":
            # A kind of mail of later versions.
            wanted[table] = [row for row in wanted[table] if row["kind"] != "broken"]
        assert shares(has[table], kept) == shares(wanted[table], kept), table
    # Migration 010 has all datasets judged anew.
    judged_anew = {row["judge_anew"] for row in has["freshness_dataset"]}
    assert judged_anew == {revision < "010"} or "freshness_dataset" not in had

    refresh(SECOND_HALF)
    extras = stored(DATASET)
    date = "2026-01-05T06:00:00Z" if revision > "002" else "2026-01-01T00:00:00Z"
    assert (extras["freshness"], extras["freshness_last_modified"]) == ("delinquent", date)
    assert made == of_the_newest_dump(engine)


def shares(rows: list[heads.Row], columns: set[str]) -> list[heads.Row]:
    return ordered({name: row[name] for name in columns} for row in rows)


def of_the_newest_dump(engine: sa.engine.Engine) -> dict[str, set[Any]]:
    with engine.begin() as connection:
        heads.restore(connection, HEAD)
        return structure(connection)


def test_and_back_step_by_step(engine: sa.engine.Engine) -> None:
    was = {}
    for revision in KEPT:
        with engine.begin() as connection:
            heads.restore(connection, revision)
            was[revision] = structure(connection), contents(connection)
    for revision in reversed(KEPT[:-1]):
        alembic.command.downgrade(heads.alembic_config(engine.url), "-1")
        with engine.begin() as connection:
            found = structure(connection), contents(connection)
        assert found == was[revision], revision
