"""Template helpers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk

from .ckan_adapter import get_harvester
from .harvesting.objects import is_web_url

__all__ = ["freshness_harvest_hold", "freshness_harvests", "freshness_link", "freshness_moment"]


def freshness_harvests(source_type: str | None) -> bool:
    """Whether sources of a type are harvested by this extension."""
    return hasattr(get_harvester(source_type), "source_type")


def freshness_harvest_hold(source_id: str) -> dict[str, Any] | None:
    """The held deletions of a harvest source, for those who may release them; nothing for others."""
    try:
        return tk.get_action("freshness_harvest_hold_show")({}, {"id": source_id})
    except tk.NotAuthorized:
        return None


def freshness_link(url: str) -> Any:
    """A link to a record of a source; what is no web address stays a text, whatever it says."""
    return tk.h.link_to(url, url, rel="nofollow") if is_web_url(url) else url


def freshness_moment(text: str | None) -> str:
    """A moment of our API (UTC, ISO 8601 with ``Z``) in words, in the site's or the user's time zone."""
    if not text:
        return ""
    return tk.h.render_datetime(
        datetime.fromisoformat(text.replace("Z", "+00:00")), with_hours=True
    )
