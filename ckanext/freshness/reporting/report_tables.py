"""The tables of the report by name, and requests for their rows from a user's parameters.

Pages, files, the action and the command all use them, and validate their parameters here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.status import NO_WORKING_LINK
from ..checking.checkers import is_checked_elsewhere
from ..checking.selection import IS_BROKEN
from ..ckan_adapter.core import model, same_user
from ..dates import aware, parse_date, utc
from ..model import CheckRun
from ..model.datasets import IS_OPEN
from ..model.runs import DECLARED, FAILURES
from ..translation import N_
from . import changes, counts, harvests, labels, links, visibility
from .tables import (
    DATASET,
    ORGANIZATION,
    RESOURCE,
    Column,
    DatasetTable,
    Row,
    Table,
    TableRequest,
)

_LONGEST = 200
"""Characters of a text to search for. The rest of a longer one is ignored."""

_PERCENT = Column("percent", N_("Percent"), "percent")
_FREQUENCY = Column("frequency_days", N_("Update frequency"), "frequency")
_STATUSES = (
    Column("due", N_("Due"), "number"),
    Column("overdue", N_("Overdue"), "number"),
    Column("delinquent", N_("Long overdue"), "number"),
    Column(NO_WORKING_LINK, N_("No working link"), "number"),
    Column("unavailable", N_("Freshness unknown"), "number"),
)

# Datasets.

STATUSES = Table(
    name="statuses",
    title=N_("Datasets by freshness"),
    meaning=N_(
        "The number of datasets with each status. Shares are of datasets with known freshness."
    ),
    empty=N_("There are no datasets."),
    columns=(
        Column("status", N_("Status"), "status"),
        Column("datasets", N_("Datasets"), "number"),
        _PERCENT,
    ),
    rows=counts.status_rows,
)


SOON = timedelta(days=7)
"""How long before they become due datasets are listed by :data:`.counts.DUE_SOON`."""


def _of_status(request: TableRequest) -> dict[str, Any]:
    statuses = {None: None, counts.DUE_SOON: None, counts.NEEDS_UPDATE: list(counts.NEED_UPDATE)}
    return {
        "statuses": statuses.get(request.status, [request.status]),
        "is_soon": request.status == counts.DUE_SOON,
        "until": utc(request.now + SOON),
    }


def _with_label(row: Row) -> Row:
    label = labels.state_of(row["shown_status"], row["frequency_from"]).label
    return {**row, "status_label": tk._(label)}


def _ignored(row: str) -> str:
    return f"NOT {IS_OPEN.format(row=row)} AS ignored"


DATASETS = DatasetTable(
    name="datasets",
    title=N_("Datasets"),
    meaning=N_("All datasets with their freshness and how we know it."),
    empty=N_("No dataset matches."),
    columns=(
        *DATASET,
        ORGANIZATION,
        Column("status", N_("Status"), "status", sort="shown_status"),
        Column("status_label"),
        Column("last_modified", N_("Last changed"), "changed"),
        Column("evidence", N_("How we know"), "evidence"),
        Column("confirmed_at"),
        *(_FREQUENCY, Column("frequency_from")),
        *(Column("due", N_("Due"), "due"), Column("days_late")),
        *(Column("overdue"), Column("delinquent"), Column("undetermined"), Column("absent_since")),
        Column("broken_since"),
    ),
    select=f"""p.private, {counts.SHOWN} AS shown_status, {counts.JUDGED} AS status, f.last_modified,
        f.evidence, f.confirmed_at, f.frequency_days, f.frequency_from, f.due, f.overdue, f.delinquent,
        f.undetermined, f.absent_since, f.broken_since, {_ignored("f")},
        CASE WHEN f.due < :moment THEN extract(day FROM :moment - f.due)::int END AS days_late""",
    complete=_with_label,
    source="FROM package p LEFT JOIN freshness_dataset f ON f.package_id = p.id",
    where=f"""(CAST(:statuses AS text[]) IS NULL OR {counts.SHOWN} = ANY(:statuses))
        AND (NOT :is_soon OR f.broken_since IS NULL AND f.due BETWEEN :moment AND :until)""",
    # The one that has been late for longest first.
    order="due",
    values=_of_status,
    filters=(counts.NEEDS_UPDATE, *counts.STATUSES, counts.DUE_SOON),
    grouped="shown_status",
    is_counted_whole=True,
    tab="datasets",
)
# Changes.


CHANGES = DatasetTable(
    name="changes",
    title=N_("Status changes"),
    meaning=N_("Datasets whose freshness has changed since yesterday or the chosen date."),
    empty=N_("No status has changed."),
    columns=(
        Column("changed_at", N_("When"), "moment"),
        *DATASET,
        ORGANIZATION,
        Column("from_status", N_("From"), "status"),
        Column("to_status", N_("To"), "status"),
        Column("cause", N_("Why"), "cause"),
        Column("evidence", N_("Evidence"), "evidence"),
    ),
    select="o.id, o.from_status, o.to_status, o.changed_at, o.evidence, o.cause",
    source="FROM freshness_transition o JOIN package p ON p.id = o.package_id",
    # A dataset's first status is no change, nor is one that only new rules have made.
    where="""o.from_status IS NOT NULL AND o.from_status <> o.to_status AND o.changed_at <= :until
        AND (o.run_id = :run OR (o.changed_at >= :since AND o.cause <> 'recompute'))""",
    order="-changed_at",
    key="id",
    always=("changed_at",),
    values=changes.since_values,
    tab="datasets",
)

# Links.

_IS_WRONG_FORMAT = f"c.found IS NOT NULL AND CASE WHEN c.promised = {DECLARED} THEN true END"
"""SQL: whether the last file is of another kind than the resource's format says.

