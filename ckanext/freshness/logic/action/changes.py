"""The action that returns the stream of data changes."""

from __future__ import annotations

from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.ckan_core import model
from ...dates import parse_date, utc_now
from ...reporting import change_stream, visibility
from ...status.package_fields import same_user
from ..arguments import whole_number

__all__ = ["freshness_change_list"]

_LISTED = 100
_MOST = 1000


@tk.side_effect_free
def freshness_change_list(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return changes of data, in the order in which they were stored.

    Call it again with the ``cursor`` of its result to get what has been stored since: nothing is left out and
    nothing comes twice, whatever else writes meanwhile. Each change has how we know of it: ``hash`` (another
    file, confirmed by a second download), ``http header`` (a newer Last-Modified), ``upload`` (a file was
    uploaded, or dated by hand), ``url`` (another URL), ``harvest`` (the source states a newer date of the
    record) or ``script``. A confirmation that data are still right is no change. Changes are kept for two
    years. All moments are in UTC, ISO 8601 with ``Z``; values that are not known are null.

    :param cursor: the cursor of an earlier result (optional, default: begin with the oldest change)
    :param since: a date: only changes that were noticed then or later (optional)
    :param organization: name or id of an organization (optional, default: all)
    :param id: id or name of a dataset (optional, default: all)
    :param limit: the number of changes (optional, default: 100, at most 1000)
    :returns: ``cursor`` for the next call (null if no change is kept), ``more`` (whether there are further
        changes now) and ``changes``, each with ``id``, ``seen_at`` (when it was noticed), of its dataset
        ``package_id``, ``name``, ``title`` and ``organization``, ``resource_id`` (null if the date of the whole
        dataset changed), ``resource`` (its name), ``url`` (without secrets), ``evidence``; the change happened
        after ``changed_after`` (null if unknown) and before ``changed_before``; ``stated_at`` (its date as the
        server, the source or an editor states it); before and after it ``hash_before``, ``hash_after``,
        ``size_before``, ``size_after``, ``media_type_before``, ``media_type_after``; and ``summary``: the
        differences between the tables of both files (null if they could not be determined): ``tables``, each
        with the ``name`` of its sheet (null if the file has one table), ``rows`` (before and after), the
        columns that were ``added``, ``removed`` or ``renamed`` (old and new name), and ``features`` (true if
        the rows are the features of a GeoJSON file); and the sheets that were ``added`` or ``removed``
    :raises ValidationError: an argument has an impossible value, or the change that the cursor names is not
        kept any more
    :raises ObjectNotFound: there is no such organization or dataset, or the user may not see it
    """
    tk.check_access("freshness_change_list", context, data_dict)
    reader = same_user(context)
    asked = change_stream.StreamRequest(
        cursor=data_dict.get("cursor") or None,
        since=_since(data_dict.get("since")),
        organization=_organization(context, data_dict.get("organization")),
        dataset=_dataset(context, data_dict.get("id")),
        limit=min(whole_number(data_dict, "limit", _LISTED), _MOST),
    )
    page = change_stream.page(reader, asked, utc_now())
    return {"changes": page.changes, "cursor": page.cursor, "more": page.more}


def _since(given: str | None) -> Any:
    if not given:
        return None
    moment = parse_date(given)
    if moment is None:
        words = tk._("{text} is no date such as 2026-01-31 or 2026-01-31T10:20:30Z")
        raise tk.ValidationError({"since": [words.format(text=given[:80])]})
    return moment


def _organization(context: dict[str, Any], given: str | None) -> str | None:
    return str(visibility.organization(context, given)["name"]) if given else None


def _dataset(context: dict[str, Any], given: str | None) -> str | None:
    if not given:
        return None
    package = model.Package.get(given)
    if package is None:
        raise tk.ObjectNotFound(tk._("Dataset not found"))
    try:
        tk.check_access("package_show", same_user(context), {"id": package.id})
    except tk.NotAuthorized as error:
        raise tk.ObjectNotFound(tk._("Dataset not found")) from error
    return str(package.id)
