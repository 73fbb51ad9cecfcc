"""Template helpers.

Words for single values come from :func:`freshness_label`; the looks of our pages are macros in
``templates/freshness/components.html``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from .checking.decisions import Outcome
from .ckan_adapter import database, harvest
from .ckan_adapter.core import declared_fields, edits_some_organization, site_names
from .ckan_adapter.database import TablesMissingError
from .dates import aware, utc_now
from .harvesting.messages import with_code
from .harvesting.sources import source_type_named
from .reporting import (
    display,
    harvest_jobs,
    harvest_words,
    labels,
    link_checks,
    marks,
    metadata,
    url_facts,
)
from .status import frequencies
from .status.own_fields import ours_among

__all__ = [
    "format_resource_items",
    "freshness_custom_fields",
    "freshness_date",
    "freshness_duration",
    "freshness_facet",
    "freshness_frequencies",
    "freshness_frequency_field",
    "freshness_harvest_attention",
    "freshness_harvest_error",
    "freshness_harvest_hold",
    "freshness_harvest_jobs",
    "freshness_harvests",
    "freshness_is_editor",
    "freshness_is_followed",
    "freshness_label",
    "freshness_metadata",
    "freshness_next_harvest",
    "freshness_number",
    "freshness_percent",
    "freshness_resource_link",
    "freshness_sorting",
    "freshness_state",
    "freshness_status_badge",
    "freshness_stylesheet",
    "freshness_time",
    "sorted_extras",
]

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


def freshness_stylesheet() -> str:
    """Return the URL of our style sheet, which changes with the file so that browsers load it again.

    CKAN's assets do the same, but look at a dozen settings for each asset of each page.
    """
    changed = int(_STYLESHEET.stat().st_mtime)
    url: str = tk.h.url_for(
        "static", filename="freshness/freshness.css", locale="default", changed=changed
    )
    return url


def freshness_status_badge(package: dict[str, Any]) -> Markup | str:
    """Return the badge of a dataset, which leads to its page; empty if it has no status.

    The datasets of a page differ in their names alone: the rest is made once per request for each status.
    """
    status = marks.status_of(package)
    if status is None:
        return ""
    made = tk.g.setdefault("freshness_badges", {})
    if status not in made:
        href = tk.h.url_for("freshness_dataset.read", id=_ANY_NAME)
        made[status] = marks.badge(status, href).split(_ANY_NAME, 1)
    start, end = made[status]
    return Markup(f"{start}{quote(package['name'])}{end}")


def freshness_label(kind: str, value: Any) -> str:
    """Return a value in words.

    :param kind: a key of :data:`.labels.LABELS`, or of the sentences below
    """
    write = _SENTENCES.get(kind)
    return labels.label(kind, value) if write is None else write(value)


def freshness_frequencies() -> list[dict[str, Any]]:
    """Return the update frequencies to choose from, with their words."""
    return [{"days": days, "label": labels.frequency_label(days)} for days in frequency.CHOICES]


def freshness_facet(
    name: str, search_facets: dict[str, Any] | None
) -> dict[str, list[marks.FacetValue]] | None:
    """Return one of our facets: its ``groups`` with their statuses, in the order in which data age.

    :param name: as CKAN's templates know the facet
    :returns: None for other facets; nothing for the facet of statuses, which stand under their groups
    """
    names = site_names()
    if name == names.status:
        return {}
    if name != names.group:
        return None
    groups, statuses = (
        tk.h.get_facet_items_dict(each, search_facets or {}, limit=0)
        for each in (names.group, names.status)
    )
    return {"groups": marks.levels(groups, statuses)}


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


def freshness_frequency_field(
    data: dict[str, Any], package_type: str | None
) -> dict[str, Any] | None:
    """Return the key, options and selected value of the update frequency's select in a dataset's form.

    A form shows it before its custom fields, which then leave the same extra out.

    :returns: None if such packages are not judged, or their schema has a field for the frequency
    """
    keys = settings.frequency_keys()
    if not settings.is_judged(package_type):
        return None
    if not declared_fields(package_type or "dataset").isdisjoint(keys):
        return None
    field = frequencies.form_select(data, keys)
    tk.g.freshness_frequency_key = field.key
    return asdict(field)


def freshness_custom_fields(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the extras that a dataset's form shows as custom fields: without ours and the select's."""
    # A theme's own form may have no select. An extra hidden from it would be lost.
    shown = tk.g.get("freshness_frequency_key")
    hidden = [shown] if shown else []
    return frequencies.custom_fields(data, hidden)


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
        database.refuse_missing_tables()
        return harvest_jobs.jobs([source_id], most, job_id=job_id, errors=errors)
    except TablesMissingError:
        return []


