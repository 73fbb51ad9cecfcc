"""The stored facts about each resource's URL, read for a run.

1. :func:`sync` gives each resource a row in ``freshness_check``, and removes all other rows.
2. :func:`stream` reads all resources as the candidates of :mod:`.selection`.
3. :func:`resources_to_check` reads the rest of what a check needs, for the chosen candidates alone.

:mod:`.result_writer` writes the results. Moments in rows are naive and in UTC.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, islice
from sys import intern
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..ckan_adapter.database import lock_checks, lock_checks_shared
from ..ckan_adapter.packages import packages_with_true_extras
from ..dates import aware, shifted, utc
from ..model import ResourceCheck
from ..model.runs import IS_HERE
from ..settings import ARCHIVED_KEYS, Aging
from ..web.urls import host_of
from .checkers import is_checked_elsewhere
from .decisions import EARLIER_HASHES, KnownContent, ResourceToCheck
from .fields import OURS
from .selection import Candidate
from .stored_values import read

_STREAM_BATCH = 5000
"""Rows that :func:`stream` reads at a time."""

_CHECK_BATCH = 1000
"""Rows that :func:`resources_to_check` reads at a time."""

REQUESTABLE_KEYS = ("is_requestdata_type",)
"""HDX's extra that is true if a dataset is only available on request."""


def sync(
    now: datetime, package_types: Collection[str], package_ids: Sequence[str] | None = None
) -> None:
    """Give each active resource of active packages of some types a row, remove all other rows, and commit.

    If the URL of a resource has changed, its row is reset. The values that a check wrote into the resource are
    kept, to recognise them as ours. So are the failures: only a URL that works ends them.

    :param now: start of the run, aware
    :param package_ids: compare only these packages, while others may be written; None for all
    """
    session = model.Session
    values: dict[str, Any] = {"types": sorted(package_types), "now": utc(now)}
    compare = _COMPARE.format(of_resource="", of_check="")
    if package_ids is None:
        lock_checks(session)
    else:
        lock_checks_shared(session)
        values["packages"] = list(package_ids)
        compare = _COMPARE.format(
            of_resource=" AND p.id = ANY(:packages)",
            of_check=" WHERE package_id = ANY(:packages)",
        )
    session.execute(sa.text(compare), values)
    session.execute(sa.text(_REMOVE))
    for batch in _streamed(session, _MISSING, {}):
        session.execute(
            sa.text(_ADD),
            {
                "ids": [row.id for row in batch],
                "packages": [row.package_id for row in batch],
                "urls": [row.url for row in batch],
                # The URL of an upload is the name of its file.
                "hosts": ["" if row.is_upload else host_of(row.url) for row in batch],
                "dates": [row.last_modified for row in batch],
                "now": values["now"],
            },
        )
    session.commit()


def _streamed(connection: Any, statement: str, values: Mapping[str, Any]) -> Any:
    """Return the rows of a query in partitions, within a transaction."""
    # By default PostgreSQL plans cursors as if only the first rows were read.
    connection.execute(sa.text("SET LOCAL cursor_tuple_fraction = 1"))
    connection.execute(sa.text("SET LOCAL jit = off"))
    options = {"stream_results": True, "max_row_buffer": _STREAM_BATCH}
    rows = connection.execute(sa.text(statement), values, execution_options=options)
    return rows.partitions(_STREAM_BATCH)


def unassessed(
    package_types: Collection[str], package_ids: Sequence[str] | None = None
) -> list[str]:
    """Return the ids of active packages of some types whose freshness was never assessed.

    :param package_ids: ask only for these packages; None for all
    """
    values = {
        "types": sorted(package_types),
        "all": package_ids is None,
        "packages": list(package_ids or ()),
    }
    rows = model.Session.execute(sa.text(_UNASSESSED), values).scalars()
    found = list(rows)
    model.Session.commit()
    return found


def total() -> int:
    """Return the number of resources. The rotation's budget is a share of it."""
    number = model.Session.execute(sa.text("SELECT count(*) FROM freshness_check")).scalar()
    model.Session.commit()
    return int(number or 0)


