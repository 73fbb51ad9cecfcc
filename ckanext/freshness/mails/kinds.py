"""The kinds of mails, as a table: who receives a kind, how often, what is news, how it is shown, and what
happens if its readers do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from ..dates import utc_words
from ..reporting import harvests, labels, links
from ..reporting.changes import change_label
from ..reporting.labels import State
from ..web.urls import display_url
from . import news, recipients
from .news import News, ProblemKind
from .recipients import DatasetFacts, Person, line

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
    :ivar line: the row in a dry run; empty if its title is enough
    :ivar note: behind the title, in brackets
    :ivar facts: further lines
    :ivar actions: labels and URLs of what the reader can do
    """

    title: str
    line: str = ""
    url: str = ""
    note: str = ""
    state: State | None = None
    facts: tuple[str, ...] = ()
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MailFacts:
    """What rows of mails are made from.

    :ivar datasets: by id
    :ivar people: choices by address
    :ivar reader: the number and the address of the recipient; None in a dry run
    """

    datasets: Mapping[str, DatasetFacts]
    people: Mapping[str, Person]
    now: datetime
    reader: tuple[int, str] | None = None


class Receivers(Enum):
    """The people to whom a kind is sent. The value says why they get it."""

    KEEPERS = N_("you look after these data: as maintainer, author or member of their organization")
    """The maintainers of a dataset, who may see it; the editors of a harvest source."""
    EDITORS = N_("you may edit these harvest sources")
    """The editors and admins of a harvest source's organization, and the operators."""
    OPERATORS = N_("you are an administrator of this portal")
    """The sysadmins, or the operators that the site's options name."""
    FOLLOWERS = N_("you follow these datasets, their organization or a group")
    """The users who follow a dataset, and may see it."""


# How news is shown: a row for the templates, with a line for the command


def _dataset_row(one: News, facts: MailFacts, *more: str) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    days = dataset.frequency_days
    given = {
        N_("Last changed:"): _day(dataset.last_modified, facts.now),
        N_("Last confirmed:"): _day(dataset.confirmed_at, facts.now),
        N_("Update frequency:"): None if days is None else labels.frequency_label(days),
    }
    return Row(
        dataset.title,
        f"{dataset.title} ({dataset.name})",
        url("dataset.read", id=dataset.name),
        note=dataset.organization,
        state=labels.STATUSES[dataset.status.value],
        facts=(*(f"{tk._(name)} {value}" for name, value in given.items() if value), *more),
    )


