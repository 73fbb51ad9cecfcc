"""An editor's worklist: broken links, datasets that need an update, datasets without an update frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter import model
from ..dates import utc_text
from ..status.package_fields import same_user
from . import copy_urls
from .tables import Context, Row

SHOWN = 50
"""Rows of each group on a page. The files have all of them."""

GROUPS = ("broken", "update", "frequency")
"""The groups of tasks, the most urgent first."""


@dataclass(frozen=True, slots=True)
class Worklist:
    """The tasks of an editor.

    :ivar datasets: the number of datasets that the editor looks after
    :ivar tasks: rows of each group
    :ivar counts: the number of all rows of each group
    """

    datasets: int
    tasks: dict[str, list[Row]]
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """The number of all tasks."""
        return sum(self.counts.values())


def organizations_of(context: Context, name: str | None = None) -> list[str]:
    """Return the ids of the organizations whose datasets the user may change.

    A sysadmin may change all: then only those count of which they are a member, if there are any.

    :param name: to take this organization alone
    :raises tk.NotAuthorized: the user may not change its datasets
    """
    user = context["auth_user_obj"]
    found = tk.get_action("organization_list_for_user")(
        same_user(context), {"permission": "update_dataset"}
    )
    if name is not None:
        ids = [one["id"] for one in found if one["name"] == name]
        if not ids:
            raise tk.NotAuthorized(
                tk._("Log in as an editor of this organization to see its tasks")
            )
        return ids
    if user.sysadmin:
        own = {group.id for group in user.get_groups("organization")}
        found = [one for one in found if one["id"] in own] or found
    return [one["id"] for one in found]


def worklist(organizations: Sequence[str], now: datetime, *, most: int | None = SHOWN) -> Worklist:
    """Return the tasks about the datasets of some organizations.

    :param organizations: ids
    :param most: the largest number of rows of each group; None for all
    """
    checks = settings.checks()
    values: dict[str, Any] = {
        "organizations": list(organizations),
        "types": sorted(settings.aging().dataset_types),
        "failures": checks.broken_after_failures,
        "span": checks.broken_after,
        "most": most,
    }
    found = {
        group: list(model.Session.execute(sa.text(statement), values).mappings())
        for group, statement in _TASKS.items()
    }
    datasets = model.Session.execute(sa.text(_DATASETS), values).scalar_one()
    counts = {group: rows[0]["total"] if rows else 0 for group, rows in found.items()}
    copies = copy_urls.urls([row["resource_id"] for row in found["broken"]])
    tasks: dict[str, list[Row]] = {
        group: [_row(row, copies) for row in rows] for group, rows in found.items()
    }
    return Worklist(datasets, tasks, counts)


def count(organizations: Sequence[str]) -> int:
    """Return the number of tasks about the datasets of some organizations."""
    found = worklist(organizations, datetime.min, most=1)
    return found.total


def _row(row: Any, copies: dict[str, dict[str, str]]) -> Row:
    shown = {key: value for key, value in row.items() if key != "total"}
    for key, value in shown.items():
        if isinstance(value, datetime):
            shown[key] = utc_text(value)
    return {**shown, **copies.get(shown.get("resource_id", ""), {})}


_OF_EDITOR = """p.state = 'active' AND p.type = ANY(:types) AND p.owner_org = ANY(:organizations)"""

_PACKAGE = """p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, p.type,
    count(*) OVER () AS total"""

_TASKS = {
    "broken": f"""
SELECT {_PACKAGE}, c.resource_id, coalesce(r.name, '') AS resource, r.format, c.failures,
    c.failing_since, c.tried_at, c.attempts -> 0 ->> 'status' AS status,
    c.attempts -> 0 ->> 'words' AS words
FROM freshness_check c
JOIN resource r ON r.id = c.resource_id AND r.state = 'active' AND r.url = c.url
JOIN package p ON p.id = c.package_id
WHERE {_OF_EDITOR} AND c.failing_since IS NOT NULL AND c.failures >= :failures
    AND c.tried_at - c.failing_since >= :span
ORDER BY c.failing_since DESC, c.resource_id LIMIT :most""",
    "update": f"""
SELECT {_PACKAGE}, f.status, f.last_modified, f.frequency_days, f.due
FROM freshness_dataset f JOIN package p ON p.id = f.package_id
WHERE {_OF_EDITOR} AND f.status IN ('due', 'overdue', 'delinquent')
ORDER BY array_position(ARRAY['delinquent', 'overdue', 'due'], f.status), f.due, p.id LIMIT :most""",
    "frequency": f"""
SELECT {_PACKAGE}, f.last_modified
FROM freshness_dataset f JOIN package p ON p.id = f.package_id
WHERE {_OF_EDITOR} AND f.frequency_days IS NULL
ORDER BY f.last_modified DESC NULLS LAST, p.id LIMIT :most""",
}

_DATASETS = f"SELECT count(*) FROM package p WHERE {_OF_EDITOR}"
