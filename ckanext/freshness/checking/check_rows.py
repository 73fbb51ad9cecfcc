"""What is known of each resource's URL, read for a run: all of it once, and more of what is visited.

1. :func:`sync`: there is a row for each resource, and none for any other.
2. :func:`stream`: all of them go by, for :mod:`.selection` to choose from.
3. :func:`visits`: what the chosen ones' visits start from.

What visits bring home is written by :mod:`.recording`. Moments in rows are in UTC, without a zone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import model, packages_with_true_extra
from ..dates import aware, shifted, utc
from ..settings import Aging, Checks
from ..web.client import FetchError
from ..web.urls import parse_url
from .decisions import KnownContent
from .fields import OURS
from .results import CheckedResource
from .rotation import SelectedResource
from .selection import Candidate, SelectionRules, shard_of

LOCKS = 0x66726573
"""The class of our advisory locks ("fres"): those on shards have their numbers."""
_ROWS = 5000
"""Rows that are read at a time."""
_VISITS = 1000
REQUESTABLE_KEYS = ("is_requestdata_type",)
"""HDX's extra that is true if a dataset is given out on request."""


@dataclass(frozen=True, slots=True)
class SyncedRows:
    """What :func:`sync` did.

    :ivar added: resources that are new, or have another URL than before
    :ivar replaced: resources that took the place of others with the same URL, and what was known of them
    :ivar removed: resources that are gone
    """

    added: int
    replaced: int
    removed: int


def host_of(url: str) -> str:
    """The host that a URL names, normalised; empty if it names none."""
    try:
        return parse_url(url).host
    except FetchError:
        return ""


def wait_for_writers(session: Any) -> None:
    """Let nobody else write to the table until this transaction ends: what follows goes all over it."""
    session.execute(sa.text("SELECT pg_advisory_xact_lock(:class, :table)"), _TABLE_LOCK)


def let_others_write(session: Any) -> None:
    """Let nobody go all over the table until this transaction ends: some of its rows are written."""
    session.execute(sa.text("SELECT pg_advisory_xact_lock_shared(:class, :table)"), _TABLE_LOCK)


_TABLE_LOCK = {"class": LOCKS, "table": -1}


def sync(now: datetime, package_types: Collection[str]) -> SyncedRows:
    """Let there be a row for each active resource of active packages of some types, and commit.

    A row whose resource is gone goes over to a resource of the same dataset with the same URL, if one
    is new, and its copy with it: so it is where resources are written without their ids. A row whose
    URL is another one now begins anew; what the checker wrote is only kept so that it is told apart.

    :param now: start of the run, with its zone.
    """
    session = model.Session
    wait_for_writers(session)
    values = {"types": sorted(package_types), "now": utc(now)}
    session.execute(sa.text(_COMPARE), values)
    session.execute(sa.text(_REPLACE_COPIES))
    replaced = session.execute(sa.text(_REPLACE)).rowcount
    removed = session.execute(sa.text(_REMOVE)).rowcount
    added = 0
    for part in _fetched(session, _MISSING, {}):
        added += len(part)
        session.execute(
            sa.text(_ADD),
            {
                "ids": [row.id for row in part],
                "packages": [row.package_id for row in part],
                "urls": [row.url for row in part],
                "hosts": [host_of(row.url) for row in part],
                "dates": [row.last_modified for row in part],
                "now": values["now"],
            },
        )
    session.commit()
    return SyncedRows(added, replaced, removed)