def _overdue_row(one: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    confirm = (tk._("Confirm still accurate"), _confirm_url(dataset, facts))
    if dataset.is_harvested:
        words = tk._("This dataset is harvested: new data must come from its source.")
        return replace(_dataset_row(one, facts, words), actions=(confirm,))
    update = (tk._("Update the data"), url("dataset.edit", id=dataset.name))
    return replace(_dataset_row(one, facts), actions=(update, confirm))


def _confirm_url(dataset: DatasetFacts, facts: MailFacts) -> str:
    if facts.reader is not None:
        number, address = facts.reader
        if recipients.editor(address, dataset.id) is not None:
            token = recipients.confirm_token(number, dataset.id, facts.now)
            return url("freshness_mail_link.read_confirmation", token=token)
    return url("freshness_dataset.read", id=dataset.name)


def _copy_row(one: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    asked = [mail for mail in dataset.keepers if facts.people[mail].wants("overdue")]
    words = tk._(
        "No mail could be sent: nobody who looks after it has a valid address and wants these mails. "
        "Ask its organization."
    )
    if asked:
        words = f"{tk._('A mail goes to:')} {', '.join(asked)}"
    return _dataset_row(one, facts, words)


def _contact_row(one: News, facts: MailFacts) -> Row:
    dataset = facts.datasets[one.package_id or ""]
    contact = ", ".join(filter(None, (dataset.maintainer, *dataset.named)))
    return _dataset_row(one, facts, *([f"{tk._('Contact:')} {contact}"] if contact else []))


def _followed_row(one: News, facts: MailFacts) -> Row:
    if "evidence" not in one.details:
        return _dataset_row(one, facts)
    return _dataset_row(one, facts, f"{tk._('The data changed:')} {_changed(one.details)}")


def _lost_row(one: News, facts: MailFacts) -> Row:
    row = _dataset_row(one, facts, f"{tk._('The file changed:')} {_changed(one.details)}")
    return replace(row, state=None, line=f"{row.line}: {_changed(one.details)}")


def _resource_name(details: Mapping[str, Any]) -> str:
    """Return the name of a resource, or its URL without secrets; empty if there is no resource any more."""
    name, url = details.get("resource"), details.get("url")
    return line(name) or (display_url(url) if url and details.get("resource_id") else "")


def _changed(details: Mapping[str, Any]) -> str:
    """Return what changed in the data, after the name of its resource."""
    return ": ".join(filter(None, (_resource_name(details), line(change_label(details)))))


def _link_row(one: News, facts: MailFacts) -> Row:
    dataset, link = facts.datasets[one.package_id or ""], one.details
    words = links.explanation("broken", [link], link["failures"], link["failing_since"])
    row = _row_of_link(one, dataset, line(link["resource"]) or tk._("Unnamed resource"), "broken")
    if dataset.is_harvested:
        at_source = tk._("This dataset is harvested: correct the link at its source.")
        return replace(row, facts=(*row.facts, line(words, 500), at_source))
    edit = url("dataset_resource.edit", id=dataset.name, resource_id=one.about)
    return replace(row, facts=(*row.facts, line(words, 500)), actions=((tk._("Edit link"), edit),))


def _row_of_link(one: News, dataset: DatasetFacts, title: str, state: str) -> Row:
    organization = f" ({dataset.organization})" if dataset.organization else ""
    return Row(
        title,
        f"{title}, {dataset.title} ({dataset.name})",
        url("dataset_resource.read", id=dataset.name, resource_id=one.about),
        state=labels.LINKS[state],
        facts=(f"{tk._('Dataset:')} {dataset.title}{organization}",),
    )


def _misfit_row(one: News, facts: MailFacts) -> Row:
    dataset, seen = facts.datasets[one.package_id or ""], one.details
    suggested = labels.frequency_label(seen["suggested_days"])
    page = url("freshness_dataset.read", id=dataset.name)
    return Row(
        dataset.title,
        f"{dataset.title} ({dataset.name})",
        page,
        note=dataset.organization,
        facts=(
            f"{tk._('Update frequency:')} {labels.frequency_label(seen['declared_days'])}",
            labels.observed(seen),
            tk._('"{frequency}" fits better.').format(frequency=suggested),
        ),
        actions=((tk._("Change it"), page),),
    )


def _fault_row(one: News, facts: MailFacts) -> Row:
    is_organization = "is_organization" in one.details
    title, name = line(one.details["title"]), one.details["name"]
    words = ""
    if is_organization:
        words = tk._("Organization: no admin has a valid address")
    elif "person" in one.details:
        person = one.details["person"]
        words = tk._("Dataset without a maintainer or an organization")
        if person:
            words = f"{tk._('Maintainer without a valid address:')} {person}"
    return Row(
        title,
        f"{title} ({name})",
        url("organization.read" if is_organization else "dataset.read", id=name),
        note=line(one.details.get("organization")),
        facts=(words,) if words else (),
    )


def _held_deletions(details: Mapping[str, Any]) -> str:
    """Return how many deletions are held."""
    forms = NN_("{count} deletion waits for approval", "{count} deletions wait for approval")
    return labels.counted(forms, details["count"])


def _held_row(one: News, facts: MailFacts) -> Row:
    found, count = one.details, _held_deletions(one.details)
    page = url("freshness_harvest.held", source=found["name"])
    return Row(
        line(found["title"]),
        f"{line(found['title'])}: {count}",
        page,
        facts=(f"{count}.", line(found["reason"], 500)),
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
    if one.source_id is not None:
        title = line(one.details["title"])
        words = tk._("This harvest source can be read again.")
        page = url("harvester.admin", id=one.details["name"])
        return Row(title, url=page, facts=(words,))
    dataset = facts.datasets[one.package_id or ""]
    return _row_of_link(one, dataset, _resource_name(one.details), "works")


def _problem_row(one: News, facts: MailFacts) -> Row:
    found = one.details
    kind, until = found["kind"], found.get("until")
    now, before = found.get("datasets", 0), found.get("before", 0)
    words = _PROBLEMS.get(kind) or FAILED.get(found["run_kind"], FAILED["check"])
    sentence = tk._(_MISSED if kind is ProblemKind.MISSING and until else words).format(
        at=utc_words(found["at"]),
        until=until and utc_words(until),
        error=line(found.get("error"), 500),
        datasets=now,
        before=before,
        fewer=before - now,
        share=labels.percent(before - now, before),
    )
    return Row(sentence)


_FALLEN = N_(
    "The check that ended on {at} saw {datasets} datasets; the one before saw {before}. That is {fewer} "
    "fewer ({share})."
)
_MISSED = N_("No nightly check ran between {at} and {until}.")
_PROBLEMS = {
    ProblemKind.KILLED: N_("The check of {at} did not end: it was killed, or its machine was"),
    ProblemKind.FALLEN: _FALLEN,
    ProblemKind.MISSING: N_("No nightly check has run since {at}."),
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
    :ivar intro: the first sentence of the section
    :ivar otherwise: what happens if the reader does nothing
    :ivar tasks: the group of the worklist with the tasks of this kind, if there is one
    :ivar tells_old: whether news from before mails were switched on is told, too
    """

    receivers: Receivers
    every: timedelta
    news: Callable[[datetime], Iterable[News]]
    row: Callable[[News, MailFacts], Row]
    name: str
    subject: tuple[str, str]
    intro: str
    otherwise: str
    tasks: str | None = None
    tells_old: bool = False


_OVERDUE = partial(news.crossed, ("overdue", "delinquent"))
_FALLS = frozenset({ProblemKind.FALLEN})

KINDS: Mapping[str, KindRule] = {
    "held": KindRule(
        Receivers.EDITORS,
        AT_ONCE,
        news.held_deletions,
        _held_row,
        N_("Deletions that wait for approval (at once)"),
        NN_(
            "{count} source waits for approval of deletions",
            "{count} sources wait for approval of deletions",
        ),
        N_(
            "A harvest would delete unusually many datasets. Nothing is deleted before somebody approves:"
        ),
        N_("If you do nothing, the datasets stay as they are."),
    ),
    "source": KindRule(
        Receivers.EDITORS,
        _DAY,
        news.failed_sources,
        _source_row,
        N_("Harvest sources that fail (once a week, while they fail)"),
        NN_("{count} harvest source fails", "{count} harvest sources fail"),
        N_("These harvest sources could not be read:"),
        N_(
            "If you do nothing, their datasets stay as they are, and get no updates. The next jobs try again."
        ),
    ),
    "overdue": KindRule(
        Receivers.KEEPERS,
        _DAY,
        _OVERDUE,
        _overdue_row,
        N_("Datasets that need an update"),
        NN_("{count} dataset needs an update", "{count} datasets need an update"),
        N_("Upload new data, or confirm that the data are still accurate:"),
        N_("If you do nothing, visitors see that the data are out of date."),
        tasks="update",
    ),
    "broken": KindRule(
        Receivers.KEEPERS,
        _WEEK,
        news.broken_links,
        _link_row,
        N_("Broken links (once a week)"),
        NN_("{count} broken link", "{count} broken links"),
        N_("These links failed in several checks, spread over more than a day:"),
        N_("If you do nothing, visitors see that the links are broken."),
        tasks="broken",
    ),
    "lost": KindRule(
        Receivers.KEEPERS,
        _DAY,
        news.lost_contents,
        _lost_row,
        N_("Files that lost a column or more than half of their rows"),
        NN_("{count} file lost rows or columns", "{count} files lost rows or columns"),
        N_("Check whether this was intended:"),
        N_("If you do nothing, the files stay as they are."),
    ),
    "misfit": KindRule(
        Receivers.KEEPERS,
        _WEEK,
        news.misfits,
        _misfit_row,
        N_("Update frequencies that do not fit the data (once a week)"),
        NN_("{count} update frequency to check", "{count} update frequencies to check"),
        N_(
            "The data of these datasets change more often or more rarely than their update frequency says:"
        ),
        N_("If you do nothing, the datasets are judged by their present update frequency."),
        tasks="misfit",
        tells_old=True,
    ),
    "back": KindRule(
        Receivers.KEEPERS,
        _DAY,
        news.working_again,
        _back_row,
        N_("Links and harvest sources that work again"),
        NN_("{count} link or source works again", "{count} links or sources work again"),
        N_("You were told that these had failed:"),
        N_("There is nothing to do."),
    ),
    "delinquent": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(news.crossed, ("delinquent",)),
        _contact_row,
        N_("Datasets that are long overdue"),
        NN_(
            "{count} dataset whose provider should be contacted",
            "{count} datasets whose providers should be contacted",
        ),
        N_(
            "The data of these datasets have not been updated for so long that somebody should ask their "
            "providers in person:"
        ),
        N_("If you do nothing, visitors see that the data are long out of date."),
    ),
    "copy": KindRule(
        Receivers.OPERATORS,
        _DAY,
        _OVERDUE,
        _copy_row,
        N_("Copies of the mails about datasets that need an update"),
        NN_("{count} dataset became overdue", "{count} datasets became overdue"),
        N_("The people who look after these datasets are asked to update them:"),
        N_("If you do nothing, visitors see that the data are out of date."),
    ),
    "no_address": KindRule(
        Receivers.OPERATORS,
        _WEEK,
        news.without_address,
        _fault_row,
        N_("Maintainers and organizations without a valid address (once a week)"),
        NN_(
            "{count} maintainer or organization without a valid address",
            "{count} maintainers or organizations without a valid address",
        ),
        N_("Correct the maintainer, or give an admin of the organization an address:"),
        N_(
            "If you do nothing, mails about their data do not reach the people who look after them."
        ),
        tells_old=True,
    ),
    "no_resources": KindRule(
        Receivers.OPERATORS,
        _WEEK,
        news.without_resources,
        _fault_row,
        N_("Datasets without resources (once a week)"),
        NN_("{count} dataset without resources", "{count} datasets without resources"),
        N_("These datasets have no resources, so there is nothing to download:"),
        N_("If you do nothing, they stay listed."),
        tells_old=True,
    ),
    "fallen": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(news.problems_of_runs, _FALLS),
        _problem_row,
        N_("Falls in the number of datasets"),
        NN_("the number of datasets has fallen", "the number of datasets has fallen"),
        N_("If nobody deleted them on purpose, find out what happened:"),
        N_("If you do nothing, the next check compares with the new number."),
    ),
    "run": KindRule(
        Receivers.OPERATORS,
        _DAY,
        partial(news.problems_of_runs, frozenset(ProblemKind) - _FALLS),
        _problem_row,
        N_("Problems of the nightly run"),
        NN_("something is wrong with the nightly run", "something is wrong with the nightly run"),
        N_("Look at the output of ckan freshness doctor and ckan freshness runs:"),
        N_(
            "If you do nothing, the next night tries again. Statuses may be out of date until then."
        ),
    ),
    "followed": KindRule(
        Receivers.FOLLOWERS,
        _DAY,
        news.followed,
        _followed_row,
        N_("Datasets that you follow: their data changed or became overdue"),
        NN_(
            "{count} dataset that you follow has news", "{count} datasets that you follow have news"
        ),
        N_("Their data changed, or became overdue:"),
        N_("There is nothing to do."),
    ),
}
"""In the order of the sections of a mail. The names are stored, and stand in the API."""

NAMES_ONCE = ("overdue", "delinquent", "copy", "followed")
"""Kinds about the same fact: a mail names a dataset in the first of these sections only."""


def offered(address: str) -> list[str]:
    """Return the kinds of mails that an address may receive. Only operators receive mails about the site."""
    is_operator = address in recipients.operators()
    return [
        kind
        for kind, rule in KINDS.items()
        if is_operator or rule.receivers is not Receivers.OPERATORS
    ]
