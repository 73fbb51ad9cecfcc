"""Copies of checked resources: which ones are kept, and how they are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from posixpath import basename
from typing import Any
from urllib.parse import unquote, urlsplit

import ckan.plugins as p
import sqlalchemy as sa

from ... import settings
from ...checking import check_rows
from ...checking.results import CheckResult, ResourceToCheck
from ...ckan_adapter import harvest_tables
from ...ckan_adapter.ckan_core import model
from ...copies import store_keys
from ...copies.store import Store, StoreError
from ...dates import utc
from ...model.copies import IS_CHECKED_BY_CYCLES
from ...web.urls import display_url
from . import copy_rows, options
from .copy_rows import CopyRow

_FEW = 100
"""Up to this number, the store is asked for each copy; beyond it, for a list of all."""

KEEPING_TYPES: set[str] = set()
"""Types of harvest sources whose copies are always kept. Subpackages above add theirs."""


def marked(resources: Sequence[ResourceToCheck]) -> list[ResourceToCheck]:
    """Return resources, with ``keep_copy`` set if the site keeps copies of them.

    If there is no copy of the latest file in the store, ``hash_anyway`` is set, too.

    :raises OptionError: the site has no place for copies
    """
    wanted = _wanted([resource.resource_id for resource in resources])
    wanted |= dict.fromkeys(_lost([id_ for id_, has_copy in wanted.items() if has_copy]), False)
    return [
        resource._replace(
            keep_copy=True,
            hash_anyway=resource.hash_anyway or not wanted[resource.resource_id],
        )
        if resource.resource_id in wanted
        else resource
        for resource in resources
    ]


def is_wanted() -> bool:
    """Decide whether the site keeps copies of any resources."""
    if options.choice().wanted:
        return True
    if not p.plugin_loaded("harvest"):
        return False
    source = harvest_tables.SOURCE.c
    keeping = sa.exists().where(source.active.is_(True), source.type.in_(KEEPING_TYPES))
    return bool(_sources()) or bool(model.Session.execute(sa.select(keeping)).scalar())


def keep(store: Store, results: Iterable[CheckResult], now: datetime) -> Iterator[str]:
    """Store the staged files of results as copies, and commit. Yield why a copy could not be stored.

    If a copy cannot be stored, the earlier copy remains.
    """
    stored: list[CopyRow] = []
    for result in results:
        if result.staged is None:
            continue
        resource = result.resource
        filename = _filename(resource)
        key = store_keys.resource_key(resource.resource_id)
        try:
            kept = store.keep(key, result.staged, zip_member=filename)
        except StoreError as error:
            yield f"{display_url(resource.url)}: {error}"
            continue
        stored.append(
            CopyRow(
                resource_id=resource.resource_id,
                package_id=resource.package_id,
                kept=kept,
                filename=filename,
                mimetype=result.mimetype,
                source_url=display_url(resource.url),
                at=now,
            )
        )
    before = copy_rows.stored_files([copy.resource_id for copy in stored])
    copy_rows.remember(stored)
    model.Session.commit()
    keys = {copy.kept.key for copy in stored}
    try:
        copy_rows.delete_files(store, [copy for copy in before if copy.keys[0] not in keys])
    except StoreError as error:
        yield str(error)
    owned = copy_rows.owners(keys)
    for copy in stored:
        if copy.kept.key not in owned:
            # The resource was deleted during its check.
            copy_rows.delete_files(store, [copy_rows.files_of(copy.resource_id, copy.kept)])


def prune(now: datetime) -> int:
    """Remove the copies of resources that are gone or have failed for too long, and unfinished files.

    :returns: number of copies removed
    :raises OptionError: the site has no place for copies
    :raises StoreError: the store refuses
    """
    chosen = options.copies()
    # A resource with a new id takes over its copy here.
    check_rows.sync(now, settings.aging().dataset_types)
    gone = copy_rows.forget_gone()
    if chosen.expire_after is not None:
        gone += copy_rows.expire(_failing(now, chosen.expire_after), now)
    if not gone and not copy_rows.newest(1):
        # Without copies, the store need not exist.
        return 0
    store = options.store(chosen)
    count = copy_rows.delete_files(store, gone)
    store.sweep(now)
    return count


def _failing(now: datetime, span: timedelta) -> list[str]:
    values = {"before": utc(now - span)}
    return list(model.Session.execute(sa.text(_FAILING), values).scalars())


def _lost(resource_ids: list[str]) -> list[str]:
    """Return the resources whose copies are missing in the store; none if it cannot be reached."""
    named = {copy.resource_id: copy.keys[0] for copy in copy_rows.stored_files(resource_ids)}
    if not named:
        return []
    try:
        store = options.store()
        if len(named) <= _FEW:
            return [id_ for id_, key in named.items() if store.size(key) is None]
        there = set(store.keys())
    except StoreError:
        return []
    return [id_ for id_, key in named.items() if key not in there]


def _wanted(resource_ids: list[str]) -> dict[str, bool]:
    """Return the resources with copies, and whether there is a copy of the latest file."""
    has_harvest = p.plugin_loaded("harvest")
    sources = _sources() if has_harvest else []
    chosen = options.choice()
    if not chosen.wanted and not sources:
        return {}
    statement = _WANTED.format(of_source=harvest_tables.IS_OF_SOURCES if has_harvest else "false")
    values: dict[str, Any] = {
        "ids": resource_ids,
        "all": chosen.everything,
        "formats": sorted(chosen.formats),
        "organizations": sorted(chosen.organizations),
    }
    if has_harvest:
        values["sources"] = sources
    rows = model.Session.execute(sa.text(statement), values)
    return {row.id: row.has_copy for row in rows}


def _sources() -> list[str]:
    """Return the harvest sources whose configuration has ``keep_copies``."""
    source = harvest_tables.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.id, source.config).where(
            source.active.is_(True), source.config.contains('"keep_copies"')
        )
    )
    return [source_id for source_id, config in rows if _keeps_copies(config)]


def _keeps_copies(config: str) -> bool:
    try:
        plain = json.loads(config)
    except ValueError:
        return False
    return isinstance(plain, dict) and plain.get("keep_copies") is True


def _filename(resource: ResourceToCheck) -> str:
    name = unquote(basename(urlsplit(resource.url).path), errors="replace")
    if "." not in name and resource.format and resource.format.isalnum():
        name = f"{name or 'data'}.{resource.format.lower()}"
    return store_keys.member(name)


_WANTED = """
SELECT r.id, (
    c.key IS NOT NULL AND c.stored_at >= coalesce(k.changed_at, '-infinity')
    AND NOT coalesce(k.outdated, false)
) AS has_copy
FROM resource r JOIN package p ON p.id = r.package_id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN freshness_copy c ON c.resource_id = r.id
LEFT JOIN freshness_check k ON k.resource_id = r.id
WHERE r.id = ANY(:ids) AND r.state = 'active' AND coalesce(r.url_type, '') <> 'upload' AND (
    :all OR lower(r.format) = ANY(:formats) OR g.name = ANY(:organizations) OR {of_source}
)"""
_FAILING = f"""
SELECT c.resource_id FROM freshness_copy c JOIN freshness_check k ON k.resource_id = c.resource_id
WHERE c.key IS NOT NULL AND k.failing_since < :before
    AND NOT {IS_CHECKED_BY_CYCLES.format(resource="c.resource_id")}"""