def _fetched(connection: Any, statement: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """The rows of a query, in parts, within a transaction."""
    # Cursors are planned as if only their first rows were wanted.
    connection.execute(sa.text("SET LOCAL cursor_tuple_fraction = 1"))
    connection.execute(sa.text("SET LOCAL jit = off"))
    connection.execute(sa.text(f"DECLARE freshness_rows NO SCROLL CURSOR FOR {statement}"), values)
    fetch = sa.text(f"FETCH {_ROWS} FROM freshness_rows")
    while rows := connection.execute(fetch).all():
        yield rows
    connection.execute(sa.text("CLOSE freshness_rows"))


def unassessed(package_types: Collection[str]) -> list[str]:
    """The ids of active packages of some types whose freshness was never judged."""
    rows = model.Session.execute(sa.text(_UNASSESSED), {"types": sorted(package_types)}).scalars()
    found = list(rows)
    model.Session.commit()
    return found


def total(rules: SelectionRules | None = None) -> int:
    """How many resources there are: what the rotation's budget is a part of.

    :param rules: of the hosts of the shards that these rules name; None for all.
    """
    statement = "SELECT host, count(*) FROM freshness_check GROUP BY host"
    rows = model.Session.execute(sa.text(statement)).all()
    model.Session.commit()
    shards = None if rules is None else rules.shards
    return sum(count for host, count in rows if shards is None or shard_of(host) in shards)


def stream(
    now: datetime,
    checks: Checks,
    *,
    package_ids: Collection[str] | None = None,
    host: str | None = None,
    handed: bool = False,
) -> Iterator[Candidate]:
    """All resources that have a row, in no order, as the rules need them; memory stays flat.

    Read it to its end, or close it: it is one transaction on a connection of its own.

    :param now: start of the run, with its zone.
    :param package_ids: only of these packages.
    :param host: only on this (normalised) host.
    :param handed: only what was handed on, as resources of the host that it goes on at. Else each is one
        of its own URL's host, so that a part which begins after another has handed something on does
        not take it for its own.
    """
    parameters = {
        "now": utc(now),
        "archived": list(checks.archived_keys),
        "requestable": list(REQUESTABLE_KEYS),
        "ids": list(package_ids or ()),
        "host": host,
    }
    statement = _STREAM
    if package_ids is not None:
        statement += " AND c.package_id = ANY(:ids)"
    if host is not None:
        statement += " AND c.host = :host"
    if handed:
        statement += " AND c.handed_to IS NOT NULL"
    with model.Session.get_bind().connect() as connection, connection.begin():
        for part in _fetched(connection, statement, parameters):
            for found in part:
                row = Candidate(*found[:-1])
                if handed:
                    row.host = host_of(found[-1])
                yield row


def handed_on() -> bool:
    """Whether anything was handed on, and not yet taken up."""
    statement = "SELECT EXISTS (SELECT FROM freshness_check WHERE handed_to IS NOT NULL)"
    found = bool(model.Session.execute(sa.text(statement)).scalar())
    model.Session.commit()
    return found


def visits(
    picked: Iterable[SelectedResource], now: datetime, aging: Aging, *, handed: bool = False
) -> Iterator[CheckedResource]:
    """What the visits to the chosen resources start from, read in parts while they go on.

    Left out are resources that are gone since, or have another URL.

    :param now: start of the run, with its zone.
    :param handed: what was handed on goes on where it was handed to; else it begins at its URL.
    """
    fresh_after = _FreshAfter(now, aging)
    rest = iter(picked)
    while part := {one.resource_id: one.hash_anyway for one in islice(rest, _VISITS)}:
        with model.Session.get_bind().connect() as connection:
            rows = connection.execute(sa.text(_VISIT), {"ids": list(part)}).all()
        for row in rows:
            yield _visit(row, part, fresh_after, handed)


class _FreshAfter:
    """After which moment a resource must have changed to be fresh now, by frequency."""

    def __init__(self, now: datetime, aging: Aging) -> None:
        self._now = now
        self._aging = aging
        self._known: dict[int, datetime] = {}

    def of(self, frequency_days: int | None) -> datetime | None:
        if frequency_days is None or frequency_days <= 0:
            return None
        if frequency_days not in self._known:
            limits = self._aging.thresholds.limits(frequency_days)
            self._known[frequency_days] = shifted(self._now, -limits.due)
        return self._known[frequency_days]


def _visit(
    row: Any, hash_anyway: Mapping[str, bool], fresh_after: _FreshAfter, handed: bool
) -> CheckedResource:
    # In one go, since a row's columns are slow to be asked for one by one.
    id_, package_id, url, format_, mimetype, *memory, handed_to, frequency_days, known = row
    etag, last_modified, hash_, earlier, outdated, tabular, promised, found = memory
    return CheckedResource(
        resource_id=id_,
        package_id=package_id,
        url=url,
        memory=KnownContent(
            etag, last_modified, hash_, tuple(earlier), outdated, tabular, promised, found
        ),
        known=aware(known),
        fresh_after=fresh_after.of(frequency_days),
        hash_anyway=hash_anyway[id_],
        format=format_ or None,
        mimetype=mimetype or None,
        start_at=handed_to if handed else None,
    )


def remember_dates(
    package_types: Collection[str],
    *,
    package_ids: Collection[str] | None = None,
    host: str | None = None,
) -> int:
    """Remember each resource's own date as this run saw it, and commit; how many were others.

    To be called once, at the end of a run: the next one tells by it which dates are newer.

    :param package_ids: only of these packages.
    :param host: only on this (normalised) host.
    """
    values = {"types": sorted(package_types), "ids": list(package_ids or ()), "host": host}
    of_packages = "" if package_ids is None else "AND p.id = ANY(:ids)"
    on_host = "" if host is None else "AND c.host = :host"
    statement = _REMEMBER.format(of_packages=of_packages, on_host=on_host)
    wait_for_writers(model.Session)
    rows = model.Session.execute(sa.text(statement), values).rowcount
    model.Session.commit()
    return int(rows)


_OWN_DATE = f"""
    CASE WHEN r.last_modified IS DISTINCT FROM CAST({OURS.format("last_modified")} AS timestamp)
    THEN r.last_modified ELSE c.seen_modified END"""
"""A resource's own date, and not what the checker wrote."""

_CHECKED = """
    SELECT r.id, r.package_id, r.url, r.url_type, r.last_modified
    FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.state = 'active' AND p.state = 'active' AND p.type = ANY(:types)"""

# Everything is gone through once; few resources differ.
_COMPARE = f"""
CREATE TEMPORARY TABLE freshness_difference ON COMMIT DROP AS
SELECT k.id, k.url, c.resource_id AS known_id, coalesce(k.package_id, c.package_id) AS package_id,
    CASE WHEN k.id IS NULL THEN c.url END AS gone_url, k.last_modified
FROM ({_CHECKED}) k FULL JOIN freshness_check c ON c.resource_id = k.id
WHERE k.id IS NULL OR c.resource_id IS NULL OR c.url <> k.url OR c.package_id <> k.package_id"""

_PAIRS = """
WITH gone AS (
    SELECT known_id, package_id, gone_url AS url,
        row_number() OVER (PARTITION BY package_id, gone_url ORDER BY known_id) AS number
    FROM freshness_difference WHERE id IS NULL
),
new AS (
    SELECT id, package_id, url, row_number() OVER (PARTITION BY package_id, url ORDER BY id) AS number
    FROM freshness_difference WHERE known_id IS NULL
)"""

_REPLACE = f"""{_PAIRS}
UPDATE freshness_check c SET resource_id = new.id
FROM gone JOIN new USING (package_id, url, number)
WHERE c.resource_id = gone.known_id"""

# Or the last known good bytes would go with the id, even if the source has failed by then.
_REPLACE_COPIES = f"""{_PAIRS}
UPDATE freshness_copy c SET resource_id = new.id
FROM gone JOIN new USING (package_id, url, number)
WHERE c.resource_id = gone.known_id
AND NOT EXISTS (SELECT FROM freshness_copy o WHERE o.resource_id = new.id)"""

_REMOVE = """
DELETE FROM freshness_check c USING freshness_difference d
WHERE d.id IS NULL AND c.resource_id = d.known_id"""

_MISSING = """
SELECT d.id, d.package_id, d.url, CAST(d.last_modified AS text) AS last_modified
FROM freshness_difference d LEFT JOIN freshness_check c ON c.resource_id = d.id
WHERE d.id IS NOT NULL AND (c.resource_id IS NULL OR d.known_id IS NOT NULL)"""

_ANEW = (
    *("etag", "last_modified", "hash", "earlier", "outdated", "unconfirmed", "hashed_at"),
    *("visited_at", "tried_at", "succeeded_at", "changed_at", "failures", "failing_since"),
    *("undetermined", "handed_to", "attempts", "tabular", "promised", "found"),
)
"""What is forgotten with a URL."""

# A date that a resource was first met with is no news, whether or not that run came to its end.
_ADD = f"""
INSERT INTO freshness_check (resource_id, package_id, url, host, seen_modified, first_seen)
SELECT n.*, :now FROM unnest(
    CAST(:ids AS text[]), CAST(:packages AS text[]), CAST(:urls AS text[]), CAST(:hosts AS text[]),
    CAST(:dates AS timestamp[])
) AS n
ON CONFLICT (resource_id) DO UPDATE SET package_id = excluded.package_id, url = excluded.url,
    host = excluded.host, wrote = jsonb_strip_nulls(jsonb_build_object(
        'old_last_modified',
        coalesce(freshness_check.wrote -> 'last_modified', freshness_check.wrote -> 'old_last_modified'),
        'old_hash', coalesce(freshness_check.wrote -> 'hash', freshness_check.wrote -> 'old_hash')
    )), {", ".join(f"{column} = DEFAULT" for column in _ANEW)}"""

_UNASSESSED = """
SELECT p.id FROM package p LEFT JOIN freshness_dataset d ON d.package_id = p.id
WHERE d.package_id IS NULL AND p.state = 'active' AND p.type = ANY(:types) ORDER BY p.id"""

REGISTERED = """EXISTS (
        SELECT FROM freshness_iati i JOIN package s ON s.id = i.source_id AND s.state = 'active'
        WHERE i.resource_id = {resource}
    )"""
"""Whether a resource is a file of an IATI registry, in SQL: those have cycles, and rules of their own. A
source that was deleted has no cycles any more."""

_STREAM = f"""
SELECT c.resource_id, c.package_id, r.url_type, c.host, d.package_id IS NOT NULL, d.frequency_days,
    d.due, a.package_id IS NOT NULL, q.package_id IS NOT NULL, c.visited_at, c.hash IS NOT NULL,
    c.hashed_at, c.tried_at, c.succeeded_at, c.failures, c.unconfirmed, c.first_seen >= :now,
    coalesce(({_OWN_DATE}) > coalesce(c.seen_modified, '-infinity'), false),
    c.handed_to
FROM freshness_check c JOIN resource r ON r.id = c.resource_id
LEFT JOIN freshness_dataset d ON d.package_id = c.package_id
LEFT JOIN ({packages_with_true_extra("archived")}) a ON a.package_id = c.package_id
LEFT JOIN ({packages_with_true_extra("requestable")}) q ON q.package_id = c.package_id
WHERE r.state = 'active'
    AND NOT {REGISTERED.format(resource="c.resource_id")}"""

# A media type that a check has written is the server's word, and promises nothing. Where a dataset comes from a
# source, what happens to its resources here says nothing of the data.
_VISIT = f"""
SELECT r.id, r.package_id, r.url, r.format,
    CASE WHEN r.mimetype IS DISTINCT FROM {OURS.format("mimetype")} THEN r.mimetype END AS mimetype,
    c.etag, c.last_modified, c.hash, c.earlier, c.outdated, c.tabular, c.promised, c.found, c.handed_to,
    d.frequency_days, (
        SELECT max(e.happened_at) FROM freshness_evidence e
        WHERE e.package_id = c.package_id AND e.resource_id = c.resource_id AND (
            e.evidence IN ('upload', 'harvest', 'http header', 'hash')
            OR e.evidence IN ('url', 'created') AND NOT EXISTS (
                SELECT 1 FROM freshness_evidence h
                WHERE h.package_id = c.package_id AND h.evidence = 'harvest'
            )
        )
    ) AS known
FROM unnest(CAST(:ids AS text[])) WITH ORDINALITY AS i (id, number)
JOIN freshness_check c ON c.resource_id = i.id
JOIN resource r ON r.id = c.resource_id AND r.url = c.url AND r.state = 'active'
LEFT JOIN freshness_dataset d ON d.package_id = c.package_id
ORDER BY i.number"""

_REMEMBER = f"""
WITH checked AS MATERIALIZED ({_CHECKED}
    {{of_packages}})
UPDATE freshness_check c SET seen_modified = ({_OWN_DATE})
FROM checked r WHERE r.id = c.resource_id AND ({_OWN_DATE}) IS DISTINCT FROM c.seen_modified
{{on_host}}"""