def stream(
    now: datetime,
    *,
    package_ids: Collection[str] | None = None,
    host: str | None = None,
    with_history: bool = False,
) -> Generator[Candidate, None, None]:
    """Yield all resources that have a row as candidates, in no order. Memory stays flat.

    Read to the end or close the generator: it holds a transaction on a connection of its own.

    :param now: start of the run, aware
    :param package_ids: only of these packages
    :param host: only on this normalised host
    :param with_history: read also the fields for the policy ``learned``, which takes twice as long
    """
    values = {
        "now": utc(now),
        "archived": list(ARCHIVED_KEYS),
        "requestable": list(REQUESTABLE_KEYS),
        "ids": list(package_ids or ()),
        "host": host,
    }
    which = ""
    if package_ids is not None:
        which += " AND c.package_id = ANY(:ids)"
    if host is not None:
        which += " AND c.host = :host"
    fields = _CANDIDATE | _HISTORY if with_history else _CANDIDATE
    statement = _STREAM.format(
        fields=", ".join(fields.values()),
        which=which,
        is_elsewhere=is_checked_elsewhere("c.resource_id"),
    )
    with model.Session.get_bind().connect() as connection, connection.begin():
        for row in chain.from_iterable(_streamed(connection, statement, values)):
            yield Candidate(*row)


def resources_to_check(
    resource_ids: Sequence[str],
    rotation: Collection[str],
    now: datetime,
    aging: Aging,
    *,
    doubts: bool = False,
) -> Iterator[ResourceToCheck]:
    """Read what the checks of the chosen resources need, in batches.

    Resources that are gone since, or have another URL, are left out.

    :param rotation: ids of the resources whose files are read even if the server reports no change
    :param now: start of the run, aware
    :param doubts: see :class:`.decisions.ResourceToCheck`
    """

    @cache
    def fresh_after(frequency_days: int | None) -> datetime | None:
        if frequency_days is None or frequency_days <= 0:
            return None
        return shifted(now, -aging.thresholds.limits(frequency_days).due)

    rest = iter(resource_ids)
    while batch := list(islice(rest, _CHECK_BATCH)):
        with model.Session.get_bind().connect() as connection:
            values = {"ids": batch, "now": utc(now)}
            rows = connection.execute(sa.text(_TO_CHECK), values).all()
        for row in rows:
            yield ResourceToCheck(
                resource_id=row.id,
                package_id=row.package_id,
                url=row.url,
                known=read(KnownContent, row.known),
                last_change=aware(row.last_change),
                fresh_after=fresh_after(row.frequency_days),
                hash_anyway=row.hides_changes or row.id in rotation,
                doubts=doubts,
                # Texts that many resources have are kept once.
                format=intern(row.format) if row.format else None,
                mimetype=intern(row.mimetype) if row.mimetype else None,
                may_be_landing_page=bool(row.may_be_landing_page),
                has_shape=row.has_shape,
                is_new=row.is_new,
                is_touched=row.is_touched,
                is_failing=row.is_failing,
                date_column=row.date_column,
            )


def remember_dates(
    package_types: Collection[str],
    *,
    package_ids: Collection[str] | None = None,
    host: str | None = None,
) -> int:
    """Store each resource's own date for the next run, which compares it, and commit.

    Call it once, at the end of a run.

    :param package_ids: only of these packages
    :param host: only on this normalised host
    :returns: number of dates that have changed
    """
    values = {"types": sorted(package_types), "ids": list(package_ids or ()), "host": host}
    of_packages = "" if package_ids is None else "AND p.id = ANY(:ids)"
    on_host = "" if host is None else "AND c.host = :host"
    statement = _REMEMBER.format(of_packages=of_packages, on_host=on_host)
    lock = lock_checks if package_ids is None else lock_checks_shared
    lock(model.Session)
    rows = model.Session.execute(sa.text(statement), values).rowcount
    model.Session.commit()
    return int(rows)


_OWN_DATE = f"""
    CASE WHEN r.last_modified IS DISTINCT FROM CAST({OURS.format("last_modified")} AS timestamp)
    THEN r.last_modified ELSE c.seen_modified END"""
"""A resource's own date, unless a check wrote it."""