PostgreSQL expects few formats to be equal, and would then read all resources. CASE hides them from it.
"""


def _of_link(failing: str) -> str:
    """Return SQL of the columns of a link.

    :param failing: the table with ``failing_since`` and ``failures``: the one whose index gives their order, or
        ``s``
    """
    return f"""r.id AS resource_id, coalesce(r.name, '') AS resource, r.format, r.url, {links.HOST} AS host,
        s.state, {failing}.failing_since, {failing}.failures, c.succeeded_at, c.tried_at,
        c.attempts -> 0 ->> 'outcome' AS outcome, c.attempts -> 0 -> 'status' AS status,
        c.attempts -> 0 ->> 'reason' AS reason, c.attempts -> 0 ->> 'words' AS words,
        CASE WHEN {_IS_WRONG_FORMAT} THEN c.promised END AS promised,
        CASE WHEN {_IS_WRONG_FORMAT} THEN c.found END AS found,
        c.undetermined, {_ignored("c")}, c.moved_to, c.hash"""


_of_links = partial(
    DatasetTable,
    name="links",
    title=N_("Links"),
    meaning=N_("The links of all resources, with what is known of each."),
    empty=N_("There are no such links."),
    # The columns for repairs are in no file.
    columns=(
        *(*DATASET, *RESOURCE, Column("host"), ORGANIZATION),
        Column("state", N_("State"), "link_state"),
        Column("failing_since", N_("Failing for"), "lasting"),
        Column("tried_at", N_("Last check"), "moment"),
        *(Column("failures"), Column("succeeded_at"), Column("outcome"), Column("status")),
        *(Column("words"), Column("promised"), Column("found"), Column("undetermined")),
    ),
    order="failing_since",
    key="resource_id",
    searched=("title", "name", "resource", "host"),
    filter="state",
    filters=(*labels.LINKS, *labels.LINK_MARKS),
    grouped="state",
    tab="links",
)


_NEWEST_BROKEN = f"""
SELECT c.resource_id, c.package_id, c.failing_since, c.failures FROM freshness_check c
WHERE c.failing_since IS NOT NULL AND CASE WHEN {IS_BROKEN} THEN true END"""
"""SQL: the broken links, whether in use or not. Two partial indexes have all that it reads, in order
of ``failing_since`` and of ``failures``.

