"""Badges to embed on other websites: of a dataset, an organization and the whole site.

They are SVG without scripts and without fonts.
"""

from __future__ import annotations

from datetime import timedelta
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from .. import settings
from ..reporting import counts, display, marks, visibility
from ..reporting.counts import StatusCounts
from .responses import abort, keep

badges = Blueprint("freshness_badges", __name__)

MAX_AGE = timedelta(hours=1)
"""How long browsers may show a badge again."""

_COLOURS = ((75, "fresh"), (50, "due"), (25, "overdue"), (0, "delinquent"))
"""The least share of fresh datasets, in percent, and its colour."""


@badges.route("/dataset/<id>/freshness.svg")
def dataset(id: str) -> ResponseReturnValue:
    """Return the badge of a public dataset."""
    try:
        package = tk.get_action("package_show")(dict(visibility.NOBODY), {"id": id})
    except (tk.ObjectNotFound, tk.NotAuthorized):
        abort(404, tk._("Dataset not found"))
    if not settings.is_judged(package["type"]):
        abort(404, tk._("Dataset not found"))
    state = display.STATUSES[marks.status_of(package) or "unavailable"]
    return _badge(tk._(state.label).lower(), state.colour)


@badges.route("/freshness/organization/<name>.svg")
def organization(name: str) -> ResponseReturnValue:
    """Return the badge of an organization: the share of its public datasets that are up to date."""
    try:
        found = visibility.organization(visibility.NOBODY, name)
    except (tk.ObjectNotFound, tk.NotAuthorized):
        abort(404, tk._("Organization not found"))
    return _share(counts.count(visibility.NOBODY, found["name"]).every)


@badges.route("/freshness.svg")
def site() -> ResponseReturnValue:
    """Return the badge of the site: the share of public datasets that are up to date."""
    return _share(counts.count(visibility.NOBODY).every)


def _share(found: StatusCounts) -> Response:
    if not found.known:
        return _badge(tk._("unknown"), "unknown")
    share = tk.h.freshness_percent(found.statuses["fresh"], found.known)
    words = tk._("{share} up to date").format(share=share)
    return _badge(words, colour_of_share(found.fresh_percent))


def colour_of_share(percent: float) -> str:
    """Return the colour of a badge by the share of fresh datasets."""
    return next(colour for least, colour in _COLOURS if percent >= least)


def _badge(words: str, colour: str) -> Response:
    response = Response(svg(tk._("freshness"), words, colour), mimetype="image/svg+xml")
    keep(response, MAX_AGE)
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response


COLOURS = {
    "fresh": "#0c4a28",
    "due": "#6b4e00",
    "overdue": "#8a3600",
    "delinquent": "#7a0c1e",
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
        f'role="img" aria-label={quoteattr(title)}><title>{escape(title)}</title>'
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
