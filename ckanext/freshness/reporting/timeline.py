"""The coming statuses of a dataset if nothing changes, as a line with a mark for today. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..aging.status import Status


@dataclass(frozen=True, slots=True)
class Zone:
    """The time in which a dataset has one status.

    :ivar begin: None for the first status, which the dataset has already
    :ivar end: None for the last status, which lasts until the data change
    :ivar current: whether this is the status of today
    """

    status: str
    begin: datetime | None
    end: datetime | None
    current: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """The zones of a line, drawn equally wide.

    :ivar today: the place of today on the line, in percent
    """

    zones: tuple[Zone, ...]
    today: float


_STATUSES = tuple(
    status.value for status in (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
)


def timeline(
    last_modified: datetime, due: datetime, overdue: datetime, delinquent: datetime, now: datetime
) -> Timeline:
    """Return the time line of a dataset's status.

    :param last_modified: the last change of its data, from which the boundaries are counted
    """
    edges = (due, overdue, delinquent)
    index = sum(now >= edge for edge in edges)
    zones = tuple(
        Zone(status, begin, end, number == index)
        for number, (status, begin, end) in enumerate(
            zip(_STATUSES, (None, *edges), (*edges, None), strict=True)
        )
    )
    begin = (last_modified, *edges)[index]
    # The last zone has no end: let it seem as long as the one before it.
    end = edges[index] if index < len(edges) else delinquent + (delinquent - overdue)
    length = (end - begin).total_seconds()
    part = (now - begin).total_seconds() / length if length > 0 else 0.0
    return Timeline(zones, 100 * (index + min(max(part, 0.0), 0.95)) / len(zones))