PostgreSQL expects few links to meet the condition, and would then read all failing ones with their large rows.
CASE hides the condition from its estimates.
"""


BROKEN = _of_links(
    empty=N_("No link is broken."),
    select=_of_link("n"),
    source=f"""FROM ({_NEWEST_BROKEN}) n
        JOIN package p ON p.id = n.package_id
        JOIN freshness_check c ON c.resource_id = n.resource_id
        JOIN resource r ON r.id = n.resource_id AND r.state = 'active' AND CASE WHEN r.url = c.url THEN true END
        CROSS JOIN (SELECT 'broken' AS state) s""",
    always=("failing_since", "failures"),
)
OPEN_BROKEN = replace(BROKEN, where=IS_OPEN.format(row="c"))
"""The broken links that nobody ignores: those that people are asked to mend."""
LATELY = timedelta(days=7)
"""A link that broke within this time is newly broken."""
NEWLY_BROKEN = replace(
    BROKEN,
    where="n.failing_since >= :since",
    values=lambda request: {"since": utc(request.now - LATELY)},
)


def _every_link() -> str:
    state = links.STATE.format(is_elsewhere=is_checked_elsewhere("r.id"))
    return f"""FROM resource r JOIN package p ON p.id = r.package_id
        LEFT JOIN freshness_check c ON c.resource_id = r.id AND c.url = r.url
        CROSS JOIN LATERAL (SELECT {state} AS state, {FAILURES.format(row="c")}) s"""


LINKS = _of_links(
    select=_of_link("s"),
    source=_every_link,
    # Of a constant state, PostgreSQL keeps only its condition, for which it may have an index.
    where=f"""r.state = 'active' AND CASE CAST(:state AS text)
        WHEN 'undetectable' THEN c.undetermined IN ('api', 'page') AND s.state = 'works'
        WHEN 'wrong_format' THEN {_IS_WRONG_FORMAT}
        ELSE :state IS NULL OR s.state = :state END""",
    values=lambda request: {**links.state_values(), "state": request.status},
    parts={"broken": BROKEN},
)
CHECKED = replace(LINKS, where="r.state = 'active' AND c.tried_at IS NOT NULL", parts={})
"""The links that were checked."""

# Organizations, sources and days.

ORGANIZATIONS = Table(
    name="organizations",
    title=N_("Organizations"),
    meaning=N_(
        "Organizations and the freshness of their datasets. Shares are of datasets with known freshness."
    ),
    empty=N_("No organization has datasets."),
    columns=(
        Column("name"),
        Column("title", N_("Organization"), "organization"),
        Column("datasets", N_("Datasets"), "number"),
        Column("fresh_percent", N_("Up to date"), "percent"),
        Column("fresh"),
        *_STATUSES,
    ),
    rows=counts.organization_rows,
)
SOURCES = Table(
    name="sources",
    title=N_("Harvest sources"),
    meaning=N_("Where harvested datasets come from, with the last job of each source."),
    empty=N_("There are no harvest sources."),
    columns=(
        Column("name"),
        Column("title", N_("Source"), "source"),
        Column("type", N_("Type"), "source_type"),
        Column("active"),
        Column("datasets", N_("Datasets"), "number"),
        Column("state", N_("Last job"), "job"),
        Column("created"),
        Column("finished", N_("Finished"), "moment"),
        Column("errors", N_("Errors"), "number"),
        Column("held", N_("Deletions on hold"), "number"),
    ),
    rows=harvests.sources,
    tab="sources",
    filters=harvests.FILTERS,
)
HISTORY = Table(
    name="history",
    title=N_("Over time"),
    meaning=N_("The freshness of public datasets on each day, the newest first."),
    empty=N_("Nothing has been counted yet. The nightly report does it."),
    columns=(
        Column("day", N_("Day"), "day"),
        Column("datasets", N_("Datasets"), "number"),
        Column("fresh_percent", N_("Share up to date"), "percent"),
        Column("fresh", N_("Up to date"), "number"),
        *_STATUSES,
    ),
    rows=counts.history_rows,
)


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        *(STATUSES, HISTORY, CHANGES, changes.DATA, LINKS),
        *(ORGANIZATIONS, SOURCES, DATASETS),
    )
}
"""In the order of the dashboard."""

SIBLINGS = (CHANGES, changes.DATA)
"""Tables whose pages link to one another."""


def named(name: str) -> Table:
    """Return a table of the report.

    :raises tk.ValidationError: no table has this name; the text lists the names
    """
    if name not in TABLES:
        words = tk._("There is no table {name}: choose {names}")
        raise tk.ValidationError(
            {"table": [words.format(name=name, names=", ".join(sorted(TABLES)))]}
        )
    return TABLES[name]


def request_for(
    context: Mapping[str, Any], table: Table, data: Mapping[str, Any], now: datetime
) -> TableRequest:
    """Return a request for rows of a table from a user's parameters.

    :param data: ``organization`` (name or id), ``since`` (a date, or a run), ``status`` or
        ``state`` (one of the table's filters), ``q`` (a text to search for), ``sort``
    :raises tk.ValidationError: a value is not allowed; the text says which ones are
    :raises tk.ObjectNotFound: the organization does not exist, or the user may not see it
    """
    since, run = since_date(data.get("since"))
    sort = str(data.get("sort") or "") or None
    if sort is not None:
        one_of("sort", sort.removeprefix("-"), sorted(column.key for column in table.shown))
    return TableRequest(
        context=same_user(context),
        now=now,
        organization=visibility.organization_id(context, data.get("organization")),
        since=since,
        run=run,
        status=one_of(table.filter, data.get(table.filter), table.filters),
        search=str(data.get("q") or "").strip()[:_LONGEST] or None,
        sort=sort,
    )


def since_date(given: object) -> tuple[datetime | None, str | None]:
    """Return the earliest moment, and the id of the run if a run was given.

    :raises tk.ValidationError: it is neither
    """
    if given in (None, ""):
        return None, None
    text = str(given)
    run = model.Session.query(CheckRun).get(text)
    if text == "last":
        checks = model.Session.query(CheckRun).filter_by(kind="check")
        run = checks.order_by(CheckRun.started_at.desc()).first()
    if run is not None:
        return aware(run.started_at), run.id
    moment = parse_date(text)
    if moment is None:
        words = tk._(
            "{text} is neither a date such as 2026-01-31 nor the id of a run nor last, the last check"
        )
        raise tk.ValidationError({"since": [words.format(text=text[:80])]})
    return moment, None


def one_of(key: str, given: object, allowed: Any) -> str | None:
    """Return the value of a parameter that may only be one of some; None if it is missing or empty.

    :raises tk.ValidationError: it is another
    """
    if given in (None, ""):
        return None
    if given not in allowed:
        words = tk._("must be one of {allowed}, not {given}")
        text = words.format(allowed=", ".join(allowed) or "-", given=str(given)[:80])
        raise tk.ValidationError({key: [text]})
    return str(given)
