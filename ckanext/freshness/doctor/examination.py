"""The list of all checks, and the examination of a site with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p

from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import has_newest_migration
from . import Need, SiteCheck, SiteFinding, checks, copies, harvests, note, queues, services, site

CHECKS = [
    SiteCheck("plugins", site.plugins),
    SiteCheck("names of options", site.unknown_options),
    SiteCheck("requests", site.request_options),
    SiteCheck("migrations", site.migrations, Need.DATABASE),
    SiteCheck("source types", site.source_types, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("background workers", site.workers, Need.REDIS),
    SiteCheck("consumers", queues.consumers, Need.REDIS | Need.HARVEST),
    SiteCheck("gathers", harvests.gathers, Need.DATABASE | Need.REDIS | Need.HARVEST_TABLES),
    SiteCheck("imports", harvests.imports, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("unacknowledged messages", queues.unacknowledged, Need.REDIS | Need.HARVEST),
    SiteCheck("cron", harvests.cron, Need.DATABASE | Need.HARVEST_TABLES),
    SiteCheck("held deletions", harvests.holds, Need.DATABASE | Need.HARVEST_TABLES | Need.TABLES),
    SiteCheck("nightly checks", checks.nights, Need.DATABASE | Need.TABLES),
    SiteCheck("budget of checks", checks.stretched, Need.DATABASE | Need.TABLES),
    SiteCheck("nightly parts", checks.parts, Need.DATABASE | Need.TABLES),
    SiteCheck("runs", checks.stuck, Need.DATABASE | Need.TABLES),
    SiteCheck("statuses", checks.statuses, Need.DATABASE | Need.TABLES),
    SiteCheck("documents in Solr", checks.documents, Need.DATABASE | Need.SOLR),
    SiteCheck("datasets without a status", checks.without_status, Need.DATABASE | Need.TABLES),
    SiteCheck("fields of the site", checks.fields_of_the_site, Need.DATABASE | Need.TABLES),
    SiteCheck("uninstalling", checks.leaving, Need.DATABASE | Need.TABLES),
    SiteCheck("mails", site.mails, Need.DATABASE),
    SiteCheck("store of copies", copies.store, Need.DATABASE),
    SiteCheck("copies", copies.missing, Need.DATABASE | Need.TABLES),
    SiteCheck("sizes", harvests.sizes, Need.DATABASE),
    SiteCheck("index of organizations", site.organization_index, Need.DATABASE),
]
"""In the order of the report: likely causes before their effects. Subpackages above append their own checks."""


def examine(now: datetime) -> Iterator[SiteFinding]:
    """Run all checks that can run and yield their findings.

    :param now: the current time, aware
    """
    missing, findings = services.unavailable()
    yield from findings
    has_harvest = p.plugin_loaded("harvest")
    if not has_harvest:
        missing |= Need.HARVEST
    for plugin, tables in (("freshness", Need.TABLES), ("harvest", Need.HARVEST_TABLES)):
        if (
            missing & Need.DATABASE
            or not p.plugin_loaded(plugin)
            or not has_newest_migration(plugin)
        ):
            missing |= tables
    reported: set[SiteFinding] = set()
    for check in CHECKS:
        lacking = check.needs & missing
        if not lacking:
            # Two checks can report the same invalid option.
            new = [finding for finding in check.find(now) if finding not in reported]
            reported.update(new)
            yield from new
        elif has_harvest or not check.needs & (Need.HARVEST | Need.HARVEST_TABLES):
            yield note(f"Not checked, because a service or table is missing: {check.name}")
    if not missing & Need.DATABASE:
        model.Session.rollback()
