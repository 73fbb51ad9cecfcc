"""Datasets as the database has them, with what is remembered of them: many with few statements.

By SQL and not by CKAN's model: sessions keep packages from before a commit, and 22,160 of them would
be 22,160 objects. All moments are in UTC, with their zone, to the second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from ..aging.evidence import DatedEvidence, Evidence
from ..aging.status import Boundaries
from ..checking import fields
from ..ckan_adapter import ORGANIZATION_EXTRA, PACKAGE_EXTRAS, model
from ..dates import aware
from .frequencies import DEFAULT_KEY, FrequencySource, of_source


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """An active resource, and what it was like when it was last looked at."""

    id: str
    name: str
    url: str
    url_type: str | None
    hash: str
    created: datetime | None
    last_modified: datetime | None
    extras: Mapping[str, Any]
    is_known: bool
    """Whether it was ever looked at; the rest is empty if not."""
    known_url: str | None
    known_hash: str | None
    hash_writer: str | None
    host: str | None = None
    """Of its URL, as the checker knows it; None if it does not, see :func:`..checking.store.host_of`."""
    doubt: str | None = None
    """Why its changes cannot be determined, as the last visit to its URL had it: ``api``, ``blocked``."""
    fields: tuple[Any, ...] = (None, None, None, None)
    """Its own fields as they are, what the checker wrote included: what :func:`..checking.fields.stored`
    takes."""
    wrote: str | None = None
    """What the checker wrote into them while it had this URL, in JSON; None if nothing. It is no evidence
    of anything: all above is without it, and without what was written before."""
    replaces: str | None = None
    """The id of one that has just gone and had the same URL.

    So it is with clients and harvesters that send datasets without their resources' ids: CKAN makes all
    resources anew then.
    """


@dataclass(slots=True)
class DatasetSnapshot:
    """A dataset, and what is remembered of it."""

    id: str
    type: str
    metadata_modified: datetime | None
    extras: Mapping[str, str]
    is_harvested: bool
    """Whether a harvest object belongs to it."""
    defaults: Mapping[FrequencySource, Any]
    """The frequencies that its source and its organization assume."""
    row: Any | None
    """Its row of ``freshness_dataset``; None if it was never assessed."""
    resources: list[ResourceSnapshot] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    """Resources that are remembered and are no more."""
    pieces: list[DatedEvidence] = field(default_factory=list)
    """The evidence that is remembered."""


def take(package_ids: Iterable[str], package_types: Iterable[str]) -> list[DatasetSnapshot]:
    """The packages of some types, in the order of their ids; others and missing ones are left out."""
    session = model.Session
    ids = {"ids": list(package_ids)}
    statement = _PACKAGES.format(harvest=_HARVEST if p.plugin_loaded("harvest") else _NO_HARVEST)
    rows = session.execute(
        sa.text(statement), {**ids, "types": list(package_types), "key": DEFAULT_KEY}
    ).all()
    found = {row.id: _dataset(row) for row in rows}
    if not found:
        return []
    ids = {"ids": list(found)}
    gone: dict[tuple[str, str], list[Any]] = {}
    for row in session.execute(sa.text(_RESOURCES), ids).all():
        dataset = found[row.owner]
        if row.id is None:
            dataset.gone.append(row.known_id)
            gone.setdefault((row.owner, row.known_url), []).append(row)
        else:
            dataset.resources.append(_resource(row))
    if gone:
        for dataset in found.values():
            dataset.resources = [_successor(one, dataset.id, gone) for one in dataset.resources]
    for package_id, resource_id, name, happened_at, claimed_at in session.execute(
        sa.text(_EVIDENCE), ids
    ).all():
        if (kind := _KINDS.get(name)) is not None:
            when = aware(happened_at)
            piece = DatedEvidence(when, kind, resource_id or None, moment(claimed_at))
            found[package_id].pieces.append(piece)
    return list(found.values())


def moment(value: datetime | None) -> datetime | None:
    """A moment of the database, which are in UTC without zone, to the second."""
    return None if value is None else value.replace(microsecond=0, tzinfo=timezone.utc)


def boundaries(row: Any) -> Boundaries | None:
    """Return when the status in a row of ``freshness_dataset`` changes by itself; None if it never does."""
    if row.due is None:
        return None
    moments = (moment(at) for at in (row.due, row.overdue, row.delinquent))
    due, overdue, delinquent = (at for at in moments if at is not None)
    return Boundaries(due, overdue, delinquent)


def _dataset(row: Any) -> DatasetSnapshot:
    return DatasetSnapshot(
        id=row.id,
        type=row.type,
        metadata_modified=moment(row.metadata_modified),
        extras=row.extras or {},
        is_harvested=row.harvest_object_id is not None,
        defaults={
            FrequencySource.SOURCE: of_source(row.source_config),
            FrequencySource.ORGANIZATION: row.organization_frequency,
        },
        row=None if row.package_id is None else row,
    )


def _resource(row: Any) -> ResourceSnapshot:
    # In one go, since a row's columns are slow to be asked for one by one.
    _owner, id_, name, url, url_type, created, *rest = row
    last_modified, size, mimetype, hash_, date_is_ours, hash_is_ours, text, *rest = rest
    wrote, checked_url, host, undetermined, known_id, known_url, known_hash, hash_writer = rest
    extras = json.loads(text) if text and text != "{}" else {}
    is_at_url = checked_url == url
    stripped = url.strip()
    return ResourceSnapshot(
        id=id_,
        name=name or "",
        url=stripped,
        url_type=url_type,
        hash=((known_hash if hash_is_ours else hash_) or "").strip(),
        created=moment(created),
        last_modified=None if date_is_ours else moment(last_modified),
        extras=extras if isinstance(extras, dict) else {},
        is_known=known_id is not None,
        known_url=known_url,
        known_hash=known_hash,
        hash_writer=hash_writer,
        host=host if checked_url == stripped else None,
        doubt=undetermined if is_at_url else None,
        fields=(last_modified, size, mimetype, hash_),
        wrote=wrote if is_at_url else None,
    )


def _successor(
    resource: ResourceSnapshot, package_id: str, gone: Mapping[tuple[str, str], list[Any]]
) -> ResourceSnapshot:
    """A new resource with what is known of the one that it replaces; any other as it is."""
    before = gone.get((package_id, resource.url)) if resource.url else None
    if resource.is_known or not before:
        return resource
    row = before.pop(0)
    return replace(
        resource, replaces=row.known_id, known_hash=row.known_hash, hash_writer=row.hash_writer
    )


_KINDS = {kind.value: kind for kind in Evidence}

_PACKAGES = f"""
SELECT p.id, p.type, p.metadata_modified, {PACKAGE_EXTRAS} AS extras,
    h.id AS harvest_object_id, h.config AS source_config,
    {ORGANIZATION_EXTRA} AS organization_frequency, d.*
