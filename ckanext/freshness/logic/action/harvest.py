"""Actions that preview a harvest, and that show and release held deletions."""

from __future__ import annotations

import logging
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ...ckan_adapter import harvest_tables, model
from ...dates import utc_now, utc_text
from ...harvesting import holds, preview_job
from ...harvesting.preview import source_type_of
from ...harvesting.sources import ForeignSource
from .. import rate_limit
from ..arguments import reference

log = logging.getLogger(__name__)

__all__ = [
    "freshness_harvest_hold_show",
    "freshness_harvest_preview",
    "freshness_harvest_preview_show",
    "freshness_harvest_release",
]


def freshness_harvest_preview(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Ask for a preview of what the next job of a harvest source would do.

    A background worker makes it; ``freshness_harvest_preview_show`` shows its progress. While a preview of the
    source is under way, no second preview begins.

    :param id: id or name of the harvest source
    :returns: the same as ``freshness_harvest_preview_show``
    :raises ValidationError: the source's type belongs to another harvester, or the user has asked for 60 checks
        and previews in this hour
    """
    tk.check_access("freshness_harvest_preview", context, data_dict)
    source = _source(data_dict)
    try:
        source_type_of(source)
    except ForeignSource as error:
        raise tk.ValidationError({"id": [str(error)]}) from error
    rate_limit.count_costly(context, utc_now())
    title = source.title or source.url
    return preview_job.start(source.id, title, context["user"], utc_now()).as_dict()


@tk.side_effect_free
def freshness_harvest_preview_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Return the newest preview of a harvest source, which is kept for a day.

    :param id: id or name of the harvest source
    :returns: ``state`` (``none``, ``waiting``, ``running``, ``done``, ``failed``), ``asked_at``,
        ``asked_by``, ``read`` (records read so far), ``error`` and ``preview``: the records that would be
        ``new``, ``changed``, ``moved``, ``deleted`` and ``unchanged``, with reasons, at most 200 of each
        (``counts`` has all), the ``errors``, and the ``brake`` if it would hold deletions
    """
    tk.check_access("freshness_harvest_preview_show", context, data_dict)
    return preview_job.progress(_source(data_dict).id, utc_now()).as_dict()


@tk.side_effect_free
def freshness_harvest_hold_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the deletions of a harvest source that are held until an editor releases them.

    :param id: id or name of the harvest source
    :returns: null if none are held; else ``list_id`` (names exactly this list), ``job_id``,
        ``held_at``, ``reason``, ``count``, ``held`` (for each record ``guid``, ``url``, ``reason``,
        ``package_id`` and its dataset's ``name``, ``title`` and ``state``), ``released_at`` and
        ``released_by`` (null until an editor releases the list)
    """
    tk.check_access("freshness_harvest_hold_show", context, data_dict)
    hold = holds.hold_of(_source(data_dict).id)
    return None if hold is None else _hold_dict(hold)


def freshness_harvest_release(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Release the held deletions of a harvest source, so that its next job deletes exactly these records.

    :param id: id or name of the harvest source
    :param list_id: the ``list_id`` that ``freshness_harvest_hold_show`` returned to the user
    :returns: the same as ``freshness_harvest_hold_show``
    :raises ValidationError: nothing is held, or another list is held; nothing is released
    """
    tk.check_access("freshness_harvest_release", context, data_dict)
    source_id = _source(data_dict).id
    list_id = tk.get_or_bust(data_dict, "list_id")
    hold = holds.hold_of(source_id, for_update=True)
    if hold is None or holds.list_id(hold) != list_id:
        model.Session.rollback()
        raise tk.ValidationError({"list_id": [_stale(nothing_held=hold is None)]})
    if hold.released_at is None:
        holds.release(hold, context["user"], utc_now())
        log.info(
            "Harvest source %s: %s released %d held deletions",
            source_id,
            context["user"],
            len(hold.held),
        )
    model.Session.commit()
    return _hold_dict(hold)


def _stale(*, nothing_held: bool) -> str:
    words: str
    if nothing_held:
        words = tk._(
            "Nothing was released: no deletions of this source are held any more. "
            "A job has run since you looked at the list."
        )
    else:
        words = tk._(
            "Nothing was released: the list has changed since you looked at it. "
            "Look at the list of now, and release that."
        )
    return words


def _hold_dict(hold: Any) -> dict[str, Any]:
    packages = _packages([record["package_id"] for record in hold.held if record["package_id"]])
    no_package = {"name": None, "title": None, "state": None}
    held = [{**record, **packages.get(record["package_id"], no_package)} for record in hold.held]
    held.sort(key=lambda record: (record["title"] or "", record["url"]))
    return {
        "source_id": hold.source_id,
        "list_id": holds.list_id(hold),
        "job_id": hold.job_id,
        "held_at": utc_text(hold.held_at),
        "reason": hold.reason,
        "count": len(held),
        "held": held,
        "released_at": utc_text(hold.released_at),
        "released_by": hold.released_by,
    }


def _packages(package_ids: list[str]) -> dict[str, dict[str, str | None]]:
    package = model.Package
    rows = model.Session.query(package.id, package.name, package.title, package.state).filter(
        package.id.in_(package_ids)
    )
    return {
        row.id: {"name": row.name, "title": row.title or row.name, "state": row.state}
        for row in rows
    }


def _source(data_dict: dict[str, Any]) -> Any:
    return harvest_source(reference(data_dict))


def harvest_source(id_or_name: str) -> Any:
    """Return the row of a harvest source.

    :raises tk.ObjectNotFound: there is no such harvest source
    """
    package = model.Package.get(id_or_name)
    source = None
    if p.plugin_loaded("harvest") and package is not None and package.type == "harvest":
        source = harvest_tables.source_row(package.id)
    if source is None:
        raise tk.ObjectNotFound(tk._("Harvest source not found"))
    return source
