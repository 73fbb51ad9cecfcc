"""The kinds of mails, as a table: who receives a kind, how often, what is news and how it is shown.

The templates of a kind are ``freshness/mails/sections/<kind>.txt`` and ``.html``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..aging.messages import N_, NN_
from ..checking.check_rows import REQUESTABLE_KEYS
from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import packages_with_true_extras
from ..dates import utc, utc_words
from ..reporting import labels, links, report_tables
from ..reporting.tables import TableRequest
from ..reporting.visibility import SITE
from . import recipients, run_problems
from .recipients import DatasetFacts, Person, addresses, line
from .run_problems import ProblemKind, RunProblem

COOLDOWN = timedelta(hours=20)
"""The shortest time between two mails to one person. Nightly runs may begin a few hours early."""
_DAY = COOLDOWN
_WEEK = timedelta(days=6) + COOLDOWN

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class News:
    """A fact that people are told of once, as long as it lasts. If it returns, it is news again.

    :ivar about: its identity among the news of its kind
    :ivar package_id: the dataset whose facts decide about its recipients, if any
    :ivar details: values for its row in a mail
    """

    about: str
    package_id: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MailFacts:
    """What rows of mails are made from.

    :ivar datasets: by id
    :ivar people: choices by address
    """

    datasets: Mapping[str, DatasetFacts]
    people: Mapping[str, Person]
    now: datetime


class Receivers(Enum):
    """The people to whom a kind is sent."""

    KEEPERS = "keepers"
    """The maintainers of a dataset, who may see it."""
    OPERATORS = "operators"
    """The sysadmins, or the operators that the site's options name."""


# What is news. Each function yields all that lasts at a moment.


def _crossed(statuses: tuple[str, ...], now: datetime) -> Iterator[News]:
    """Yield the datasets that have crossed the date of the first of some statuses, and are beyond it.

    A dataset's first status is no news, since it may be years old. Neither is a change of the site's
    thresholds, which could affect thousands of datasets.
    """
    crossed = _CROSSED.format(date=statuses[0])
    for row in _rows(crossed, statuses=list(statuses), now=utc(now)):
        yield News(str(row.id), row.package_id)


_CROSSED = """
SELECT t.id, t.package_id FROM (
    SELECT DISTINCT ON (package_id) id, package_id, from_status, cause FROM freshness_transition
    WHERE to_status = ANY(:statuses) AND coalesce(from_status, '') <> ALL(:statuses)
    ORDER BY package_id, id DESC
) t JOIN freshness_dataset d ON d.package_id = t.package_id AND d.{date} <= :now
WHERE t.from_status IS NOT NULL AND t.cause <> 'recompute'"""


def _broken_links(now: datetime) -> Iterator[News]:
    for row in report_tables.BROKEN.read(TableRequest(SITE, now)):
        yield News(row["resource_id"], row["package_id"], dict(row))


def _misfits(now: datetime) -> Iterator[News]:
    """Yield the datasets whose declared update frequency does not fit the observed changes."""
    for row in report_tables.FREQUENCIES.read(TableRequest(SITE, now)):
        yield News(row["package_id"], row["package_id"], dict(row))


def _without_address(now: datetime) -> Iterator[News]:
    """Yield datasets whose maintainer has no valid address, and organizations none of whose admins has one.

    The maintainers of harvested datasets are left out, since only the source can correct them.
    """
    for row in _rows(_MAINTAINERS.format(harvest=harvest.source_configs_sql())):
        person = line(f"{row.maintainer or ''} {row.maintainer_email or ''}")
        # Mails about a dataset that names no maintainer go to its author, or to its organization.
        others = not person and (row.owner_org or addresses(row.author_email))
        if not others and not addresses(row.maintainer_email):
            yield News(f"dataset:{row.id}", details={**row._mapping, "person": person})
    organizations = list(_rows(_ORGANIZATIONS))
    admins = recipients.admins_of({row.id for row in organizations})
    for row in organizations:
        if not admins.get(row.id):
            yield News(f"organization:{row.id}", details={**row._mapping, "is_organization": True})


