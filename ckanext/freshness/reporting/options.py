"""The site's options for reports."""

from __future__ import annotations

from datetime import timedelta

from .. import settings
from .host_groups import HDX, HostGroup, parse_groups


def host_groups() -> tuple[HostGroup, ...]:
    """Return the groups of hosts that the table of hosts names; HDX's if the site names none."""
    return parse_groups(settings.words("report.host_groups")) or HDX


def keep_history() -> timedelta:
    """Return for how long changes of statuses, and the counts of days, are kept."""
    return timedelta(days=int(settings.option("report.keep_days")))
