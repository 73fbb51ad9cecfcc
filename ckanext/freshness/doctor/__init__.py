"""Diagnosis of a site: the table says what is checked, and each check what is wrong and what to do.

If a service does not answer or tables are missing, the doctor reports it once, and skips the checks that need
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

import ckan.plugins as p
import redis
import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..ckan_adapter.database import plugins_without_tables
from ..ckan_adapter.services import away
from ..status import indexing
from . import harvests, site
from .findings import SiteFinding, note, problem

Check = Callable[[datetime], Iterable[SiteFinding]]
"""Takes the current time (aware) and yields findings."""


def services_and_tables(now: datetime) -> Iterator[SiteFinding]:
    """Report services that do not answer, and tables that are missing or old."""
    yield from (problem(one.fact, one.advice) for one in away())
    for plugin in plugins_without_tables():
        yield problem(
            f"The tables of the plugin {plugin} are missing or old", f"ckan db upgrade -p {plugin}"
        )


CHECKS: Mapping[str, Check] = {
    "services and tables": services_and_tables,
    "plugins": site.plugins,
    "options": site.site_options,
    "address of the site": site.address,
    "background workers": site.workers,
    "nightly run": site.nightly_run,
    "statuses": site.statuses,
    "documents in Solr": site.documents,
    "fields of the site": site.fields_of_the_site,
    "copies": site.stored_copies,
    "mails": site.mails,
    "source types": harvests.source_types,
    "consumers": harvests.consumers,
    "harvest jobs": harvests.harvest_jobs,
    "held deletions": harvests.held_deletions,
    "IATI sources": harvests.iati_sources,
}
_HARVESTS = ("source types", "consumers", "harvest jobs", "held deletions", "IATI sources")
"""Checks of sites that harvest."""


def subjects() -> list[str]:
    """Return the subjects of the checks of this site."""
    harvests = p.plugin_loaded("harvest")
    return [subject for subject in CHECKS if harvests or subject not in _HARVESTS]


def examine(now: datetime) -> Iterator[SiteFinding]:
    """Run all checks that can run and yield their findings.

    :param now: the current time, aware
    """
    for subject in subjects():
        skipped = note(f"Not checked, because a service or table is missing: {subject}")
        try:
            yield from CHECKS[subject](now)
        except _AWAY:
            yield skipped
        except sa.exc.ProgrammingError:
            model.Session.rollback()
            if not plugins_without_tables():
                raise
            yield skipped
        finally:
            model.Session.remove()


_AWAY = (redis.exceptions.RedisError, sa.exc.OperationalError, indexing.SolrAwayError)
"""Errors of services that do not answer."""
