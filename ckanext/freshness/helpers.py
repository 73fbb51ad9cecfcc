"""Template helpers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse

from . import settings
from .aging.evidence import Evidence
from .aging.status import Status
from .checking.decisions import Outcome
from .ckan_adapter import declared_fields
from .ckan_adapter.tables import TablesMissingError
from .field_names import NAMES
from .harvesting.harvest_tables import is_web_url
from .harvesting.source_types import source_type_named
from .logic import frequency_form
from .reporting import labels, url_facts

__all__ = [
    "format_resource_items",
    "freshness_cause_label",
    "freshness_custom_fields",
    "freshness_evidence_label",
    "freshness_facet_items",
    "freshness_facet_label",
    "freshness_frequency_field",
    "freshness_frequency_label",
    "freshness_given_by_label",
    "freshness_harvest_hold",
    "freshness_harvests",
    "freshness_has_frequency_field",
    "freshness_hosts_label",
    "freshness_is_followed",
    "freshness_link",
    "freshness_moment",
    "freshness_not_visited_label",
    "freshness_outcome_label",
    "freshness_status",
    "freshness_status_label",
    "freshness_status_meaning",
    "freshness_transition_label",
    "freshness_undetermined_label",
    "sorted_extras",
]

_STATUSES = [status.value for status in Status]


@tk.chained_helper
def format_resource_items(
    next_helper: Callable[[list[tuple[str, Any]]], list[tuple[str, Any]]],
    items: Iterable[tuple[str, Any]],
) -> list[tuple[str, Any]]:
    """Leave the facts of checks out of the fields that CKAN lists on a resource's page."""
    return next_helper([(key, value) for key, value in items if key != url_facts.KEY])


def freshness_status(package: dict[str, Any]) -> str | None:
    """The status that a dataset says it has: fresh, due, overdue, delinquent or unavailable.

    :returns: None for one that has none, or nothing that is a status.
    """
    found = package.get(NAMES.status)
    for extra in package.get("extras") or []:
        if extra.get("key") == NAMES.status:
            found = extra.get("value")
    return found if found in _STATUSES else None


def freshness_status_label(status: str) -> str:
    """The word that users see for a status, with the exact one next to it."""
    return labels.status_label(Status(status))


def freshness_status_meaning(status: str) -> str:
    """A status in a sentence."""
    return labels.status_meaning(Status(status))


def freshness_evidence_label(evidence: str) -> str:
    """Why a date is believed, in words."""
    return labels.evidence_label(Evidence(evidence))


def freshness_frequency_label(days: int) -> str:
    """An update frequency in words."""
    return labels.frequency_label(days)


def freshness_given_by_label(whom: str) -> str:
    """Who is assumed to speak for a frequency that the dataset does not give: source, organization, site."""
    return labels.given_by_label(whom)


def freshness_hosts_label(name: str) -> str:
    """The name of a line of the table of hosts."""
    return labels.hosts_label(name)


def freshness_transition_label(transition: dict[str, Any]) -> str:
    """Return the cause of a status change in words, with what was changed and by whom."""
    return labels.transition_label(transition)


def freshness_undetermined_label(reason: str) -> str:
    """Why nothing can be learned of a dataset's changes, in words."""
    return labels.undetermined_label(reason)


def freshness_outcome_label(outcome: str) -> str:
    """What a visit to a URL found, in a sentence."""
    return labels.outcome_label(Outcome(outcome))


def freshness_not_visited_label(reason: str) -> str:
    """Why a URL is never visited, in a sentence."""
    return labels.not_visited_label(reason)


def freshness_cause_label(cause: str) -> str:
    """What a status changed by, in words."""
    return labels.cause_label(cause)


def freshness_facet_items(search_facets: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The values of the facet of the status, in the order in which data age."""
    items = tk.h.get_facet_items_dict(NAMES.status, search_facets or {}, limit=0)
    known = [item for item in items if item["name"] in _STATUSES]
    return sorted(known, key=lambda item: _STATUSES.index(item["name"]))


def freshness_facet_label(item: dict[str, Any]) -> str:
    """The words of a value of that facet, the same as those of the badge."""
    return freshness_status_label(item["name"])


def freshness_is_followed(package_type: str | None) -> bool:
    """Whether the freshness of packages of a type is judged."""
    return (package_type or "dataset") in settings.aging().dataset_types


def freshness_has_frequency_field(package_type: str | None) -> bool:
    """Whether a type of packages has a field of its schema for the update frequency."""
    keys = settings.aging().frequency_keys
    return not declared_fields(package_type or "dataset").isdisjoint(keys)


def freshness_frequency_field(data: dict[str, Any]) -> dict[str, Any]:
    """What the select for the update frequency shows in the form of a dataset.

    Forms that show it do so before their custom fields, which then leave the same extra out.
    """
    field = frequency_form.select(data, settings.aging().frequency_keys)
    tk.g.freshness_frequency_key = field.key
    return asdict(field)


def freshness_custom_fields(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The extras that a dataset's form shows as custom fields: without ours, and what the select shows."""
    # A theme with a form of its own may have no select: an extra that it hid would be lost.
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
    """CKAN's list of extras for "Additional info", without ours, which have a page of their own."""
    shown = [extra for extra in package_extras if extra.get("key") not in NAMES.extras]
    return next_helper(shown, *args, **kwargs)


def freshness_harvests(source_type: str | None) -> bool:
    """Whether sources of a type are harvested by this extension."""
    return source_type_named(source_type) is not None


def freshness_harvest_hold(source_id: str) -> dict[str, Any] | None:
    """The held deletions of a harvest source, for those who may release them; nothing for others."""
    try:
        return tk.get_action("freshness_harvest_hold_show")({}, {"id": source_id})
    except (tk.NotAuthorized, TablesMissingError):
        return None


def freshness_link(url: str) -> Any:
    """A link to a record of a source; what is no web address stays a text, whatever it says."""
    return tk.h.link_to(url, url, rel="nofollow") if is_web_url(url) else url


def freshness_moment(text: str | None) -> str:
    """A moment of our API (UTC, ISO 8601 with ``Z``) in words, in the site's or the user's time zone."""
    if not text:
        return ""
    moment = isoparse(text)
    try:
        return tk.h.render_datetime(moment, with_hours=True)
    except (OverflowError, ValueError):
        # In the first and the last year some zones and weeks are out of what Python's dates can be.
        return text
