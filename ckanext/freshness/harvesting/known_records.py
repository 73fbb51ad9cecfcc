"""The records that earlier jobs left: ckanext-harvest's tables as plain data, read only.

:mod:`.object_writer` and :mod:`.object_states` write these tables.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import EXTRA, package_extra
from ..model import HarvestDocument
from ..web.urls import loose_spelling
from .packages.ckan_actions import organization_id
from .record import (
    Approval,
    CurrentRecords,
    KnownRecord,
    Record,
    Refusal,
    is_web_url,
    urls_in_guid,
)
from .source_memory import ORGANIZATION

RESOURCE_IDS = "resource_ids"
"""Harvest object extra: ids of resources that the object's package had and may have again, as JSON."""

_ROWS = 500
"""How many rows to read at a time."""

_KNOWN_EXTRAS = (
    "content_hash",
    "dataset_url",
    "catalog_url",
    "refusal",
    "absent_since",
    "approval",
    "subject",
    "memory",
    "incomplete_since",
)

_RECOGNISED_BY = frozenset({"uri", "url", "download_url", "access_url", "name"})
"""Fields by which a resource is recognised, see :func:`..resource_identity.identify`. The format is left out: a
resource keeps it if its source gives none, so it would look lost."""

_source = harvest.SOURCE
_object = harvest.OBJECT
_extra = harvest.OBJECT_EXTRA
_package = model.Package.__table__
_document = HarvestDocument.__table__


def records_of_source(
    source_id: str,
    adopts: Sequence[str],
    url_of: Callable[[str], str | None],
    memory_form: str,
) -> CurrentRecords:
    """Return the current records of a source, with those whose packages it may take over.

    :param adopts: types of deleted sources whose packages it may take over.
    :param url_of: see :meth:`.source_type.SourceType.url_of`.
    :param memory_form: see :attr:`.source_type.SourceType.memory_form`.
    """

    def of_type(known: KnownRecord) -> KnownRecord:
        """Return a record as this type of sources knows it."""
        if known.foreign and (url := url_of(known.guid)) is not None:
            return replace(known, url=url, recognised=True)
        if known.memory is None or re.match(memory_form, known.memory):
            return known
        # What another type has read is another harvester's.
        return replace(known, memory=None, foreign=True)

    current = current_records(source_id) or inherited_records(source_id).values()
    return CurrentRecords(
        map(of_type, current),
        lambda: map(of_type, orphaned_records(adopts, source_id)),
        contents_of,
        own_datasets,
    )


def current_records(source_id: str) -> list[KnownRecord]:
    """Return the current records of a source, the last imported last.

    They come from the source's harvest objects with ``current = true``. If two of these have the same URL, the
    last counts.
    """
    return [*_known(_object.c.current.is_(True), _object.c.harvest_source_id == source_id)]


def count_current(source_id: str) -> int:
    """Return how many records of a source are current."""
    statement = sa.select(sa.func.count()).where(
        _object.c.current.is_(True), _object.c.harvest_source_id == source_id
    )
    return int(model.Session.execute(statement).scalar_one())


def inherited_records(source_id: str) -> dict[str, KnownRecord]:
    """Return, by URL, the records that a source without records of its own continues.

    They are those of a deleted source with the same type, URL, configuration and organization: the source was
    made anew. All of them count as current, even if they cannot be read now or are no longer listed.
    """
    if count_current(source_id):
        return {}
    mine = harvest.source_row(source_id)
    former = [
        row.id
        for row in model.Session.execute(
            sa.select(_source).where(
                _source.c.active.is_(False),
                _source.c.type == mine.type,
                _source.c.id.in_(_peers(source_id)),
            )
        )
        if loose_spelling(row.url) == loose_spelling(mine.url)
        and _parsed(row.config) == _parsed(mine.config)
    ]
    return {one.url: one for one in _known(*_orphans(former, source_id))} if former else {}


def _parsed(config: str | None) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(config or "{}")
    return config


def orphaned_records(types: Sequence[str], source_id: str) -> Iterator[KnownRecord]:
    """Yield the records without a current object whose packages a source may have again.

    They are the source's own that were deleted, the current records of deleted sources, and those whose harvest
    objects were all deleted (``ckan harvester source clear-history``). The packages of the latter are active.
    Of several records with one URL, the last counts: an active package comes after a deleted one, which would
    make a double of it.

    A source only takes over packages of its own organization, and organizations with their packages that a
    deleted source of its organization made. Otherwise anyone who may create a source somewhere could get hold
    of other organizations' packages and overwrite them.

    :param types: consider only deleted sources of these types.
    :param source_id: the source that takes packages over.
    """
    gone = sa.select(_source.c.id).where(
        _source.c.active.is_(False), _source.c.type.in_(types), _source.c.id != source_id
    )
    own_organization = model.Session.execute(_organization_of(source_id)).scalar()
    is_active = _object.c.package_id.in_(
        sa.select(_package.c.id).where(_package.c.state == "active")
    )
    for known in _known(*_deleted(source_id), ~is_active):
        yield replace(known, is_deleted=True)
    # Users have restored these packages.
    yield from _known(*_deleted(source_id), is_active)
    yield from _without_objects(source_id, own_organization)
    yield from _known(*_orphans(gone, source_id))