def _without_resources(now: datetime) -> Iterator[News]:
    """Yield datasets without resources, other than those of the last day and those available on request."""
    for row in _rows(
        _EMPTY.format(requestable=packages_with_true_extras("requestable")),
        requestable=list(REQUESTABLE_KEYS),
        before=utc(now - timedelta(days=1)),
    ):
        yield News(row.id, details=dict(row._mapping))


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
    AND NOT h.is_harvested"""

_ORGANIZATIONS = """
SELECT g.id, g.name, coalesce(nullif(g.title, ''), g.name) AS title FROM "group" g
WHERE g.is_organization AND g.state = 'active' AND EXISTS (
    SELECT FROM package p WHERE p.owner_org = g.id AND p.state = 'active' AND p.type = ANY(:types)
)"""

_EMPTY = f"""
SELECT {_PACKAGE} FROM package p LEFT JOIN "group" g ON g.id = p.owner_org
WHERE p.state = 'active' AND p.type = ANY(:types) AND p.metadata_created < :before
    AND NOT EXISTS (SELECT FROM resource r WHERE r.package_id = p.id AND r.state = 'active')
    AND p.id NOT IN (SELECT package_id FROM ({{requestable}}) q WHERE requestable)"""


def _problems_of_runs(kinds: frozenset[ProblemKind], now: datetime) -> Iterator[News]:
    for problem in run_problems.newest_problems(now):
        if problem.kind in kinds:
            yield News(problem.key, details={"problem": problem})


def _rows(statement: str, **values: Any) -> Any:
    types = {"types": sorted(settings.aging().dataset_types)}
    return model.Session.execute(sa.text(statement), {**types, **values})


# How news is shown: a row for the templates, with a line for the command


def _dataset_row(news: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[news.package_id or ""]
    days = dataset.frequency_days
    return {
        "line": f"{dataset.title} ({dataset.name})",
        "title": dataset.title,
        "organization": dataset.organization,
        "state": labels.STATUSES[dataset.status.value],
        "last_modified": _day(dataset.last_modified, facts.now),
        "confirmed": _day(dataset.confirmed_at, facts.now),
        "frequency": None if days is None else labels.frequency_label(days),
        "url": url("dataset.read", id=dataset.name),
        "update_url": None if dataset.is_harvested else url("dataset.edit", id=dataset.name),
        "confirm_url": url("freshness_dataset.read", id=dataset.name),
        "contact": dataset.maintainer,
        "addresses": list(dataset.named),
        "asked": [one for one in dataset.keepers if facts.people[one].wants("overdue")],
    }


def _link_row(news: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[news.package_id or ""]
    link = news.details
    ids = {"id": dataset.name, "resource_id": news.about}
    title = line(link["resource"]) or tk._("Unnamed resource")
    return {
        "line": f"{title}, {dataset.title} ({dataset.name})",
        "title": title,
        "dataset": dataset.title,
        "organization": dataset.organization,
        "reason": line(
            links.explanation("broken", [link], link["failures"], link["failing_since"]), 500
        ),
        "state": labels.LINKS["broken"],
        "url": url("dataset_resource.read", **ids),
        "edit_url": None if dataset.is_harvested else url("dataset_resource.edit", **ids),
    }


def _misfit_row(news: News, facts: MailFacts) -> Row:
    dataset, seen = facts.datasets[news.package_id or ""], news.details
    return {
        "line": f"{dataset.title} ({dataset.name})",
        "title": dataset.title,
        "organization": dataset.organization,
        "declared": labels.frequency_label(seen["declared_days"]),
        "suggested": labels.frequency_label(seen["suggested_days"]),
        "observed": labels.observed(seen),
        "url": url("freshness_dataset.read", id=dataset.name),
    }


def _fault_row(news: News, facts: MailFacts) -> Row:
    is_organization = "is_organization" in news.details
    title, name = line(news.details["title"]), news.details["name"]
    return {
        "line": f"{title} ({name})",
        "title": title,
        "organization": line(news.details.get("organization")),
        "is_organization": is_organization,
        "person": news.details.get("person"),
        "url": url("organization.read" if is_organization else "dataset.read", id=name),
    }


def _problem_row(news: News, facts: MailFacts) -> Row:
    problem: RunProblem = news.details["problem"]
    now, before = problem.datasets or 0, problem.before or 0
    words = tk._(_PROBLEMS.get(problem.kind) or FAILED.get(problem.run_kind, FAILED["check"]))
    sentence = words.format(
        at=utc_words(problem.at),
        error=line(problem.error, 500),
        datasets=now,
        before=before,
        fewer=before - now,
        share=labels.percent(before - now, before, labels.reader()[0]),
    )
    return {"line": sentence}


_FALLEN = N_(
    "The check that ended on {at} saw {datasets} datasets; the one before saw {before}. That is {fewer} "
    "fewer ({share})."
)
_PROBLEMS = {
    ProblemKind.KILLED: N_("The check of {at} did not end: it was killed, or its machine was"),
    ProblemKind.FALLEN: _FALLEN,
    ProblemKind.MISSING: N_("No check was begun in time: one was missing on {at}"),
}
FAILED = {
    "check": N_("The check that ended on {at} failed: {error}"),
    "nightly": N_("A part of the nightly work, which ended on {at}, was not done in full: {error}"),
    "iati": N_("The update cycle of an IATI registry that ended on {at} failed: {error}"),
}
"""Sentences by the kind of the run that failed."""


def _day(moment: datetime | None, now: datetime) -> str | None:
    if moment is None:
        return None
    locale, zone = labels.reader()
    return labels.when(moment, "day", now, zone, locale)


def url(endpoint: str, **values: str) -> str:
    """Return the URL of a page, for mails: with the host, in the site's language."""
    return str(tk.h.url_for(endpoint, qualified=True, locale="default", **values))


