"""Status changes as a feed (Atom, RFC 4287)."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from feedgen.feed import FeedGenerator
from flask import Response

from ..aging.status import Status
from ..reporting import labels, report
from ..reporting.tables import Row, TableRequest
from .responses import mark_private

ENTRIES = 50
PERIOD = timedelta(days=30)

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""
_TITLE = 300


def changes(request: TableRequest) -> Response:
    """Return a feed of the newest status changes that the user may see."""
    url = tk.h.url_for("freshness.changes_feed", _external=True)
    feed = FeedGenerator()
    feed.id(url)
    feed.title(_text(tk._("Changes of freshness") + " - " + tk.config.get("ckan.site_title", "")))
    feed.link(href=url, rel="self")
    feed.link(href=tk.h.url_for("freshness.dashboard", _external=True), rel="alternate")
    rows = list(report.rows(report.CHANGES, replace(request, limit=ENTRIES)))
    # Without new changes, the feed keeps its date.
    feed.updated(isoparse(rows[0]["changed_at"]) if rows else request.since)
    for row in rows:
        _add(feed, row)
    response = Response(
        feed.atom_str(pretty=True), content_type="application/atom+xml; charset=utf-8"
    )
    mark_private()
    response.headers["Cache-Control"] = "private, max-age=300"
    return response


def _add(feed: FeedGenerator, row: Row) -> None:
    host = urlsplit(tk.config.get("ckan.site_url") or "").hostname or "ckan"
    changed = isoparse(row["changed_at"])
    after = labels.status_label(Status(row["to_status"]))
    before = labels.status_label(Status(row["from_status"]))
    entry = feed.add_entry(order="append")
    entry.id(f"tag:{host},{changed:%Y-%m-%d}:freshness/{row['id']}")
    entry.title(_text(f"{row['title'][:_TITLE]}: {after}"))
    entry.link(href=tk.h.url_for("freshness_dataset.read", id=row["name"], _external=True))
    entry.updated(changed)
    entry.author(name=_text(row["organization_title"] or tk.config.get("ckan.site_title", "")))
    summary = tk._("It was: {status}. {cause}.").format(
        status=before, cause=labels.cause_label(row["cause"])
    )
    entry.summary(_text(summary))


def _text(text: str) -> str:
    return _NO_XML.sub(" ", text)
