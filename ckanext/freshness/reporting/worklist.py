"""An editor's worklist: broken links, datasets that need an update, update frequencies to set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import redis

from ..ckan_adapter.core import connect_to_redis
from ..dates import utc_now
from ..model.datasets import IS_OPEN
from . import harvests, links, visibility
from .report_tables import broken_links
from .tables import MOST_COUNTED, Context, Row, with_texts

FIRST = 10
"""Rows of each group on the page of all groups."""
LONG = 50
"""Rows on a page of one group."""


Scope = Sequence[str]
"""The ids of the organizations whose datasets a user looks after."""


@dataclass(frozen=True, slots=True)
class Worklist:
    """The tasks of an editor.

    :ivar datasets: the number of datasets that the editor looks after
    :ivar waiting: the number of them with a task; some have several
    :ivar counts: the number of tasks of each group, the most urgent group first; at most :data:`MOST_COUNTED`
    :ivar tasks: rows of each group
    :ivar more: the groups with more tasks than were counted
    """

    datasets: int
    waiting: int
    counts: Mapping[str, int]
    tasks: Mapping[str, list[Row]]
    more: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        """The number of all tasks, without what is ignored."""
        return sum(count for name, count in self.counts.items() if name != IGNORED)


OWN = ".own"
"""In place of an organization's name, which cannot be this: all of which a sysadmin is a member."""


def organizations(context: Context) -> list[Row]:
    """Return the organizations whose datasets the user may change.

    :returns: of each its ``id``, ``name`` and ``title``, and whether the user is a member (``is_own``)
    """
    own = {group.id for group in context["auth_user_obj"].get_groups("organization")}
    return [
        {**{key: one[key] for key in ("id", "name", "title")}, "is_own": one["id"] in own}
        for one in visibility.edited(context)
    ]


def scope(context: Context, organization: str | None = None) -> Scope:
    """Return the organizations whose datasets a user looks after: for sysadmins, all.

    :param organization: the name or id of one of them, or :data:`OWN`
    :raises tk.NotAuthorized: the user may not change the datasets of this organization
    """
    edited = organizations(context)
    if organization is None:
        return [one["id"] for one in edited]
    ids = [
        one["id"]
        for one in edited
        if organization in (one["id"], one["name"]) or (organization == OWN and one["is_own"])
    ]
    if not ids:
        raise tk.NotAuthorized(tk._("Log in as an editor of this organization to see its tasks."))
    return ids


def worklist(
    within: Scope, *, group: str | None = None, offset: int = 0, limit: int = FIRST
) -> Worklist:
    """Return the tasks about the datasets of a scope.

    :param group: a key of :data:`GROUPS`, to return only its rows; None for the first rows of all
    :param offset: the number of rows of each group to skip
    :param limit: the largest number of rows of each group
    """
    values = {**_values(within), "offset": offset, "limit": limit, "most": MOST_COUNTED + 1}
    numbers = visibility.rows(_COUNTS, **values).mappings().one()
    counts = {name: min(numbers[name], MOST_COUNTED) for name in GROUPS}
    more = frozenset(name for name in GROUPS if numbers[name] > MOST_COUNTED)
    named = GROUPS.keys() - {IGNORED} if group is None else {group}
    wanted = [name for name in GROUPS if counts[name] and name in named]
    tasks = {name: _rows(GROUPS[name].some, values) for name in wanted}
    return Worklist(numbers["datasets"], numbers["waiting"], counts, tasks, more)


_KEPT_FOR = timedelta(minutes=5)


def total(context: Context) -> int:
    """Return the number of a user's tasks for the header of each page: at most five minutes old.

    :returns: 0 if Redis does not answer, since to count takes too long for each page
    """
    try:
        known = connect_to_redis().get(_key(context))
        return int(known) if known else remember(context, worklist(scope(context), limit=0).total)
    except redis.exceptions.RedisError:
        return 0


def remember(context: Context, number: int | None) -> int:
    """Keep the number of a user's tasks; None to count them again."""
    with suppress(redis.exceptions.RedisError):
        if number is None:
            connect_to_redis().delete(_key(context))
        else:
            connect_to_redis().set(_key(context), number, ex=_KEPT_FOR)
    return number or 0


def _key(context: Context) -> str:
    return f"ckan:{tk.config['ckan.site_id']}:freshness:tasks:{context['auth_user_obj'].id}"


def task(within: Scope, group: str, id: str) -> Row | None:
    """Return one task; None if it is done, or about a dataset of another editor.

    :param id: of the resource if the group is about links, otherwise of the dataset
    """
    rows = _rows(GROUPS[group].one, {**_values(within), "id": id})
    return rows[0] if rows else None


def ignored(package_id: str) -> dict[str, Any] | None:
    """Return the decision to ignore a dataset; None if it is not ignored today."""
    statement = "SELECT ignored FROM freshness_dataset WHERE package_id = :package"
    found = visibility.rows(statement, package=package_id).scalar()
    return found if _is_of_today(found) else None


def ignored_links(package_id: str) -> dict[str, dict[str, Any]]:
    """Return the decisions to ignore links of a dataset by resource; only those that hold today."""
    statement = "SELECT resource_id, ignored FROM freshness_check WHERE package_id = :package"
    found = visibility.rows(statement, package=package_id)
    return {row.resource_id: row.ignored for row in found if _is_of_today(row.ignored)}


def _is_of_today(decision: Row | None) -> bool:
    today = utc_now().date().isoformat()
    return decision is not None and (decision["until"] or today) >= today


