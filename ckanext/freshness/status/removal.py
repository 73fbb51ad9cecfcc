"""Removes from CKAN's tables everything that this extension wrote there, also where its plugin is not enabled.

These are the extras of packages, and the fields of links that checks filled in. Options of this extension
are not read: where the plugin is not enabled, they are not declared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from .. import model as own_model
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import lock_packages
from ..ckan_adapter.extras import packages_with_extras, write_extras
from ..ckan_adapter.forms import own_extras
from ..ckan_adapter.solr import rebuild, solr_commit
from ..dates import utc
from ..field_names import NAMES, with_prefix
from ..own_values import look_ours
from . import resource_fields

_BATCH = 100
_LOCK_MILLISECONDS = 400
"""PostgreSQL's ``deadlock_timeout`` is a second."""
_ATTEMPTS = 60
_PATIENCE = 5.0
"""Seconds; edits take less, but consumers may keep a transaction open."""


@dataclass(frozen=True, slots=True)
class Written:
    """A package in which this extension has written.

    :ivar keys: its extras that are this extension's
    """

    package_id: str
    keys: tuple[str, ...]


def find() -> list[Written]:
    """Return the packages with extras of ours, or with fields of links that checks have filled in."""
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    judged = _judged()
    restored = _replaced() if begun_at() else {}
    names = [key for prefix in {"", *judged.values()} for key in with_prefix(prefix).extras]
    for package_id, package_type, extras in packages_with_extras(names):
        kind = package_type, judged.get(package_id, "")
        if kind not in keys:
            keys[kind] = own_extras(package_type, with_prefix(kind[1]))
        own = keys[kind]
        own_values = restored.get(package_id, {})
        has_any = any(key in extras and extras[key] != own_values.get(key) for key in own)
        # Without a row, they remain of an earlier installation, or are the site's own.
        if has_any and (package_id in judged or look_ours(extras, NAMES, own)):
            found[package_id] = own
    if has_table("freshness_check"):
        for package_id in resource_fields.packages_with_found():
            found.setdefault(package_id, ())
    return [Written(package_id, own) for package_id, own in sorted(found.items())]


def take_out(found: Sequence[Written], now: datetime) -> Iterator[int]:
    """Remove extras and fields from packages, and from their documents; yield the number of packages done.

    Processes in which the plugin is still enabled write no extras from now on. Our tables keep everything, so
    that this can be undone. Each batch is committed as a whole. After an interruption, the next call does the
    rest.

    :raises SearchIndexError: Solr does not answer
    """
    _mark(now)
    done = 0
    for keys, packages in groupby(sorted(found, key=attrgetter("keys")), key=attrgetter("keys")):
        ids = [package.package_id for package in packages]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            lock_packages(batch)
            if keys:
                values = _replaced(batch)
                again = {key for extras in values.values() for key in extras}
                write_extras({id_: values.get(id_, {}) for id_ in batch}, [*{*keys, *again}])
            if has_table("freshness_check"):
                resource_fields.take_out(batch)
            # Otherwise the session's older packages would be indexed.
            model.Session.expire_all()
            # Before the commit: a second call would not find a package without extras.
            rebuild(batch)
            model.Session.commit()
            done += len(batch)
            yield done
    solr_commit()


def wait_for_earlier_edits() -> None:
    """Wait until the transactions that have begun before have ended, at most :data:`_PATIENCE`.

    An edit among them may have read the extras before they were removed, and writes them back.
    """
    begun = model.Session.execute(sa.text("SELECT clock_timestamp()")).scalar_one()
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        model.Session.commit()
        if not model.Session.execute(sa.text(_EARLIER), {"begun": begun}).scalar():
            break
        time.sleep(0.1)
    model.Session.commit()


