"""What earlier harvests left in ckanext-harvest's tables: the current records, with their extras."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model, package_extra
from .record import RESOURCE_KEYS
from .strategy import KnownRecord, LostDistribution

_ROWS = 500
"""Rows that are read at a time."""

_URL_EXTRAS = frozenset({"dataset_url", "catalog_url"})
_KNOWN_EXTRAS = (
    "dataset_url",
    "catalog_url",
    "content_hash",
    "fingerprint",
    "forbidden_since",
    "subject",
    "organization_id",
    "distributions",
    "in_pages",
)

_object = harvest_tables.OBJECT
_extra = harvest_tables.OBJECT_EXTRA


def current_records(source_id: str) -> dict[str, KnownRecord]:
    """The current records of a source by URL.

    These are the rows of ``SELECT harvest_object.guid, harvest_object.package_id FROM harvest_object
    WHERE harvest_object.current = true AND harvest_object.harvest_source_id = :source``. Should one URL
    be current twice, the one imported last counts.
    """
    return _known(sa.and_(_object.c.current.is_(True), _object.c.harvest_source_id == source_id))


def orphaned_records(
    types: Sequence[str], but: str, *, organizations: bool = False
) -> dict[str, KnownRecord]:
    """Current records by URL whose source was deleted while their packages are active.

    Only packages of the asking source's own organization: whoever may make a source somewhere could
    else get hold of what belongs to others, and write it anew.

    :param types: only of sources of these types.
    :param but: id of the source that asks.
    :param organizations: the sources made organizations, and packages of these. Then the deleted source
        itself must have been of the asking one's organization, and the packages still of those it made.
    """
    source = harvest_tables.SOURCE
    gone = sa.select(source.c.id).where(
        source.c.active.is_(False), source.c.type.in_(types), source.c.id != but
    )
    package = model.Package.__table__
    # A source is a package, too.
    asking = sa.select(package.c.owner_org).where(package.c.id == but).scalar_subquery()
    if organizations:
        return _orphaned_with_organizations(gone, asking)
    active = sa.select(package.c.id).where(
        package.c.state == "active", package.c.owner_org.is_not_distinct_from(asking)
    )
    return _known(
        sa.and_(
            _object.c.current.is_(True),
            _object.c.harvest_source_id.in_(gone),
            _object.c.package_id.in_(active),
        )
    )


def _orphaned_with_organizations(gone: Any, asking: Any) -> dict[str, KnownRecord]:
    source, package = model.Package.__table__.alias("source"), model.Package.__table__
    ours = sa.and_(
        _object.c.current.is_(True),
        _object.c.harvest_source_id.in_(gone),
        _object.c.harvest_source_id.in_(
            sa.select(source.c.id).where(source.c.owner_org.is_not_distinct_from(asking))
        ),
    )
    active = sa.select(package.c.id).where(
        package.c.state == "active", package.c.owner_org.in_(_organizations_of(ours))
    )
    taken = _organizations_of(
        sa.and_(_object.c.current.is_(True), _object.c.harvest_source_id.not_in(gone))
    )
    group = model.Group.__table__
    free = sa.select(group.c.id).where(group.c.state == "active", group.c.id.not_in(taken))
    with_organization = sa.select(_extra.c.harvest_object_id).where(
        _extra.c.key == "organization_id", _extra.c.value.in_(free)
    )
    return _known(
        sa.and_(ours, sa.or_(_object.c.package_id.in_(active), _object.c.id.in_(with_organization)))
    )


def _organizations_of(condition: Any) -> Any:
    """The ids of the organizations that some objects became."""
    return (
        sa.select(_extra.c.value)
        .select_from(_extra.join(_object, _object.c.id == _extra.c.harvest_object_id))
        .where(_extra.c.key == "organization_id", condition)
    )


def _known(condition: Any) -> dict[str, KnownRecord]:
    rows = model.Session.execute(
        sa.select(_object.c.id, _object.c.guid, _object.c.package_id)
        .where(condition)
        .order_by(_object.c.import_finished.asc().nulls_first(), _object.c.gathered),
        # All rows at once would take several times what is kept of them.
        execution_options={"yield_per": _ROWS},
    )
    found: dict[str, KnownRecord] = {}
    for part in rows.partitions():
        extras = _extras_of([row.id for row in part])
        # What another harvester wrote has none of our extras; its package may know the record's URL.
        foreign = [row.package_id for row in part if row.package_id and not _ours(extras[row.id])]
        uris = package_extra(foreign, "uri")
        organizations = existing_organizations(
            [one["organization_id"] for one in extras.values() if "organization_id" in one]
        )
        for row in part:
            uri = uris.get(row.package_id)
            if extras[row.id].get("organization_id") not in organizations:
                extras[row.id].pop("organization_id", None)
            known = _as_known(row.id, row.guid, row.package_id, extras[row.id], uri=uri)
            found[known.url] = known
    return found


def _extras_of(object_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """The extras of harvest objects by id.

    A statement for each part, and not one join for all: right after a large job PostgreSQL still
    believes the table to be small, and would go through all of it for each object.
    """
    extras: dict[str, dict[str, str]] = {object_id: {} for object_id in object_ids}
    rows = model.Session.execute(
        sa.select(_extra.c.harvest_object_id, _extra.c.key, _extra.c.value).where(
            _extra.c.harvest_object_id.in_(object_ids), _extra.c.key.in_(_KNOWN_EXTRAS)
        )
    )
    for object_id, key, value in rows:
        extras[object_id][key] = value
    return extras


def _ours(extras: Mapping[str, str]) -> bool:
    return not _URL_EXTRAS.isdisjoint(extras)


def existing_organizations(ids: Sequence[str]) -> frozenset[str]:
    """Those of some organizations that have not been purged, whatever their state."""
    if not ids:
        return frozenset()
    group = model.Group.__table__
    found = model.Session.execute(sa.select(group.c.id).where(group.c.id.in_(ids)))
    return frozenset(found.scalars())


def _as_known(
    object_id: str,
    guid: str,
    package_id: str | None,
    extras: Mapping[str, str],
    *,
    uri: str | None,
) -> KnownRecord:
    recognised = True
    catalog, dataset = extras.get("catalog_url"), extras.get("dataset_url")
    since = extras.get("forbidden_since")
    url = dataset or catalog
    if url is None:
        catalog, url = urls_in_guid(guid)
        if url == guid or not is_web_url(url):
            # A plain guid may also be an identifier that only looks like a URL, such as a DOI.
            recognised = uri is not None and is_web_url(uri)
            url = uri if uri and recognised else url
    organization_id = extras.get("organization_id")
    exists = bool(package_id or organization_id)
    return KnownRecord(
        url=url,
        guid=guid,
        # One text for all the records of a catalog.
        catalog_url=sys.intern(catalog) if catalog and (dataset or url != catalog) else None,
        # A record whose package or organization was purged is never unchanged.
        content_hash=extras.get("content_hash") if exists else None,
        object_id=object_id,
        package_id=package_id,
        fingerprint=extras.get("fingerprint") if exists else None,
        forbidden_since=datetime.fromisoformat(since) if since else None,
        subject=extras.get("subject"),
        recognised=recognised,
        organization_id=organization_id,
        distributions=_lost(extras.get("distributions")),
        in_pages="in_pages" in extras,
    )


def _lost(text: str | None) -> dict[str, LostDistribution]:
    if not text:
        return {}
    return {
        uri: LostDistribution(
            datetime.fromisoformat(one["since"]) if one.get("since") else None,
            one.get("listed_as"),
            one.get("elsewhere", False),
            one.get("only_in_pages", False),
        )
        for uri, one in json.loads(text).items()
    }


def lost_as_json(distributions: Mapping[str, LostDistribution]) -> str | None:
    """What is to be remembered of a record's distributions, for its object's extra ``distributions``."""
    if not distributions:
        return None
    plain = {
        uri: {
            **({"since": one.since.isoformat()} if one.since else {}),
            **({"listed_as": one.listed_as} if one.listed_as else {}),
            **({"elsewhere": True} if one.elsewhere else {}),
            **({"only_in_pages": True} if one.only_in_pages else {}),
        }
        for uri, one in distributions.items()
    }
    return json.dumps(plain, sort_keys=True)


def resources_of_package(package_id: str | None) -> list[dict[str, Any]]:
    """The resources of a package as another harvester left them, with the fields that a record can have."""
    resource = model.Resource.__table__
    if package_id is None:
        return []
    rows = model.Session.execute(
        sa.select(resource).where(resource.c.package_id == package_id, resource.c.state == "active")
    ).mappings()
    return [
        {
            key: value
            for key, value in {**row, **(row["extras"] or {})}.items()
            if key in RESOURCE_KEYS and value not in (None, "")
        }
        for row in rows
    ]


def is_web_url(text: str) -> bool:
    """Whether a text can be the URL of a record."""
    return text.startswith(("http://", "https://"))


def urls_in_guid(guid: str) -> tuple[str | None, str]:
    """The catalog's and the record's URL in a guid without extras: another harvester wrote it.

    Understood are ``catalog=<url>;dataset=<url>``, ``dataset=<url>``, ``catalog=<url>`` and plain URLs.
    """
    rest = guid
    catalog = None
    if rest.startswith("catalog="):
        before, separator, after = rest[len("catalog=") :].partition(";dataset=")
        if not separator:
            return None, before
        return before, after
    if rest.startswith("dataset="):
        rest = rest[len("dataset=") :]
    return catalog, rest
