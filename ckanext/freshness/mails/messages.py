"""What mails say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_
from ..ckan_adapter import Letter
from ..dates import utc_words
from ..reporting import labels
from ..reporting.run_problems import ProblemKind, RunProblem
from . import opt_outs
from .addresses import line
from .recipients import DatasetFacts
from .rules import Digest, MailKind

MOST_DATASETS = 100
"""Of one mail; of the rest it says how many they are."""
_LONGEST_HEADER_URL = 70


@dataclass(frozen=True, slots=True)
class MailFacts:
    """What mails tell of.

    :ivar datasets: by id
    :ivar findings: by key
    """

    datasets: Mapping[str, DatasetFacts]
    findings: Mapping[str, RunProblem]


def letter(digest: Digest, facts: MailFacts, person_id: int) -> Letter:
    """A mail as it goes out; within :func:`~ckanext.freshness.ckan_adapter.page_context`."""
    stop_url = _url("freshness_mail_link.read_link", token=opt_outs.token(person_id))
    told: dict[str, Any] = {
        "site_title": line(tk.config.get("ckan.site_title")),
        "site_url": tk.config.get("ckan.site_url"),
        "stop_url": stop_url,
    }
    if digest.kind is MailKind.RUN:
        findings = [facts.findings[item.about] for item in digest.items]
        told["findings"] = [in_words(finding) for finding in findings]
        subject = tk._("{site}: something is wrong with the checks of freshness")
        count = len(findings)
    else:
        known = _each_once(digest, facts)
        told["datasets"] = [_dataset(one) for one in known[:MOST_DATASETS]]
        told["more"] = max(0, len(known) - MOST_DATASETS)
        count = len(known)
        subject = _subject(digest.kind, count)
    name = _TEMPLATES[digest.kind]
    return Letter(
        address=digest.address,
        subject=line(subject.format(site=told["site_title"], count=count)),
        text=tk.render(f"freshness/mails/{name}.txt", told),
        html=tk.render(f"freshness/mails/{name}.html", told),
        headers={
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": _header_url(stop_url),
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


_TEMPLATES = {
    MailKind.NOT_FRESH: "not_fresh",
    MailKind.DELINQUENT: "delinquent",
    MailKind.RUN: "run",
}


def _subject(kind: MailKind, count: int) -> str:
    if kind is MailKind.DELINQUENT:
        return tk.ungettext(
            "{site}: {count} dataset whose provider should be contacted",
            "{site}: {count} datasets whose providers should be contacted",
            count,
        )
    return tk.ungettext(
        "{site}: {count} dataset needs an update",
        "{site}: {count} datasets need an update",
        count,
    )


def titles(digest: Digest, facts: MailFacts) -> list[str]:
    """What a mail is about, a line each."""
    if digest.kind is MailKind.RUN:
        return [in_words(facts.findings[item.about]) for item in digest.items]
    return [f"{one.title} ({one.name})" for one in _each_once(digest, facts)]


def in_words(finding: RunProblem) -> str:
    """What is wrong with the runs, in a sentence."""
    at = utc_words(finding.at)
    sentences = {
        ProblemKind.FAILED: tk._(_FAILED.get(finding.kind, _FAILED["check"])),
        ProblemKind.KILLED: tk._(
            "The check of {at} did not end: it was killed, or its machine was"
        ),
        ProblemKind.NO_DATASETS: tk._("The check that ended on {at} saw no datasets"),
        ProblemKind.HALVED: tk._(
            "The check that ended on {at} saw {datasets} datasets; the one before saw {before}"
        ),
        ProblemKind.MISSING: tk._("No check was begun in time: one was missing on {at}"),
    }
    return sentences[finding.what].format(
        at=at, error=line(finding.error, 500), datasets=finding.datasets, before=finding.before
    )


_FAILED = {
    "check": N_("The check that ended on {at} failed: {error}"),
    "iati": N_("The update cycle of an IATI registry that ended on {at} failed: {error}"),
    "nightly": N_("A part of the nightly work, which ended on {at}, was not done in full: {error}"),
}
"""By the kind of the run."""


def _each_once(digest: Digest, facts: MailFacts) -> Sequence[DatasetFacts]:
    """The datasets of a mail in the order of their titles, also those that crossed a date twice."""
    ids = {item.package_id for item in digest.items if item.package_id}
    return sorted((facts.datasets[one] for one in ids), key=lambda one: (one.title, one.id))


def _dataset(known: DatasetFacts) -> dict[str, Any]:
    modified, days = known.last_modified, known.frequency_days
    return {
        "title": known.title,
        "organization": known.organization,
        "last_modified": None if modified is None else f"{modified:%Y-%m-%d}",
        "frequency": None if days is None else labels.frequency_label(days),
        "url": _url("dataset.read", id=known.name),
        "update_url": _url("dataset.edit", id=known.name),
        "confirm_url": _url("freshness_dataset.read", id=known.name),
        "contact": known.maintainer,
        "addresses": list(known.named),
    }


def _url(endpoint: str, **values: str) -> str:
    return str(tk.h.url_for(endpoint, qualified=True, locale="default", **values))


def _header_url(url: str) -> str:
    """A URL as a header has it.

    Python breaks a header only where there is a space, and writes longer pieces as what no program takes
    for a URL. Within the brackets a space means nothing (RFC 2369, 2).
    """
    if len(url) > _LONGEST_HEADER_URL:
        host, slash, path = url.rpartition("/freshness/")
        url = f"{host} {slash}{path}"
    return f"<{url}>"
