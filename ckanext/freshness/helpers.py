"""Template helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import date, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from babel import Locale
from dateutil.parser import isoparse
from markupsafe import Markup

from . import settings
from .aging import frequency
from .aging.evidence import Evidence
from .aging.status import Status
from .checking.decisions import Outcome
from .ckan_adapter import harvest_tables, own_tables
from .ckan_adapter.forms import declared_fields
from .ckan_adapter.own_tables import TablesMissingError
from .ckan_adapter.permissions import edits_some_organization
from .ckan_adapter.site_names import site_names
from .dates import aware, utc_now
from .harvesting.messages import with_code
from .harvesting.record import is_web_url
from .harvesting.sources import source_type_named
from .logic import frequency_form
from .own_values import ours_among
from .reporting import (
    display,
    extra_pages,
    facet,
    frequency_words,
    harvest_jobs,
    harvest_words,
    labels,
    link_checks,
    marks,
    metadata,
    url_facts,
    why_words,
)

__all__ = [
    "format_resource_items",
    "freshness_badge",
    "freshness_beats",
    "freshness_cause_label",
    "freshness_custom_fields",
    "freshness_date",
    "freshness_day",
    "freshness_day_text",
    "freshness_duration",
    "freshness_evidence_label",
    "freshness_extra_pages",
    "freshness_facet_label",
    "freshness_facet_names",
    "freshness_facet_values",
    "freshness_frequencies",
    "freshness_frequency_field",
    "freshness_frequency_label",
    "freshness_given_by_label",
    "freshness_harvest_attention",
    "freshness_harvest_change",
    "freshness_harvest_counts",
    "freshness_harvest_error",
    "freshness_harvest_hold",
    "freshness_harvest_jobs",
    "freshness_harvest_kind",
    "freshness_harvest_reason",
    "freshness_harvest_source",
    "freshness_harvests",
    "freshness_has_frequency_field",
    "freshness_hosts_label",
    "freshness_is_editor",
    "freshness_is_followed",
    "freshness_job_state",
    "freshness_link",
    "freshness_link_problem",
    "freshness_link_reason",
    "freshness_metadata",
    "freshness_moment",
    "freshness_month",
    "freshness_next_harvest",
    "freshness_not_visited_label",
    "freshness_number",
    "freshness_observed_changes",
    "freshness_observed_every",
    "freshness_observed_label",
    "freshness_outcome_label",
    "freshness_percent",
    "freshness_resource_link",
    "freshness_size",
    "freshness_sorting",
    "freshness_state",
    "freshness_status",
    "freshness_status_badge",
    "freshness_status_label",
    "freshness_status_meaning",
    "freshness_strip_label",
    "freshness_stylesheet",
    "freshness_ticks",
    "freshness_time",
    "freshness_transition_label",
    "freshness_undetermined_label",
    "freshness_why_checked",
    "freshness_why_chosen",
    "sorted_extras",
]

_STATUSES = [status.value for status in Status]
_ANY_NAME = "~"
"""A name that no dataset has, and that URLs show as it is."""
_STYLESHEET = Path(__file__).parent / "public/freshness/freshness.css"


@tk.chained_helper
def format_resource_items(
    next_helper: Callable[[list[tuple[str, Any]]], list[tuple[str, Any]]],
    items: Iterable[tuple[str, Any]],
) -> list[tuple[str, Any]]:
    """Leave the results of checks out of the fields that CKAN lists on a resource's page."""
    return next_helper([(key, value) for key, value in items if key != url_facts.KEY])


def freshness_status(package: dict[str, Any]) -> str | None:
    """Return the status in a dataset's extras; None if it has none, or a value that is no status."""
    name = site_names().status
    found = package.get(name)
    for extra in package.get("extras") or []:
        if extra.get("key") == name:
            found = extra.get("value")
    return found if found in _STATUSES else None


def freshness_stylesheet() -> str:
    """Return the URL of our style sheet, which changes with the file so that browsers load it again.

    CKAN's assets do the same, but look at a dozen settings for each asset of each page.
    """
    changed = int(_STYLESHEET.stat().st_mtime)
    url: str = tk.h.url_for(
        "static", filename="freshness/freshness.css", locale="default", changed=changed
    )
    return url


