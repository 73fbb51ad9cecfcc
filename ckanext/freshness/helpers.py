"""Template helpers.

Words for single values come from :func:`freshness_label`; the looks of our pages are macros in
``templates/freshness/components.html``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from markupsafe import Markup

from . import settings
from .aging import frequency
from .aging.status import NO_WORKING_LINK, shown_status
from .ckan_adapter import database, harvest
from .ckan_adapter.core import NAMES, declared_fields, edits_some_organization, model
from .ckan_adapter.database import TablesMissingError
from .dates import EARLIEST, aware, parse_date, utc_now
from .harvesting.sources import source_type_named
from .interfaces import IFreshnessTabs, Tab
from .mails.recipients import NO, WISH_KEY
from .reporting import (
    harvests,
    labels,
    link_repairs,
    links,
    worklist,
)
from .reporting.report_tables import BROKEN
from .reporting.tables import Context, Row, TableRequest
from .runs import requested
from .status import frequencies
from .status.indexing import FACETS
from .status.our_fields import ours_among

_STYLESHEET = Path(__file__).parent / "public/freshness/freshness.css"
_ANY_DATASET = "any--dataset"
"""The dataset's name in badges that fit every dataset."""


@tk.chained_helper
def format_resource_items(
    next_helper: Callable[[list[tuple[str, Any]]], list[tuple[str, Any]]],
    items: Iterable[tuple[str, Any]],
) -> list[tuple[str, Any]]:
    """Leave the results of checks out of the fields that CKAN lists on a resource's page."""
    return next_helper([(key, value) for key, value in items if key != links.KEY])


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

    A dataset with a broken link has a second badge, unless the first says that all links are broken.
    A page of search results has twenty datasets whose badges have few looks, so each look is made once.
    """
    values = labels.our_values(package)
    if not values:
        return ""
    status = shown_status(values[NAMES.status], values.get(NAMES.broken_since))
    look = (
        labels.state_of(status, values.get(NAMES.frequency_from)),
        status,
        status != NO_WORKING_LINK and _has_broken_link(package),
        parse_date(values.get(NAMES.absent_since)),
    )
    made: dict[Any, Markup] = tk.g.setdefault("freshness_badges", {})
    if look not in made:
        made[look] = _badges(*look)
    return made[look].replace(_ANY_DATASET, quote(package["name"]))


def _has_broken_link(package: dict[str, Any]) -> bool:
    found: dict[str, bool | None] = tk.g.get("freshness_found", {})
    if package["id"] not in found:
        checks = (one.get(links.KEY) or {} for one in package.get("resources") or ())
        return any(check.get("broken_since") for check in checks)
    if found[package["id"]] is None:
        ids = [id_ for id_, is_broken in found.items() if is_broken is None]
        broken = links.with_broken_link(ids)
        found |= {id_: id_ in broken for id_ in ids}
    return bool(found[package["id"]])


def _badges(
    state: labels.State, status: str, is_broken: bool, absent_since: datetime | None
) -> Markup:
    """Return the badges of any dataset with such a status. A template would take ten times as long."""
    badge = Markup(
        '<a class="fr-badge" data-state="{}" href="{}" title="{}">'
        '<i class="fa fa-{}" aria-hidden="true"></i>{}</a>'
    )
    href = tk.h.url_for("freshness_dataset.read", id=_ANY_DATASET)
    meaning = labels.label("meaning", status)
    shown = badge.format(state.colour, href, meaning, state.icon, tk._(state.label))
    if is_broken:
        broken = labels.LINKS["broken"]
        meaning = tk._("At least one link of this dataset is broken.")
        shown += " " + badge.format(broken.colour, href, meaning, broken.icon, tk._(broken.label))
    if absent_since is not None:
        day = labels.in_words(absent_since, "day")
        meaning = tk._("No longer in the source since {day}; kept here").format(day=day)
        absent = labels.label("source", "absent")
        shown += " " + badge.format("warn", href, meaning, "right-from-bracket", absent)
    return shown


def freshness_absence(package: dict[str, Any]) -> dict[str, Any] | None:
    """Return the harvest source that no longer has a dataset, and ``since`` when; None if it has it."""
    since = parse_date(labels.our_values(package).get(NAMES.absent_since))
    source = freshness_harvest_source(package["id"]) if since else None
    return {**source, "since": since} if source else None


def freshness_label(kind: str, value: Any) -> str:
    """Return a value in words.

    :param kind: a key of :data:`.reporting.labels.LABELS`, or of the sentences below
    """
    write = _SENTENCES.get(kind)
    return labels.label(kind, value) if write is None else write(value)


def freshness_frequencies() -> list[dict[str, Any]]:
    """Return the update frequencies to choose from, with their words."""
    return [{"days": days, "label": labels.frequency_label(days)} for days in frequency.CHOICES]


def freshness_facet(
    name: str, search_facets: dict[str, Any] | None
) -> list[tuple[str, list[Mapping[str, Any]]]] | None:
    """Return the titles and values of our facets, in the place of the facet of groups.

    The statuses stand under their groups, in the order in which data age. The facets of sources and data are
    left out if they find no dataset.

    :param name: as CKAN's templates know the facet
    :returns: None for facets that are not ours; empty for our others
    """
    if name not in FACETS:
        return None
    if name != NAMES.group:
        return []
    items: dict[str, list[Mapping[str, Any]]] = {
        field: [
            {**item, "field": field}
            for item in tk.h.get_facet_items_dict(field, search_facets or {}, limit=0)
        ]
        for field in FACETS
    }
    items[name] = labels.facet_levels(items[name], items.pop(NAMES.status))
    return [(FACETS[field], values) for field, values in items.items() if values or field == name]


def freshness_facts(package: dict[str, Any]) -> dict[str, str]:
    """Return when a dataset's data changed, when the next change is expected, and how often, by label."""
    return labels.our_facts(package)


