"""Actions that preview a harvest, and that show held deletions and decide about them."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..dates import utc_now, utc_text
from ..harvesting import holds
from ..harvesting.sources import ForeignSource
from .validators import count_costly

log = logging.getLogger(__name__)


def freshness_harvest_preview(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Ask for a preview of what the next job of a harvest source would do.

    A background worker makes it; ``freshness_harvest_preview_show`` shows its progress. While a preview of the
    source is under way, no second preview begins.

    :param id: id or name of the harvest source
    :type id: string
    :returns: the same as ``freshness_harvest_preview_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    :raises ValidationError: the source's type belongs to another harvester, or the user has asked for 60 checks
        and previews in this hour
    """
    # Imported here: it loads the whole import of harvests, which most web workers never need.
    from ..harvesting import preview

    source = _source(data_dict)
    try:
        preview.source_type_of(source)
    except ForeignSource as error:
        raise tk.ValidationError({"id": [str(error)]}) from error
    count_costly(context, utc_now())
    title = source.title or source.url
    return preview.start(source.id, title, context["user"], utc_now())


@tk.side_effect_free
def freshness_harvest_preview_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Return the newest preview of a harvest source, which is kept for a day.

    :param id: id or name of the harvest source
    :type id: string
    :returns: a dictionary with

        * ``state`` (string): ``none``, ``waiting``, ``running``, ``done`` or ``failed``
        * ``asked_at`` (moment), ``asked_by`` (name of the user)
        * ``read`` (number of records read so far), ``listed`` (of how many; null if that is not known)
        * ``error`` (string): why it failed
        * ``preview`` (dictionary; null until it is done): the records that would be ``new``, ``changed``,
          ``moved``, ``deleted`` and ``unchanged``, with reasons, at most 200 of each (``counts`` has all), the
          ``errors`` with their ``error_codes``, the ``brake`` if it would hold deletions, what the source
          lists and is ``not_harvested``, by kind, ``source_warnings``, and ``nothing``: why a new source has
          nothing to harvest. ``own_url`` of a record to be deleted is what its URL answered: ``present``,
          ``malformed``, ``failed``, ``unavailable``, ``forbidden``, ``gone``, or null if it was not asked
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    """
    from ..harvesting import preview

    return preview.progress(_source(data_dict).id, utc_now())


@tk.side_effect_free
def freshness_harvest_hold_show(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any] | None:
    """Return the deletions of a harvest source that are held until an editor releases them.

    :param id: id or name of the harvest source
    :type id: string
    :returns: null if none are held; else a dictionary with

        * ``source_id``, ``list_id`` (names exactly this list), ``job_id`` (strings)
        * ``held_at`` (moment), ``reason`` (string)
        * ``count`` (number of held records), ``current`` (of how many records that are harvested now)
        * ``held`` (list of dictionaries): for each record ``guid``, ``url``, ``reason``, ``reason_code`` (with
          the values of its sentence), ``own_url`` (as in a preview), ``answered`` (it is held only for what
          this URL answered), ``released``, ``package_id``, and ``name``, ``title`` and ``state`` of its
          dataset
        * ``released_at`` (moment), ``released_by`` (name of a user): null until an editor releases the list
        * ``kept_at`` (moment), ``kept_by`` (name of a user): null unless an editor keeps the records
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    """
    hold = holds.hold_of(_source(data_dict).id)
    return None if hold is None else _hold_dict(hold)


def freshness_harvest_release(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Release the held deletions of a harvest source, so that its next job deletes exactly these records.

    :param id: id or name of the harvest source
    :type id: string
    :param list_id: the ``list_id`` that ``freshness_harvest_hold_show`` returned to the user
    :type list_id: string
    :returns: the same as ``freshness_harvest_hold_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    :raises ValidationError: nothing is held, or another list is held; nothing is released
    """
    hold = _locked_hold(data_dict)
    if hold.released_at is None:
        holds.release(hold, context["user"], utc_now())
        _log_decision(hold, context, "released")
    model.Session.commit()
    return _hold_dict(hold)