# The table


@dataclass(frozen=True, slots=True)
class KindRule:
    """A kind of mails.

    :ivar every: the shortest time between two mails of this kind to one person
    :ivar news: yields all news that lasts at a moment
    :ivar row: returns the row of a piece of news; called in the context of a page
    :ivar name: the words of the page where people choose their mails
    :ivar subject: forms for the subject, the section's heading, and lines of the command
    :ivar tasks: the group of the worklist with the tasks of this kind, if there is one
    :ivar tells_old: whether news from before mails were switched on is told, too
    """

    receivers: Receivers
    every: timedelta
    news: Callable[[datetime], Iterable[News]]
    row: Callable[[News, MailFacts], Row]
    name: str
    subject: tuple[str, str]
    tasks: str | None = None
    tells_old: bool = False


_OVERDUE = partial(_crossed, ("overdue", "delinquent"))
_FALLS = frozenset({ProblemKind.FALLEN})

KINDS: Mapping[str, KindRule] = {
    "overdue": KindRule(
        Receivers.KEEPERS,
        _DAY,
        _OVERDUE,
        _dataset_row,
        N_("Datasets that need an update"),
        NN_("{count} dataset needs an update", "{count} datasets need an update"),
        tasks="update",
    ),
    "broken": KindRule(
        Receivers.KEEPERS,
        _WEEK,
        _broken_links,
        _link_row,
        N_("Broken links (once a week)"),
        NN_("{count} broken link", "{count} broken links"),
        tasks="broken",
    ),
    "misfit": KindRule(
        Receivers.KEEPERS,
        _WEEK,
        _misfits,
        _misfit_row,
        N_("Update frequencies that do not fit the data (once a week)"),
        NN_("{count} update frequency to check", "{count} update frequencies to check"),
        tasks="misfit",
        tells_old=True,
    ),
    "delinquent": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(_crossed, ("delinquent",)),
        _dataset_row,
        N_("Datasets that are long overdue"),
        NN_(
            "{count} dataset whose provider should be contacted",
            "{count} datasets whose providers should be contacted",
        ),
    ),
    "copy": KindRule(
        Receivers.OPERATORS,
        _DAY,
        _OVERDUE,
        _dataset_row,
        N_("Copies of the mails about datasets that need an update"),
        NN_("{count} dataset became overdue", "{count} datasets became overdue"),
    ),
    "no_address": KindRule(
        Receivers.OPERATORS,
        _WEEK,
        _without_address,
        _fault_row,
        N_("Maintainers and organizations without a valid address (once a week)"),
        NN_(
            "{count} maintainer or organization without a valid address",
            "{count} maintainers or organizations without a valid address",
        ),
        tells_old=True,
    ),
    "no_resources": KindRule(
        Receivers.OPERATORS,
        _WEEK,
        _without_resources,
        _fault_row,
        N_("Datasets without resources (once a week)"),
        NN_("{count} dataset without resources", "{count} datasets without resources"),
        tells_old=True,
    ),
    "fallen": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(_problems_of_runs, _FALLS),
        _problem_row,
        N_("Falls in the number of datasets"),
        NN_("the number of datasets has fallen", "the number of datasets has fallen"),
    ),
    "run": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(_problems_of_runs, frozenset(ProblemKind) - _FALLS),
        _problem_row,
        N_("Problems of the nightly run"),
        NN_(
            "something is wrong with the checks of freshness",
            "something is wrong with the checks of freshness",
        ),
    ),
}
"""In the order of the sections of a mail. The names are stored, and stand in the API."""


def offered(address: str) -> list[str]:
    """Return the kinds of mails that an address may receive. Only operators receive mails about the site."""
    is_operator = address in recipients.operators()
    return [
        kind
        for kind, rule in KINDS.items()
        if is_operator or rule.receivers is not Receivers.OPERATORS
    ]
