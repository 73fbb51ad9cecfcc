"""Takes out of packages what this extension has written into them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import sqlalchemy as sa

from ..ckan_adapter import (
    lock_packages,
    model,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..field_names import NAMES, own_extras
from ..model import DatasetFreshness

_BATCH = 100


def packages() -> list[tuple[str, list[str]]]:
    """The packages that have extras of ours: batches of ids, each with its type."""
    found = packages_with_extras(NAMES.extras)
    by_type = groupby(sorted(found, key=lambda one: one[1]), key=lambda one: one[1])
    batches = []
    for package_type, rows in by_type:
        if own_extras(package_type):
            ids = [package_id for package_id, _ in rows]
            batches += [
                (package_type, ids[start : start + _BATCH]) for start in range(0, len(ids), _BATCH)
            ]
    return batches


def take_out(batches: list[tuple[str, list[str]]]) -> Iterator[int]:
    """Take the extras out of packages, and the packages' documents with them; yields how many so far.

    What is remembered of a dataset's status goes too; the evidence stays, so that nothing is lost should
    the extension come back. Batch by batch, each whole: what was interrupted goes on where it was.

    :raises SearchIndexError: Solr does not answer.
    """
    own = DatasetFreshness.__table__
    done = 0
    for package_type, ids in batches:
        lock_packages(ids)
        write_extras({package_id: {} for package_id in ids}, own_extras(package_type))
        model.Session.execute(sa.delete(own).where(own.c.package_id.in_(ids)))
        # Packages as a session had them are indexed as they were.
        model.Session.expire_all()
        # Before the database commits: a package whose extras are gone is not found a second time.
        rebuild(ids)
        model.Session.commit()
        done += len(ids)
        yield done
    model.Session.execute(sa.delete(own))
    model.Session.commit()
    solr_commit()
