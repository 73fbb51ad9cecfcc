"""The tables of version 0.1.0, upgraded by the newest migrations: they are as declared, and keep every row."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from ckan.cli.cli import ckan

from ckanext.freshness.ckan_adapter import database, tables
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.model.test_tables import differences

CKANEXT = Path(__file__).parents[3]
PLUGINS = ("freshness", "iati_harvester")

RELEASED = {
    "freshness/migration/freshness/versions/001_initial.py": (
        "3e5ee6c9981f465b785e2c7cfabeebf74079d6aa6aa9eb5f8776281c8e56e6c3"
    ),
    "freshness_iati/migration/iati_harvester/versions/001_initial.py": (
        "6d70b66df81f4f6f33ef9ad63349c0801a574a324e0d458d6bc78ef41d05c31f"
    ),
}
"""The SHA-256 of each migration that sites have applied."""

CHANGED: dict[tuple[str, str], object] = {}
"""By table and column: what later migrations write into all rows on purpose, in place of the old values."""

Rows = dict[str, list[dict[str, Any]]]


@pytest.mark.parametrize("name", RELEASED)
def test_a_released_migration_never_changes(name: str) -> None:
    digest = hashlib.sha256((CKANEXT / name).read_bytes()).hexdigest()
    assert digest == RELEASED[name], "Sites have applied it: write another migration instead"


@pytest.fixture
def rows_of_0_1_0(clean_db: None, migrate_db_for: Callable[[str], None]) -> Iterator[Rows]:
    """The rows of a database as version 0.1.0 left it."""
    dump = CKANEXT / "freshness/tests/data/tables-0.1.0.sql"
    tables.drop_tables(tables.existing_tables())
    connection = model.meta.engine.raw_connection()
    connection.cursor().execute(dump.read_text())
    connection.cursor().execute("SET search_path TO DEFAULT")
    connection.commit()
    connection.close()
    yield _rows()
    model.Session.remove()
    tables.drop_tables(tables.existing_tables())
    for plugin in PLUGINS:
        migrate_db_for(plugin)
    database.forget_tables()


def _rows() -> Rows:
    """Return all rows of our tables, those with the numbers of migrations left out."""
    model.Session.remove()
    names = [name for name in tables.existing_tables() if not name.endswith("alembic_version")]
    with model.meta.engine.connect() as connection:
        return {
            name: [
                dict(row._mapping)
                for row in connection.execute(sa.text(f"SELECT * FROM {name} ORDER BY 1, 2"))
            ]
            for name in names
        }


def _kept(before: Rows, after: Rows) -> Rows:
    """Return the rows of before, as they must be after an upgrade."""
    return {
        name: [
            {
                column: CHANGED.get((name, column), value)
                for column, value in row.items()
                if column in after[name][0]
            }
            for row in rows
        ]
        for name, rows in before.items()
        if name in after
    }


def _is_kept(before: Rows, after: Rows) -> bool:
    wanted = _kept(before, after)
    found = {
        name: [{column: row[column] for column in wanted[name][0]} for row in after[name]]
        for name in wanted
    }
    return wanted == found


def test_an_upgrade_of_0_1_0(rows_of_0_1_0: Rows, cli: Any) -> None:
    assert all(rows_of_0_1_0.values()), "the dump has rows of every table"
    for plugin in PLUGINS:
        done = cli.invoke(ckan, ["db", "upgrade", "-p", plugin])
        assert done.exit_code == 0, done.output
    assert differences(model.Session.connection()) == []
    assert tables.unusable_tables() == []
    assert _is_kept(rows_of_0_1_0, _rows())


LATER = """
import sqlalchemy as sa
from alembic import op

revision = "later"
down_revision = "{newest}"

def upgrade():
    op.add_column("freshness_dataset", sa.Column("words", sa.UnicodeText, server_default="none"))
    op.execute("UPDATE freshness_dataset SET words = status")
"""


def test_a_later_migration_and_the_way_back(
    rows_of_0_1_0: Rows, cli: Any, ckan_config: Any, tmp_path: Path
) -> None:
    """An upgrade keeps the rows; the version before it says that it is too old for these tables."""
    folder = tmp_path / "freshness"
    shutil.copytree(CKANEXT / "freshness/migration/freshness", folder)
    newest = tables._migrations("freshness").get_current_head()
    (folder / "versions" / "later.py").write_text(LATER.format(newest=newest))
    config = Config(str(folder / "alembic.ini"))
    config.set_main_option("sqlalchemy.url", ckan_config["sqlalchemy.url"].replace("%", "%%"))
    command.upgrade(config, "head")

    after = _rows()
    assert _is_kept(rows_of_0_1_0, after)
    assert all(row["words"] == row["status"] for row in after["freshness_dataset"])
    for arguments in (["db", "upgrade", "-p", "freshness"], ["freshness", "doctor"]):
        done = cli.invoke(ckan, arguments)
        said = " ".join(done.output.split())
        assert done.exit_code != 0, said
        assert "made by another version of it, probably a newer one" in said
        assert "Install that version again" in said
    assert _rows() == after
