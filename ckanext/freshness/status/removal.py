"""Removes from CKAN's tables everything that this extension wrote there, where its plugin is not enabled.

These are the extras of packages, and the fields of links that checks filled in. Options of this extension
are not read: where the plugin is not enabled, they are not declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import sqlalchemy as sa

from .. import model as own_model
from ..ckan_adapter.core import model, own_extras
from ..ckan_adapter.packages import (
    lock_packages,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..field_names import NAMES, with_prefix
from ..own_values import look_ours
from . import resource_fields

_BATCH = 100


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
    names = [key for prefix in {"", *judged.values()} for key in with_prefix(prefix).extras]
    for package_id, package_type, extras in packages_with_extras(names):
        kind = package_type, judged.get(package_id, "")
        if kind not in keys:
            keys[kind] = own_extras(package_type, with_prefix(kind[1]))
        own = keys[kind]
        # Without a row, they remain of an earlier installation, or are the site's own.
        if any(key in extras for key in own) and (
            package_id in judged or look_ours(extras, NAMES, own)
        ):
            found[package_id] = own
    if "freshness_check" in tables():
        for package_id in resource_fields.packages_with_found():
            found.setdefault(package_id, ())
    return [Written(package_id, own) for package_id, own in sorted(found.items())]


def take_out(found: Sequence[Written]) -> Iterator[int]:
    """Remove extras and fields from packages, and from their documents; yield the number of packages done.

    Our tables stay as they are, so that ``ckan freshness refresh --all`` can write everything again. Each batch
    is committed as a whole. After an interruption, the next call does the rest.

    :raises SearchIndexError: Solr does not answer
    """
    has_checks = "freshness_check" in tables()
    done = 0
    for keys, packages in groupby(sorted(found, key=attrgetter("keys")), key=attrgetter("keys")):
        ids = [package.package_id for package in packages]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            lock_packages(batch)
            if keys:
                write_extras({package_id: {} for package_id in batch}, keys)
            if has_checks:
                resource_fields.take_out(batch)
            # Otherwise the session's older packages would be indexed.
            model.Session.expire_all()
            # Before the commit: a second call would not find a package without extras.
            rebuild(batch)
            model.Session.commit()
            done += len(batch)
            yield done
    solr_commit()


def tables() -> list[str]:
    """Return the names of this extension's tables that exist, that of the migrations' version included."""
    own = {getattr(own_model, name).__tablename__ for name in own_model.__all__}
    names = set(sa.inspect(model.Session.connection()).get_table_names())
    return sorted(names & {*own, "freshness_alembic_version"})


def drop_tables() -> None:
    """Drop this extension's tables, and the table with the version of its migrations."""
    if names := tables():
        model.Session.execute(sa.text(f"DROP TABLE {', '.join(names)}"))
    model.Session.commit()


def _judged() -> dict[str, str]:
    """Return the datasets whose extras this installation has written, with the prefix of their names."""
    if "freshness_dataset" not in tables():
        return {}
    rows = model.Session.execute(sa.text("SELECT package_id, field_prefix FROM freshness_dataset"))
    return {package_id: prefix for package_id, prefix in rows}
