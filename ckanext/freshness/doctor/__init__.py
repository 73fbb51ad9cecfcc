"""Diagnosis of a site: its tables say what is checked, and each check what is wrong and what to do.

If a service does not answer or tables are missing, the doctor reports it once, and skips the checks that need
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

import ckan.plugins as p
import redis
import sqlalchemy as sa

from ..ckan_adapter.core import connect_to_redis, model, solr_answers
from ..ckan_adapter.database import plugins_without_tables
from ..ckan_adapter.harvest import harvest_queue_connection
from ..status import indexing
from . import harvests, site
from .findings import SiteFinding, note, problem

Check = Callable[[datetime], Iterable[SiteFinding]]
"""Takes the current time (aware) and yields findings."""

SITE_CHECKS: Mapping[str, Check] = {
    "plugins": site.plugins,
    "options": site.site_options,
    "tables": site.tables,
    "background workers": site.workers,
    "nightly run": site.nightly_run,
    "statuses": site.statuses,
    "documents in Solr": site.documents,
    "fields of the site": site.fields_of_the_site,
    "copies": site.stored_copies,
    "mails": site.mails,
}
HARVEST_CHECKS: Mapping[str, Check] = {
    "source types": harvests.source_types,
    "consumers": harvests.consumers,
    "harvest jobs": harvests.harvest_jobs,
    "held deletions": harvests.held_deletions,
    "IATI sources": harvests.iati_sources,
}
"""Checks of sites that harvest."""


def examine(now: datetime) -> Iterator[SiteFinding]:
    """Run all checks that can run and yield their findings.

    :param now: the current time, aware
    """
    yield from services()
    for name, check in _checks().items():
        try:
            yield from list(check(now))
        except _AWAY:
            yield note(f"{_SKIPPED}: {name}")
        except sa.exc.ProgrammingError:
            model.Session.rollback()
            if not plugins_without_tables():
                raise
            yield note(f"{_SKIPPED}: {name}")
        finally:
            model.Session.remove()


def subjects() -> list[str]:
    """Return the subjects of all checks."""
    return ["services", *_checks()]


def _checks() -> dict[str, Check]:
    return {**SITE_CHECKS, **(HARVEST_CHECKS if p.plugin_loaded("harvest") else {})}


_SKIPPED = "Not checked, because a service or table is missing"
_AWAY = (redis.exceptions.RedisError, sa.exc.OperationalError, indexing.SolrAwayError)
"""Errors of services that do not answer."""


def services() -> Iterator[SiteFinding]:
    """Report services that do not answer."""
    for text, answers, option in _SERVICES:
        try:
            is_there = answers()
        except _AWAY:
            is_there = False
        if not is_there:
            yield problem(text, f"Start it, or correct {option}.")


def _database_answers() -> bool:
    try:
        model.Session.execute(sa.text("SELECT 1"))
        return True
    finally:
        model.Session.rollback()


def _queues_answer() -> bool:
    connection = harvest_queue_connection()
    return connection is None or bool(connection.ping())


_SERVICES: tuple[tuple[str, Callable[[], bool], str], ...] = (
    ("PostgreSQL does not answer", _database_answers, "sqlalchemy.url"),
    ("Redis does not answer", lambda: bool(connect_to_redis().ping()), "ckan.redis.url"),
    (
        "The Redis of the harvest queues does not answer",
        _queues_answer,
        "ckan.harvest.mq.hostname",
    ),
    ("Solr does not answer", solr_answers, "solr_url"),
)
"""The problem, whether the service answers, and the option with its address."""
