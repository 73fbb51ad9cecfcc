"""Removes this extension's extras from all packages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import sqlalchemy as sa

from ..ckan_adapter import (
    lock_packages,
    model,
    own_extras,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..field_names import NAMES
from ..model import DatasetFreshness

_BATCH = 100


def packages() -> list[tuple[str, list[str]]]:
    """Return batches of the ids of packages that have extras of ours, each with the packages' type."""
    found = packages_with_extras(NAMES.extras)
    by_type = groupby(sorted(found, key=itemgetter(1)), key=itemgetter(1))
    batches = []
    for package_type, rows in by_type:
        if own_extras(package_type):
            ids = [package_id for package_id, _ in rows]
            batches += [
                (package_type, ids[start : start + _BATCH]) for start in range(0, len(ids), _BATCH)
            ]
    return batches


def take_out(batches: list[tuple[str, list[str]]]) -> Iterator[int]:
    """Remove the extras from packages and from their documents; yield the number of packages done.

    The rows of ``freshness_dataset`` are removed too. The evidence stays, so that nothing is lost if the
    extension is installed again. Each batch is committed as a whole. After an interruption, the next call
    does the rest.

    :raises SearchIndexError: Solr does not answer
    """
    own = DatasetFreshness.__table__
    done = 0
    for package_type, ids in batches:
        lock_packages(ids)
        write_extras({package_id: {} for package_id in ids}, own_extras(package_type))
        model.Session.execute(sa.delete(own).where(own.c.package_id.in_(ids)))
        # Otherwise the session's older packages would be indexed.
        model.Session.expire_all()
        # Before the commit: a second call would not find a package without extras.
        rebuild(ids)
        model.Session.commit()
        done += len(ids)
        yield done
    model.Session.execute(sa.delete(own))
    model.Session.commit()
    solr_commit()
