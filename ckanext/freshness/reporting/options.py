"""The site's options for reports."""

from __future__ import annotations

from datetime import timedelta

import ckan.plugins.toolkit as tk

from ..settings import OptionError
from .hosts import HDX, HostGroup, parse_groups

HOST_GROUPS = "ckanext.freshness.report.host_groups"


def host_groups() -> tuple[HostGroup, ...]:
    """The groups of hosts that the table of hosts names; HDX's where the site names none.

    :raises OptionError: an entry that is no group.
    """
    try:
        return parse_groups(tk.config.get(HOST_GROUPS) or ()) or HDX
    except ValueError as error:
        raise OptionError(f"{HOST_GROUPS} {error}") from error


def keep_history() -> timedelta:
    """For how long the counts of days are kept."""
    return timedelta(days=max(1, tk.config.get("ckanext.freshness.report.keep_days")))
