"""Faults that exist now, and problems of runs, read from the database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from dateutil.parser import isoparse

from .. import settings
from ..checking.check_rows import REQUESTABLE_KEYS
from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.extras import packages_with_true_extra
from ..dates import utc
from ..reporting import dataset_tables, newest_runs, run_problems
from ..reporting.run_problems import ProblemKind, RunProblem
from ..reporting.tables import TableRequest
from ..reporting.visibility import SITE
from . import addresses, recipients
from .addresses import line
from .kinds import MailKind
from .outbox import NotifyStart
from .rules import NewsItem

_NEW = timedelta(days=1)
"""Datasets younger than this may still get their resources."""
_FALLS = (ProblemKind.FALLEN, ProblemKind.HALVED)


@dataclass(frozen=True, slots=True)
class MailFinding:
    """A fault or a problem of a run.

    :ivar title: the title of the resource, dataset or organization
    :ivar name: the name of the dataset or organization in URLs
    :ivar organization: the title of the dataset's organization
    :ivar details: further values for the templates of the kind
    """

    item: NewsItem
    title: str = ""
    name: str = ""
    organization: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    problem: RunProblem | None = None


def current(begun: NotifyStart, now: datetime) -> dict[NewsItem, MailFinding]:
    """Return all faults that exist now, and the problems of runs since mails began."""
    queries = (broken_links, misfits, without_address, without_resources, problems_of_runs)
    return {finding.item: finding for query in queries for finding in query(begun, now)}


def broken_links(begun: NotifyStart, now: datetime) -> Iterator[MailFinding]:
    """Yield the links that have broken since mails began."""
    span = settings.checks().broken_after
    for row in dataset_tables.BROKEN.rows(TableRequest(SITE, now)):
        if utc(isoparse(row["failing_since"])) + span > begun.at:
            yield MailFinding(
                NewsItem(MailKind.BROKEN, row["resource_id"], row["package_id"]),
                title=line(row["resource"]),
                name=row["name"],
                details=dict(row),
            )


def misfits(begun: NotifyStart, now: datetime) -> Iterator[MailFinding]:
    """Yield the datasets whose declared update frequency does not fit the observed changes."""
    for row in dataset_tables.FREQUENCIES.rows(TableRequest(SITE, now)):
        yield MailFinding(
            NewsItem(MailKind.MISFIT, row["package_id"], row["package_id"]),
            title=line(row["title"]),
            name=row["name"],
            details=dict(row),
        )


def without_address(begun: NotifyStart, now: datetime) -> Iterator[MailFinding]:
    """Yield datasets whose maintainer has no valid address, and organizations none of whose admins has one.

    The maintainers of harvested datasets are left out, since only the source can correct them.
    """
    statement = _MAINTAINERS.format(harvest=harvest_tables.source_configs_sql())
    for row in _rows(statement):
        person = line(f"{row.maintainer or ''} {row.maintainer_email or ''}")
        # Mails about a dataset that names no maintainer go to its author, or to its organization.
        others = not person and (row.owner_org or addresses.parse(row.author_email))
        if others or addresses.parse(row.maintainer_email):
            continue
        yield MailFinding(
            NewsItem(MailKind.NO_ADDRESS, f"dataset:{row.id}"),
            title=line(row.title),
            name=row.name,
            organization=line(row.organization),
            details={"person": person},
        )
    organizations = list(_rows(_ORGANIZATIONS))
    admins = recipients.admins_of({row.id for row in organizations})
    for row in organizations:
        if not admins.get(row.id):
            item = NewsItem(MailKind.NO_ADDRESS, f"organization:{row.id}")
            yield MailFinding(item, title=line(row.title), name=row.name)


def without_resources(begun: NotifyStart, now: datetime) -> Iterator[MailFinding]:
    """Yield datasets without resources, other than new ones and those that are available on request."""
    for row in _rows(
        _EMPTY.format(requestable=packages_with_true_extra("requestable")),
        requestable=list(REQUESTABLE_KEYS),
        before=utc(now - _NEW),
    ):
        yield MailFinding(
            NewsItem(MailKind.NO_RESOURCES, row.id),
            title=line(row.title),
            name=row.name,
            organization=line(row.organization),
        )


def problems_of_runs(begun: NotifyStart, now: datetime) -> Iterator[MailFinding]:
    """Yield the problems of runs since mails began."""
    for problem in run_problems.problems(newest_runs.newest(), now):
        if utc(problem.at) > begun.at:
            kind = MailKind.FALLEN if problem.kind in _FALLS else MailKind.RUN
            yield MailFinding(NewsItem(kind, problem.key), problem=problem)


def _rows(statement: str, **values: Any) -> Any:
    types = {"types": sorted(settings.aging().dataset_types)}
    return model.Session.execute(sa.text(statement), {**types, **values})


_PACKAGE = """p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title,
    coalesce(nullif(g.title, ''), g.name) AS organization"""

# Addresses of the usual form are valid. Only the others need to be parsed.
_MAINTAINERS = f"""
SELECT {_PACKAGE}, p.owner_org, p.maintainer, p.maintainer_email, p.author_email
FROM package p LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN LATERAL ({{harvest}}) h ON true
WHERE p.state = 'active' AND p.type = ANY(:types)
    AND coalesce(p.maintainer_email, '') !~* '^[a-z0-9._+-]{{{{1,64}}}}@[a-z0-9]+(\\.[a-z0-9]+)+$'
    AND (p.owner_org IS NULL OR coalesce(p.maintainer, '') <> '' OR coalesce(p.maintainer_email, '') <> '')
    AND NOT h.is_harvested
ORDER BY organization, title, p.id"""

_ORGANIZATIONS = """
SELECT g.id, g.name, coalesce(nullif(g.title, ''), g.name) AS title FROM "group" g
WHERE g.is_organization AND g.state = 'active' AND EXISTS (
    SELECT FROM package p WHERE p.owner_org = g.id AND p.state = 'active' AND p.type = ANY(:types)
)
ORDER BY title, g.id"""

_EMPTY = f"""
SELECT {_PACKAGE} FROM package p LEFT JOIN "group" g ON g.id = p.owner_org
WHERE p.state = 'active' AND p.type = ANY(:types) AND p.metadata_created < :before
    AND NOT EXISTS (SELECT FROM resource r WHERE r.package_id = p.id AND r.state = 'active')
    AND p.id NOT IN (SELECT package_id FROM ({{requestable}}) q)
ORDER BY organization, title, p.id"""