def freshness_badge(
    colour: str,
    icon: str,
    text: str,
    href: str | None = None,
    title: str | None = None,
    quiet: bool = False,
) -> Markup:
    """Return words with an icon, as a link if there is an address."""
    return marks.badge(colour, icon, text, href, title, quiet=quiet)


def freshness_status_badge(package: dict[str, Any]) -> Markup | str:
    """Return the badge of a dataset, which leads to its page; empty if it has no status.

    The datasets of a page differ in their names alone: the rest is made once per request for each status.
    """
    status = freshness_status(package)
    if status is None:
        return ""
    made = tk.g.setdefault("freshness_badges", {})
    if status not in made:
        href = tk.h.url_for("freshness_dataset.read", id=_ANY_NAME)
        made[status] = marks.of_status(Status(status), href).split(_ANY_NAME, 1)
    start, end = made[status]
    return Markup(f"{start}{quote(package['name'])}{end}")


def freshness_status_label(status: str) -> str:
    """Return the words that users see for a status, with the exact status behind them."""
    return labels.status_label(Status(status))


def freshness_status_meaning(status: str) -> str:
    """Return the meaning of a status in a sentence."""
    return labels.status_meaning(Status(status))


def freshness_evidence_label(evidence: str) -> str:
    """Return in words why a date is believed."""
    return labels.evidence_label(Evidence(evidence))


def freshness_extra_pages(**about: str) -> list[extra_pages.ExtraPage]:
    """Return the pages that subpackages add, or those about a ``run_kind`` or a ``source_type``."""
    return extra_pages.pages(**about)


def freshness_frequency_label(days: int) -> str:
    """Return an update frequency in words."""
    return labels.frequency_label(days)


def freshness_frequencies() -> list[dict[str, Any]]:
    """Return the update frequencies to choose from, with their words."""
    return [{"days": days, "label": labels.frequency_label(days)} for days in frequency.CHOICES]


def freshness_observed_label(seen: dict[str, Any]) -> str:
    """Return in a sentence how often the data of a dataset really change.

    :param seen: ``observed_frequency`` of ``freshness_show``
    """
    return frequency_words.observed(seen)


def freshness_observed_every(seen: dict[str, Any]) -> str:
    """Return an observed average time between updates: "about every 92 days"."""
    return frequency_words.every(seen["days"], at_least=seen["at_least"])


def freshness_observed_changes(seen: dict[str, Any]) -> str:
    """Return the changes that an observed frequency was computed from: "5 changes of the files"."""
    return frequency_words.changes(seen)


def freshness_beats(moments: list[datetime]) -> frequency_words.Beats:
    """Return changes as places on a line that ends now.

    :param moments: of the database
    """
    return frequency_words.beats(map(aware, moments), utc_now())


def freshness_given_by_label(whom: str) -> str:
    """Return in words whose default frequency applies.

    :param whom: ``source``, ``organization`` or ``site``
    """
    return labels.given_by_label(whom)


def freshness_hosts_label(name: str) -> str:
    """Return the name of a line in the table of hosts."""
    return labels.hosts_label(name)


def freshness_transition_label(transition: dict[str, Any]) -> str:
    """Return the cause of a status change in words, with the effect of the edit and its author."""
    return labels.transition_label(transition)


def freshness_undetermined_label(reason: str) -> str:
    """Return in words why changes of a dataset cannot be determined."""
    return labels.undetermined_label(reason)


def freshness_outcome_label(outcome: str) -> str:
    """Return the outcome of a check in a sentence."""
    return labels.outcome_label(Outcome(outcome))


def freshness_not_visited_label(reason: str) -> str:
    """Return in a sentence why a URL is never checked."""
    return labels.not_visited_label(reason)


def freshness_cause_label(cause: str) -> str:
    """Return the cause of a status change in words."""
    return labels.cause_label(cause)


def freshness_facet_names() -> tuple[str, str]:
    """Return the names of the facet of groups and the facet of statuses, as CKAN's templates know them."""
    return site_names().group, site_names().status


