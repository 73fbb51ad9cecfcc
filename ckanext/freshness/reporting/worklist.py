"""An editor's worklist: broken links, datasets that need an update, update frequencies to set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import redis
import sqlalchemy as sa

from ..ckan_adapter.core import connect_to_redis, model
from ..dates import utc_now
from ..model.datasets import IS_OPEN, URGENCY
from . import harvests, links, visibility
from .report_tables import OPEN_BROKEN
from .tables import MOST_COUNTED, Column, Context, DatasetTable, Row, TableRequest

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
    context: Context,
    within: Scope,
    *,
    group: str | None = None,
    offset: int = 0,
    limit: int = FIRST,
) -> Worklist:
    """Return the tasks about the datasets of a scope.

    :param group: a key of :data:`GROUPS`, to return only its rows; None for the first rows of all
    :param offset: the number of rows of each group to skip
    :param limit: the largest number of rows of each group
    """
    request = TableRequest(context, utc_now(), within=within, offset=offset, limit=limit)
    numbers = _numbers(request)
    counts = {name: min(numbers[name], MOST_COUNTED) for name in GROUPS}
    more = frozenset(name for name in GROUPS if numbers[name] > MOST_COUNTED)
    named = GROUPS.keys() - {IGNORED} if group is None else {group}
    wanted = [name for name in GROUPS if limit and counts[name] and name in named]
    tasks = {name: with_sources(GROUPS[name].read(request)) for name in wanted}
    return Worklist(numbers["datasets"], numbers["waiting"], counts, tasks, more)


def _numbers(request: TableRequest) -> Mapping[str, int]:
    """Count the datasets of a scope, those with a task (``waiting``), and the tasks of each group.

    :returns: at most one task more of each group than :data:`MOST_COUNTED`
    """
    parts: list[str] = []
    values: dict[str, Any] = {"most": MOST_COUNTED + 1}
    for name, table in GROUPS.items():
        rows, of_table = table.sql(request)
        parts.append(f"(SELECT '{name}' AS part, package_id {rows} LIMIT :most)")
        values |= of_table
    counts = (f"count(*) FILTER (WHERE part = '{name}') AS {name}" for name in GROUPS)
    statement = f"""
SELECT {", ".join(counts)}, count(DISTINCT package_id) FILTER (WHERE part <> '{IGNORED}') AS waiting, (
    SELECT count(*) FROM package
    WHERE state = 'active' AND type = ANY(:types) AND owner_org = ANY(:within)) AS datasets
FROM ({" UNION ALL ".join(parts)}) tasks"""
    found: Mapping[str, int] = model.Session.execute(sa.text(statement), values).mappings().one()
    return found


def with_sources(rows: Iterable[Row]) -> list[Row]:
    """Return rows with the ``harvest_source`` of their datasets."""
    found = list(rows)
    sources = harvests.of_packages(row["package_id"] for row in found)
    return [{**row, "harvest_source": sources.get(row["package_id"])} for row in found]


_KEPT_FOR = timedelta(minutes=5)


def total(context: Context) -> int:
    """Return the number of a user's tasks for the header of each page: at most five minutes old.

    :returns: 0 if Redis does not answer, since to count takes too long for each page
    """
    try:
        known = connect_to_redis().get(_key(context))
        if known:
            return int(known)
        return remember(context, worklist(context, scope(context), limit=0).total)
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


IGNORED = "ignored"
"""The group of datasets and links that nobody is asked to work on."""


def _with_last_failure(row: Row) -> Row:
    """Return a broken link with its last failure, and the URL of its copy."""
    last = links.last_failure(row["attempts"])
    problem = {key: last.get(key) for key in ("outcome", "status", "reason", "words")}
    copy_url = links.copy_url(row["package_id"], row["row_id"]) if row["copied_at"] else None
    return {**row, **problem, "cached_url": copy_url}


_OPEN = IS_OPEN.format(row="f")
GROUPS = {
    "broken": replace(
        OPEN_BROKEN,
        select=f"""{OPEN_BROKEN.select}, r.id AS row_id, c.attempts, k.stored_at AS copied_at,
            k.size AS copied""",
        source=f"""{OPEN_BROKEN.source}
            LEFT JOIN freshness_copy k ON k.resource_id = r.id AND k.key IS NOT NULL""",
        order="-failing_since",
        key="row_id",
        complete=_with_last_failure,
    ),
    "update": DatasetTable(
        name="update",
        columns=(Column("urgency", sort=f"{URGENCY}, due"),),
        select="""p.id AS row_id, f.status, f.broken_since, f.last_modified, f.evidence, f.confirmed_at,
            f.frequency_days, f.frequency_from, f.due,
            (SELECT count(*) FROM resource WHERE package_id = p.id AND state = 'active') AS resources,
            (SELECT min(id) FROM resource WHERE package_id = p.id AND state = 'active') AS resource_id""",
        source="FROM freshness_dataset f JOIN package p ON p.id = f.package_id",
        where=f"f.status IN ('due', 'overdue', 'delinquent') AND {_OPEN}",
        order="urgency",
        key="row_id",
    ),
    "frequency": DatasetTable(
        name="frequency",
        select="p.id AS row_id, f.last_modified, f.evidence, f.confirmed_at",
        source="FROM freshness_dataset f JOIN package p ON p.id = f.package_id",
        where=f"f.frequency_days IS NULL AND {_OPEN}",
        order="-last_modified",
        key="row_id",
    ),
    IGNORED: DatasetTable(
        name=IGNORED,
        select="""coalesce(i.resource_id, p.id) AS row_id, i.resource_id, i.resource, i.ignored,
            i.ignored ->> 'until' AS until""",
        source="""FROM (
            SELECT package_id, NULL AS resource_id, NULL AS resource, ignored FROM freshness_dataset
            UNION ALL
            SELECT c.package_id, r.id, coalesce(r.name, ''), c.ignored FROM freshness_check c
            JOIN resource r ON r.id = c.resource_id AND r.state = 'active' AND r.url = c.url
        ) i JOIN package p ON p.id = i.package_id""",
        where=f"NOT {IS_OPEN.format(row='i')}",
        order="until",
        key="row_id",
    ),
}
"""The groups of tasks by name, the most urgent first, and what is ignored."""