def _deleted(source_id: str) -> tuple[Any, ...]:
    """Return the conditions for the objects of a source's records whose packages no object has any more."""
    other = _object.alias()
    is_current = sa.exists().where(
        other.c.package_id == _object.c.package_id, other.c.current.is_(True)
    )
    return (
        _object.c.harvest_source_id == source_id,
        _object.c.current.is_(False),
        _object.c.package_id.is_not(None),
        ~is_current,
    )


def _orphans(gone: Any, source_id: str) -> tuple[Any, ...]:
    """Return the conditions for the current objects of deleted sources that a source may take over.

    :param gone: the ids of these sources.
    """
    own_organization = _organization_of(source_id).scalar_subquery()
    of_peers = _object.c.harvest_source_id.in_(_peers(source_id).where(_package.c.id.in_(gone)))
    is_current = _object.c.current.is_(True)
    made = sa.select(_document.c.outline["id"].astext).where(
        _document.c.url.like(f"{ORGANIZATION} %"),
        _document.c.outline["is_made"].as_boolean(),
        _document.c.source_id.in_(deleted_peers(source_id)),
    )
    active = sa.select(_package.c.id).where(_package.c.state == "active")
    own = active.where(_package.c.owner_org.is_not_distinct_from(own_organization))
    return (
        is_current,
        _object.c.harvest_source_id.in_(gone),
        sa.or_(
            _object.c.package_id.in_(own),
            of_peers & _object.c.package_id.in_(active.where(_package.c.owner_org.in_(made))),
        ),
    )


def deleted_peers(source_id: str) -> Any:
    """Return a query for the ids of the deleted sources of the organization of a source."""
    return _peers(source_id).where(
        _package.c.id.in_(sa.select(_source.c.id).where(_source.c.active.is_(False)))
    )


def _organization_of(source_id: str) -> Any:
    """Return a query for the organization of a source. Each source has a package with the same id."""
    return sa.select(_package.c.owner_org).where(_package.c.id == source_id)


def _peers(source_id: str) -> Any:
    """Return a query for the ids of the packages of the organization of a source."""
    own_organization = _organization_of(source_id).scalar_subquery()
    return sa.select(_package.c.id).where(
        _package.c.owner_org.is_not_distinct_from(own_organization)
    )


def _without_objects(source_id: str, own_organization: str | None) -> Iterator[KnownRecord]:
    """Yield the records of packages that have a guid and no harvest objects; the oldest package last."""
    for package_id, guid, owner in model.Session.execute(sa.text(_WITHOUT_OBJECTS)):
        known = _as_known(None, guid, package_id, {}, uri=None)
        made = organization_id(source_id, known.catalog_url or known.url)
        if owner in (own_organization, made):
            yield known


_GUID = EXTRA.format(key="'guid'")
_WITHOUT_OBJECTS = f"""
SELECT p.id, {_GUID} AS guid, p.owner_org FROM package p
WHERE p.state = 'active' AND {_GUID} LIKE 'catalog=%'
AND NOT EXISTS (SELECT FROM harvest_object o WHERE o.package_id = p.id)
ORDER BY p.metadata_created DESC, p.id"""
"""SQL: the active packages that state a guid of ours and have no harvest objects, the newest first."""


def _known(*conditions: Any) -> Iterator[KnownRecord]:
    """Yield the records of objects, the last imported last.

    Two that another harvester wrote may state one URL, until the source type tells their own.
    """
    rows = model.Session.execute(
        sa.select(_object.c.id, _object.c.guid, _object.c.package_id, _object.c.state)
        .where(*conditions)
        .order_by(_object.c.import_finished.asc().nulls_first(), _object.c.gathered),
        # All rows at once would take several times the memory of the records.
        execution_options={"yield_per": _ROWS},
    )
    for part in rows.partitions():
        extras = extras_of([row.id for row in part], _extra.c.key.in_(_KNOWN_EXTRAS))
        # Another harvester's objects have none of our extras. Their packages may state the record's URL.
        foreign = [
            row.package_id
            for row in part
            if row.package_id and not extras[row.id].keys() & {"dataset_url", "catalog_url"}
        ]
        uris = package_extra(foreign, "uri")
        for row in part:
            if row.state != "COMPLETE":
                # Its job was aborted, perhaps before Solr had the package: the record must be imported again.
                extras[row.id].pop("content_hash", None)
            uri = uris.get(row.package_id)
            yield _as_known(row.id, row.guid, row.package_id, extras[row.id], uri=uri)


def extras_of(object_ids: Sequence[str], *conditions: Any) -> dict[str, dict[str, str]]:
    """Return extras of harvest objects by id.

    Not joined to the objects: right after a large job PostgreSQL still estimates the table to be small,
    and would scan all of it for each object.
    """
    extras: dict[str, dict[str, str]] = {object_id: {} for object_id in object_ids}
    rows = model.Session.execute(
        sa.select(_extra.c.harvest_object_id, _extra.c.key, _extra.c.value).where(
            _extra.c.harvest_object_id.in_(object_ids), *conditions
        )
    )
    for object_id, key, value in rows:
        extras[object_id][key] = value
    return extras


