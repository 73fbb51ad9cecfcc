"""The kinds of mails, as a table: how often each is sent, what is news, how it is shown, and what happens if
its readers do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.evidence import Evidence
from ..dates import utc_words
from ..reporting import harvests, labels, links, runs
from ..reporting.changes import change_label
from ..reporting.labels import State
from ..translation import N_, NN_
from ..web.urls import display_url
from . import news, recipients, signed_links
from .news import News, ProblemKind
from .recipients import DatasetFacts, Receivers, line

COOLDOWN = timedelta(hours=20)
"""The shortest time between two mails to one person. Nightly runs may begin a few hours early."""
AT_ONCE = timedelta(0)
"""Each refresh sends mails of these kinds, also to people who have had a mail that day."""
_DAY = COOLDOWN
_WEEK = timedelta(days=6) + COOLDOWN


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a section of a mail.

    :ivar title: its first words, a link to ``url`` if there is one
    :ivar note: behind the title, in brackets
    :ivar facts: further lines
    :ivar actions: labels and URLs of what the reader can do
    """

    title: str
    url: str = ""
    note: str = ""
    state: State | None = None
    facts: tuple[str, ...] = ()
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MailFacts:
    """What rows of mails are made from.

    :ivar datasets: by id
    :ivar reader: the number and the address of the recipient; None in a dry run
    """

    datasets: Mapping[str, DatasetFacts]
    now: datetime
    reader: tuple[int, str] | None = None


# How news is shown


def _dataset_row(one: News, facts: MailFacts, *more: str) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    days = dataset.frequency_days
    is_added = dataset.evidence == Evidence.CREATED.value
    given = {
        N_("Added:") if is_added else N_("Last changed:"): _day(dataset.last_modified, facts.now),
        N_("Last confirmed:"): _day(dataset.confirmed_at, facts.now),
        N_("Update frequency:"): None if days is None else labels.frequency_label(days),
    }
    return Row(
        dataset.title,
        url("dataset.read", id=dataset.name),
        note=dataset.organization,
        state=labels.state_of(dataset.status, dataset.frequency_from),
        facts=(*(f"{tk._(name)} {value}" for name, value in given.items() if value), *more),
    )


