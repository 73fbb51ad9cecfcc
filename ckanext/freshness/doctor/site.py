"""Plugins, tables, options and background workers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import (
    background_workers,
    harvest_tables,
    has_newest_migration,
    model,
    registered_source_types,
    waiting_background_jobs,
)
from ..web.exchange import Limits
from . import Finding, counted, note, problem


def plugins(now: datetime) -> Iterator[Finding]:
    """Whether the plugins are enabled that work together, in the right order."""
    enabled = tk.aslist(tk.config["ckan.plugins"])
    if "harvest" not in enabled:
        yield note(
            "The plugin harvest is not enabled: nothing is harvested",
            "Add it to ckan.plugins, after freshness, if this site is to harvest.",
        )
    elif enabled.index("freshness") > enabled.index("harvest"):
        yield problem(
            "ckan.plugins has freshness after harvest: previews and held deletions do not show on "
            "the pages of harvest sources",
            "Move freshness before harvest in ckan.plugins, then restart CKAN.",
        )


def migrations(now: datetime) -> Iterator[Finding]:
    """Whether the tables are those that the code expects."""
    for plugin in ("freshness", "harvest"):
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin):
            yield problem(
                f"The tables of the plugin {plugin} are missing or old",
                f"ckan db upgrade -p {plugin}",
            )


def source_types(now: datetime) -> Iterator[Finding]:
    """Whether each active source has a harvester."""
    source = harvest_tables.SOURCE.c
    known = registered_source_types()
    rows = model.Session.execute(
        sa.select(source.type, sa.func.count(source.id), sa.func.min(source.title))
        .where(source.active.is_(True), source.type.not_in(known))
        .group_by(source.type)
    )
    for source_type, count, title in rows:
        yield problem(
            f"No enabled plugin harvests the type {source_type}, which "
            f"{counted(count, 'active source has', 'active sources have')}, "
            f"among them {title}",
            "Enable the plugin in ckan.plugins (fdp_harvester for the type fdp, "
            "iati_harvester for iati_registry) and restart the "
            "consumers, or change the type of the sources.",
        )


def options(now: datetime) -> Iterator[Finding]:
    """Options that take a protection away."""
    web = settings.web(Limits())
    if web.proxy:
        yield note(
            "Other servers are visited through ckan.download_proxy: whether an address lies inside "
            "the network is judged by the name as it is looked up here, and the proxy looks it up "
            "again by itself",
            "Let the proxy refuse addresses inside the network too.",
        )
    if web.insecure_hosts:
        yield note(
            "Certificates of these hosts are not verified (ckanext.freshness.insecure_hosts): "
            + ", ".join(sorted(web.insecure_hosts))
        )


def workers(now: datetime) -> Iterator[Finding]:
    """Whether somebody does the background jobs: previews asked for on a page are such."""
    at_work = background_workers()
    for queue, count in sorted(waiting_background_jobs().items()):
        if count and not at_work.get(queue):
            waiting = counted(
                count,
                f"background job waits in the queue {queue}",
                f"background jobs wait in the queue {queue}",
            )
            yield problem(
                f"{waiting}, and no worker serves it",
                f"ckan jobs worker {queue} (under supervisor or systemd, so that it stays)",
            )
    if not any(at_work.values()):
        yield note(
            "No background worker is running: previews on the pages of harvest sources wait for one",
            "ckan jobs worker (under supervisor or systemd, so that it stays)",
        )
