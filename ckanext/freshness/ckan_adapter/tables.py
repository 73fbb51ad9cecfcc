"""Our tables and those of extensions that build on this one: whether they are what this version needs.

Two facts decide: the newest migration was applied, and nobody has dropped a table since. Released migrations
never change, so their numbers tell which columns the tables have.

An extension names its tables in the group of entry points :data:`GROUP`, under the name of the plugin whose
migrations make them, for example ``my_harvester = "ckanext.my_harvester.model:TABLES"``. The value is a
sequence of SQLAlchemy's tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from ckan import model

from ..model import TABLES

GROUP = "freshness.tables"
"""The group of entry points in which other extensions name their tables."""


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
            "The tables of the plugin {plugin} were made by another version of it, probably a newer one: no "
            "migration leads from there to this version"
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


@cache
def tables_by_plugin() -> Mapping[str, Sequence[sa.Table]]:
    """Return the tables of this extension and of those that build on it, enabled or not.

    The metadata of all installed packages are read once: while tables are unusable, each hook asks.
    """
    others = {point.name: point.load() for point in entry_points(group=GROUP)}
    return {"freshness": TABLES, **others}


def has_newest_migration(plugin: str) -> bool:
    """Decide whether the newest migration of a plugin has been applied."""
    newest = _migrations(plugin).get_current_head()
    applied = _applied(plugin)
    return newest in applied if applied else newest is None


def existing_tables(plugins: Collection[str] | None = None) -> list[str]:
    """Return the names of the tables that exist, those of migrations included.

    :param plugins: only the tables of these plugins
    """
    names = set()
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
    names = {table.name for table in tables}
    there = names.intersection(existing_tables([plugin]))
    if has_newest_migration(plugin):
        return None if there == names else UnusableTables(plugin, can_be_upgraded=False)
    known = {script.revision for script in _migrations(plugin).walk_revisions()}
    applied = _applied(plugin)
    is_older = applied <= known if applied else not there
    return UnusableTables(plugin, can_be_upgraded=is_older or not names)


@cache
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
