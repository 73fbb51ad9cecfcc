"""Our tables and those of extensions that build on this one: whether they are what this version needs.

Two facts decide: the newest migration was applied, and the database has the columns that the models declare.
The number of a migration alone proves nothing: its file may have been edited, or another version may have made
the tables.

An extension names its tables in the group of entry points :data:`GROUP`, under the name of the plugin whose
migrations make them, for example ``my_harvester = "ckanext.my_harvester.model:TABLES"``. The value is a
sequence of SQLAlchemy's tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from ckan import model

from ..model import EARLIER_TABLES, TABLES

GROUP = "freshness.tables"
"""The group of entry points in which other extensions name their tables."""

OWN = "freshness"


@dataclass(frozen=True, slots=True)
class UnusableTables:
    """The tables of a plugin that this version of it cannot use.

    :ivar can_be_upgraded: whether the plugin's migrations mend it
    """

    plugin: str
    can_be_upgraded: bool

    def what(self, _: Callable[[str], str] = tk._) -> str:
        """Return for people what is wrong, without a full stop."""
        if self.can_be_upgraded:
            return _("The tables of the plugin {plugin} are missing or old").format(
                plugin=self.plugin
            )
        return _(
            "The tables of the plugin {plugin} were made by another version of it, and no migration leads from "
            "there to this version"
        ).format(plugin=self.plugin)

    def advice(self, _: Callable[[str], str] = tk._) -> str:
        """Return for people what to do."""
        upgrade = f"ckan -c ... db upgrade -p {self.plugin}"
        if self.can_be_upgraded:
            return _("This makes them: {commands}").format(commands=upgrade)
        return _(
            "Install that version again. Or drop these tables with their history, make them anew, and restart "
            "CKAN: {commands}"
        ).format(commands=f"ckan -c ... freshness-uninstall --drop-tables && {upgrade}")

    def sentence(self, _: Callable[[str], str] = tk._) -> str:
        """Return both."""
        return f"{self.what(_)}. {self.advice(_)}"


def unusable_tables() -> list[UnusableTables]:
    """Return the enabled plugins whose tables are missing, old or of another version."""
    needed = {"harvest": (), **tables_by_plugin()}
    found = [
        _unusable(plugin, tables) for plugin, tables in needed.items() if p.plugin_loaded(plugin)
    ]
    return [tables for tables in found if tables is not None]


def tables_by_plugin() -> dict[str, Sequence[sa.Table]]:
    """Return the tables of this extension and of those that build on it, enabled or not."""
    others = {point.name: point.load() for point in entry_points(group=GROUP)}
    return {OWN: TABLES, **others}


def has_newest_migration(plugin: str) -> bool:
    """Decide whether the newest migration of a plugin has been applied."""
    newest = _migrations(plugin).get_current_head()
    applied = _applied(plugin)
    return newest in applied if applied else newest is None


def existing_tables(plugins: Collection[str] | None = None) -> list[str]:
    """Return the names of the tables that exist, those of earlier versions and of migrations included.

    :param plugins: only the tables of these plugins
    """
    names = set(EARLIER_TABLES) if plugins is None or OWN in plugins else set()
    for plugin, tables in tables_by_plugin().items():
        if plugins is None or plugin in plugins:
            names |= {_version_table(plugin), *(table.name for table in tables)}
    return sorted(names.intersection(sa.inspect(model.Session.connection()).get_table_names()))


def drop_tables(names: Collection[str]) -> None:
    """Drop tables in one transaction."""
    if names:
        model.Session.execute(sa.text(f"DROP TABLE {', '.join(names)}"))
    model.Session.commit()


def _unusable(plugin: str, tables: Sequence[sa.Table]) -> UnusableTables | None:
    if has_newest_migration(plugin):
        if not tables or _are_as_declared(tables):
            return None
        return UnusableTables(plugin, can_be_upgraded=False)
    applied = _applied(plugin)
    known = {script.revision for script in _migrations(plugin).walk_revisions()}
    is_empty = not applied and not _columns(tables)
    return UnusableTables(plugin, not tables or is_empty or bool(applied and applied <= known))


def _migrations(plugin: str) -> ScriptDirectory:
    source = inspect.getsourcefile(type(p.get_plugin(plugin)))
    assert source is not None
    return ScriptDirectory(str(Path(source).parent / "migration" / plugin))


def _version_table(plugin: str) -> str:
    return f"{plugin}_alembic_version"


def _applied(plugin: str) -> set[str]:
    """Return the versions that the table of a plugin's migrations has."""
    name = _version_table(plugin)
    if not sa.inspect(model.Session.connection()).has_table(name):
        return set()
    version = sa.table(name, sa.column("version_num"))
    return set(model.Session.execute(sa.select(version.c.version_num)).scalars())