def freshness_harvest_take_back(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Take back the release of held deletions, so that no job deletes these records.

    This is possible until a job begins to read the source.

    :param id: id or name of the harvest source
    :type id: string
    :param list_id: the ``list_id`` that ``freshness_harvest_hold_show`` returned to the user
    :type list_id: string
    :returns: the same as ``freshness_harvest_hold_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    :raises ValidationError: nothing is held, another list is held, or a job is reading the source; nothing is
        taken back
    """
    hold = _locked_hold(data_dict)
    if holds.decisions(hold).released:
        _refuse_during_job(hold)
        holds.take_back(hold)
        _log_decision(hold, context, "took back the release of")
    model.Session.commit()
    return _hold_dict(hold)


def freshness_harvest_keep(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Keep the records whose deletions are held: nobody is asked about them again until the list has others.

    No job deletes them until an editor releases the list. Earlier releases of them are taken back.

    :param id: id or name of the harvest source
    :type id: string
    :param list_id: the ``list_id`` that ``freshness_harvest_hold_show`` returned to the user
    :type list_id: string
    :returns: the same as ``freshness_harvest_hold_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such harvest source
    :raises ValidationError: nothing is held, another list is held, or a job is reading the source and may
        delete some of the records; nothing is changed
    """
    hold = _locked_hold(data_dict)
    if hold.kept_at is None:
        decided = holds.decisions(hold)
        if decided.released or decided.answered:
            _refuse_during_job(hold)
        holds.keep(hold, context["user"], utc_now())
        _log_decision(hold, context, "keeps the records of")
    model.Session.commit()
    return _hold_dict(hold)


def _refuse_during_job(hold: Any) -> None:
    """Refuse a decision that a job under way has not read."""
    if holds.is_gathering(hold.source_id):
        _refuse(
            tk._(
                "It is too late for this: a job is reading the source and may delete these datasets. "
                "If the list is still here after the job, decide then."
            )
        )


def _locked_hold(data_dict: dict[str, Any]) -> Any:
    """Return the held list that a user decides about, and lock it until the transaction ends.

    :raises ValidationError: nothing is held, or another list than the user has seen
    """
    source_id = _source(data_dict).id
    list_id = tk.get_or_bust(data_dict, "list_id")
    hold = holds.hold_of(source_id, for_update=True)
    if hold is None:
        _refuse(
            tk._(
                "Nothing was changed: no deletions of this source are on hold any more. "
                "A job has run since you looked at the list."
            )
        )
    if holds.list_id(hold) != list_id:
        _refuse(
            tk._(
                "Nothing was changed: the list has changed since you looked at it. "
                "Look at the new list and decide again."
            )
        )
    return hold


def _refuse(words: str) -> NoReturn:
    model.Session.rollback()
    raise tk.ValidationError({"list_id": [words]})


def _log_decision(hold: Any, context: dict[str, Any], did: str) -> None:
    log.info(
        "Harvest source %s: %s %s %d held deletions",
        hold.source_id,
        context["user"],
        did,
        len(hold.held),
    )


def _hold_dict(hold: Any) -> dict[str, Any]:
    from ..harvesting.known_records import count_current

    package = model.Package
    ids = [record["package_id"] for record in hold.held]
    packages = {
        row.id: {"name": row.name, "title": row.title or row.name, "state": row.state}
        for row in model.Session.query(
            package.id, package.name, package.title, package.state
        ).filter(package.id.in_(list(filter(None, ids))))
    }
    nothing = {"name": None, "title": None, "state": None}
    held = []
    for record in hold.held:
        held.append({**record, **(packages.get(record["package_id"]) or nothing)})
    held.sort(key=lambda record: (record["title"] or "", record["url"]))
    return {
        "source_id": hold.source_id,
        "list_id": holds.list_id(hold),
        "job_id": hold.job_id,
        "held_at": utc_text(hold.held_at),
        "reason": hold.reason,
        "count": len(held),
        "current": count_current(hold.source_id),
        "held": held,
        "released_at": utc_text(hold.released_at),
        "released_by": hold.released_by,
        "kept_at": utc_text(hold.kept_at),
        "kept_by": hold.kept_by,
    }


def _source(data_dict: dict[str, Any]) -> Any:
    return harvest_source(tk.get_or_bust(data_dict, "id"))


def harvest_source(id_or_name: str) -> Any:
    """Return the row of a harvest source.

    :raises tk.ObjectNotFound: there is no such harvest source
    """
    package = model.Package.get(id_or_name)
    source = None
    if p.plugin_loaded("harvest") and package is not None and package.type == "harvest":
        source = harvest.source_row(package.id)
    if source is None:
        raise tk.ObjectNotFound(tk._("Harvest source not found"))
    return source
