"""CKAN's database, and its rows of packages."""

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
    """Close this process's connections to the database, before it forks."""
    model.Session.remove()
    model.meta.engine.dispose()


def lock_packages(package_ids: Iterable[str]) -> None:
    """Let nobody else write these packages until this transaction ends.

    Everybody takes the packages' rows first, in the order of their ids, and this extension's rows
    after: so that two writers at once wait for each other, and never each for the other.
    """
    # Not FOR UPDATE: resources that are inserted meanwhile only need the package's key.
    statement = "SELECT id FROM package WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE"
    model.Session.execute(sa.text(statement), {"ids": list(package_ids)}).all()


def hold_packages(package_ids: Sequence[str]) -> list[Any]:
    """Packages, loaded at once: sessions know them for as long as somebody keeps what is returned.

    CKAN asks twice for each package that it indexes, and else each time the database.
    """
    package = model.Package
    return list(model.Session.query(package).filter(package.id.in_(package_ids)))


def has_written() -> bool:
    """Decide whether this transaction has written rows of models, or is about to."""
    session = model.Session()
    # CKAN keeps what was flushed until the transaction ends.
    waiting = session.new or session.dirty or session.deleted
    return bool(waiting) or hasattr(session, "_object_cache")


def has_newest_migration(plugin: str) -> bool:
    """Whether a plugin's tables are as its newest migration leaves them."""
    source = inspect.getsourcefile(type(p.get_plugin(plugin)))
    assert source is not None
    newest = ScriptDirectory(str(Path(source).parent / "migration" / plugin)).get_current_head()
    table = f"{plugin}_alembic_version"
    if not sa.inspect(model.Session.get_bind()).has_table(table):
        return newest is None
    version = sa.table(table, sa.column("version_num"))
    return newest in model.Session.execute(sa.select(version.c.version_num)).scalars().all()
