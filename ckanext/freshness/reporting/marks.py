"""Marks of statuses on CKAN's own pages: the badge of a dataset, and the values of the facet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk
from markupsafe import Markup, escape

from ..aging.status import GROUPS, Status
from ..ckan_adapter.core import site_names
from . import labels
from .display import STATUSES


def status_of(package: Mapping[str, Any]) -> str | None:
    """Return the status in a dataset's extras; None if it has none, or a value that is no status."""
    name = site_names().status
    found = package.get(name)
    for extra in package.get("extras") or []:
        if extra.get("key") == name:
            found = extra.get("value")
    return found if found in STATUSES else None


def badge(status: str, href: str) -> Markup:
    """Return the badge of a status as a link, with the meaning of the status as its title.

    It is made without a template, which takes ten times as long: a page of search results has twenty.
    """
    state = STATUSES[status]
    return Markup(
        f'<a class="fr-badge" data-state="{state.colour}" href="{escape(href)}" '
        f'title="{escape(labels.label("meaning", status))}">'
        f'<i class="fa fa-{state.icon}" aria-hidden="true"></i>{escape(tk._(state.label))}</a>'
    )


Item = Mapping[str, Any]
"""A value of a facet, as CKAN's templates have it: ``name``, ``count``, ``active``."""


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A value to choose, with the values that stand under it.

    :ivar field: the parameter of the search
    :ivar active: whether the search has it
    """

    field: str
    name: str
    count: int
    active: bool
    under: tuple[FacetValue, ...] = ()


def levels(groups: Sequence[Item], statuses: Sequence[Item]) -> list[FacetValue]:
    """Return the groups with their statuses, in the order in which data age.

    A group of one status stands alone, unless the search has the status. The statuses stand alone while
    some documents have no group yet, so that no number is too small.
    """
    by_status = _by_name(site_names().status, statuses)
    by_group = _by_name(site_names().group, groups)
    found = []
    for group, members in GROUPS.items():
        under = tuple(by_status[one.value] for one in members if one.value in by_status)
        value = by_group.get(group)
        if sum(one.count for one in under) != (value.count if value else 0):
            return [by_status[one.value] for one in Status if one.value in by_status]
        if value is not None:
            shown = len(members) > 1 or any(one.active for one in under)
            found.append(
                FacetValue(value.field, group, value.count, value.active, under if shown else ())
            )
    return found


def _by_name(field: str, items: Sequence[Item]) -> dict[str, FacetValue]:
    return {
        item["name"]: FacetValue(field, item["name"], item["count"], bool(item["active"]))
        for item in items
    }
