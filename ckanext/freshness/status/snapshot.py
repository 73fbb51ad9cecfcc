"""Reads datasets as the database has them, with the evidence remembered of them: many in few statements.

By SQL and not by CKAN's model: a session keeps packages from before a commit, and thousands of packages
would be thousands of objects. All moments are in UTC, with their zone, to the second.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence
from ..aging.status import Boundaries
from ..checking import fields
from ..checking.checkers import checked_elsewhere
from ..checking.decisions import outcomes_that
from ..checking.observations import DateColumn
from ..checking.selection import IS_BROKEN
from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.database import statement
from ..ckan_adapter.packages import ORGANIZATION_EXTRA, PACKAGE_EXTRAS
from ..dates import aware, aware_to_second, parse_date, stated_date
from . import updates
from .frequencies import DEFAULT_KEY, FrequencySource, is_declared
from .updates import Updates


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """An active resource, and its state when its dataset was last assessed."""

    id: str
    name: str
    url: str
    url_type: str | None
    hash: str
    created: datetime | None
    last_modified: datetime | None
    extras: Mapping[str, Any]
    is_known: bool
    """Whether it was ever assessed; if not, the three fields that follow are empty."""
    known_url: str | None
    known_hash: str | None
    hash_writer: str | None
    url_changed_at: datetime | None
    """When it got its URL in place of another, until a check has found a file there."""
    found_at_url: bool
    """Whether a check has found a file there since, of the kind that the resource promises."""
    is_news_at_url: bool
    """Whether that is neither the file of the URL before nor a page."""
    host: str | None
    """The host of its URL, as the checker has stored it; None if the checker knows another URL or none."""
    undetermined: str | None
    """Why its changes cannot be determined, by the last check of its URL: ``api``, ``page``, ``blocked``."""
    dates: Sequence[DateColumn]
    """The columns of dates of its file, by the last check of its URL."""
    broken_since: datetime | None
    """Since when its link has been failing, if it is broken."""
    fields: tuple[Any, ...]
    """Its own fields, with the checker's values: the arguments of :func:`..checking.fields.stored`."""
    wrote: str | None
    """The values that the checker wrote into them for this URL, in JSON; None if there are none. They are no
    evidence: ``hash`` and ``last_modified`` above are without values of the checker."""
    data_since: datetime | None = None
    """When a check first saw the newest period of these columns."""
    changed_at: datetime | None = None
    """When a check last saw another file."""
    date_column: Sequence[str | None] | None = None
    """An editor's answer, which of its columns says up to when its data reach; see
    :func:`..checking.observations.newest`."""


@dataclass(frozen=True, slots=True)
class DatasetSnapshot:
    """A dataset, and the evidence that is remembered of it."""

    id: str
    type: str
    extras: Mapping[str, str]
    is_harvested: bool
    """Whether a harvest object belongs to it."""
    absent_since: datetime | None
    """Since when its harvest source has been without it; None if the source has it, or there is none."""
    defaults: Mapping[FrequencySource, Any]
    """The default frequencies of its source and its organization."""
    row: Any | None
    """Its row of ``freshness_dataset``; None if it was never assessed."""
    resources: Sequence[ResourceSnapshot]
    gone: Sequence[str]
    """The ids of remembered resources that were deleted."""
    pieces: Sequence[DatedEvidence]
    """The remembered evidence."""
    updates: Updates = field(default_factory=dict)
    """The updates of its data; empty if its update frequency is declared."""


def take(
    package_ids: Iterable[str], package_types: Iterable[str], *, are_new: bool = False
) -> list[DatasetSnapshot]:
    """Return the packages of some types, in the order of their ids; missing packages are left out.

    :param are_new: whether this transaction creates them, so that no plugin can have checked their links yet
    """
    session = model.Session
    packages = session.execute(
        statement(_PACKAGES.format(harvest=harvest.newest_object_sql())),
        {"ids": list(package_ids), "types": list(package_types), "key": DEFAULT_KEY},
    ).all()
    if not packages:
        return []
    ids = {"ids": [row.id for row in packages]}
    has_rows = any(row.package_id for row in packages)
    resources: dict[str, list[Any]] = defaultdict(list)
    gone: dict[str, list[str]] = defaultdict(list)
    for row in session.execute(
        statement(_resources_sql(None if are_new else checked_elsewhere())), ids
    ).all():
        if row.id is None:
            gone[row.owner].append(row.known_id)
        else:
            resources[row.owner].append(row)
    pieces: dict[str, list[DatedEvidence]] = defaultdict(list)
    # The row and the evidence of a dataset are written, and deleted, together.
    for row in session.execute(_EVIDENCE, ids).all() if has_rows else ():
        if row.evidence in _EVIDENCE_NAMES:
            pieces[row.package_id].append(
                DatedEvidence(
                    aware(row.happened_at),
                    Evidence(row.evidence),
                    row.resource_id or None,
                    aware_to_second(row.claimed_at),
                )
            )
    keys = settings.frequency_keys()
    # A new dataset that has taken nothing over has no updates.
    old = [row for row in packages if row.package_id or not are_new]
    known = updates.of_packages(
        row.id
        for row in (old if settings.own_rhythm() else ())
        if not is_declared(row.extras or {}, keys)
    )
    return [
        DatasetSnapshot(
            id=row.id,
            type=row.type,
            extras=row.extras or {},
            is_harvested=row.harvest_object_id is not None,
            absent_since=parse_date(row.found_absent),
            defaults={
                FrequencySource.SOURCE: harvest.config_value(row.source_config, DEFAULT_KEY),
                FrequencySource.ORGANIZATION: row.organization_frequency,
            },
            row=None if row.package_id is None else row,
            resources=list(map(_resource, resources[row.id])),
            gone=gone[row.id],
            pieces=pieces[row.id],
            updates=known.get(row.id, {}),
        )
        for row in packages
    ]