def freshness_facet_values(search_facets: dict[str, Any] | None) -> list[facet.FacetValue]:
    """Return the values of the facet: groups with their statuses, in the order in which data age."""
    groups, statuses = (
        tk.h.get_facet_items_dict(name, search_facets or {}, limit=0)
        for name in freshness_facet_names()
    )
    return facet.levels(groups, statuses)


def freshness_facet_label(value: facet.FacetValue) -> str:
    """Return the words of a value of the facet; of a status, those on the badge."""
    return labels.facet_label(value.field, value.name)


def freshness_metadata(package: dict[str, Any]) -> metadata.Metadata:
    """Return the extras of a dataset in words and links."""
    extras = tk.h.sorted_extras(package.get("extras") or [])
    return metadata.describe(
        extras,
        _locale(),
        settings.frequency_keys(),
        tk._,
        _source_url if p.plugin_loaded("harvest") else None,
    )


def _source_url(source_id: str) -> str:
    return str(tk.h.url_for("harvest.read", id=source_id))


def freshness_sorting(
    sorting: list[tuple[str, str]] | None, package_type: str | None
) -> list[tuple[str, str]] | None:
    """Return the orders that a search form offers, with that of the last data update at the end.

    :param sorting: labels and orders; None for those of CKAN's form
    :param package_type: of the packages that the form searches
    """
    if not sorting or not settings.is_judged(package_type):
        return sorting
    return [*sorting, (tk._("Last data update"), f"{site_names().last_modified_date} desc")]


def freshness_is_followed(package_type: str | None) -> bool:
    """Decide whether packages of a type are judged."""
    return settings.is_judged(package_type)


def freshness_is_editor() -> bool:
    """Decide whether the reader may change the datasets of an organization; asked once per request."""
    user = tk.current_user
    if user.is_anonymous:
        return False
    if "freshness_is_editor" not in tk.g:
        tk.g.freshness_is_editor = edits_some_organization(user.name)
    return bool(tk.g.freshness_is_editor)


def freshness_has_frequency_field(package_type: str | None) -> bool:
    """Decide whether the schema of a package type has a field for the update frequency."""
    keys = settings.frequency_keys()
    return not declared_fields(package_type or "dataset").isdisjoint(keys)


def freshness_frequency_field(data: dict[str, Any]) -> dict[str, Any]:
    """Return the key, options and selected value of the update frequency's select in a dataset's form.

    A form shows it before its custom fields, which then leave the same extra out.
    """
    field = frequency_form.select(data, settings.frequency_keys())
    tk.g.freshness_frequency_key = field.key
    return asdict(field)