def _as_known(
    object_id: str | None,
    guid: str,
    package_id: str | None,
    extras: Mapping[str, str],
    *,
    uri: str | None,
) -> KnownRecord:
    """Make a record of an object's row.

    :param uri: the URL that the package states, for objects of other harvesters.
    """
    recognised = True
    catalog, dataset = extras.get("catalog_url"), extras.get("dataset_url")
    absent, incomplete = (
        datetime.fromisoformat(extras[key]) if key in extras else None
        for key in ("absent_since", "incomplete_since")
    )
    url = dataset or catalog
    if url is None:
        catalog, url = urls_in_guid(guid)
        if url == guid or not is_web_url(url):
            # A plain guid may be an identifier that only looks like the record's URL, such as a DOI.
            recognised = uri is not None and is_web_url(uri)
            url = uri if uri and recognised else url
    return KnownRecord(
        url=url,
        guid=guid,
        # Interned: all records of a catalog share the text.
        catalog_url=sys.intern(catalog) if catalog and (dataset or url != catalog) else None,
        # Without a hash the record is never unchanged: its package was purged.
        content_hash=extras.get("content_hash") if package_id else None,
        object_id=object_id,
        package_id=package_id,
        refusal=Refusal.parse(extras["refusal"]) if "refusal" in extras else None,
        absent_since=absent,
        approval=Approval(extras["approval"]) if "approval" in extras else None,
        subject=extras.get("subject"),
        foreign=dataset is None and extras.get("catalog_url") is None,
        recognised=recognised,
        memory=extras.get("memory"),
        incomplete_since=incomplete,
    )


def contents_of(known: KnownRecord) -> Record:
    """Return a record as an earlier job read it.

    The object of a deletion has no contents: the object before it has them. If another harvester wrote its
    harvest object, only its resources are known: those of its package.
    """
    package_id = known.package_id or ""
    before = (
        last_harvested(known)
        or Record.from_json(last_contents([package_id]).get(package_id))
        or Record(resources=resources_of_package(known.package_id))
    )
    model.Session.commit()  # no transaction stays open during the next request
    return before


def own_datasets(ids: Collection[str]) -> set[str]:
    """Return which ids are those of datasets that were made here, deleted ones too, and not harvested."""
    here = model.Session.execute(
        sa.select(_package.c.id).where(
            _package.c.id.in_(ids),
            _package.c.id.not_in(
                sa.select(_object.c.package_id).where(_object.c.package_id.in_(ids))
            ),
        )
    ).scalars()
    found = set(here)
    found -= package_extra(list(found), "guid").keys()
    model.Session.commit()  # no transaction stays open during the next request
    return found


def last_harvested(known: KnownRecord) -> Record | None:
    """Return a record's contents as the last import has them; None if another harvester wrote them."""
    content = model.Session.execute(
        sa.select(_object.c.content).where(_object.c.id == known.object_id)
    ).scalar()
    model.Session.commit()  # no transaction stays open during the next request
    return Record.from_json(content)


def last_contents(package_ids: Collection[str]) -> dict[str, str]:
    """Return, by package, the content of the object that has written it last.

    It is that of any source, active or not, and may be the object that is now imported again.
    """
    # A source that was made again has taken its objects out of the numbers of their jobs.
    is_inherited = _object.c.report_status.is_(None) & (_object.c.state == "COMPLETE")
    has_written = (
        _object.c.current.is_(True)
        | _object.c.report_status.in_(("added", "updated"))
        | is_inherited
    )
    rows = model.Session.execute(
        sa.select(_object.c.package_id, _object.c.content)
        .distinct(_object.c.package_id)
        .where(_object.c.package_id.in_(package_ids), _object.c.content.is_not(None), has_written)
        .order_by(
            _object.c.package_id,
            _object.c.current.desc(),
            _object.c.import_finished.desc().nulls_last(),
        )
    )
    return {package_id: content for package_id, content in rows}


def resources_of_package(package_id: str | None) -> list[dict[str, Any]]:
    """Return the active resources of a package, with the fields by which they are recognised.

    An import leaves all other fields of them as they are.
    """
    if package_id is None:
        return []
    resource = model.Resource.__table__
    rows = model.Session.execute(
        sa.select(resource).where(resource.c.package_id == package_id, resource.c.state == "active")
    ).mappings()
    return [
        {
            key: value
            for key, value in {**row, **(row["extras"] or {})}.items()
            if key in _RECOGNISED_BY and value not in (None, "")
        }
        for row in rows
    ]


def earlier_resource_ids(package_id: str) -> dict[str, str]:
    """Return the ids of former resources that imports of a package kept, by their keys."""
    texts = model.Session.execute(
        sa.select(_extra.c.value)
        .join(_object, _object.c.id == _extra.c.harvest_object_id)
        .where(_object.c.package_id == package_id, _extra.c.key == RESOURCE_IDS)
        .order_by(_object.c.gathered)
    ).scalars()
    found: dict[str, str] = {}
    for text in texts:
        found |= json.loads(text)
    return found