def freshness_harvest_attention() -> list[tuple[Any, harvest_jobs.HarvestJob]]:
    """Return the sources whose last job needs attention, with that job, as far as the user may edit them."""
    if not getattr(tk.current_user, "is_authenticated", False):
        return []
    try:
        database.refuse_missing_tables()
        found = harvest_jobs.troubled_sources()
    except TablesMissingError:
        return []
    may = tk.h.check_access
    return [
        (source, job) for source, job in found if may("harvest_source_update", {"id": source["id"]})
    ]


def freshness_harvest_error(
    message: str, code: dict[str, Any] | None = None
) -> harvest_words.PlainError:
    """Return an error of a harvest in a sentence, with the message behind it."""
    return harvest_words.error(with_code(message, code))


def freshness_next_harvest(source_id: str) -> datetime | None:
    """Return when a source is harvested next; None if somebody must start the job."""
    row = harvest.source_row(source_id)
    return aware(row.next_run) if row is not None else None


def freshness_state(name: str, of: str = "") -> display.State:
    """Return the colour, icon and words of a dataset's status or of a link's state.

    :param of: ``job`` for the state of a harvest job
    """
    if of == "job":
        return display.JOBS[name]
    return display.STATUSES.get(name) or display.LINKS[name]


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


def freshness_date(day: date | str, style: str = "year") -> str:
    """Return a day as text.

    :param day: a date, or a date or a moment of our API
    :param style: ``year`` ("12 Nov 2026"), ``month`` ("Nov 2026") or ``short`` ("12 Nov") for a moment
    """
    if isinstance(day, date):
        return (
            display.month(day, _locale()) if style == "month" else display.whole_day(day, _locale())
        )
    if style == "short":
        return _short_day(day)
    return display.whole_day(date.fromisoformat(day), _locale())


def _short_day(moment: str) -> str:
    try:
        return display.day(isoparse(moment), utc_now(), _zone(), _locale())
    except (OverflowError, ValueError):
        # As in freshness_time.
        return moment


def freshness_duration(start: datetime, end: datetime | None) -> str:
    """Return the time between two moments, or from one until now: "48 minutes"."""
    return display.lasting(start, end or utc_now(), _locale())


def freshness_resource_link(resource: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the checks of a resource's link found, if its last check failed or it is broken.

    :param resource: as ``package_show`` returns it
    :returns: the same as for a resource of ``freshness_show``, with the ``harvest_source`` of its dataset; or
        None
    """
    facts = resource.get(url_facts.KEY) or {}
    if not facts.get("broken_since") and facts.get("outcome") != Outcome.ERROR.value:
        return None
    link = link_checks.of_resource(resource["id"])
    if link is None or link["state"] not in ("broken", "failing"):
        return None
    package_id = resource["package_id"]
    return {**link, "harvest_source": harvest_jobs.of_packages([package_id]).get(package_id)}


def freshness_number(value: int, unit: str = "") -> str:
    """Return a whole number in the reader's language.

    :param unit: ``bytes`` for the size of a file: "1.8 GB"
    """
    return (display.size if unit == "bytes" else display.number)(value, _locale())


def freshness_percent(part: int, whole: int) -> str:
    """Return a share in whole percent in the reader's language."""
    return display.percent(part, whole, _locale())


def _locale() -> Locale:
    return display.locale_of(tk.h.lang())


def _zone() -> tzinfo:
    zone: tzinfo = tk.h.get_display_timezone()
    return zone


def _link_reason(link: dict[str, Any]) -> str:
    """Return why the link of a resource has its state."""
    since = link["failing_since"]
    return labels.link_reason(link, _short_day(since) if since else "")


def _record_reason(record: dict[str, Any]) -> str:
    """Return why a record of a preview or of a held list is there."""
    return harvest_words.reason(with_code(record["reason"], record.get("reason_code")))


def _deletion_reason(record: dict[str, Any]) -> str:
    """Return why a record would be deleted, and what its own URL answered."""
    message = with_code(record["reason"], record.get("reason_code"))
    words = (_record_reason(record), harvest_words.own_url(message, record.get("own_url")))
    return " ".join(filter(None, words))


_SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "changed field": harvest_words.change,
    "changes": labels.changes,
    "checks": labels.strip_label,
    "deletion": _deletion_reason,
    "every": lambda seen: labels.every(seen["days"], at_least=seen["at_least"]),
    "facet": lambda value: labels.facet_label(value.field, value.name),
    "frequency": labels.frequency_label,
    "link": _link_reason,
    "not harvested": harvest_words.kind,
    "observed": labels.observed,
    "problem": labels.link_problem,
    "record": _record_reason,
    "transition": labels.transition_label,
    "why checked": labels.why,
}
"""Sentences by the kind of value that :func:`freshness_label` is asked for."""
