"""Numbers of datasets by status, now and on earlier days.

Present numbers are of the datasets that a user may see. Those of days cover only public datasets, so that
everybody may see them. Stored statuses are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import sqlalchemy as sa
from dateutil.relativedelta import relativedelta

from ..aging.status import GROUPS, NO_WORKING_LINK, Status
from ..ckan_adapter.core import model
from ..dates import utc
from ..model import HistoryDay
from ..translation import NN_
from . import labels, visibility
from .tables import Context, Row, TableRequest
from .visibility import NOBODY

STATUSES = tuple(labels.STATUSES)
NEEDS_UPDATE = "needs_update"
"""The value of the filter for all statuses of :data:`NEED_UPDATE`."""
DUE_SOON = "due_soon"
"""The value of the filter for datasets that are up to date and soon due."""
NEED_UPDATE = GROUPS["needs_update"]


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Numbers of datasets.

    :ivar statuses: by status, zeros included
    """

    statuses: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))

    @property
    def total(self) -> int:
        """The number of all datasets."""
        return sum(self.statuses.values())

    @property
    def known(self) -> int:
        """The number of datasets with known freshness."""
        return self.total - self.statuses[Status.UNAVAILABLE.value]

    @property
    def fresh_percent(self) -> float:
        """The percentage of fresh datasets among those with known freshness; 0 if there are none."""
        return 100 * self.statuses[Status.FRESH.value] / self.known if self.known else 0.0

    def row(self) -> Row:
        """Return the numbers as values of a table's row."""
        percent = round(self.fresh_percent, 1) if self.known else None
        return {"datasets": self.total, "fresh_percent": percent, **self.statuses}


def of_statuses(numbers: Mapping[str, int]) -> StatusCounts:
    """Return counts from numbers by status, in which zeros may be missing."""
    return StatusCounts({**dict.fromkeys(STATUSES, 0), **numbers})


def count(context: Context, organization: str | None = None) -> tuple[StatusCounts, list[Row]]:
    """Count the datasets that a user may see, in total and by organization.

    :param organization: the id of an organization, to count only its datasets
    :returns: the counts of all; and the organizations: ``id``, ``name``, ``title`` and ``counts``
    """
    every = Counter[str]()
    organizations: dict[str, Row] = {}
    numbers: dict[str, Counter[str]] = {}
    for row in visibility.rows(_COUNTED, context, organization=organization):
        every[row.status] += row.number
        if row.id is not None:
            organizations[row.id] = {"id": row.id, "name": row.name, "title": row.title}
            numbers.setdefault(row.id, Counter())[row.status] += row.number
    return (
        of_statuses(every),
        [{**one, "counts": of_statuses(numbers[id_])} for id_, one in organizations.items()],
    )


def fresh_share(found: StatusCounts) -> str:
    """Return the share of fresh datasets among those with known freshness, in a sentence."""
    forms = NN_(
        "{fresh} of {count} dataset with known freshness is up to date ({percent} percent)",
        "{fresh} of {count} datasets with known freshness are up to date ({percent} percent)",
    )
    fresh = found.statuses[Status.FRESH.value]
    return labels.counted(forms, found.known, percent=round(found.fresh_percent, 1), fresh=fresh)


def status_rows(request: TableRequest) -> list[Row]:
    """Return a row for each status. Shares are of datasets with known freshness."""
    every, _ = count(request.context, request.organization)
    return [
        {
            "status": status,
            "datasets": number,
            "percent": round(100 * number / every.known, 1)
            if every.known and status != Status.UNAVAILABLE.value
            else None,
        }
        for status, number in every.statuses.items()
    ]


def organization_rows(request: TableRequest) -> list[Row]:
    """Return a row for each organization with datasets, or only for the requested one."""
    _, organizations = count(request.context, request.organization)
    rows = [{**one, **one["counts"].row()} for one in organizations]
    return sorted(rows, key=lambda row: str(row["title"]).casefold())


# Days.


def record(now: datetime) -> StatusCounts:
    """Store today's counts of public datasets, by status, and return them."""
    every, organizations = count(NOBODY)
    store(now, every, organizations)
    return every


JUDGED = "coalesce(f.status, 'unavailable')"
"""SQL: the status of a dataset, which it gets with the first refresh."""
SHOWN = f"CASE WHEN f.broken_since IS NULL THEN {JUDGED} ELSE '{NO_WORKING_LINK}' END"
"""SQL: :func:`..aging.status.shown_status`."""
_DATASETS = """p.state = 'active' AND p.type = ANY(:types) AND {visible}
    AND (CAST(:organization AS text) IS NULL OR p.owner_org = :organization)"""
_COUNTED = f"""
SELECT {SHOWN} AS status, g.id, g.name, coalesce(nullif(g.title, ''), g.name) AS title, count(*) AS number
FROM package p LEFT JOIN freshness_dataset f ON f.package_id = p.id LEFT JOIN "group" g ON g.id = p.owner_org
WHERE {_DATASETS} GROUP BY {SHOWN}, g.id"""


def store(now: datetime, every: StatusCounts, organizations: Iterable[Row] = ()) -> None:
    """Store the counts of public datasets today, replacing earlier counts of the same day, and commit.

    :param organizations: of :func:`count`
    """
    values = {
        "made_at": utc(now),
        "statuses": dict(every.statuses),
        # Names of organizations change.
        "organizations": {one["id"]: dict(one["counts"].statuses) for one in organizations},
    }
    insert = sa.dialects.postgresql.insert(_DAYS).values(day=utc(now).date(), **values)
    model.Session.execute(insert.on_conflict_do_update(index_elements=["day"], set_=values))
    model.Session.commit()


KEEP = timedelta(days=5 * 365 + 1)
"""How long daily counts and changes of statuses are kept."""
_DAYS = HistoryDay.__table__


def days(since: date, organization: str | None = None) -> list[tuple[date, StatusCounts]]:
    """Return each stored day from a day on with its counts, in order.

    :param organization: the id of an organization; None for all datasets
    """
    # The whole column would hold every organization of the site.
    counted = _DAYS.c.statuses if organization is None else _DAYS.c.organizations[organization]
    rows = model.Session.execute(
        sa.select(_DAYS.c.day, counted).where(_DAYS.c.day >= since).order_by(_DAYS.c.day)
    )
    return [(day, of_statuses(statuses)) for day, statuses in rows if statuses]


def made_since(moment: datetime) -> bool:
    """Return whether a day was stored since a moment."""
    newest = model.Session.execute(sa.select(sa.func.max(_DAYS.c.made_at))).scalar()
    return newest is not None and newest >= utc(moment)


def history_rows(request: TableRequest) -> Iterator[Row]:
    """Yield the daily counts of public datasets, the newest first."""
    since = (request.since or request.now - relativedelta(years=1)).date()
    for day, found in reversed(days(since, request.organization)):
        yield {"day": day.isoformat(), **found.row()}


def prune(now: datetime, keep: timedelta) -> int:
    """Delete days older than ``keep`` and commit; return how many."""
    gone = model.Session.execute(sa.delete(_DAYS).where(_DAYS.c.day < utc(now - keep).date()))
    model.Session.commit()
    return int(gone.rowcount)