def boundaries(row: Any) -> Boundaries | None:
    """Return when the status in a row of ``freshness_dataset`` changes by itself; None if it never does."""
    if row.due is None:
        return None
    return Boundaries(*(aware(at) for at in (row.due, row.overdue, row.delinquent)))


def _resource(row: Any) -> ResourceSnapshot:
    url = row.url.strip()
    extras = json.loads(row.extras or "{}")
    is_at_url = row.checked_url == row.url
    return ResourceSnapshot(
        id=row.id,
        name=row.name or "",
        url=url,
        url_type=row.url_type,
        hash=((row.known_hash if row.hash_is_ours else row.hash) or "").strip(),
        created=aware_to_second(row.created),
        last_modified=None if row.date_is_ours else stated_date(aware_to_second(row.last_modified)),
        extras=extras if isinstance(extras, dict) else {},
        is_known=row.known_id is not None,
        known_url=row.known_url,
        known_hash=row.known_hash,
        hash_writer=row.hash_writer,
        url_changed_at=aware(row.url_changed_at),
        found_at_url=is_at_url and bool(row.is_found),
        is_news_at_url=bool(row.is_news),
        host=row.host if row.checked_url == url else None,
        undetermined=row.undetermined if is_at_url else None,
        dates=[DateColumn(*one) for one in (row.dates if is_at_url else None) or ()],
        broken_since=aware(row.broken_since),
        fields=(row.last_modified, row.size, row.mimetype, row.hash),
        wrote=row.wrote if is_at_url else None,
        data_since=parse_date(row.data_since),
        changed_at=aware(row.changed_at),
        date_column=row.date_column,
    )


_EVIDENCE_NAMES = frozenset(evidence.value for evidence in Evidence)
"""Kinds of evidence that are known: a later version of this extension may have stored others."""

_PACKAGES = f"""
SELECT p.id, p.type, {PACKAGE_EXTRAS} AS extras,
    h.id AS harvest_object_id, h.config AS source_config, h.absent_since AS found_absent,
    {ORGANIZATION_EXTRA} AS organization_frequency,
    d.*
FROM package p
LEFT JOIN freshness_dataset d ON d.package_id = p.id
LEFT JOIN LATERAL ({{harvest}}) h ON true
WHERE p.id = ANY(:ids) AND p.type = ANY(:types)
ORDER BY p.id"""

_NO_NEWS = ", ".join(f"'{one}'" for one in sorted(outcomes_that(lambda it: not it.is_news)))


def _resources_sql(links: str | None) -> str:
    """Return SQL of the resources of datasets, and of those that are remembered of them.

    :param links: see :func:`..checking.checkers.checked_elsewhere`
    """
    if links is None:
        return _RESOURCES.format(broken=_BROKEN, elsewhere="")
    broken = f"CASE WHEN e.resource_id IS NULL THEN {_BROKEN} ELSE e.broken_since END"
    return _RESOURCES.format(broken=broken, elsewhere=_ELSEWHERE.format(links=links))


_BROKEN = f"CASE WHEN c.url = r.url AND {IS_BROKEN} THEN c.failing_since END"
_ELSEWHERE = f"""
LEFT JOIN LATERAL (
    SELECT c.resource_id, CASE WHEN {IS_BROKEN} THEN c.failing_since END AS broken_since
    FROM ({{links}}) c WHERE c.resource_id = r.id
) e ON true"""
_RESOURCES = f"""
SELECT coalesce(r.package_id, m.package_id) AS owner, r.id, r.name, r.url, r.url_type, r.created,
    r.last_modified, r.size, r.mimetype, r.hash,
    r.last_modified = CAST({fields.OURS.format("last_modified")} AS timestamp) AS date_is_ours,
    r.hash = {fields.OURS.format("hash")} AS hash_is_ours, r.extras,
    c.known -> 'dates' AS dates, c.known ->> 'data_since' AS data_since, c.changed_at,
    CAST(nullif(c.wrote, '{{{{}}}}') AS text) AS wrote, c.url AS checked_url, c.host, c.undetermined,
    c.succeeded_at >= m.url_changed_at AND c.failures = 0 AND c.found IS NULL AS is_found,
    {{broken}} AS broken_since,
    c.attempts -> 0 ->> 'outcome' NOT IN ({_NO_NEWS}) AS is_news,
    m.resource_id AS known_id, m.url AS known_url, m.hash AS known_hash, m.hash_writer, m.url_changed_at,
    m.date_column
FROM (SELECT * FROM resource WHERE package_id = ANY(:ids) AND state = 'active') r
FULL JOIN (SELECT * FROM freshness_resource WHERE package_id = ANY(:ids)) m ON m.resource_id = r.id
LEFT JOIN freshness_check c ON c.resource_id = r.id{{elsewhere}}
ORDER BY r.position"""

_EVIDENCE = sa.text("""
SELECT package_id, resource_id, evidence, happened_at, claimed_at
FROM freshness_evidence WHERE package_id = ANY(:ids)""")
