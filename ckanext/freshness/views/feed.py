"""Changes of statuses and of data as feeds (Atom, RFC 4287)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from feedgen.feed import FeedGenerator
from flask import Response

from ..reporting import change_stream, labels, report_tables
from ..reporting.tables import Row, TableRequest
from .responses import keep

ENTRIES = 50
PERIOD = timedelta(days=30)
FEED_MAX_AGE = timedelta(minutes=5)

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""
_TITLE = 300


def changes(request: TableRequest) -> Response:
    """Return a feed of the newest status changes that the user may see."""
    rows = list(report_tables.CHANGES.read(replace(request, limit=ENTRIES)))
    # Without new changes, the feed keeps its date.
    feed = _feed(
        tk._("Changes of freshness") + " - " + tk.config.get("ckan.site_title", ""),
        url=tk.h.url_for("freshness.changes_feed", _external=True),
        page=tk.h.url_for("freshness.dashboard", _external=True),
        updated=isoparse(rows[0]["changed_at"]) if rows else request.since,
    )
    for row in rows:
        _add_status(
            feed,
            row["id"],
            row,
            before=row["from_status"],
            after=row["to_status"],
            at=isoparse(row["changed_at"]),
            cause=labels.label("cause", row["cause"]),
        )
    return _response(feed)


def of_dataset(package: dict[str, Any], transitions: list[dict[str, Any]]) -> Response:
    """Return a feed of the newest changes of a dataset's status.

    :param package: as ``package_show`` returns it
    :param transitions: of ``freshness_show``
    """
    name, title = package["name"], package["title"] or package["name"]
    feed = _feed(
        tk._("Freshness of {title}").format(title=title),
        url=tk.h.url_for("freshness_dataset.feed", id=name, _external=True),
        page=tk.h.url_for("freshness_dataset.read", id=name, _external=True),
        updated=isoparse(
            transitions[0]["at"] if transitions else f"{package['metadata_created']}Z"
        ),
    )
    organization = (package.get("organization") or {}).get("title")
    row = {"name": name, "title": title, "organization_title": organization}
    for change in transitions:
        _add_status(
            feed,
            f"{package['id']}/{change['at']}",
            row,
            before=change["from"],
            after=change["to"],
            at=isoparse(change["at"]),
            cause=labels.transition_label(change),
        )
    return _response(feed)


def data(
    request: TableRequest,
    *,
    title: str,
    url: str,
    page: str,
    empty_since: datetime,
) -> Response:
    """Return a feed of the newest changes of data that the user may see.

    :param title: of what the data belong to: the site, an organization or a dataset
    :param url: of the feed
    :param page: URL of the page that shows the same changes
    :param empty_since: the date of a feed without entries
    """
    rows = list(report_tables.DATA.read(replace(request, limit=ENTRIES)))
    feed = _feed(
        tk._("Data changes") + f" - {title}",
        url=url,
        page=page,
        updated=isoparse(rows[0]["seen_at"]) if rows else empty_since,
    )
    for row in rows:
        at, details = isoparse(row["seen_at"]), change_stream.details(row)
        _add(feed, row["id"], row, title=row["what"], summary=details, at=at)
    return _response(feed)


def _feed(title: str, *, url: str, page: str, updated: datetime | None) -> FeedGenerator:
    feed = FeedGenerator()
    feed.id(url)
    feed.title(_text(title))
    feed.link(href=url, rel="self")
    feed.link(href=page, rel="alternate")
    feed.updated(updated)
    return feed


def _add_status(
    feed: FeedGenerator,
    number: object,
    row: Row,
    *,
    before: str | None,
    after: str,
    at: datetime,
    cause: str,
) -> None:
    """Add a change of a status; see :func:`_add`."""
    summary = f"{cause}."
    if before is not None:
        status = labels.label("status", before)
        summary = tk._("It was: {status}. {cause}.").format(status=status, cause=cause)
    _add(feed, number, row, title=labels.label("status", after), summary=summary, at=at)


def _add(
    feed: FeedGenerator, number: object, row: Row, *, title: str, summary: str, at: datetime
) -> None:
    """Add an entry about a dataset.

    :param number: distinguishes the entry from all others of its day
    :param row: ``name``, ``title`` and ``organization_title`` of the dataset
    :param title: what follows the dataset's title
    """
    host = urlsplit(tk.config.get("ckan.site_url") or "").hostname or "ckan"
    entry = feed.add_entry(order="append")
    entry.id(f"tag:{host},{at:%Y-%m-%d}:freshness/{number}")
    entry.title(_text(f"{row['title'][:_TITLE]}: {title}"))
    entry.link(href=tk.h.url_for("freshness_dataset.read", id=row["name"], _external=True))
    entry.updated(at)
    entry.author(name=_text(row["organization_title"] or tk.config.get("ckan.site_title", "")))
    entry.summary(_text(summary))


def _response(feed: FeedGenerator) -> Response:
    response = Response(
        feed.atom_str(pretty=True), content_type="application/atom+xml; charset=utf-8"
    )
    keep(response, FEED_MAX_AGE)
    return response


def _text(text: str) -> str:
    return _NO_XML.sub(" ", text)
