"""What happened in a month, in sentences: the share and its reason, the rank, broken links.

Days are compared as they were stored. They have public datasets only, so that everybody may read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..aging.messages import NN_
from ..aging.status import Status
from ..ckan_adapter.core import model
from ..model import HistoryDay
from .counts import StatusCounts, of_statuses
from .labels import counted, percent, reader

AGO = (timedelta(days=30), timedelta(days=45))
"""The least and the greatest age of the day with which the newest one is compared."""
RECENT = timedelta(days=2)
"""The greatest age of a day that stands for the present."""
_DAYS = HistoryDay.__table__


@dataclass(frozen=True, slots=True)
class Day:
    """The counts of a stored day, of all datasets and by the id of their organization."""

    every: StatusCounts
    organizations: Mapping[str, StatusCounts]

    def of(self, organization: str | None) -> StatusCounts:
        """Return the counts of an organization; of all datasets without one."""
        if organization is None:
            return self.every
        return self.organizations.get(organization, StatusCounts())

    def rank(self, organization: str) -> int:
        """Return 1 plus the number of organizations with a greater share of fresh datasets."""
        own = self.of(organization).fresh_percent
        known = (one for one in self.organizations.values() if one.known)
        return 1 + sum(one.fresh_percent > own for one in known)


def compared(today: date) -> tuple[Day, Day] | None:
    """Return the day of a month ago and the newest day; None if one of them was not stored."""
    least, greatest = AGO
    before, now = _day(today - greatest, today - least), _day(today - RECENT, today)
    return None if before is None or now is None else (before, now)


def movement(days: tuple[Day, Day] | None, organization: str) -> dict[str, int] | None:
    """Return the ``rank`` of an organization, of how many (``count``), and its rank ``before``."""
    if days is None or not all(day.of(organization).known for day in days):
        return None
    before, now = days
    ranked = sum(one.known > 0 for one in now.organizations.values())
    ranks = {"rank": now.rank(organization), "before": before.rank(organization)}
    return {**ranks, "count": ranked}


def movement_words(moved: Mapping[str, int]) -> str:
    """Return a :func:`movement` in a sentence."""
    text = tk._("Rank {rank} of {count} organizations, {before} a month ago.")
    return str(text).format(**moved)


def sentences(days: tuple[Day, Day] | None, organization: str | None) -> list[str]:
    """Return what changed between two days; nothing if one is missing, or nothing is known of the newer."""
    if days is None or not days[1].of(organization).known:
        return []
    before, now = days
    found = _why(before, now, organization)
    moved = movement(days, organization) if organization else None
    if moved is None:
        return found
    locale, _zone = reader()
    was, is_now = before.of(organization), now.of(organization)
    return [
        tk._("{share} are up to date, {before} a month ago.").format(
            share=percent(is_now.statuses[Status.FRESH.value], is_now.known, locale),
            before=percent(was.statuses[Status.FRESH.value], was.known, locale),
        ),
        movement_words(moved),
        *found,
        counted(NN_("{count} public dataset.", "{count} public datasets."), is_now.total)
        + " "
        + tk._("A month ago: {count}.").format(count=was.total),
    ]


def _why(before: Day, now: Day, organization: str | None) -> list[str]:
    """Return how many more or fewer datasets are long overdue, and which organization has most of them."""
    late = Status.DELINQUENT.value
    more = now.of(organization).statuses[late] - before.of(organization).statuses[late]
    if not more:
        return []
    rise = NN_(
        "{count} more is long overdue than a month ago",
        "{count} more are long overdue than a month ago",
    )
    fall = NN_(
        "{count} fewer is long overdue than a month ago",
        "{count} fewer are long overdue than a month ago",
    )
    words = counted(rise if more > 0 else fall, abs(more))
    if organization is None and more > 0:
        grown = {
            one: now.of(one).statuses[late] - before.of(one).statuses[late]
            for one in now.organizations
        }
        most = max(grown, key=grown.__getitem__, default=None)
        group = model.Group.get(most) if most else None
        if most and group is not None and group.state == "active" and grown[most] > 0:
            text = tk._("{words}, {count} of them from {title}.")
            values = {"count": min(grown[most], more), "title": group.title or group.name}
            return [text.format(words=words, **values)]
    return [f"{words}."]


def _day(since: date, until: date) -> Day | None:
    """Return the newest stored day of a period."""
    row = model.Session.execute(
        sa.select(_DAYS.c.statuses, _DAYS.c.organizations)
        .where(_DAYS.c.day.between(since, until))
        .order_by(_DAYS.c.day.desc())
        .limit(1)
    ).first()
    if row is None:
        return None
    organizations = {key: of_statuses(numbers) for key, numbers in row.organizations.items()}
    return Day(of_statuses(row.statuses), organizations)