def _overdue_row(one: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    more: list[str] = []
    actions: list[tuple[str, str]] = []
    # The data stand still: the status by dates may be "up to date", and a confirmation would not help.
    stands = "data_until" in one.details
    if stands:
        more.append(labels.data_stand(one.details["changed_at"], one.details["data_until"]))
    if one.receivers is Receivers.OPERATORS:
        contact = ", ".join(filter(None, (dataset.maintainer, *dataset.named)))
        more += [f"{tk._('Contact:')} {contact}"] if contact else []
    elif dataset.is_harvested:
        more.append(tk._("This dataset is harvested: new data must come from its source."))
    elif _may_edit(dataset, facts):
        actions.append((tk._("Update the data"), url("dataset.edit", id=dataset.name)))
    else:
        words = tk._("Send new data to: {addresses}").format(addresses=_editors(dataset))
        more.append(words)
    if not stands and one.receivers is not Receivers.OPERATORS:
        actions.append((tk._("Confirm still accurate"), _confirm_url(dataset, facts)))
    row = replace(_dataset_row(one, facts, *more), actions=tuple(actions))
    return replace(row, state=None) if stands else row


def _confirm_url(dataset: DatasetFacts, facts: MailFacts) -> str:
    if facts.reader is None:
        return url("freshness_dataset.read", id=dataset.name)
    token = signed_links.confirm_token(facts.reader[0], dataset.id, facts.now)
    return url("freshness_mail_link.read_confirmation", token=token)


def _may_edit(dataset: DatasetFacts, facts: MailFacts) -> bool:
    """Return whether the recipient has an account that may edit a dataset. A dry run assumes it."""
    return facts.reader is None or signed_links.editor(facts.reader[1], dataset.id) is not None


_MOST_EDITORS = 3


def _editors(dataset: DatasetFacts) -> str:
    """Return the addresses to which people without an account can write about a dataset."""
    return ", ".join((dataset.admins or recipients.operators())[:_MOST_EDITORS])


def _followed_row(one: News, facts: MailFacts) -> Row:
    if "evidence" not in one.details:
        return _dataset_row(one, facts)
    return _dataset_row(one, facts, _changed(N_("The data changed:"), one.details))


def _lost_row(one: News, facts: MailFacts) -> Row:
    row = _dataset_row(one, facts, _changed(N_("The file changed:"), one.details))
    return replace(row, state=None)


def _resource_name(details: Mapping[str, Any]) -> str:
    """Return the name of a resource, or its URL without secrets; empty if there is no resource any more."""
    name, url = details.get("resource"), details.get("url")
    return line(name) or (display_url(url) if url and details.get("resource_id") else "")


def _changed(words: str, details: Mapping[str, Any]) -> str:
    """Return what changed in the data, after the name of its resource; of several files their number.

    :param words: that stand before the change of one file
    """
    if details["files"] > 1:
        return labels.counted(
            NN_("{count} file changed", "{count} files changed"), details["files"]
        )
    parts = filter(None, (_resource_name(details), line(change_label(details))))
    return f"{tk._(words)} {': '.join(parts)}"


def _link_row(one: News, facts: MailFacts) -> Row:
    dataset, link = facts.datasets[one.package_id or ""], one.details
    words = links.explanation("broken", [link], link["failures"], link["failing_since"])
    row = _row_of_link(one, dataset, line(link["resource"]) or tk._("Unnamed resource"), "broken")
    if dataset.is_harvested:
        at_source = tk._("This dataset is harvested: correct the link at its source.")
        return replace(row, facts=(*row.facts, line(words, 500), at_source))
    if not _may_edit(dataset, facts):
        write = tk._("Send the right address to: {addresses}").format(addresses=_editors(dataset))
        return replace(row, facts=(*row.facts, line(words, 500), write))
    edit = url("dataset_resource.edit", id=dataset.name, resource_id=one.about)
    return replace(row, facts=(*row.facts, line(words, 500)), actions=((tk._("Edit link"), edit),))


def _row_of_link(one: News, dataset: DatasetFacts, title: str, state: str) -> Row:
    organization = f" ({dataset.organization})" if dataset.organization else ""
    return Row(
        title,
        url("dataset_resource.read", id=dataset.name, resource_id=one.about),
        state=labels.LINKS[state],
        facts=(f"{tk._('Dataset:')} {dataset.title}{organization}",),
    )


def _held_row(one: News, facts: MailFacts) -> Row:
    found = one.details
    forms = NN_("{count} deletion waits for approval.", "{count} deletions wait for approval.")
    page = url("freshness_harvest.held", source=found["name"])
    return Row(
        line(found["title"]),
        page,
        # Not the reason of the brake, which is in English and names options.
        facts=(labels.counted(forms, found["count"]),),
        actions=((tk._("See the deletions and decide"), page),),
    )


def _source_row(one: News, facts: MailFacts) -> Row:
    found = one.details
    since = tk._("Its jobs have failed since {at}.").format(
        at=_day(found["failing_since"], facts.now)
    )
    reasons = [error.text for job in harvests.jobs([found["id"]], 1) for error in job.source_errors]
    return Row(
        line(found["title"]),
        url=url("harvester.admin", id=found["name"]),
        facts=(since, *(line(words, 500) for words in reasons[:1])),
    )


def _back_row(one: News, facts: MailFacts) -> Row:
    if one.package_id is None:
        title = line(one.details["title"])
        words = tk._("This harvest source can be read again.")
        page = url("harvester.admin", id=one.details["name"])
        return Row(title, url=page, facts=(words,))
    dataset = facts.datasets[one.package_id or ""]
    return _row_of_link(one, dataset, _resource_name(one.details), "works")


def _problem_row(one: News, facts: MailFacts) -> Row:
    return Row(problem_words(one))


def problem_words(one: News) -> str:
    """Return a problem of a run in a sentence."""
    found = one.details
    kind, until = found["kind"], found.get("until")
    now, before = found.get("datasets", 0), found.get("before", 0)
    sentence = _PROBLEMS.get(kind) or _failed(found["run_kind"])
    words = tk._(_MISSED if kind is ProblemKind.MISSING and until else sentence).format(
        at=utc_words(found["at"]),
        until=until and utc_words(until),
        error=line(found.get("error"), 500),
        datasets=now,
        before=before,
        fewer=before - now,
        share=labels.percent(before - now, before),
    )
    return str(words)


_FALLEN = N_(
    "The check that ended on {at} saw {datasets} datasets; the one before saw {before}. That is {fewer} "
    "fewer ({share}). If nobody deleted them on purpose, find out what happened."
)
_MISSED = N_("No nightly check ran between {at} and {until}.")
_PROBLEMS = {
    ProblemKind.KILLED: N_("The check of {at} did not end: it was killed, or its machine was"),
    ProblemKind.FALLEN: _FALLEN,
    ProblemKind.MISSING: N_("No nightly check has run since {at}."),
}
_FAILED = {
    "check": N_("The check that ended on {at} failed: {error}"),
    "nightly": N_("A part of the nightly work, which ended on {at}, was not done in full: {error}"),
}
"""Sentences by the kind of the run that failed."""


def _failed(run_kind: str) -> str:
    other = runs.other_kinds().get(run_kind)
    return _FAILED.get(run_kind, _FAILED["check"]) if other is None else other.failed


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
    :ivar subject: forms for the subject, the section's heading, and lines of the command
    :ivar intro: the first sentence of the section
    :ivar otherwise: what happens if the reader does nothing
    :ivar tasks: the group of the worklist with the tasks of this kind, if there is one
    :ivar is_repeated: whether its news is sent again if a notify was killed and nobody knows whether it arrived
    """

    every: timedelta
    news: Callable[[datetime], Iterable[News]]
    row: Callable[[News, MailFacts], Row]
    subject: tuple[str, str]
    intro: str
    otherwise: str
    tasks: str | None = None
    is_repeated: bool = False


KINDS: Mapping[str, KindRule] = {
    "held": KindRule(
        AT_ONCE,
        news.held_deletions,
        _held_row,
        NN_(
            "{count} source waits for approval of deletions",
            "{count} sources wait for approval of deletions",
        ),
        N_(
            "A harvest would delete datasets, perhaps by a mistake of the source. Nothing is deleted before "
            "somebody approves:"
        ),
        N_("If you do nothing, the datasets stay as they are."),
        is_repeated=True,
    ),
    "source": KindRule(
        _DAY,
        news.failed_sources,
        _source_row,
        NN_("{count} harvest source fails", "{count} harvest sources fail"),
        N_("These harvest sources could not be read:"),
        N_(
            "If you do nothing, their datasets stay as they are, and get no updates. The next jobs try again."
        ),
        is_repeated=True,
    ),
    "overdue": KindRule(
        _DAY,
        news.overdue,
        _overdue_row,
        NN_("{count} dataset needs an update", "{count} datasets need an update"),
        N_(
            "Upload new data, confirm that the data are still accurate, or ask whoever provides them:"
        ),
        N_("If you do nothing, visitors see how old the data are."),
        tasks="update",
    ),
    "broken": KindRule(
        _WEEK,
        news.broken_links,
        _link_row,
        NN_("{count} broken link", "{count} broken links"),
        N_("These links failed in several checks, spread over more than a day:"),
        N_("If you do nothing, visitors see that the links are broken."),
        tasks="broken",
    ),
    "lost": KindRule(
        _DAY,
        news.lost_contents,
        _lost_row,
        NN_("{count} file lost rows or columns", "{count} files lost rows or columns"),
        N_("Check whether this was intended:"),
        N_("If you do nothing, the files stay as they are."),
    ),
    "back": KindRule(
        _DAY,
        news.working_again,
        _back_row,
        NN_("{count} link or source works again", "{count} links or sources work again"),
        N_("You were told that these had failed:"),
        N_("There is nothing to do."),
    ),
    "run": KindRule(
        _DAY,
        news.problems_of_runs,
        _problem_row,
        NN_("something is wrong with the nightly run", "something is wrong with the nightly run"),
        N_("Look at the output of ckan freshness doctor and ckan freshness runs:"),
        N_(
            "If you do nothing, the next night tries again. Statuses may be out of date until then."
        ),
    ),
    "followed": KindRule(
        _DAY,
        news.followed,
        _followed_row,
        NN_(
            "{count} dataset that you follow has news", "{count} datasets that you follow have news"
        ),
        N_("Their data changed, or became overdue:"),
        N_("There is nothing to do."),
    ),
}
"""In the order of the sections of a mail. The names are stored, and stand in the API."""

NAMES_ONCE = ("overdue", "followed")
"""Kinds about the same fact: a mail names a dataset once, in the first of these sections."""
