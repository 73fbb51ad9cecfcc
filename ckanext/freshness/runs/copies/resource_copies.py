"""Copies of what visits to resources of any format bring: of which ones, and how they are kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from posixpath import basename
from typing import Any
from urllib.parse import unquote, urlsplit

import ckan.plugins as p
import sqlalchemy as sa

from ... import settings
from ...checking import check_rows as checked
from ...checking.results import CheckedResource, CheckResult
from ...ckan_adapter import harvest_tables, model
from ...copies import store_keys
from ...copies.store import Store, StoreError
from ...dates import utc
from ...web.urls import display_url
from . import options, shelf
from .shelf import ShelvedCopy

_FEW = 100
"""Up to so many copies are asked for one by one; beyond that, the store says what it has."""


KEEPING_TYPES: set[str] = set()
"""Source types that always keep copies. Subpackages above add theirs."""


def marked(visits: Sequence[CheckedResource]) -> list[CheckedResource]:
    """The visits, with a mark on those whose resources are to have copies.

    Where there is none yet, none of what was last found, or none any more in the store, the bytes are
    wanted whatever the server says of them.

    :raises OptionError: the site has no place for copies
    """
    wanted = _wanted([one.resource_id for one in visits])
    wanted |= dict.fromkeys(_lost([id_ for id_, has_copy in wanted.items() if has_copy]), False)
    return [
        replace(
            one,
            keep_copy=True,
            hash_anyway=one.hash_anyway or not wanted[one.resource_id],
        )
        if one.resource_id in wanted
        else one
        for one in visits
    ]


def is_wanted() -> bool:
    """Decide whether any copies are to be kept."""
    if options.choice().wanted:
        return True
    if not p.plugin_loaded("harvest"):
        return False
    source = harvest_tables.SOURCE.c
    keeping = sa.exists().where(source.active.is_(True), source.type.in_(KEEPING_TYPES))
    return bool(_sources()) or bool(model.Session.execute(sa.select(keeping)).scalar())


def keep(store: Store, findings: Iterable[CheckResult], now: datetime) -> Iterator[str]:
    """Keep what was put aside, and commit; yields why something could not be kept.

    What is there is replaced by good bytes alone, and stays if these cannot be stored.
    """
    shelved: list[ShelvedCopy] = []
    for finding in findings:
        staged, finding.staged = finding.staged, None
        if staged is None:
            continue
        visit = finding.visit
        filename = _filename(visit)
        try:
            with staged:
                kept = store.keep(
                    store_keys.resource_key(visit.resource_id), staged, zip_member=filename
                )
        except StoreError as error:
            yield f"{display_url(visit.url)}: {error}"
            continue
        shelved.append(
            ShelvedCopy(
                resource_id=visit.resource_id,
                package_id=visit.package_id,
                kept=kept,
                filename=filename,
                mimetype=finding.mimetype,
                source_url=display_url(visit.url),
                at=now,
            )
        )
    before = shelf.standing([one.resource_id for one in shelved])
    shelf.remember(shelved)
    model.Session.commit()
    keys = {one.kept.key for one in shelved}
    try:
        shelf.throw_away(store, [one for one in before if one.keys[0] not in keys])
    except StoreError as error:
        yield str(error)
    named = shelf.owners([one.kept.key for one in shelved])
    for one in shelved:
        if one.kept.key not in named:
            # Its resource went while it was visited.
            shelf.throw_away(store, [shelf.taken(one.resource_id, one.kept)])


def prune(now: datetime) -> int:
    """Remove the copies of what is gone, and of what has failed for too long; returns how many.

    Also what runs have left incomplete in the store that were killed.

    :raises OptionError: the site has no place for copies
    :raises StoreError: the store refuses
    """
    chosen = options.copies()
    # What got another id meanwhile is not gone.
    checked.sync(now, settings.aging().dataset_types)
    taken = shelf.forget_gone()
    if chosen.expire_after is not None:
        taken += shelf.expire(_failing(now, chosen.expire_after), now)
    if not taken and not shelf.newest(1):
        # None is kept: a store need not be there.
        return 0
    store = options.store(chosen)
    count = shelf.throw_away(store, taken)
    store.sweep(now)
    return count


def _failing(now: datetime, span: timedelta) -> list[str]:
    values = {"before": utc(now - span)}
    return list(model.Session.execute(sa.text(_FAILING), values).scalars())


def _lost(resource_ids: list[str]) -> list[str]:
    """The resources whose copies are not in the store. Where it is out of reach, nothing is lost."""
    named = {one.resource_id: one.keys[0] for one in shelf.standing(resource_ids)}
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
    """The resources that are to have copies, and whether they have one of what was last found there."""
    has_harvest = p.plugin_loaded("harvest")
    sources = _sources() if has_harvest else []
    chosen = options.choice()
    if not chosen.wanted and not sources:
        return {}
    statement = _WANTED.format(of_source=_OF_SOURCE if has_harvest else "false")
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
    """Sources whose configuration says "keep_copies"."""
    source = harvest_tables.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.id, source.config).where(
            source.active.is_(True), source.config.contains('"keep_copies"')
        )
    )
    return [source_id for source_id, config in rows if _says_so(config)]


def _says_so(config: str) -> bool:
    try:
        plain = json.loads(config)
    except ValueError:
        return False
    return isinstance(plain, dict) and plain.get("keep_copies") is True


def _filename(visit: CheckedResource) -> str:
    name = unquote(basename(urlsplit(visit.url).path), errors="replace")
    if "." not in name and visit.format and visit.format.isalnum():
        name = f"{name or 'data'}.{visit.format.lower()}"
    return store_keys.member(name)


_OF_SOURCE = """EXISTS (
        SELECT FROM harvest_object o
        WHERE o.package_id = p.id AND o.current AND o.harvest_source_id = ANY(:sources)
    )"""
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
    AND NOT {checked.REGISTERED.format(resource="c.resource_id")}"""
