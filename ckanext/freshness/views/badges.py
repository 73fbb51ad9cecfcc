"""Badges to embed on other websites: of a dataset, an organization and the whole site."""

from __future__ import annotations

from datetime import timedelta

import ckan.plugins.toolkit as tk
from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from .. import settings
from ..reporting import badge, counts, display, visibility
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
    state = display.STATUSES[tk.h.freshness_status(package) or "unavailable"]
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
    response = Response(badge.svg(tk._("freshness"), words, colour), mimetype="image/svg+xml")
    keep(response, MAX_AGE)
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    return response
