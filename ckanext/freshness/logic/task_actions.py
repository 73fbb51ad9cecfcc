"""The action that leaves a dataset or a link out of the tasks of editors."""

from __future__ import annotations

from datetime import date
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.core import model
from ..dates import utc_now, utc_text
from ..reporting import worklist
from .dataset_actions import active_package

__all__ = ["freshness_ignore"]

_LONGEST = 300
"""Characters of a reason."""


def freshness_ignore(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Ignore a dataset or one of its links: nobody is asked to work on it, in lists of tasks or by mail.

    Its status and all figures stay as they are. An ignored dataset's links are ignored one by one. If the URL
    of a link changes, the link is no longer ignored.

    :param id: id or name of the dataset
    :param resource_id: id of the resource whose link is ignored (optional; without it, the dataset is)
    :param reason: why, for other editors
    :param until: the last day, such as ``2027-01-31`` (optional, default: without end)
    :param stop: ignore it no longer (optional, default: false)
    :returns: ``package_id``, ``resource_id``, and ``ignored``: ``at``, ``by``, ``reason`` and ``until``; null
        if it is not ignored
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, there is no reason, the day is past, or nothing is known
        of the link or the dataset yet
    """
    tk.check_access("freshness_ignore", context, data_dict)
    package = active_package(tk.get_or_bust(data_dict, "id"))
    given = data_dict.get("resource_id")
    resource_id = None if given is None else str(given)
    ignored = None if data_dict.get("stop") else _decision(context, data_dict)
    if not worklist.ignore(package.id, resource_id, ignored):
        words = tk._("Nothing is known of this link yet, so there is nothing to ignore.")
        raise tk.ValidationError({"resource_id": [words]})
    model.Session.commit()
    return {"package_id": package.id, "resource_id": resource_id, "ignored": ignored}


def _decision(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    reason = str(data_dict.get("reason") or "").strip()[:_LONGEST]
    if not reason:
        raise tk.ValidationError({"reason": [tk._("Give a reason, so that others understand it.")]})
    now, until = utc_now(), None
    if data_dict.get("until"):
        try:
            until = date.fromisoformat(str(data_dict["until"]))
        except ValueError:
            words = tk._("Write the day as 2027-01-31.")
            raise tk.ValidationError({"until": [words]}) from None
        if until < now.date():
            raise tk.ValidationError({"until": [tk._("Choose a day that is not past.")]})
    by = context.get("user") or None
    return {"at": utc_text(now), "by": by, "reason": reason, "until": until and until.isoformat()}
