"""All checks, and what comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p

from ..ckan_adapter import has_newest_migration, model
from . import Finding, Need, SiteCheck, checks, copies, harvests, mails, note, options, queues, site
from .services import away

CHECKS = [
    SiteCheck("plugins", site.plugins),
    SiteCheck("removed options", options.removed),
    SiteCheck("names of options", options.unknown),
    SiteCheck("visits", site.options),
    SiteCheck("migrations", site.migrations, Need.DATABASE),
    SiteCheck("source types", site.source_types, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("background workers", site.workers, Need.REDIS),
    SiteCheck("consumers", queues.consumers, Need.REDIS | Need.HARVEST),
    SiteCheck("gathers", harvests.gathers, Need.DATABASE | Need.REDIS | Need.HARVEST_TABLES),
    SiteCheck("imports", harvests.imports, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("unacknowledged messages", queues.unacknowledged, Need.REDIS | Need.HARVEST),
    SiteCheck("cron", harvests.cron, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("held deletions", harvests.holds, Need.DATABASE | Need.HARVEST_TABLES | Need.TABLES),
    SiteCheck("nights", checks.nights, Need.DATABASE | Need.TABLES),
    SiteCheck("nightly parts", checks.parts, Need.DATABASE | Need.TABLES),
    SiteCheck("runs", checks.stuck, Need.DATABASE | Need.TABLES),
    SiteCheck("statuses", checks.statuses, Need.DATABASE | Need.TABLES),
    SiteCheck("datasets without a status", checks.unjudged, Need.DATABASE | Need.TABLES),
    SiteCheck("mails", mails.mails, Need.DATABASE),
    SiteCheck("store of copies", copies.store, Need.DATABASE),
    SiteCheck("copies", copies.missing, Need.DATABASE | Need.TABLES),
    SiteCheck("sizes", harvests.sizes, Need.DATABASE),
]
"""In the order in which they are told: what may cause others comes first. Subpackages above add theirs."""


def examine(now: datetime) -> Iterator[Finding]:
    """Everything that is to be said about the site at a moment (aware)."""
    missing, findings = away()
    yield from findings
    harvests_here = p.plugin_loaded("harvest")
    if not harvests_here:
        missing |= Need.HARVEST
    for plugin, tables in (("freshness", Need.TABLES), ("harvest", Need.HARVEST_TABLES)):
        if (
            missing & Need.DATABASE
            or not p.plugin_loaded(plugin)
            or not has_newest_migration(plugin)
        ):
            missing |= tables
    told = set()
    for check in CHECKS:
        lacks = check.needs & missing
        if not lacks:
            # Two of them may meet the same option.
            new = [one for one in check.look(now) if one not in told]
            told.update(new)
            yield from new
        elif harvests_here or not check.needs & (Need.HARVEST | Need.HARVEST_TABLES):
            yield note(f"Not looked at: {check.name}")
    if not missing & Need.DATABASE:
        model.Session.rollback()
