"""Import: harvest objects become packages, through CKAN's actions, one write per dataset.

Written to be done again at any point: the harvest object is marked current in the transaction that
writes its package, and counts as complete only when Solr has the package too.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import (
    SearchIndexError,
    harvest_model,
    harvesting_user,
    model,
    publish_objects,
    rebuild,
    solr_commit,
    without_solr_commits,
)
from ..solr_queue import Queue, queued
from . import objects
from .layout import Site, package_dict
from .licenses import license_index
from .locks import locked
from .merging import merge, same_package
from .names import free_names
from .objects import PAGED
from .record import Laid, Record
from .source_config import SourceConfig, parse

log = logging.getLogger(__name__)

PAGE_TIME = 90.0
"""Seconds after which a page hands its rest on: after 180 s the queue would send all of it again."""

_object = harvest_model.HarvestObject.__table__


class ImportFailed(Exception):
    """A record that cannot be imported; the text says why, for people."""


_PLAIN_ERRORS = (ImportFailed, tk.ValidationError, tk.NotAuthorized, SearchIndexError)
"""Failures whose text says all: their tracebacks are no news."""


@dataclass(frozen=True, slots=True)
class _Import:
    """What all imports of one page have in common."""

    source_id: str
    owner_org: str | None
    config: SourceConfig
    user: Any
    sites: dict[str, Site]
    """By package type."""

    def context(self) -> dict[str, Any]:
        return {
            "model": model,
            "session": model.Session,
            "user": self.user.name,
            "auth_user_obj": self.user,
            "ignore_auth": True,
            "return_id_only": True,
        }


def import_page(lead: Any) -> bool | Literal["unchanged"]:
    """Import an object and those that follow it in the same message of the queue.

    :param lead: the HarvestObject that the queue named.
    :returns: whether the lead itself was imported. Its followers' states are written here.
    """
    lead_id, source = lead.id, lead.source
    if lead.state == "COMPLETE" and not lead.current:
        log.info("Harvest object %s is not the newest of its record: not imported again", lead_id)
        return "unchanged"
    extras = objects.extras_of(lead_id)
    followers = json.loads(extras.get("page", "[]"))
    ids = [lead_id, *objects.in_state(followers, PAGED)]
    with locked(*(f"record {source.id} {url}" for url in objects.urls_of(ids))):
        # Who waited for another consumer of the same page finds that page done.
        ids = [lead_id, *objects.in_state(ids[1:], PAGED)]
        job = _import_for(source)
        with without_solr_commits():
            with queued(enabled=tk.config.get("ckanext.freshness.harvest.batch_index")) as queue:
                failed, rest = _import_each(job, ids)
            failed |= _refused_by_solr(queue, ids)
            _commit_solr()
        done = set(ids) - failed - set(rest) - {lead_id}
        objects.finish(sorted(done), sorted(failed - {lead_id}))
    if rest:
        objects.hand_on(rest)
        publish_objects(rest[:1])
    model.Session.add(lead)
    model.Session.refresh(lead)
    return lead_id not in failed


def _commit_solr() -> None:
    try:
        solr_commit()
    except SearchIndexError:
        # What Solr has taken becomes visible with anybody's next commit, at the latest the one at
        # the job's end.
        log.exception("Solr did not commit a page of harvested datasets")


def _refused_by_solr(queue: Queue, ids: Sequence[str]) -> set[str]:
    """The objects whose packages are written but not in Solr: the next job imports them again."""
    failed = set()
    for refusal in queue.refused:
        for object_id in objects.of_package(refusal.package_id, ids):
            objects.add_error(object_id, f"Solr does not take the dataset: {refusal.words}")
            failed.add(object_id)
    return failed


def _import_each(job: _Import, ids: Sequence[str]) -> tuple[set[str], list[str]]:
    """Import objects in order; returns those that failed, and those left for want of time."""
    until = time.monotonic() + PAGE_TIME
    failed: set[str] = set()
    for position, object_id in enumerate(ids):
        if position and time.monotonic() >= until:
            return failed, list(ids[position:])
        try:
            _import_one(job, object_id)
        except (sa.exc.OperationalError, sa.exc.InterfaceError):
            raise  # the database is away: nothing can be said of the record
        except Exception as error:
            # Whatever a hook of another extension raises is this record's error, and no reason
            # to leave the rest of the page undone.
            if not isinstance(error, _PLAIN_ERRORS):
                log.exception("Harvest object %s could not be imported", object_id)
            model.Session.rollback()
            objects.add_error(object_id, _words(error))
            failed.add(object_id)
    return failed, []


def _words(error: Exception) -> str:
    if isinstance(error, tk.ValidationError):
        summary = error.error_summary or error.error_dict
        return f"CKAN refuses the dataset: {'; '.join(f'{key}: {value}' for key, value in summary.items())}"
    if isinstance(error, ImportFailed):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _import_for(source: Any) -> _Import:
    config, _warnings = parse(source.config)
    package = model.Package.get(source.id)
    return _Import(
        source_id=source.id,
        owner_org=package.owner_org if package else None,
        config=config,
        user=harvesting_user(),
        sites={kind: _site(config, kind) for kind in ("dataset", "catalog")},
    )


def _site(config: SourceConfig, package_type: str) -> Site:
    licenses = tk.get_action("license_list")({"ignore_auth": True}, {})
    return Site(
        licenses=license_index(licenses),
        schema=_scheming_schema(package_type),
        package_type=package_type,
        default_tags=config.default_tags,
        default_groups=config.default_groups,
        language=config.language or tk.config.get("ckan.locale_default"),
    )


def _scheming_schema(package_type: str) -> Mapping[str, Any] | None:
    """The site's schema of a package type, where ckanext-scheming is in use and has one."""
    try:
        show = tk.get_action("scheming_dataset_schema_show")
    except KeyError:
        return None
    try:
        return show({"ignore_auth": True}, {"type": package_type})
    except tk.ObjectNotFound:
        return None


