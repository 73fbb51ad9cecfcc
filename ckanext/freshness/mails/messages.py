"""Subjects and bodies of mails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from ..ckan_adapter import Letter
from ..dates import utc_words
from ..reporting import labels
from ..reporting.run_problems import ProblemKind, RunProblem
from . import opt_outs
from .addresses import line
from .recipients import DatasetFacts
from .rules import Digest, MailKind

MOST_DATASETS = 100
"""Datasets that a mail lists. It gives only the number of the others."""
_LONGEST_HEADER_URL = 70


@dataclass(frozen=True, slots=True)
class MailFacts:
    """The subjects of mails.

    :ivar datasets: by id
    :ivar problems: by key
    """

    datasets: Mapping[str, DatasetFacts]
    problems: Mapping[str, RunProblem]


def letter(digest: Digest, facts: MailFacts, person_id: int) -> Letter:
    """Render a mail. Call it within :func:`~ckanext.freshness.ckan_adapter.page_context`."""
    stop_url = _url("freshness_mail_link.read_link", token=opt_outs.token(person_id))
    values: dict[str, Any] = {
        "site_title": line(tk.config.get("ckan.site_title")),
        "site_url": tk.config.get("ckan.site_url"),
        "stop_url": stop_url,
    }
    if digest.kind is MailKind.RUN:
        problems = [facts.problems[item.about] for item in digest.items]
        values["findings"] = [problem_sentence(problem) for problem in problems]
        subject = tk._("{site}: something is wrong with the checks of freshness")
        count = len(problems)
    else:
        datasets = _datasets(digest, facts)
        values["datasets"] = [_dataset_values(dataset) for dataset in datasets[:MOST_DATASETS]]
        values["more"] = max(0, len(datasets) - MOST_DATASETS)
        count = len(datasets)
        subject = _subject(digest.kind, count)
    name = _TEMPLATES[digest.kind]
    return Letter(
        address=digest.address,
        subject=line(subject.format(site=values["site_title"], count=count)),
        text=tk.render(f"freshness/mails/{name}.txt", values),
        html=tk.render(f"freshness/mails/{name}.html", values),
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
    forms = (
        NN_(
            "{site}: {count} dataset whose provider should be contacted",
            "{site}: {count} datasets whose providers should be contacted",
        )
        if kind is MailKind.DELINQUENT
        else NN_(
            "{site}: {count} dataset needs an update", "{site}: {count} datasets need an update"
        )
    )
    return str(tk.ungettext(*forms, count))


def titles(digest: Digest, facts: MailFacts) -> list[str]:
    """Return a line for each dataset or problem of a mail."""
    if digest.kind is MailKind.RUN:
        return [problem_sentence(facts.problems[item.about]) for item in digest.items]
    return [f"{dataset.title} ({dataset.name})" for dataset in _datasets(digest, facts)]


def problem_sentence(problem: RunProblem) -> str:
    """Return a sentence about a problem of a run."""
    at = utc_words(problem.at)
    sentences: dict[ProblemKind, str] = {
        ProblemKind.FAILED: tk._(_FAILED.get(problem.run_kind, _FAILED["check"])),
        ProblemKind.KILLED: tk._(
            "The check of {at} did not end: it was killed, or its machine was"
        ),
        ProblemKind.NO_DATASETS: tk._("The check that ended on {at} saw no datasets"),
        ProblemKind.HALVED: tk._(
            "The check that ended on {at} saw {datasets} datasets; the one before saw {before}"
        ),
        ProblemKind.MISSING: tk._("No check was begun in time: one was missing on {at}"),
    }
    return sentences[problem.kind].format(
        at=at, error=line(problem.error, 500), datasets=problem.datasets, before=problem.before
    )


_FAILED = {
    "check": N_("The check that ended on {at} failed: {error}"),
    "iati": N_("The update cycle of an IATI registry that ended on {at} failed: {error}"),
    "nightly": N_("A part of the nightly work, which ended on {at}, was not done in full: {error}"),
}
"""Sentences by the kind of the run."""


def _datasets(digest: Digest, facts: MailFacts) -> Sequence[DatasetFacts]:
    """Return the datasets of a mail by title, each once although it may have crossed two dates."""
    ids = {item.package_id for item in digest.items if item.package_id}
    return sorted(
        (facts.datasets[id] for id in ids), key=lambda dataset: (dataset.title, dataset.id)
    )


def _dataset_values(dataset: DatasetFacts) -> dict[str, Any]:
    modified, days = dataset.last_modified, dataset.frequency_days
    return {
        "title": dataset.title,
        "organization": dataset.organization,
        "last_modified": None if modified is None else f"{modified:%Y-%m-%d}",
        "frequency": None if days is None else labels.frequency_label(days),
        "url": _url("dataset.read", id=dataset.name),
        "update_url": _url("dataset.edit", id=dataset.name),
        "confirm_url": _url("freshness_dataset.read", id=dataset.name),
        "contact": dataset.maintainer,
        "addresses": list(dataset.named),
    }


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
