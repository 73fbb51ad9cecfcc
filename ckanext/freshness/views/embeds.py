"""Badges and feeds for other websites and programs.

Badges of datasets are SVG without scripts and without fonts. Feeds of data changes are Atom (RFC 4287).
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from html import escape
from unicodedata import east_asian_width
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from feedgen.feed import FeedGenerator
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from .. import settings
from ..aging.status import Status, shown_status
from ..ckan_adapter.core import NAMES
from ..dates import EARLIEST, utc_now
from ..reporting import changes, labels, visibility
from ..reporting.tables import TableRequest
from .report import table_and_request
from .responses import abort, call, guarded, keep, user_context

embeds = guarded(Blueprint("freshness_embeds", __name__))

BADGE_MAX_AGE = timedelta(hours=1)
"""How long browsers may show a badge again."""
FEED_MAX_AGE = timedelta(minutes=5)

# Badges


@embeds.route("/dataset/<id>/freshness.svg")
def dataset_badge(id: str) -> ResponseReturnValue:
    """Return the badge of a public dataset."""
    try:
        package = tk.get_action("package_show")(dict(visibility.NOBODY), {"id": id})
    except (tk.ObjectNotFound, tk.NotAuthorized):
        abort(404, tk._("Dataset not found"))
    if not settings.is_judged(package["type"]):
        abort(404, tk._("Dataset not found"))
    values = labels.our_values(package)
    status = values.get(NAMES.status, Status.UNAVAILABLE.value)
    shown = shown_status(status, values.get(NAMES.broken_since))
    state = labels.state_of(shown, values.get(NAMES.frequency_from))
    picture = svg(tk._("freshness"), tk._(state.label).lower(), state.colour)
    response = Response(picture, mimetype="image/svg+xml")
    keep(response, BADGE_MAX_AGE)
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response


COLOURS = {
    "fresh": "#0c4a28",
    "due": "#6b4e00",
    "overdue": "#8a3600",
    "delinquent": "#7a0c1e",
    "broken": "#47186b",
    "unknown": "#3c444b",
}
"""Backgrounds by state; white text on them has a contrast of 7:1 or more."""

_LABEL_COLOUR = "#3a4248"
_CHARACTER = 6.6
"""Width of a character, in pixels, at a size of 11; ``textLength`` fits the text to it."""
_WIDE = 11.0
"""Width of a Chinese, Japanese or Korean character."""
_MARGIN = 10
_HEIGHT = 22


def svg(label: str, words: str, colour: str) -> str:
    """Return a badge.

    :param label: its left half, such as "freshness"
    :param words: its right half, such as "up to date"
    :param colour: a key of :data:`COLOURS`
    """
    left, right = _width(label), _width(words)
    title = f"{label}: {words}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" '
        f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<clipPath id="c"><rect width="{left + right}" height="{_HEIGHT}" rx="4"/></clipPath>'
        '<g clip-path="url(#c)" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" fill="#fff">'
        f'<rect width="{left}" height="{_HEIGHT}" fill="{_LABEL_COLOUR}"/>'
        f'<rect x="{left}" width="{right}" height="{_HEIGHT}" fill="{COLOURS[colour]}"/>'
        f"{_text(label, _MARGIN, left)}{_text(words, left + _MARGIN, right)}</g></svg>"
    )


def _width(text: str) -> int:
    widths = (_WIDE if east_asian_width(one) in "WF" else _CHARACTER for one in text)
    return round(sum(widths)) + 2 * _MARGIN


def _text(text: str, x: int, width: int) -> str:
    return f'<text x="{x}" y="15" textLength="{width - 2 * _MARGIN}">{escape(text)}</text>'


# Feeds

ENTRIES = 50
PERIOD = timedelta(days=30)

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow, not even escaped."""
_TITLE = 300


@embeds.route("/freshness/data.atom")
def data_feed() -> ResponseReturnValue:
    """Return changes of data as a feed, of the whole site or of one organization."""
    _, request = table_and_request("data")
    # Without changes, the feed keeps its date for a day.
    since = (request.now - PERIOD).replace(hour=0, minute=0, second=0, microsecond=0)
    title, name = _site(), None
    if request.organization is not None:
        found = visibility.organization(request.context, request.organization)
        title, name = found["title"], found["name"]
    return _feed(
        replace(request, since=request.since or since),
        title=title,
        page=tk.h.url_for("freshness.table", name="data", organization=name, _external=True),
        empty_since=since,
    )


@embeds.route("/dataset/<id>/freshness/data.atom")
def dataset_data_feed(id: str) -> ResponseReturnValue:
    """Return the changes of a dataset's data as a feed."""
    package = call("package_show", tk._("Dataset not found"), id=id)
    return _feed(
        TableRequest(user_context(), utc_now(), dataset=package["id"], since=EARLIEST),
        title=package["title"] or package["name"],
        page=tk.h.url_for("freshness_dataset.read", id=package["name"], _external=True),
        empty_since=isoparse(f"{package['metadata_created']}Z"),
    )


def _site() -> str:
    return str(tk.config.get("ckan.site_title", ""))


def _feed(request: TableRequest, *, title: str, page: str, empty_since: datetime) -> Response:
    """Return a feed of data changes.

    :param page: URL of the page that shows the same changes
    :param empty_since: the date of a feed without entries
    """
    feed, updated = FeedGenerator(), None
    # Two lists are two feeds: readers take feeds of one id for the same.
    asked = {"organization": tk.request.args.get("organization"), **(tk.request.view_args or {})}
    url = tk.h.url_for(tk.request.endpoint, **asked, _external=True)
    host = urlsplit(tk.config.get("ckan.site_url") or "").hostname or "ckan"
    for row in changes.DATA.read(replace(request, limit=ENTRIES)):
        at = isoparse(row["seen_at"])
        updated = updated or at
        entry = feed.add_entry(order="append")
        entry.id(f"tag:{host},{at:%Y-%m-%d}:freshness/{row['id']}")
        entry.title(_xml(f"{row['title'][:_TITLE]}: {row['what']}"))
        entry.link(href=tk.h.url_for("freshness_dataset.read", id=row["name"], _external=True))
        entry.updated(at)
        entry.author(name=_xml(row["organization_title"] or _site()))
        entry.summary(_xml(changes.details(row)))
    feed.id(url)
    feed.title(_xml(tk._("Data changes") + f" - {title}"))
    feed.link(href=url, rel="self")
    feed.link(href=page, rel="alternate")
    feed.updated(updated or empty_since)
    content_type = "application/atom+xml; charset=utf-8"
    response = Response(feed.atom_str(pretty=True), content_type=content_type)
    keep(response, FEED_MAX_AGE)
    return response


def _xml(text: str) -> str:
    return _NO_XML.sub(" ", text)
