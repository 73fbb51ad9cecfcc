"""Import: the harvest objects of one message of the queue, each through :mod:`.packages`.

Written to be done again at any point: the harvest object is marked current in the transaction that
writes its package, and counts as complete only when Solr has the package too.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, Literal

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import (
    SearchIndexError,
    harvest_tables,
    model,
    publish_objects,
    solr_commit,
    without_solr_commits,
)
from ..ckan_adapter.solr_queue import DocumentQueue, queued
from . import object_states
from .legal_values import json_text
from .locks import locked
from .object_writer import PAGED, extras_of, set_extras
from .packages import ImportFailed, PackageWriter

log = logging.getLogger(__name__)

PAGE_TIME = 90.0
"""Seconds after which a page hands its rest on: after 180 s the queue would send all of it again."""

_DONE = frozenset({"added", "updated", "deleted", "not modified"})
"""What ckanext-harvest calls objects whose import has succeeded."""

_PLAIN_ERRORS = (ImportFailed, tk.ValidationError, tk.NotAuthorized, SearchIndexError)
"""Failures whose text says all: their tracebacks are no news."""


def import_page(lead: Any) -> bool | Literal["unchanged"]:
    """Import an object and those that follow it in the same message of the queue.

    :param lead: the HarvestObject that the queue named.
    :returns: whether the lead itself was imported. Its followers' states are written here.
    """
    lead_id, source_id = lead.id, lead.harvest_source_id
    if lead.report_status in _DONE and not lead.current:
        # The queue sends it once more. Its record may have been found again since, or deleted.
        log.info("Harvest object %s has been imported: not imported again", lead_id)
        return lead.report_status == "deleted" or "unchanged"
    followers = json.loads(extras_of(lead_id).get("page", "[]"))
    ids = [lead_id, *object_states.in_state(followers, PAGED)]
    with locked(*_locks(source_id, ids)):
        # Who waited for another consumer of the same page finds that page done.
        ids = [lead_id, *object_states.in_state(ids[1:], PAGED)]
        failed, rest = _import_page(source_id, ids)
        done = set(ids) - failed - set(rest) - {lead_id}
        object_states.finish(sorted(done), sorted(failed - {lead_id}))
    if rest:
        object_states.hand_on(rest)
        publish_objects(rest[:1])
    model.Session.add(lead)
    model.Session.refresh(lead)
    return lead_id not in failed


def import_without_queue(
    source_id: str, ids: Sequence[str], page_size: int, tell: Callable[[int], None]
) -> None:
    """Import objects that are in nobody's queue, a page after the other.

    Their states are written here. Each page is done or not, should the process die.

    :param tell: is told how many have been done so far.
    """
    left = list(ids)
    while left:
        page = left[:page_size]
        with locked(*_locks(source_id, page)):
            failed, rest = _import_page(source_id, page)
            object_states.finish(sorted(set(page) - failed - set(rest)), sorted(failed))
        left = rest + left[page_size:]
        tell(len(ids) - len(left))


def _import_page(source_id: str, ids: Sequence[str]) -> tuple[set[str], list[str]]:
    """Import objects in order; returns those that failed, and those left for want of time."""
    source = harvest_tables.source_row(source_id)
    with without_solr_commits():
        with queued() as queue:
            failed, rest = _import_each(source, ids, queue)
        failed |= _refused_by_solr(queue, ids)
        _commit_solr()
    return failed, rest


def _locks(source_id: str, ids: Sequence[str]) -> list[str]:
    """Names of what only one consumer at a time may write.

    Records for consumers of the same source; packages for two sources that would take over the same one.
    """
    records = [f"record {source_id} {url}" for url in object_states.urls_of(ids)]
    return records + [f"package {one}" for one in object_states.packages_of(ids)]


def _import_each(
    source: Any, ids: Sequence[str], queue: DocumentQueue
) -> tuple[set[str], list[str]]:
    """Import objects in order; returns those that failed, and those left for want of time."""
    until = time.monotonic() + PAGE_TIME
    pending = object_states.load(ids)
    writer = PackageWriter(source, pending)
    failed: set[str] = set()
    for position, one in enumerate(pending):
        if position and time.monotonic() >= until:
            return failed, [left.id for left in pending[position:]]
        try:
            warnings = writer.write(one)
        except (sa.exc.OperationalError, sa.exc.InterfaceError):
            queue.discard()
            raise  # the database is away: nothing can be said of the record
        except Exception as error:
            # Whatever a hook of another extension raises is this record's error, and no reason
            # to leave the rest of the page undone.
            if not isinstance(error, _PLAIN_ERRORS):
                log.exception("Harvest object %s could not be imported", one.id)
            model.Session.rollback()
            queue.discard()
            object_states.add_error(one.id, _words(error, one.id))
            failed.add(one.id)
        else:
            queue.settle()
            if warnings:
                # Gather may have noted some, and an earlier import of the same object these.
                noted = json.loads(one.extras.get("warnings", "[]"))
                text = json_text(list(dict.fromkeys([*noted, *warnings])))
                set_extras([(one.id, "warnings", text)])
    return failed, []


def _refused_by_solr(queue: DocumentQueue, ids: Sequence[str]) -> set[str]:
    """The objects whose packages are written but not in Solr: the next job imports them again."""
    failed = set()
    for refusal in queue.refused:
        for object_id in object_states.of_package(refusal.package_id, ids):
            object_states.add_error(object_id, f"Solr does not take the dataset: {refusal.words}")
            failed.add(object_id)
    return failed


def _commit_solr() -> None:
    try:
        solr_commit()
    except SearchIndexError:
        # What Solr has taken becomes visible with anybody's next commit, at the latest the one at
        # the job's end.
        log.exception("Solr did not commit a page of harvested datasets")


def _words(error: Exception, object_id: str) -> str:
    """What went wrong, for the source's editor."""
    if isinstance(error, tk.ValidationError):
        summary = error.error_summary or error.error_dict
        refused = "; ".join(f"{key}: {value}" for key, value in summary.items())
        return f"CKAN refuses the dataset: {refused}"
    if isinstance(error, ImportFailed):
        return str(error)
    if isinstance(error, tk.NotAuthorized):
        return f"CKAN does not let the harvester write the dataset: {error}"
    if isinstance(error, SearchIndexError):
        return shorten(f"Solr does not take the dataset: {error}", width=500, placeholder=" ...")
    # What Python says of it tells an editor nothing; the log has the whole.
    return (
        "An unexpected error of CKAN or of one of its extensions: the dataset is as it was. The next job "
        "tries again. If it fails too, look for this in the log of the fetch consumer: Harvest object "
        f"{object_id} could not be imported"
    )
