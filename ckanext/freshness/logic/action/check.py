"""Actions that request checks, and that show runs and the checks of a resource's URL."""

from __future__ import annotations

import logging
from typing import Any

import ckan.plugins.toolkit as tk

from ... import settings
from ...ckan_adapter.core import model
from ...dates import utc_now, utc_text
from ...model import CheckRun, FreshnessEvidence, ResourceCheck
from ...reporting import link_checks, metrics
from ...runs import queued_run
from ...web.urls import display_url
from ..arguments import count_costly, reference, whole_number
from .freshness import active_package

__all__ = [
    "freshness_check",
    "freshness_resource_history",
    "freshness_run_list",
    "freshness_run_show",
]

log = logging.getLogger(__name__)

_LISTED = 20
_MOST = 1000


def freshness_check(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Have a background worker check the URLs of a dataset's resources soon, due or not.

    If a check of the dataset is waiting already, no second check is queued.

    :param id: id or name of the dataset
    :returns: ``package_id``; ``queued`` (false if a check was waiting already); ``queue``: the queue that
        ``ckan jobs worker`` must serve
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, the background workers cannot be reached, or the user has
        asked for 60 checks and previews in this hour; no check is queued
    """
    tk.check_access("freshness_check", context, data_dict)
    package = active_package(reference(data_dict))
    count_costly(context, utc_now())
    try:
        queued = queued_run.enqueue_dataset(package.id, package.title or package.name)
    except queued_run.RedisAwayError as error:
        # Only the log may tell the address of Redis.
        log.error("Dataset %s is not checked: %s", package.name, error)
        words = tk._("The background workers cannot be reached now. Try again later.")
        raise tk.ValidationError({"queue": [words]}) from error
    return {"package_id": package.id, "queued": queued, "queue": queued_run.queue()}


@tk.side_effect_free
def freshness_run_list(context: dict[str, Any], data_dict: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of the checker, the newest first. For sysadmins: the counts include private datasets.

    All moments are in UTC, ISO 8601 with ``Z``.

    :param limit: the number of runs (optional, default: 20, at most 1000)
    :param offset: the number of newer runs to skip (optional, default: 0)
    :returns: for each run ``id``, ``kind``, ``started_at``, ``ended_at`` (null if it still runs or was
        killed), ``visited`` (number of checked resources), ``error`` (why it ended early), ``version`` of
        this extension
    :raises ValidationError: limit or offset is no whole number of 0 or more
    """
    tk.check_access("freshness_run_list", context, data_dict)
    limit = whole_number(data_dict, "limit", _LISTED)
    offset = whole_number(data_dict, "offset", 0)
    rows = (
        model.Session.query(CheckRun)
        .order_by(CheckRun.started_at.desc(), CheckRun.id)
        .limit(min(limit, _MOST))
        .offset(offset)
    )
    return [_run(row) for row in rows]


@tk.side_effect_free
def freshness_run_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return a run of the checker with its counts. For sysadmins.

    :param id: id of the run (optional, default: the newest check)
    :returns: the same as ``freshness_run_list``, and ``options`` (the arguments of the call), ``resources``
        and ``datasets`` (counts by label), ``frequencies`` (datasets that are ``live``, ``never``, ``as
        needed``), ``hosts`` (figures by host, and of all hosts under ``*``), ``text`` (the counts in HDX's
        layout), ``headers`` (how reliable HTTP headers are, in words)
    :raises ObjectNotFound: there is no such run, or no run at all
    """
    tk.check_access("freshness_run_show", context, data_dict)
    query = model.Session.query(CheckRun)
    if data_dict.get("id"):
        row = query.get(data_dict["id"])
    else:
        checks = query.filter(CheckRun.kind == "check")
        row = checks.order_by(CheckRun.started_at.desc(), CheckRun.id).first()
    if row is None:
        raise tk.ObjectNotFound(tk._("There is no such run"))
    figures = metrics.RunMetrics(
        row.resources or {}, row.datasets or {}, row.frequencies or {}, row.hosts or {}
    )
    return {
        **_run(row),
        "options": row.options,
        "resources": figures.resources,
        "datasets": figures.datasets,
        "frequencies": figures.frequencies,
        "hosts": figures.hosts,
        "text": metrics.text(figures),
        "headers": metrics.headers(figures),
    }


def _run(row: Any) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "started_at": utc_text(row.started_at),
        "ended_at": utc_text(row.ended_at),
        "visited": row.visited,
        "error": row.error,
        "version": row.version,
    }


@tk.side_effect_free
def freshness_resource_history(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Return the stored results of the checks of a resource's URL, with the last five checks.

    All moments are in UTC, ISO 8601 with ``Z``. If the URL was never checked, ``attempts`` is
    empty, and the other results are false, 0, empty or null.

    :param id: id of the resource
    :returns: ``id``, ``package_id``, ``url`` (without secrets); ``broken`` (it failed several times, spread
        over time), ``undetermined`` (``api``, ``blocked``, or null), ``unconfirmed`` (the hash differed once,
        the next run checks again); ``promised`` and ``found``, if the file was of another kind than its
        format when it was last read; ``failures`` in a row and ``failing_since``; ``tried_at``,
        ``succeeded_at``, ``hashed_at``, ``changed_at``; ``hash``, ``etag``, ``last_modified`` as stored;
        ``attempts``: the last five checks, the newest first, each with the known values among ``at``,
        ``method``, ``outcome``, ``status`` (of HTTP), ``reason`` (why there is no answer, in one word),
        ``words`` (what went wrong), ``received`` (bytes), ``seconds``, ``final_url`` (after redirects),
        ``etag`` and ``last_modified`` (as received), ``modified`` (a Last-Modified that counts), ``why`` (why
        the run chose it) and ``every_days`` (how often its file was expected to change, if that is the reason);
        ``strip``: the last 30 checks, the oldest first, one character each (``w``: the link worked, ``f``: it
        failed, ``u``: the check could not be made); ``evidence``: the dates that count for this resource
        (``evidence``, ``date``, ``claimed``)
    :raises ObjectNotFound: there is no such resource
    """
    tk.check_access("freshness_resource_history", context, data_dict)
    resource_id = reference(data_dict)
    resource = model.Resource.get(resource_id)
    if resource is None:
        raise tk.ObjectNotFound(tk._("Resource not found"))
    row = model.Session.query(ResourceCheck).get(resource_id)
    # The facts about another URL than the present one do not count.
    known = row if row is not None and row.url == resource.url else None
    return {
        "id": resource.id,
        "package_id": resource.package_id,
        "url": display_url(resource.url or ""),
        "broken": known is not None and link_checks.is_broken(known, settings.broken_rule()),
        "unconfirmed": known is not None and known.unconfirmed,
        **link_checks.mismatch(known, resource.format, resource.mimetype),
        "failures": known.failures if known is not None else 0,
        **{name: getattr(known, name, None) for name in _TEXTS},
        **{name: utc_text(getattr(known, name, None)) for name in _MOMENTS},
        "attempts": known.attempts if known is not None else [],
        "strip": known.strip if known is not None else "",
        "evidence": _evidence(resource_id),
    }


_TEXTS = ("undetermined", "hash", "etag", "last_modified")
_MOMENTS = ("failing_since", "tried_at", "succeeded_at", "hashed_at", "changed_at")


def _evidence(resource_id: str) -> list[dict[str, Any]]:
    evidence = FreshnessEvidence
    rows = (
        model.Session.query(evidence)
        .filter(evidence.resource_id == resource_id)
        .order_by(evidence.happened_at.desc(), evidence.evidence)
    )
    return [
        {
            "evidence": row.evidence,
            "date": utc_text(row.happened_at),
            "claimed": utc_text(row.claimed_at),
        }
        for row in rows
    ]
