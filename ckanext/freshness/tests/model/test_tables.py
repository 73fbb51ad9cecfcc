"""The tables: as their migrations make them, so the models have them, and all of it is explained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import alembic.command
import pytest
import sqlalchemy as sa
from alembic.config import Config
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.model import (
    CheckRun,
    Comparison,
    Copy,
    DatasetFreshness,
    FrequencySuggestion,
    FreshnessChange,
    FreshnessEvidence,
    FreshnessTransition,
    HistoryDay,
    IatiDataset,
    Mail,
    MailPerson,
    MailStart,
    ResourceCheck,
    ResourceMemory,
    Unindexed,
)

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db")

BEFORE: dict[str, tuple[Any, ...]] = {
    "003_unindexed": (ResourceCheck, CheckRun),
    "004_check": (Copy, IatiDataset),
    "005_copies": (Mail, MailPerson, MailStart),
    "006_mails": (HistoryDay,),
    "018_groups": (FreshnessChange,),
    "022_uninstall": (FrequencySuggestion,),
    "028_last_failure": (Comparison,),
}
"""The tables that a migration makes, by the revision before it."""
TABLES = [table for made in BEFORE.values() for table in made]
MIGRATIONS = Path(__file__).parents[2] / "migration" / "freshness"


def sql(type_: Any) -> str:
    return str(type_.compile(model.Session.get_bind().dialect))


def columns(table: str) -> dict[str, tuple[str, bool, str]]:
    found = sa.inspect(model.Session.get_bind()).get_columns(table)
    return {one["name"]: (sql(one["type"]), one["nullable"], one["comment"]) for one in found}


JUDGEMENTS = (DatasetFreshness, FreshnessEvidence, FreshnessTransition, ResourceMemory, Unindexed)


@pytest.mark.parametrize("table", [*TABLES, *JUDGEMENTS], ids=lambda table: table.__tablename__)
def test_models_and_migration_agree(table: Any) -> None:
    wanted = {
        column.name: (sql(column.type), column.nullable, column.comment)
        for column in table.__table__.columns
    }
    assert columns(table.__tablename__) == wanted
    # A number that nothing refers to explains itself.
    assert all(comment for name, (*_, comment) in wanted.items() if name != "id")


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__tablename__)
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


def alembic_config() -> Config:
    config = Config(str(MIGRATIONS / "alembic.ini"))
    config.set_main_option("script_location", str(MIGRATIONS))
    url = model.Session.get_bind().url.render_as_string(hide_password=False)
    config.set_main_option("sqlalchemy.url", url)
    return config


@pytest.mark.parametrize("revision", BEFORE)
def test_the_migration_goes_back_and_forth(revision: str) -> None:
    config = alembic_config()
    model.Session.remove()
    before = [columns(table.__tablename__) for table in TABLES]
    model.Session.remove()
    try:
        alembic.command.downgrade(config, revision)
        tables = sa.inspect(model.Session.get_bind()).get_table_names()
        assert not {table.__tablename__ for table in BEFORE[revision]} & set(tables)
    finally:
        alembic.command.upgrade(config, "head")
    assert [columns(table.__tablename__) for table in TABLES] == before


def test_counts_of_before_are_those_of_the_organizations_of_now() -> None:
    """History was kept by the names of organizations, and is by their ids."""
    relief = factories.Organization(name="relief")["id"]
    factories.Organization(name="other")
    config = alembic_config()

    def counted(*change: str) -> list[Any]:
        with model.Session.get_bind().begin() as connection:
            for statement in change:
                connection.execute(sa.text(statement))
            rows = connection.execute(
                sa.text("SELECT organizations FROM freshness_history ORDER BY day")
            )
            return list(rows.scalars())

    model.Session.remove()
    try:
        alembic.command.downgrade(config, "007_history")
        old = [{"relief": {"due": 1}, "gone": {"due": 2}}, {}]
        assert old == counted(
            "INSERT INTO freshness_history (day, made_at, statuses, organizations, hosts) VALUES"
            """ ('2026-01-01', now(), '{}', '{"relief": {"due": 1}, "gone": {"due": 2}}', '{}'),"""
            " ('2026-01-02', now(), '{}', '{}', '{}')"
        )
    finally:
        alembic.command.upgrade(config, "head")
    assert counted() == [{relief: {"due": 1}, "gone": {"due": 2}}, {}]
    try:
        alembic.command.downgrade(config, "007_history")
        assert counted() == old
    finally:
        alembic.command.upgrade(config, "head")


def test_mails_of_before_count_for_the_cool_down_and_are_not_sent_again() -> None:
    config = alembic_config()

    def rows(statement: str, *change: str) -> list[Any]:
        with model.Session.get_bind().begin() as connection:
            for one in change:
                connection.execute(sa.text(one))
            return [tuple(row) for row in connection.execute(sa.text(statement))]

    mails = "SELECT kind, about FROM freshness_mail ORDER BY about"
    old = [("run", "failed:1"), ("run", "halved:1")]
    model.Session.remove()
    try:
        alembic.command.downgrade(config, "015_people")
        found = rows(
            mails,
            "INSERT INTO freshness_mail_person (address) VALUES ('a@b')",
            "INSERT INTO freshness_mail (kind, about, address, outcome, ended_at) VALUES"
            " ('run', 'failed:1', 'a@b', 'refused', '2026-01-03'),"
            " ('run', 'halved:1', 'a@b', 'sent', '2026-01-02')",
        )
        assert found == old
    finally:
        alembic.command.upgrade(config, "head")
    assert rows(mails) == [("run", "failed:1"), ("fallen", "halved:1")]
    assert rows("SELECT told_at FROM freshness_mail_person") == [({"run": "2026-01-02T00:00:00"},)]
    # The earlier version does not know this kind.
    rows(
        mails,
        "INSERT INTO freshness_mail (kind, about, address, outcome) VALUES ('broken', 'r', 'a@b', '')",
    )
    try:
        alembic.command.downgrade(config, "015_people")
        assert rows(mails) == old
    finally:
        alembic.command.upgrade(config, "head")


def test_the_strip_begins_with_the_stored_checks() -> None:
    """Failures that are not the URL's count as checks that could not be made."""
    newest_first = [
        {"outcome": "error", "reason": "proxy"},
        {"outcome": "cannot tell"},
        {"outcome": "error", "status": 404},
        {"outcome": "error", "reason": "format"},
        {"outcome": "same hash"},
    ]
    config = alembic_config()
    model.Session.remove()
    try:
        alembic.command.downgrade(config, "016_mail_kinds")
        with model.Session.get_bind().begin() as connection:
            connection.execute(
                sa.text(
                    "INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, attempts)"
                    " VALUES ('new', '', '', '', now(), '[]'), ('old', '', '', '', now(), :attempts)"
                ),
                {"attempts": json.dumps(newest_first)},
            )
    finally:
        alembic.command.upgrade(config, "head")
    rows = model.Session.query(ResourceCheck.strip).order_by(ResourceCheck.resource_id)
    assert [strip for (strip,) in rows] == ["", "wffuu"]