_CHECKED = """
    SELECT r.id, r.package_id, r.url, r.url_type, r.last_modified
    FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.state = 'active' AND p.state = 'active' AND p.type = ANY(:types)"""

# Compare all rows in one statement: few differ.
_COMPARE = f"""
CREATE TEMPORARY TABLE freshness_difference ON COMMIT DROP AS
SELECT k.id, k.url, k.url_type, c.resource_id AS known_id, k.package_id, k.last_modified
FROM ({_CHECKED}{{of_resource}}) k
FULL JOIN (SELECT resource_id, package_id, url FROM freshness_check{{of_check}}) c ON c.resource_id = k.id
WHERE k.id IS NULL OR c.resource_id IS NULL OR c.url <> k.url OR c.package_id <> k.package_id"""

_REMOVE = """
DELETE FROM freshness_check c USING freshness_difference d
WHERE d.id IS NULL AND c.resource_id = d.known_id"""

_MISSING = """
SELECT d.id, d.package_id, d.url, d.url_type IS NOT DISTINCT FROM 'upload' AS is_upload,
    CAST(d.last_modified AS text) AS last_modified
FROM freshness_difference d LEFT JOIN freshness_check c ON c.resource_id = d.id
WHERE d.id IS NOT NULL AND (c.resource_id IS NULL OR d.known_id IS NOT NULL)"""

_KEPT = {
    *("resource_id", "package_id", "url", "host", "first_seen", "wrote", "seen_modified"),
    *("url_before", "known", "failures", "failing_since"),
}
_ANEW = [
    one.name
    for one in ResourceCheck.__table__.columns
    if one.name not in _KEPT and one.computed is None
]
"""The columns that are reset if the URL changes."""

# The date of a new resource is not a change, even if the run that adds the row is interrupted.
_ADD = f"""
INSERT INTO freshness_check (resource_id, package_id, url, host, seen_modified, first_seen)
SELECT n.*, :now FROM unnest(
    CAST(:ids AS text[]), CAST(:packages AS text[]), CAST(:urls AS text[]), CAST(:hosts AS text[]),
    CAST(:dates AS timestamp[])
) AS n
ON CONFLICT (resource_id) DO UPDATE SET package_id = excluded.package_id, url = excluded.url,
    host = excluded.host,
    url_before = coalesce(nullif(freshness_check.url, excluded.url), freshness_check.url_before),
    known = jsonb_build_object('earlier', jsonb_path_query_array(
        jsonb_path_query_array(freshness_check.known, '$.hash')
            || coalesce(freshness_check.known -> 'earlier', '[]'),
        '$[0 to {EARLIER_HASHES - 1}]'
    )),
    wrote = jsonb_strip_nulls(jsonb_build_object(
        'old_last_modified',
        coalesce(freshness_check.wrote -> 'last_modified', freshness_check.wrote -> 'old_last_modified'),
        'old_hash', coalesce(freshness_check.wrote -> 'hash', freshness_check.wrote -> 'old_hash')
    )), {", ".join(f"{column} = DEFAULT" for column in _ANEW)}"""

_UNASSESSED = """
SELECT p.id FROM package p LEFT JOIN freshness_dataset d ON d.package_id = p.id
WHERE d.package_id IS NULL AND p.state = 'active' AND p.type = ANY(:types)
    AND (:all OR p.id = ANY(:packages))
ORDER BY p.id"""

_IS_TOUCHED = f"""CASE WHEN r.last_modified > coalesce(c.seen_modified, '-infinity')
    THEN r.last_modified IS DISTINCT FROM CAST({OURS.format("last_modified")} AS timestamp) ELSE false END"""
"""Whether a resource's own date is later than at the previous run, unless a check wrote it."""

_IS_NEW = "c.first_seen >= :now"

