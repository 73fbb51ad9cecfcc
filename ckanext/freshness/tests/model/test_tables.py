"""The tables: the migrations make what the models say."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.tables import tables_by_plugin

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db")

TABLES = [table for tables in tables_by_plugin().values() for table in tables]


@pytest.fixture
def connection() -> Any:
    return model.Session.connection()


def is_ours(_object: Any, name: str | None, kind: str, _reflected: bool, _other: Any) -> bool:
    """Return whether alembic should compare an object of the database."""
    if kind == "table":
        return str(name).startswith("freshness_") and name != "freshness_alembic_version"
    return True


def differences(connection: Any) -> list[Any]:
    """Return in what the database differs from the models."""
    metadata = sa.MetaData()
    for table in TABLES:
        table.to_metadata(metadata)
    context = MigrationContext.configure(
        connection,
        opts={"compare_type": True, "compare_server_default": True, "include_object": is_ours},
    )
    return list(compare_metadata(context, metadata))


def test_models_and_migrations_agree(connection: Any) -> None:
    assert differences(connection) == []


def test_partial_indexes_are_partial_in_both(connection: Any) -> None:
    # SQLAlchemy 1.4 leaves out indexes on expressions.
    statement = "SELECT indexname FROM pg_indexes WHERE tablename = ANY(:names) AND indexdef LIKE '% WHERE %'"
    names = [table.name for table in TABLES]
    found = set(connection.execute(sa.text(statement), {"names": names}).scalars())
    wanted = {
        index.name
        for table in TABLES
        for index in table.indexes
        if index.dialect_options["postgresql"]["where"] is not None
    }
    assert found == wanted