def ignore(package_id: str, resource_id: str | None, decision: Row | None) -> bool:
    """Store the decision to ignore a dataset or a link, or none.

    :returns: whether the dataset or the link is known
    """
    table, _, row = _ROW[resource_id is not None].partition(" ")
    statement = f"UPDATE {table} SET ignored = CAST(:ignored AS jsonb) {row}"
    text = None if decision is None else json.dumps(decision)
    done = visibility.rows(statement, package=package_id, resource=resource_id, ignored=text)
    return bool(done.rowcount)


_ROW = {
    False: "freshness_dataset WHERE package_id = :package",
    True: "freshness_check WHERE package_id = :package AND resource_id = :resource",
}
"""SQL: the row of a dataset, or of one of its links."""


def _values(within: Scope) -> dict[str, Any]:
    return {
        "organizations": within,
        "today": utc_now().date().isoformat(),
    }


def _rows(statement: str, values: dict[str, Any]) -> list[Row]:
    found = visibility.rows(statement, **values).mappings().all()
    sources = harvests.of_packages(row["id"] for row in found)
    return [{**_row(row), "harvest_source": sources.get(row["id"])} for row in found]


def _row(row: Mapping[str, Any]) -> Row:
    shown = with_texts(row)
    if "attempts" in shown:
        last = links.last_failure(shown.pop("attempts"))
        shown |= {key: last.get(key) for key in ("outcome", "status", "reason", "words")}
    if shown.get("copied_at"):
        shown["cached_url"] = links.copy_url(row["id"], row["resource_id"])
    return shown


@dataclass(frozen=True, slots=True)
class Group:
    """A group of tasks, as parts of SQL."""

    columns: str
    source: str
    order: str
    key: str = "p.id"

    @property
    def some(self) -> str:
        """The statement that returns some rows in their order."""
        return f"{self._select} ORDER BY {self.order} LIMIT :limit OFFSET :offset"

    @property
    def one(self) -> str:
        """The statement that returns the row with an id."""
        return f"{self._select} AND {self.key} = :id"

    @property
    def _select(self) -> str:
        own = _OWN.format(columns="id, name, title, type")
        return f"{own} SELECT {_PACKAGE}, {self.key} AS row_id, {self.columns} {self.source}"


_PACKAGE = "p.id, p.name, coalesce(nullif(p.title, ''), p.name) AS title, p.type"

# CKAN has no index on the organization of a dataset, so all datasets are read, once in a statement.
_OWN = """
WITH own AS (
    SELECT {columns} FROM package WHERE state = 'active' AND type = ANY(:types)
    AND owner_org = ANY(:organizations)
)"""

IGNORED = "ignored"
"""The group of datasets and links that nobody is asked to work on."""
_OPEN = IS_OPEN.format(row="f")
GROUPS = {
    "broken": Group(
        """r.id AS resource_id, coalesce(r.name, '') AS resource, r.format, c.failures, c.failing_since,
    c.tried_at, c.attempts, k.stored_at AS copied_at, k.size AS copied""",
        f"""FROM {broken_links("own")}
LEFT JOIN freshness_copy k ON k.resource_id = r.id AND k.key IS NOT NULL
WHERE {IS_OPEN.format(row="c")}""",
        "n.failing_since DESC, n.resource_id DESC",
        key="r.id",
    ),
    "update": Group(
        """f.status, f.broken_since, f.last_modified, f.evidence, f.confirmed_at, f.frequency_days,
    f.frequency_from, f.due,
    (SELECT count(*) FROM resource WHERE package_id = p.id AND state = 'active') AS resources,
    (SELECT min(id) FROM resource WHERE package_id = p.id AND state = 'active') AS resource_id""",
        f"""FROM freshness_dataset f JOIN own p ON p.id = f.package_id
WHERE f.status IN ('due', 'overdue', 'delinquent') AND {_OPEN}""",
        "array_position(ARRAY['delinquent', 'overdue', 'due'], f.status), f.due, p.id",
    ),
    "frequency": Group(
        "f.last_modified, f.evidence, f.confirmed_at",
        f"""FROM freshness_dataset f JOIN own p ON p.id = f.package_id
WHERE f.frequency_days IS NULL AND {_OPEN}""",
        "f.last_modified DESC NULLS LAST, p.id",
    ),
    IGNORED: Group(
        "i.resource_id, i.resource, i.ignored",
        f"""FROM (
    SELECT package_id, package_id AS id, NULL AS resource_id, NULL AS resource, ignored FROM freshness_dataset
    UNION ALL
    SELECT c.package_id, r.id, r.id, coalesce(r.name, ''), c.ignored
    FROM freshness_check c JOIN resource r ON r.id = c.resource_id AND r.state = 'active' AND r.url = c.url
) i JOIN own p ON p.id = i.package_id WHERE NOT {IS_OPEN.format(row="i")}""",
        "i.ignored ->> 'until' NULLS LAST, i.id",
        key="i.id",
    ),
}
"""The groups of tasks by name, the most urgent first, and what is ignored."""

_COUNTS = f"""{_OWN.format(columns="id")}, tasks AS ({
    " UNION ALL ".join(
        f"(SELECT '{name}' AS part, p.id {group.source} LIMIT :most)"
        for name, group in GROUPS.items()
    )
})
SELECT (SELECT count(*) FROM own) AS datasets, count(DISTINCT id) FILTER (WHERE part <> '{
    IGNORED
}') AS waiting,
    {", ".join(f"count(*) FILTER (WHERE part = '{name}') AS {name}" for name in GROUPS)}
FROM tasks"""