# Two queries for all tables: SQLAlchemy's inspection asks several times for each one.


def _are_as_declared(tables: Sequence[sa.Table]) -> bool:
    """Decide whether the database's columns and unique keys are those of the models.

    A site may add indexes of its own, also unique ones.
    """
    return _columns(tables) == _declared_columns(tables) and _declared_keys(tables) <= _keys(tables)


Columns = Mapping[tuple[str, str], tuple[str | None, bool, bool]]
"""By table and column: the type in PostgreSQL's words, whether it is NOT NULL, and whether it has a default.

Sequences are no defaults here: SQLAlchemy 1.4 does not say which columns have one.
"""


def _declared_columns(tables: Sequence[sa.Table]) -> Columns:
    dialect = model.Session.get_bind().dialect
    types = {column.type.compile(dialect) for table in tables for column in table.columns}
    rows = _execute("SELECT t, to_regtype(t)::text FROM unnest(CAST(:names AS text[])) AS t", types)
    as_stored = {name: stored for name, stored in rows}
    return {
        (table.name, column.name): (
            as_stored[column.type.compile(dialect)],
            not column.nullable,
            column.server_default is not None,
        )
        for table in tables
        for column in table.columns
    }


def _columns(tables: Sequence[sa.Table]) -> Columns:
    rows = _execute(
        "SELECT t, attname, atttypid::regtype::text, attnotnull, attidentity <> '' "
        "OR coalesce(pg_get_expr(adbin, adrelid) NOT LIKE 'nextval(%', false) "
        "FROM unnest(CAST(:names AS text[])) AS t JOIN pg_attribute ON attrelid = to_regclass(quote_ident(t)) "
        "LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum "
        "WHERE attnum > 0 AND NOT attisdropped",
        [table.name for table in tables],
    )
    return {(table, column): (type_, *flags) for table, column, type_, *flags in rows}


def _declared_keys(tables: Sequence[sa.Table]) -> set[tuple[str, frozenset[str]]]:
    """Return by table the sets of columns that must be unique."""
    keys = set()
    for table in tables:
        kinds = sa.PrimaryKeyConstraint, sa.UniqueConstraint
        declared = [list(each.columns) for each in table.constraints if isinstance(each, kinds)]
        declared += [list(index.columns) for index in table.indexes if index.unique]
        keys |= {(table.name, frozenset(column.name for column in key)) for key in declared}
    return keys


def _keys(tables: Sequence[sa.Table]) -> set[tuple[str, frozenset[str]]]:
    rows = _execute(
        "SELECT t, ARRAY(SELECT attname::text FROM pg_attribute a "
        "WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)) "
        "FROM unnest(CAST(:names AS text[])) AS t "
        "JOIN pg_index i ON i.indrelid = to_regclass(quote_ident(t)) WHERE i.indisunique",
        [table.name for table in tables],
    )
    return {(table, frozenset(columns)) for table, columns in rows}


def _execute(statement: str, names: Collection[str]) -> list[Any]:
    return list(model.Session.execute(sa.text(statement), {"names": list(names)}))