_CANDIDATE = {
    "resource_id": "c.resource_id",
    "package_id": "c.package_id",
    "is_internal": IS_HERE,
    "host": "c.host",
    "frequency_days": "d.frequency_days",
    "due": "d.due",
    "archived": "coalesce(f.archived, false)",
    "requestable": "coalesce(f.requestable, false)",
    "checked_at": "c.checked_at",
    "has_hash": "c.hash IS NOT NULL",
    "hashed_at": "c.hashed_at",
    "tried_at": "c.tried_at",
    "succeeded_at": "c.succeeded_at",
    "failures": "c.failures",
    "failing_since": "c.failing_since",
    "unconfirmed": "c.known ->> 'unconfirmed' IS NOT NULL",
    "is_new": _IS_NEW,
    "is_touched": _IS_TOUCHED,
    "failed_at": "c.failed_at",
    "waits_since": "CAST(c.known ->> 'waits_since' AS timestamptz) AT TIME ZONE 'UTC'",
}
"""SQL of the fields of :class:`.selection.Candidate` in their order, up to those for the policy ``learned``."""

_HISTORY = {
    "changes": "c.seen_changes",
    "days": "c.watched_days",
    "files": """greatest(
        count(*) FILTER (WHERE c.failures = 0 AND c.checked_at IS NOT NULL) OVER dataset, 1
    )""",
    "turn": """row_number() OVER (
        PARTITION BY c.package_id ORDER BY c.failures > 0, c.checked_at, c.resource_id
    ) - 1""",
    "probed_at": "max(c.checked_at) FILTER (WHERE c.failures = 0) OVER dataset",
    "change_seen_at": "max(c.change_seen_at) OVER dataset",
}
"""SQL of the fields for the policy ``learned``. Files that were never checked have the last turns."""

_STREAM = f"""
SELECT {{fields}}
FROM freshness_check c JOIN resource r ON r.id = c.resource_id
LEFT JOIN freshness_dataset d ON d.package_id = c.package_id
LEFT JOIN ({packages_with_true_extras("archived", "requestable")}) f ON f.package_id = c.package_id
WHERE r.state = 'active'
    AND NOT {{is_elsewhere}}{{which}}
WINDOW dataset AS (PARTITION BY c.package_id)"""

# A media type that a check has written is the server's word, not the catalogue's. If the dataset comes from a
# harvest source, the dates when its resources were created or moved here say nothing of the data.
_TO_CHECK = f"""
SELECT r.id, r.package_id, r.url, r.format,
    CASE WHEN r.mimetype IS DISTINCT FROM {OURS.format("mimetype")} THEN r.mimetype END AS mimetype,
    r.url = e.access_url AND coalesce(e.download_url, '') = '' AS may_be_landing_page,
    CAST(c.known AS text) AS known, c.shape IS NOT NULL AS has_shape, m.date_column, d.frequency_days,
    {_IS_NEW} AS is_new, {_IS_TOUCHED} AS is_touched, c.failures > 0 AS is_failing, EXISTS (
        SELECT FROM freshness_check o WHERE o.package_id = c.package_id AND o.hides_changes
    ) AS hides_changes, (
        SELECT max(e.happened_at) FROM freshness_evidence e
        WHERE e.package_id = c.package_id AND e.resource_id = c.resource_id AND (
            e.evidence IN ('upload', 'harvest', 'http header', 'hash')
            OR e.evidence IN ('url', 'created') AND NOT EXISTS (
                SELECT 1 FROM freshness_evidence h
                WHERE h.package_id = c.package_id AND h.evidence = 'harvest'
            )
        )
    ) AS last_change
FROM unnest(CAST(:ids AS text[])) WITH ORDINALITY AS i (id, number)
JOIN freshness_check c ON c.resource_id = i.id
JOIN resource r ON r.id = c.resource_id AND r.url = c.url AND r.state = 'active'
LEFT JOIN freshness_dataset d ON d.package_id = c.package_id
LEFT JOIN freshness_resource m ON m.resource_id = c.resource_id
CROSS JOIN json_to_record(CAST(coalesce(nullif(r.extras, ''), '{{}}') AS json))
    AS e (access_url text, download_url text)
ORDER BY i.number"""

_REMEMBER = f"""
WITH checked AS MATERIALIZED ({_CHECKED}
    {{of_packages}})
UPDATE freshness_check c SET seen_modified = ({_OWN_DATE})
FROM checked r WHERE r.id = c.resource_id AND ({_OWN_DATE}) IS DISTINCT FROM c.seen_modified
{{on_host}}"""
