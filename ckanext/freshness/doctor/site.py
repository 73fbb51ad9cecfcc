"""Checks of plugins, tables, options, mails and background workers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import datetime

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import has_newest_migration
from ..ckan_adapter.declared_options import declared_options
from ..ckan_adapter.harvest import registered_source_types
from ..ckan_adapter.jobs import background_workers, waiting_background_jobs
from ..ckan_adapter.mailer import mailer_problem
from ..ckan_adapter.templates import hidden_templates
from ..mails import recipients
from ..settings import PREFIX
from ..web.exchange import Limits
from . import SiteFinding, counted, note, problem, warning

_SUPERVISED = "Keep this running, under supervisor or systemd: ckan jobs worker"


MANY_DATASETS = 50_000
"""From this number on, reading all datasets takes longer than the rest of a page."""

_SHOWN_BY_TEMPLATES = {
    "harvest": "the pages of harvest sources show neither previews nor held deletions",
    "scheming_datasets": "the forms of datasets do not ask for the update frequency",
}
"""What is missing, by plugin, if the plugin stands before ``freshness`` in ckan.plugins."""


def plugins(now: datetime) -> Iterator[SiteFinding]:
    """Report a missing or wrongly ordered plugin."""
    enabled = tk.aslist(tk.config["ckan.plugins"])
    if "harvest" not in enabled:
        yield note(
            "The plugin harvest is not enabled, so this site harvests nothing",
            "To harvest, add it to ckan.plugins, after freshness.",
        )
    before = enabled[: enabled.index("freshness")]
    for name, effect in _SHOWN_BY_TEMPLATES.items():
        if name in before:
            yield problem(f"ckan.plugins has freshness after {name}, so {effect}", _move(name))
    for name, templates in hidden_templates().items():
        if name not in _SHOWN_BY_TEMPLATES:
            yield warning(
                f"{name} stands before freshness in ckan.plugins and replaces templates that freshness "
                f"adds to: {', '.join(templates)}",
                _move(name),
            )


def _move(name: str) -> str:
    return f"Move freshness before {name} in ckan.plugins, then restart CKAN."


def migrations(now: datetime) -> Iterator[SiteFinding]:
    """Report plugins whose tables are not those that the code expects."""
    for plugin in ("freshness", "harvest"):
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin):
            yield problem(
                f"The tables of the plugin {plugin} are missing or old",
                f"ckan db upgrade -p {plugin}",
            )


def source_types(now: datetime) -> Iterator[SiteFinding]:
    """Report active sources without a harvester."""
    source = harvest_tables.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.type, sa.func.count(source.id), sa.func.min(source.title))
        .where(source.active.is_(True), source.type.not_in(registered_source_types()))
        .group_by(source.type)
    )
    for source_type, count, title in rows:
        yield problem(
            f"No enabled plugin harvests the type {source_type}, which "
            f"{counted(count, 'active source has', 'active sources have')}, for example {title}",
            "Enable the plugin in ckan.plugins (fdp_harvester for the type fdp, iati_harvester for "
            "iati_registry) and restart the consumers, or change the type of the sources.",
        )


def request_options(now: datetime) -> Iterator[SiteFinding]:
    """Report options that remove a protection from requests."""
    web = settings.web(Limits())
    if web.proxy:
        yield note(
            "Requests go through ckan.download_proxy. CKAN refuses addresses inside your network by its "
            "own name lookup, but the proxy looks the name up again",
            "Configure the proxy to refuse addresses inside your network, too.",
        )
    if web.insecure_hosts:
        yield note(
            "Certificates of these hosts are not verified (ckanext.freshness.insecure_hosts): "
            + ", ".join(sorted(web.insecure_hosts))
        )


def unknown_options(now: datetime) -> Iterator[SiteFinding]:
    """Report misspelt options: those with this extension's prefix that it does not declare."""
    known = declared_options(PREFIX)
    names = [key.removeprefix(PREFIX) for key in known]
    for key in sorted(key for key in tk.config if key.startswith(PREFIX) and key not in known):
        nearest = difflib.get_close_matches(key.removeprefix(PREFIX), names, 1)
        suggestion = f"Did you mean {PREFIX}{nearest[0]}? " if nearest else ""
        yield warning(
            f"There is no option {key}, so it has no effect",
            f"{suggestion}Correct the name in the site's ini file, or remove the line.",
        )


def organization_index(now: datetime, *, many: int = MANY_DATASETS) -> Iterator[SiteFinding]:
    """Report that PostgreSQL finds an organization's datasets only by reading all datasets.

    :param many: datasets from which on this matters
    """
    row = model.Session.execute(sa.text(_ORGANIZATION_INDEX)).one()
    if row.datasets >= many and not row.indexed:
        yield note(
            f"Pages of organizations and of editors read all {row.datasets} datasets, because CKAN has no "
            "index on the organization of a dataset",
            "To make them faster, execute in PostgreSQL: "
            "CREATE INDEX CONCURRENTLY ON package (owner_org) WHERE state = 'active'",
        )


_ORGANIZATION_INDEX = """
SELECT count(*) AS datasets, EXISTS (
    SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = CAST('package' AS regclass) AND a.attname = 'owner_org' AND i.indisvalid
) AS indexed
FROM package WHERE state = 'active'"""


def workers(now: datetime) -> Iterator[SiteFinding]:
    """Report queues of background jobs without a worker."""
    running = background_workers()
    for queue, count in sorted(waiting_background_jobs().items()):
        if count and not running.get(queue):
            waiting = counted(
                count,
                f"background job waits in the queue {queue}",
                f"background jobs wait in the queue {queue}",
            )
            yield problem(f"{waiting}, and no worker serves it", f"{_SUPERVISED} {queue}")
    if not any(running.values()):
        yield note(
            "No background worker is running: previews and checks that editors start on pages wait for one",
            _SUPERVISED,
        )


def mails(now: datetime) -> Iterator[SiteFinding]:
    """Report mails that are switched on but cannot be sent, or have no recipient."""
    if not settings.flag("notify.enabled"):
        return
    if missing := mailer_problem():
        yield problem(
            f"Mails are on but cannot be sent: {missing}",
            "Set it in the site's ini file, or switch mails off: ckanext.freshness.notify.enabled = false",
        )
    if not recipients.operators():
        yield problem(
            "Mails are on but no sysadmin has an address, so no mail reports failed checks and delinquent "
            "datasets",
            "Set ckanext.freshness.notify.operators to the addresses of the site's operators, or give a "
            "sysadmin an address.",
        )
