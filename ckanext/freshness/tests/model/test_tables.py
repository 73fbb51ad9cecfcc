"""The tables: as their migrations make them, so the models have them, and all of it is explained."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from ckanext.freshness import model as own_model
from ckanext.freshness.ckan_adapter.ckan_core import model

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db")

TABLES = [getattr(own_model, name) for name in own_model.__all__]


def sql(type_: Any) -> str:
    return str(type_.compile(model.Session.get_bind().dialect))


def columns(table: str) -> dict[str, tuple[str, bool, str]]:
    found = sa.inspect(model.Session.get_bind()).get_columns(table)
    return {one["name"]: (sql(one["type"]), one["nullable"], one["comment"]) for one in found}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__tablename__)
def test_models_and_migration_agree(table: Any) -> None:
    wanted = {
        column.name: (sql(column.type), column.nullable, column.comment)
        for column in table.__table__.columns
    }
    assert columns(table.__tablename__) == wanted
    # A number that nothing refers to explains itself.
    assert all(comment for name, (*_, comment) in wanted.items() if name != "id")


# PostgreSQL spells the condition of an index of freshness_dataset in another way.
@pytest.mark.parametrize(
    "table",
    [table for table in TABLES if table is not own_model.DatasetFreshness],
    ids=lambda table: table.__tablename__,
)
def test_models_and_migration_have_the_same_indexes(table: Any) -> None:
    found = sa.inspect(model.Session.get_bind()).get_indexes(table.__tablename__)
    wanted = {
        (
            index.name,
            tuple(column.name for column in index.columns),
            str(index.dialect_options["postgresql"]["where"]),
        )
        for index in table.__table__.indexes
    }
    assert wanted == {
        (
            one["name"],
            tuple(one["column_names"]),
            one.get("dialect_options", {}).get("postgresql_where", "None").strip("()"),
        )
        for one in found
        # Those of unique columns are made by their constraints.
        if "duplicates_constraint" not in one
    }