_EARLIER = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < :begun
)"""


def undo() -> int:
    """Restore the fields of links and allow extras again; return the number of resources.

    The next refresh writes the extras.
    """
    if not has_table("freshness_uninstall"):
        return 0
    model.Session.execute(sa.text("DELETE FROM freshness_uninstall"))
    restored = resource_fields.put_back()
    model.Session.commit()
    return restored


def begun_at() -> datetime | None:
    """Return since when the extension is being uninstalled, in UTC; None if it is not."""
    if not has_table("freshness_uninstall"):
        return None
    statement = "SELECT min(began_at) FROM freshness_uninstall"
    began: datetime | None = model.Session.execute(sa.text(statement)).scalar()
    return began


def tables() -> list[str]:
    """Return the names of this extension's tables that exist."""
    return _existing(model.Session.connection())


def drop_tables() -> None:
    """Drop this extension's tables, and the table with the version of its migrations.

    :raises TablesInUseError: another process uses one of them
    """
    connection = model.Session.connection()
    lock_tables(connection)
    if names := _existing(connection):
        connection.execute(sa.text(f"DROP TABLE {', '.join(names)}"))
    model.Session.commit()


class TablesInUseError(Exception):
    """Tables that another process uses for longer than a request takes."""


def lock_tables(connection: Any) -> None:
    """Lock this extension's tables against all other processes until the transaction ends.

    Migrations change and drop one table after the other. If a request read the tables in another order
    meanwhile, PostgreSQL would end one of the two because of the deadlock. CKAN's process would then answer
    every request with an error, until its restart. So all tables are locked at once, and given back if this
    takes longer than PostgreSQL waits before it looks for a deadlock.

    :raises TablesInUseError: a process holds a table for too long
    """
    names = _existing(connection)
    if not names:
        return
    for number in range(_ATTEMPTS):
        attempt = connection.begin_nested()
        try:
            connection.execute(sa.text(f"SET LOCAL statement_timeout = {_LOCK_MILLISECONDS}"))
            connection.execute(sa.text(f"LOCK TABLE {', '.join(names)}"))
            connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
        except sa.exc.OperationalError:
            attempt.rollback()
            # Requests that wait for these tables go first.
            time.sleep(0.1 * (1 + number % 5))
        else:
            attempt.commit()
            return
    raise TablesInUseError(f"Another process uses the tables: {', '.join(names)}")


def has_table(name: str) -> bool:
    """Decide whether a table exists: the migrations may be old, or undone."""
    found = model.Session.execute(sa.text("SELECT to_regclass(:name)"), {"name": name}).scalar()
    return found is not None


def _existing(connection: Any) -> list[str]:
    own = {getattr(own_model, name).__tablename__ for name in own_model.__all__}
    names = set(sa.inspect(connection).get_table_names())
    return sorted(names & {*own, "freshness_alembic_version"})


def _judged() -> dict[str, str]:
    """Return the datasets whose extras this installation has written, with the prefix of their names."""
    if not has_table("freshness_dataset"):
        return {}
    # Read as JSON because the newest migration may be missing.
    prefix = "coalesce(to_jsonb(d) ->> 'field_prefix', '')"
    rows = model.Session.execute(sa.text(f"SELECT package_id, {prefix} FROM freshness_dataset d"))
    return {package_id: prefix for package_id, prefix in rows}


def _replaced(package_ids: Sequence[str] | None = None) -> dict[str, dict[str, str]]:
    """Return the site's own extras that were replaced, by package.

    :param package_ids: only of these packages
    """
    if not has_table("freshness_replaced"):
        return {}
    where = "" if package_ids is None else "WHERE package_id = ANY(:ids)"
    rows = model.Session.execute(
        sa.text(f"SELECT package_id, key, value FROM freshness_replaced {where}"),
        {} if package_ids is None else {"ids": list(package_ids)},
    )
    found: dict[str, dict[str, str]] = {}
    for package_id, key, value in rows:
        found.setdefault(package_id, {})[key] = value
    return found


def _mark(now: datetime) -> None:
    if has_table("freshness_uninstall") and begun_at() is None:
        insert = "INSERT INTO freshness_uninstall VALUES (:now) ON CONFLICT DO NOTHING"
        model.Session.execute(sa.text(insert), {"now": utc(now)})
        model.Session.commit()