def freshness_custom_fields(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the extras that a dataset's form shows as custom fields: without ours and the select's."""
    # A theme's own form may have no select. An extra hidden from it would be lost.
    shown = tk.g.get("freshness_frequency_key")
    hidden = [shown] if shown else []
    return frequency_form.custom_fields(data, hidden)


@tk.chained_helper
def sorted_extras(
    next_helper: Callable[..., list[tuple[str, Any]]],
    package_extras: list[dict[str, Any]],
    *args: Any,
    **kwargs: Any,
) -> list[tuple[str, Any]]:
    """Leave our extras out of "Additional info": they have a page of their own."""
    hidden = ours_among(package_extras, site_names())
    shown = [extra for extra in package_extras if extra.get("key") not in hidden]
    return next_helper(shown, *args, **kwargs)


def freshness_harvests(source_type: str | None) -> bool:
    """Decide whether this extension harvests sources of a type."""
    return source_type_named(source_type) is not None


def freshness_harvest_hold(source_id: str) -> dict[str, Any] | None:
    """Return the held deletions of a harvest source; None if the user may not release them.

    Several parts of a page ask: the answer is kept for the request.
    """
    known = tk.g.setdefault("freshness_harvest_holds", {})
    if source_id not in known:
        try:
            hold = tk.get_action("freshness_harvest_hold_show")({}, {"id": source_id})
        except (tk.NotAuthorized, TablesMissingError):
            hold = None
        known[source_id] = hold
    found: dict[str, Any] | None = known[source_id]
    return found


def freshness_harvest_jobs(
    source_id: str, most: int = 1, job_id: str | None = None, errors: int = 2
) -> list[harvest_jobs.HarvestJob]:
    """Return the newest jobs of a harvest source, or one job, with their first errors."""
    try:
        with own_tables.detect_missing():
            return harvest_jobs.jobs([source_id], most, job_id=job_id, errors=errors)
    except TablesMissingError:
        return []


def freshness_harvest_attention() -> list[tuple[Any, harvest_jobs.HarvestJob]]:
    """Return the sources whose last job needs attention, with that job, as far as the user may edit them."""
    if not getattr(tk.current_user, "is_authenticated", False):
        return []
    try:
        with own_tables.detect_missing():
            found = harvest_jobs.troubled_sources()
    except TablesMissingError:
        return []
    may = tk.h.check_access
    return [
        (source, job) for source, job in found if may("harvest_source_update", {"id": source["id"]})
    ]


def freshness_harvest_counts(job: harvest_jobs.HarvestJob) -> list[str]:
    """Return the numbers of a harvest job in words."""
    return harvest_words.job_counts(dict(job.counts))


def freshness_harvest_error(
    message: str, code: dict[str, Any] | None = None
) -> harvest_words.PlainError:
    """Return an error of a harvest in a sentence, with the message behind it."""
    return harvest_words.error(with_code(message, code))


def freshness_harvest_reason(record: dict[str, Any], *, with_answer: bool = False) -> str:
    """Return in a sentence why a record of a preview or of a held list is there.

    :param with_answer: the record would be deleted: also say what its own URL answered
    """
    message = with_code(record["reason"], record.get("reason_code"))
    words = [harvest_words.reason(message)]
    if with_answer:
        words.append(harvest_words.own_url(message, record.get("own_url")))
    return " ".join(filter(None, words))


def freshness_harvest_kind(name: str) -> str:
    """Return in words which kind of records a source lists that are not harvested."""
    return harvest_words.kind(name)


def freshness_harvest_change(change: dict[str, Any]) -> str:
    """Return in words how a field of a record changed."""
    return harvest_words.change(change)


def freshness_next_harvest(source_id: str) -> datetime | None:
    """Return when a source is harvested next; None if somebody must start the job."""
    row = harvest_tables.source_row(source_id)
    return aware(row.next_run) if row is not None else None


def freshness_link(url: str) -> Any:
    """Return a link to a source's record, or the text itself if it is no web address."""
    return tk.h.link_to(url, url, rel="nofollow") if is_web_url(url) else url


def freshness_moment(text: str | None) -> str:
    """Return a moment in words, in the site's or the user's time zone.

    :param text: a moment of our API: in UTC, ISO 8601 with ``Z``
    """
    if not text:
        return ""
    moment = isoparse(text)
    try:
        words: str = tk.h.render_datetime(moment, with_hours=True)
    except (OverflowError, ValueError):
        # Some zones and weeks take a moment of the first or last year out of the range of Python's dates.
        return text
    return words


def freshness_state(name: str) -> display.State:
    """Return the colour, icon and words of a dataset's status or of a link's state."""
    return display.STATUSES.get(name) or display.LINKS[name]


def freshness_job_state(name: str) -> display.State:
    """Return the colour, icon and words of a harvest job's state."""
    return display.JOBS[name]


def freshness_time(value: str | datetime | None, style: str = "ago") -> Markup | str:
    """Return a ``<time>`` element with the exact moment as its title.

    :param value: a moment of our API (UTC, ISO 8601) or an aware datetime
    :param style: ``ago`` ("3 days ago", "in 2 days"), ``when`` (the same within a week, else the day),
        ``lasting`` ("9 days"), ``day`` ("12 Nov"), ``date`` ("12 November 2026") or ``exact``
    """
    if not value:
        return ""
    moment = isoparse(value) if isinstance(value, str) else value
    locale, zone, now = _locale(), _zone(), utc_now()
    try:
        exact = display.exact(moment, zone, locale)
        if style == "day" or (style == "when" and abs(moment - now) > timedelta(days=7)):
            text = display.day(moment, now, zone, locale)
        elif style == "lasting":
            text = display.lasting(moment, now, locale)
        elif style == "date":
            text = display.date_of(moment, zone, locale)
        elif style == "exact":
            text = exact
        else:
            text = display.ago(moment, now, locale)
    except (OverflowError, ValueError):
        # Some zones leave the range of Python's dates in the first and the last year.
        return str(value)
    element = Markup('<time datetime="{}" title="{}">{}</time>')
    return element.format(moment.isoformat(), exact, text)


def freshness_size(number_of_bytes: int) -> str:
    """Return a number of bytes: "1.8 GB"."""
    return display.size(number_of_bytes, _locale())


def freshness_day(value: str | datetime) -> Markup | str:
    """Return a date in short with the exact moment as its title: "12 Nov"."""
    return freshness_time(value, "day")


def freshness_day_text(value: str) -> str:
    """Return a date of our API in short, as text: "12 Nov"."""
    try:
        return display.day(isoparse(value), utc_now(), _zone(), _locale())
    except (OverflowError, ValueError):
        # As in freshness_time.
        return value


def freshness_month(day: date) -> str:
    """Return the month of a day: "Nov 2026"."""
    return display.month(day, _locale())


def freshness_date(day: date | str) -> str:
    """Return a day with its year: "12 Nov 2026".

    :param day: a date, or one of our API
    """
    return display.whole_day(date.fromisoformat(day) if isinstance(day, str) else day, _locale())


def freshness_duration(start: datetime, end: datetime | None) -> str:
    """Return the time between two moments, or from one until now: "48 minutes"."""
    return display.lasting(start, end or utc_now(), _locale())


def freshness_link_reason(link: dict[str, Any]) -> str:
    """Return why the link of a resource has its state, in a sentence."""
    since = link["failing_since"]
    if not since:
        return labels.link_reason(link, "")
    day = display.day(isoparse(since), utc_now(), _zone(), _locale())
    return labels.link_reason(link, day)


def freshness_link_problem(check: dict[str, Any]) -> str:
    """Return why a check failed or could not be made, in a sentence."""
    return labels.link_problem(check)


def freshness_resource_link(resource: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the checks of a resource's link found, if its last check failed or it is broken.

    :param resource: as ``package_show`` returns it
    :returns: the same as for a resource of ``freshness_show``, or None
    """
    facts = resource.get(url_facts.KEY) or {}
    if not facts.get("broken_since") and facts.get("outcome") != Outcome.ERROR.value:
        return None
    link = link_checks.of_resource(resource["id"])
    return link if link is not None and link["state"] in ("broken", "failing") else None


def freshness_harvest_source(package_id: str) -> dict[str, str] | None:
    """Return ``id`` and ``title`` of the source from which a dataset is harvested; None if it is not."""
    return harvest_jobs.of_packages([package_id]).get(package_id)


def freshness_why_checked(check: dict[str, Any]) -> str:
    """Return why a run checked a link; empty if that is unknown.

    :param check: a check, or a resource with those of its last check
    """
    return why_words.why(check)


def freshness_why_chosen(sums: dict[str, Any]) -> list[tuple[str, int]]:
    """Return in words why a run checked links, with their numbers.

    :param sums: the figures of all hosts of the run
    """
    return why_words.chosen(sums)


def freshness_ticks(strip: str) -> list[str]:
    """Return the colours of a strip of checks."""
    return [display.TICKS[letter] for letter in strip]


def freshness_strip_label(strip: str) -> str:
    """Return the numbers of a strip of checks in words."""
    return labels.strip_label(strip)


def freshness_number(value: int) -> str:
    """Return a whole number in the reader's language."""
    return display.number(value, _locale())


def freshness_percent(part: int, whole: int) -> str:
    """Return a share in whole percent in the reader's language."""
    return display.percent(part, whole, _locale())


def _locale() -> Locale:
    return display.locale_of(tk.h.lang())


def _zone() -> tzinfo:
    zone: tzinfo = tk.h.get_display_timezone()
    return zone
