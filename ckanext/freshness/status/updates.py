"""The updates of datasets' data, as the stored changes of data show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from ..aging.observed_frequency import Update
from ..checking.observations import period_of
from ..ckan_adapter.core import model
from ..dates import aware

Updates = Mapping[str, Sequence[Update]]
"""The updates of a dataset: those of its ``files``, as checks, uploads and edits show them, and the dates in
its ``record``, as its source or a script states them. These may move with the metadata alone: they are left out
if a check has read a file. So are changes of a file whose newest period stands still after its end: it is
exported anew without newer data. The others are then called ``newer``, not ``files``."""


def of_packages(package_ids: Iterable[str]) -> dict[str, Updates]:
    """Return the updates of packages by id, in one statement; those without updates are left out."""
    found: dict[str, dict[str, list[Update]]] = defaultdict(lambda: {"files": [], "record": []})
    exported = set()
    if ids := list(package_ids):
        for row in model.Session.execute(sa.text(_UPDATES), {"ids": ids}):
            basis = "record" if row.of_record else "files"
            still = row.still and period_of(row.still)
            if still and row.changed_before.date() > still[0]:
                exported.add(row.package_id)
            elif not (row.of_record and row.is_read):
                found[row.package_id][basis].append(Update(aware(row.happened_at), row.within))
    for package_id in exported & found.keys():
        # Files stay first: their rhythm counts before that of the record.
        updates = found[package_id]
        found[package_id] = {"newer": updates["files"], "record": updates["record"]}
    return dict(found)


# The time of a change that only checks saw lies between two of them. All other evidence has a date.
_DATED = """(c.stated_at IS NOT NULL AND c.stated_at <= c.changed_before
        AND c.stated_at > coalesce(c.changed_after, '-infinity'))"""
_BETWEEN = """coalesce(
        c.evidence IN ('hash', 'http header') AND c.changed_after < c.changed_before, false
    )"""

HAPPENED = f"""CASE WHEN {_DATED} THEN c.stated_at
    WHEN {_BETWEEN} THEN c.changed_after + (c.changed_before - c.changed_after) / 2
    ELSE c.changed_before END"""
"""SQL: when the data changed, of a row of ``freshness_change``."""

# The files of a dataset change together: rows of one hour make one.
_UPDATES = f"""
SELECT u.package_id, u.of_record, u.still, min(u.happened_at) AS happened_at, min(u.within) AS within,
    max(u.changed_before) AS changed_before,
    EXISTS (
        SELECT FROM freshness_check k WHERE k.package_id = u.package_id AND k.hash IS NOT NULL
    ) AS is_read
FROM (
    SELECT c.package_id, c.evidence IN ('harvest', 'script') AS of_record, c.changed_before,
        CASE WHEN c.summary #>> '{{data_until,0}}' = c.summary #>> '{{data_until,1}}'
            THEN c.summary #>> '{{data_until,1}}' END AS still,
        {HAPPENED} AS happened_at,
        CASE WHEN {_DATED} OR NOT {_BETWEEN} THEN interval '0'
            ELSE c.changed_before - c.changed_after END AS within
    FROM freshness_change c WHERE c.evidence <> 'created' AND c.package_id = ANY(:ids)
) u
GROUP BY u.package_id, u.of_record, u.still, date_trunc('hour', u.happened_at)
ORDER BY happened_at"""
