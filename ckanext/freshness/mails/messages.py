"""Subjects and bodies of mails."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse

from ..aging.messages import N_
from ..ckan_adapter.mailer import Letter
from ..dates import utc_words
from ..reporting import display, frequency_words, labels
from ..reporting.run_problems import ProblemKind, RunProblem
from . import opt_outs, rules
from .addresses import line
from .findings import MailFinding
from .kinds import KINDS, MailKind, Receivers
from .recipients import DatasetFacts
from .rules import Digest, NewsItem, Person

MOST_ROWS = 100
"""Rows of a section. It gives only the number of the others."""
_LONGEST_HEADER_URL = 70

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MailFacts:
    """The subjects of mails.

    :ivar datasets: by id
    :ivar people: choices by address
    :ivar editors: the names of the organizations whose datasets a user may edit, by address
    """

    datasets: Mapping[str, DatasetFacts]
    findings: Mapping[NewsItem, MailFinding]
    people: Mapping[str, Person]
    editors: Mapping[str, frozenset[str]]
    now: datetime


def rows(digest: Digest, facts: MailFacts) -> dict[MailKind, list[Row]]:
    """Return the rows of a mail's sections, each with a ``line`` for the command line."""
    return {kind: _ROWS[kind](items, facts) for kind, items in digest.by_kind().items()}