def _import_one(job: _Import, object_id: str) -> None:
    harvest_object = harvest_model.HarvestObject.get(object_id)
    extras = objects.extras_of(object_id)
    if extras.get("status") == "delete":
        _delete(job, harvest_object)
        return
    if not harvest_object.content:
        raise ImportFailed("the object holds no record; harvest the source again")
    try:
        record = Record.from_json(harvest_object.content)
    except ValueError as error:
        raise ImportFailed(f"the object's content cannot be read: {error}") from error
    package_type = "dataset" if extras.get("dataset_url") else "catalog"
    laid = package_dict(record, job.sites[package_type])
    laid.package["extras"].append({"key": "guid", "value": harvest_object.guid})
    if job.owner_org:
        laid.package["owner_org"] = job.owner_org
    warnings = [*record.warnings, *laid.warnings]
    if warnings:
        objects.set_extras([(object_id, "warnings", json.dumps(warnings, ensure_ascii=False))])
    package = _package_of(job, harvest_object, extras)
    if package is None:
        _create(job, harvest_object, laid.package, extras.get("dataset_url", harvest_object.guid))
    else:
        _update(job, harvest_object, package, laid)


def _package_of(job: _Import, harvest_object: Any, extras: Mapping[str, str]) -> Any | None:
    """The package that a record already has: its object's, an adopted one, or that of an earlier time.

    A record that comes back after it was deleted gets its old dataset again, with its id and name.
    """
    for package_id in (harvest_object.package_id, extras.get("adopted")):
        package = model.Package.get(package_id) if package_id else None
        if package is not None:
            return package
    earlier = model.Session.execute(
        sa.select(_object.c.package_id)
        .where(
            _object.c.guid == harvest_object.guid,
            _object.c.harvest_source_id == job.source_id,
            _object.c.package_id.is_not(None),
        )
        .order_by(_object.c.current.desc(), _object.c.import_finished.desc().nulls_last())
        .limit(1)
    ).scalar()
    return model.Package.get(earlier) if earlier else None


def _create(job: _Import, harvest_object: Any, package: dict[str, Any], url: str) -> None:
    package_id = str(uuid.uuid4())
    package["id"] = package_id
    names = free_names(package["title"], url)
    for name in names:
        package["name"] = name
        objects.make_current(harvest_object.id, job.source_id, harvest_object.guid, package_id)
        try:
            tk.get_action("package_create")(job.context(), dict(package))
            return
        except tk.ValidationError as error:
            model.Session.rollback()
            # Somebody else may have taken the name between the look and the write.
            if set(error.error_dict) != {"name"} or name == names[-1]:
                raise


def _update(job: _Import, harvest_object: Any, package: Any, laid: Laid) -> None:
    existing = tk.get_action("package_show")(
        {**job.context(), "use_cache": False}, {"id": package.id}
    )
    merged = merge(existing, laid, (*job.config.keep_fields, *_not_overwritten()))
    if package.state == "deleted" and harvest_object.package_id is None:
        merged["state"] = "active"
    objects.make_current(harvest_object.id, job.source_id, harvest_object.guid, package.id)
    if same_package(existing, merged):
        # An earlier attempt may have written the package and died before Solr had it.
        model.Session.commit()
        rebuild([package.id])
        return
    context = {**job.context(), "original_package": existing}
    tk.get_action("package_update")(context, merged)


def _delete(job: _Import, harvest_object: Any) -> None:
    """Delete the package of a record that is gone; ``current`` is cleared in the same transaction."""
    package_id = harvest_object.package_id
    package = model.Package.get(package_id) if package_id else None
    objects.retire(harvest_object.id, job.source_id, harvest_object.guid, package_id)
    if (
        package is None
        or package.state == "deleted"
        or objects.is_current_elsewhere(package_id, job.source_id)
    ):
        model.Session.commit()
        return
    tk.get_action("package_delete")(job.context(), {"id": package_id})


def _not_overwritten() -> list[str]:
    """ckanext-harvest's option for fields that no harvest writes once a dataset exists."""
    return tk.aslist(tk.config.get("ckan.harvest.not_overwrite_fields") or [])
