"""CKAN's database and its packages."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa
from alembic.script import ScriptDirectory
from ckan import model


def disconnect() -> None:
    """Close all connections of this process to the database. Call it before a fork."""
    model.Session.remove()
    model.meta.engine.dispose()


def lock_packages(package_ids: Iterable[str]) -> None:
    """Lock packages against other writers until this transaction ends.

    To avoid deadlocks, every writer locks packages first, in the order of their ids, and this extension's
    rows after them.
    """
    # Not FOR UPDATE, which would block the inserting of resources: they refer to the package's key.
    statement = "SELECT id FROM package WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE"
    model.Session.execute(sa.text(statement), {"ids": list(package_ids)}).all()


def hold_packages(package_ids: Sequence[str]) -> list[Any]:
    """Load packages with one query. The session knows them while the caller keeps the returned list.

    CKAN reads each package that it indexes twice, and would query the database each time.
    """
    package = model.Package
    return list(model.Session.query(package).filter(package.id.in_(package_ids)))


def has_newest_migration(plugin: str) -> bool:
    """Decide whether the newest migration of a plugin has been applied."""
    source = inspect.getsourcefile(type(p.get_plugin(plugin)))
    assert source is not None
    newest = ScriptDirectory(str(Path(source).parent / "migration" / plugin)).get_current_head()
    table = f"{plugin}_alembic_version"
    if not sa.inspect(model.Session.get_bind()).has_table(table):
        return newest is None
    version = sa.table(table, sa.column("version_num"))
    return newest in model.Session.execute(sa.select(version.c.version_num)).scalars().all()