def letter(
    digest: Digest, found: Mapping[MailKind, list[Row]], facts: MailFacts, person_id: int
) -> Letter:
    """Render a mail. Call it within :func:`~ckanext.freshness.ckan_adapter.mailer.page_context`.

    :param found: the rows of its sections
    """
    stop_url = _url("freshness_mail_link.read_link", token=opt_outs.token(person_id))
    site_title = line(tk.config.get("ckan.site_title"))
    sections = [
        {**_section(kind, shown), "worklist_url": _worklist_url(kind, digest, facts)}
        for kind, shown in found.items()
    ]
    values: dict[str, Any] = {
        "site_title": site_title,
        "site_url": tk.config.get("ckan.site_url"),
        "stop_url": stop_url,
        "sections": sections,
        "is_for_operators": any(KINDS[kind].receivers is Receivers.OPERATORS for kind in found),
    }
    subjects = "; ".join(section["subject"] for section in sections)
    return Letter(
        address=digest.address,
        subject=line(f"{site_title}: {subjects}"),
        # Sections and rows end with any number of blank lines.
        text=re.sub(r"\n{3,}", "\n\n", tk.render("freshness/mails/digest.txt", values)),
        html=tk.render("freshness/mails/digest.html", values),
        headers={
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": _header_url(stop_url),
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


def _section(kind: MailKind, found: list[Row]) -> dict[str, Any]:
    subject = labels.counted(KINDS[kind].subject, len(found))
    return {
        "template": f"freshness/mails/sections/{kind.value}",
        "subject": subject,
        "heading": subject[:1].upper() + subject[1:],
        "rows": found[:MOST_ROWS],
        "more": max(0, len(found) - MOST_ROWS),
    }


_GROUPS = {
    MailKind.NOT_FRESH: "update",
    MailKind.BROKEN: "broken",
    MailKind.MISFIT: "misfit",
}
"""Groups of the worklist with the tasks of a kind."""


def _worklist_url(kind: MailKind, digest: Digest, facts: MailFacts) -> str | None:
    """Return the URL of the recipient's tasks; None if the recipient has no worklist."""
    edited = facts.editors.get(digest.address)
    if kind not in _GROUPS or not edited:
        return None
    values = {"group": _GROUPS[kind]}
    ids = {item.package_id or "" for item in digest.items if item.kind is kind}
    names = {facts.datasets[id].organization_name for id in ids}
    if len(edited) > 1 and len(names) == 1 and names <= edited:
        values["organization"] = names.pop()
    return _url("freshness_worklist.read", **values)


def _dataset_rows(items: Sequence[NewsItem], facts: MailFacts) -> list[Row]:
    """Return the datasets by title, each once although it may have crossed a date twice."""
    datasets = [facts.datasets[id] for id in {item.package_id or "" for item in items}]
    datasets.sort(key=lambda dataset: (dataset.title, dataset.id))
    return [_dataset_row(dataset, facts) for dataset in datasets]


def _dataset_row(dataset: DatasetFacts, facts: MailFacts) -> Row:
    days = dataset.frequency_days
    return {
        "line": f"{dataset.title} ({dataset.name})",
        "title": dataset.title,
        "organization": dataset.organization,
        "state": display.STATUSES[dataset.for_rules.status.value],
        "last_modified": _day(dataset.last_modified, facts.now),
        "frequency": None if days is None else labels.frequency_label(days),
        "url": _url("dataset.read", id=dataset.name),
        "update_url": None if dataset.is_harvested else _url("dataset.edit", id=dataset.name),
        "confirm_url": _url("freshness_dataset.read", id=dataset.name),
        "contact": dataset.maintainer,
        "addresses": list(dataset.named),
        "asked": list(rules.asked(dataset.for_rules, facts.people)),
    }


def _link_rows(items: Sequence[NewsItem], facts: MailFacts) -> list[Row]:
    links = [_link_row(facts.findings[item], facts) for item in items]
    return sorted(links, key=lambda row: (row["dataset"], row["title"], row["url"]))


def _link_row(finding: MailFinding, facts: MailFacts) -> Row:
    dataset = facts.datasets[finding.item.package_id or ""]
    since = _day(isoparse(finding.details["failing_since"]), facts.now)
    link = {**finding.details, "state": "broken", "attempts": ()}
    ids = {"id": dataset.name, "resource_id": finding.item.about}
    title = finding.title or tk._("Unnamed resource")
    return {
        "line": f"{title}, {dataset.title} ({dataset.name})",
        "title": title,
        "dataset": dataset.title,
        "organization": dataset.organization,
        "reason": line(labels.link_reason(link, since or ""), 500),
        "state": display.LINKS["broken"],
        "url": _url("dataset_resource.read", **ids),
        "edit_url": None if dataset.is_harvested else _url("dataset_resource.edit", **ids),
    }


def _misfit_rows(items: Sequence[NewsItem], facts: MailFacts) -> list[Row]:
    found = [_misfit_row(facts.findings[item], facts) for item in items]
    return sorted(found, key=lambda row: (row["title"], row["url"]))


def _misfit_row(finding: MailFinding, facts: MailFacts) -> Row:
    dataset = facts.datasets[finding.item.package_id or ""]
    seen = finding.details
    return {
        "line": f"{dataset.title} ({dataset.name})",
        "title": dataset.title,
        "organization": dataset.organization,
        "declared": labels.frequency_label(seen["declared_days"]),
        "suggested": labels.frequency_label(seen["suggested_days"]),
        "observed": frequency_words.observed(seen),
        "certainty": display.percent(seen["certainty_percent"], 100, _locale()),
        "url": _url("freshness_dataset.read", id=dataset.name),
    }


def _fault_rows(items: Sequence[NewsItem], facts: MailFacts) -> list[Row]:
    return [_fault_row(facts.findings[item]) for item in items]


def _fault_row(finding: MailFinding) -> Row:
    is_organization = finding.item.about.startswith("organization:")
    page = "organization.read" if is_organization else "dataset.read"
    return {
        "line": f"{finding.title} ({finding.name})",
        "title": finding.title,
        "organization": finding.organization,
        "is_organization": is_organization,
        "url": _url(page, id=finding.name),
        **finding.details,
    }


def _problem_rows(items: Sequence[NewsItem], facts: MailFacts) -> list[Row]:
    problems = [facts.findings[item].problem for item in items]
    return [{"line": problem_sentence(problem)} for problem in problems if problem is not None]


_ROWS: Mapping[MailKind, Callable[[Sequence[NewsItem], MailFacts], list[Row]]] = {
    MailKind.NOT_FRESH: _dataset_rows,
    MailKind.BROKEN: _link_rows,
    MailKind.MISFIT: _misfit_rows,
    MailKind.DELINQUENT: _dataset_rows,
    MailKind.COPY: _dataset_rows,
    MailKind.NO_ADDRESS: _fault_rows,
    MailKind.NO_RESOURCES: _fault_rows,
    MailKind.FALLEN: _problem_rows,
    MailKind.RUN: _problem_rows,
}
"""The rows of a kind's template, from its news."""


def problem_sentence(problem: RunProblem) -> str:
    """Return a sentence about a problem of a run."""
    at = utc_words(problem.at)
    sentences: dict[ProblemKind, str] = {
        ProblemKind.FAILED: tk._(FAILED.get(problem.run_kind, FAILED["check"])),
        ProblemKind.KILLED: tk._(
            "The check of {at} did not end: it was killed, or its machine was"
        ),
        ProblemKind.NO_DATASETS: tk._("The check that ended on {at} saw no datasets"),
        ProblemKind.HALVED: tk._(_FALLEN),
        ProblemKind.FALLEN: tk._(_FALLEN),
        ProblemKind.MISSING: tk._("No check was begun in time: one was missing on {at}"),
    }
    now, before = problem.datasets or 0, problem.before or 0
    return sentences[problem.kind].format(
        at=at,
        error=line(problem.error, 500),
        datasets=now,
        before=before,
        fewer=before - now,
        share=display.percent(before - now, before, _locale()),
    )


_FALLEN = N_(
    "The check that ended on {at} saw {datasets} datasets; the one before saw {before}. That is {fewer} "
    "fewer ({share})."
)
FAILED = {
    "check": N_("The check that ended on {at} failed: {error}"),
    "nightly": N_("A part of the nightly work, which ended on {at}, was not done in full: {error}"),
}
"""Sentences by the kind of the run. Subpackages above add theirs."""


def _day(moment: datetime | None, now: datetime) -> str | None:
    if moment is None:
        return None
    return display.day(moment, now, tk.h.get_display_timezone(), _locale())


def _locale() -> Any:
    return display.locale_of(tk.h.lang())


def _url(endpoint: str, **values: str) -> str:
    return str(tk.h.url_for(endpoint, qualified=True, locale="default", **values))


def _header_url(url: str) -> str:
    """Return a URL in brackets for a header, with a space in it if it is long.

    Python folds headers only at spaces, and encodes longer words in a way that mail programs do not
    recognise as a URL. A space between the brackets has no meaning (RFC 2369, section 2).
    """
    if len(url) > _LONGEST_HEADER_URL:
        host, slash, path = url.rpartition("/freshness/")
        url = f"{host} {slash}{path}"
    return f"<{url}>"