FROM package p
LEFT JOIN freshness_dataset d ON d.package_id = p.id
LEFT JOIN LATERAL ({{harvest}}) h ON true
WHERE p.id = ANY(:ids) AND p.type = ANY(:types)
ORDER BY p.id"""
_HARVEST = """
SELECT o.id, s.config FROM harvest_object o
LEFT JOIN harvest_source s ON s.id = o.harvest_source_id
WHERE o.package_id = p.id
ORDER BY o.current DESC NULLS LAST, o.gathered DESC NULLS LAST, o.id LIMIT 1"""
_NO_HARVEST = "SELECT NULL AS id, NULL AS config"

_RESOURCES = f"""
SELECT coalesce(r.package_id, m.package_id) AS owner, r.id, r.name, r.url, r.url_type, r.created,
    r.last_modified, r.size, r.mimetype, r.hash,
    r.last_modified = CAST({fields.OURS.format("last_modified")} AS timestamp) AS date_is_ours,
    r.hash = {fields.OURS.format("hash")} AS hash_is_ours, r.extras,
    CAST(nullif(c.wrote, '{{}}') AS text) AS wrote, c.url AS checked_url, c.host, c.undetermined,
    m.resource_id AS known_id, m.url AS known_url, m.hash AS known_hash, m.hash_writer
FROM (SELECT * FROM resource WHERE package_id = ANY(:ids) AND state = 'active') r
FULL JOIN (SELECT * FROM freshness_resource WHERE package_id = ANY(:ids)) m ON m.resource_id = r.id
LEFT JOIN LATERAL (
    SELECT * FROM freshness_check k
    WHERE k.package_id = r.package_id AND (k.resource_id = r.id OR k.url = r.url)
    ORDER BY k.resource_id <> r.id, k.resource_id LIMIT 1
) c ON true
ORDER BY r.position"""

_EVIDENCE = """
SELECT package_id, resource_id, evidence, happened_at, claimed_at
FROM freshness_evidence WHERE package_id = ANY(:ids)"""