def freshness_sorting(
    sorting: list[tuple[str, str]] | None, package_type: str | None
) -> list[tuple[str, str]] | None:
    """Return the orders that a search form offers, with that of the last data update at the end.

    :param sorting: labels and orders; None for those of CKAN's form
    :param package_type: of the packages that the form searches
    """
    if not sorting or not settings.is_judged(package_type):
        return sorting
    newest = (tk._("Newest data"), f"{NAMES.data_until_date} desc")
    return [*sorting, newest, (tk._("Last data update"), f"{NAMES.last_modified_date} desc")]


def freshness_is_judged(package_type: str | None) -> bool:
    """Decide whether packages of a type are judged."""
    return settings.is_judged(package_type)


def freshness_tasks() -> int | None:
    """Return the number of tasks of the reader; None if they may change the datasets of no organization."""
    user = tk.current_user
    if user.is_anonymous or database.missing_tables():
        return None
    if "freshness_is_editor" not in tk.g:
        tk.g.freshness_is_editor = edits_some_organization(user.name)
    return worklist.total(_reader()) if tk.g.freshness_is_editor else None


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
    tk.g.freshness_frequency_key = field["key"]
    return field


def freshness_custom_fields(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the extras that a dataset's form shows as custom fields: without ours and that of the select."""
    # A theme's own form may have no select. An extra hidden from it would be lost.
    of_select = tk.g.get("freshness_frequency_key")
    return frequencies.custom_fields(data, [of_select] if of_select else [])


def freshness_harvest_source(package_id: str | None) -> dict[str, str] | None:
    """Return ``id`` and ``title`` of the source whose harvests overwrite edits of a dataset, if any."""
    if not package_id or database.missing_tables():
        return None
    return harvests.of_packages([package_id]).get(package_id)


def freshness_organization_settings(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the selects for an organization's settings, and take their extras out of its custom fields."""
    extras = data.get("extras") or []
    given = {extra.get("key"): str(extra.get("value") or "") for extra in extras}
    days = [{"value": str(one["days"]), "text": one["label"]} for one in freshness_frequencies()]
    frequency_given = given.get(frequencies.DEFAULT_KEY, "")
    if frequency_given not in ("", *(one["value"] for one in days)):
        days.append({"value": frequency_given, "text": frequency_given})
    found = [
        {
            "key": frequencies.DEFAULT_KEY,
            "label": tk._("Update frequency of datasets that state none"),
            "options": [{"value": "", "text": tk._("Not known")}, *days],
            "selected": frequency_given,
        },
        {
            "key": WISH_KEY,
            "label": tk._("Mails about its datasets"),
            "options": [
                {"value": "true", "text": tk._("Yes, if this portal sends mails")},
                {"value": "false", "text": tk._("No")},
            ],
            "selected": "false" if given.get(WISH_KEY, "").lower() in NO else "true",
        },
    ]
    data["extras"] = [
        extra for extra in extras if extra.get("key") not in {one["key"] for one in found}
    ]
    return found


@tk.chained_helper
def sorted_extras(
    next_helper: Callable[..., list[tuple[str, Any]]],
    package_extras: list[dict[str, Any]],
    *args: Any,
    **kwargs: Any,
) -> list[tuple[str, Any]]:
    """Leave our extras out of "Additional info": :func:`freshness_facts` says the same."""
    hidden = ours_among(package_extras)
    shown = [extra for extra in package_extras if extra.get("key") not in hidden]
    return next_helper(shown, *args, **kwargs)


def freshness_tabs() -> list[Tab]:
    """Return the tabs that other plugins add."""
    plugins = p.PluginImplementations(IFreshnessTabs)
    return [tab for plugin in plugins for tab in plugin.freshness_tabs()]


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
) -> list[harvests.HarvestJob]:
    """Return the newest jobs of a harvest source, or one job, with their first errors."""
    try:
        database.refuse_missing_tables()
        return harvests.jobs([source_id], most, job_id=job_id, errors=errors)
    except TablesMissingError:
        return []


def freshness_harvest_attention() -> list[Row]:
    """Return those of :func:`.reporting.harvests.in_trouble` that the user may edit."""
    user = tk.current_user
    if user.is_anonymous or database.missing_tables():
        return []
    rows = harvests.sources(TableRequest(_reader(), utc_now()))
    may = tk.h.check_access
    return harvests.in_trouble(
        row for row in rows if may("harvest_source_update", {"id": row["id"]})
    )


def freshness_harvest_error(
    message: str, code: dict[str, Any] | None = None
) -> harvests.PlainError:
    """Return an error of a harvest in a sentence, with the message behind it."""
    return harvests.error(message, code)


def freshness_next_harvest(source_id: str) -> Markup | str | None:
    """Return when a source is harvested next, in words; None if somebody must start the job.

    ckanext-harvest keeps the date of a source that became manual. It dates no source before its first job by
    schedule: such a source is due since its last edit. If no job starts soon after that, nothing starts jobs.
    Nor does one start while another job of the source runs: that one counts instead.
    """
    row, package = harvest.source_row(source_id), model.Package.get(source_id)
    if row is None or package is None or row.frequency == "MANUAL" or not row.active:
        return None
    due, now = aware(row.next_run or package.metadata_modified), utc_now()
    if due > now:
        return freshness_time(due)
    is_free = all(job.is_over for job in harvests.jobs([source_id], 1))
    return tk._("within a few minutes") if is_free and due > now - harvest.CRON else None


def freshness_state(
    name: str, of: str = "", broken_since: str | None = None, given: str | None = None
) -> labels.State:
    """Return the colour, icon and words of a dataset's status, of a link's state or of a mark of links.

    :param of: ``job`` for the state of a harvest job
    :param broken_since: of a dataset: since when all of its links have been broken
    :param given: of a dataset: where its update frequency comes from
    """
    if of == "job":
        return labels.JOBS[name]
    if broken_since:
        return labels.STATUSES[NO_WORKING_LINK]
    if name in labels.STATUSES:
        return labels.state_of(name, given)
    return {**labels.LINKS, **labels.LINK_MARKS}[name]


def freshness_time(value: str | datetime | None, style: str = "ago") -> Markup | str:
    """Return a ``<time>`` element with the exact moment as its title.

    :param value: a moment of our API (UTC, ISO 8601) or an aware datetime
    :param style: of :func:`.reporting.labels.when`
    """
    if not value:
        return ""
    moment = isoparse(value) if isinstance(value, str) else value
    # In print, the exact moment stands behind a relative one.
    element = Markup('<time datetime="{}" data-style="{}" title="{}">{}</time>')
    words = (labels.in_words(moment, one) for one in ("exact", style))
    return element.format(moment.isoformat(), style, *words)


def freshness_date(day: date | str, style: str = "year") -> str:
    """Return a day as text: "12 Nov 2026".

    :param day: a date, or a date or a moment of our API
    :param style: of :func:`.reporting.labels.when`
    """
    return labels.in_words(day, style)


def freshness_duration(start: datetime, end: datetime | None) -> str:
    """Return the time between two moments, or from one until now: "48 minutes"."""
    locale, _zone = labels.reader()
    return labels.lasting(start, end or utc_now(), locale)


def freshness_resource_link(resource: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the checks of a resource's link found, if the link is broken or failing.

    Return it to editors also while the link was not checked, and for an hour after a check: they see what
    became of a link that they have just changed.

    :param resource: as ``package_show`` returns it
    :returns: the same as for a link of ``freshness_show``, with the ``harvest_source`` of its dataset, whether
        the user ``may_edit`` it, and in words that a check is queued or running (``checking``); or None
    """
    package_id = resource["package_id"]
    link = None if database.missing_tables() else links.of_resource(resource["id"])
    if link is None:
        return None
    may_edit = tk.h.check_access("package_update", {"id": package_id})
    is_new = link["state"] == "waiting" or utc_now() - _NEWS < (
        parse_date(link["tried_at"]) or EARLIEST
    )
    if link["state"] not in ("broken", "failing") and not (
        may_edit and is_new and link["state"] not in ("internal", "excluded")
    ):
        return None
    return {
        **link,
        "package_id": package_id,
        "harvest_source": freshness_harvest_source(package_id),
        "may_edit": may_edit,
        "checking": requested.checking_in_words(package_id) if may_edit else "",
    }


def freshness_link_repairs(link: dict[str, Any]) -> list[dict[str, str]]:
    """Return where the file of a broken link may be now, if the reader can correct the link here.

    :param link: of :func:`freshness_resource_link`
    """
    if link["state"] != "broken" or not link["may_edit"] or link["harvest_source"]:
        return []
    request = TableRequest(_reader(), utc_now(), dataset=link["package_id"])
    rows = [row for row in BROKEN.read(request) if row["resource_id"] == link["id"]]
    return link_repairs.candidates(request, rows).get(link["id"], [])


def _reader() -> Context:
    user = tk.current_user
    return {"user": user.name, "auth_user_obj": user}


_NEWS = timedelta(hours=1)
"""How long editors see the result of a check on the page of its resource."""


def freshness_percent(part: int, whole: int) -> str:
    """Return a share in whole percent in the reader's language."""
    return labels.percent(part, whole)


def _record_reason(record: dict[str, Any]) -> str:
    """Return why a record of a preview or of a held list is there."""
    return harvests.reason(record["reason"], record.get("reason_code"))


_SENTENCES: Mapping[str, Callable[[Any], str]] = {
    "changed field": harvests.change,
    "deletion": harvests.deletion,
    "frequency": labels.frequency_label,
    "job counts": lambda counts: ", ".join(harvests.job_counts(counts)),
    "not harvested": harvests.kind,
    "data stand": lambda shown: labels.data_stand(
        shown["data_until"]["changed_at"], shown["data_until"]["period"]
    ),
    "lag": labels.lag,
    "observed": labels.observed,
    "period": labels.period,
    "problem": labels.link_problem,
    "record": _record_reason,
}
"""Sentences by the kind of value that :func:`freshness_label` is asked for."""
