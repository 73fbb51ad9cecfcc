"""The two levels of the facet: groups of statuses, and the statuses of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..aging.status import GROUPS, Status
from ..ckan_adapter.site_names import site_names

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
