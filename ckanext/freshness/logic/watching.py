"""What is wrong with the checker's runs, for all who are to be told: mails, the dashboard, the metrics."""

from __future__ import annotations

from datetime import datetime, timezone

import sqlalchemy as sa

from ..ckan_adapter import model
from ..model import CheckRun
from ..reporting import watch

_MOST_RUNS = 500


def runs() -> list[watch.Run]:
    """The newest runs, as :mod:`..reporting.watch` judges them."""
    row = CheckRun.__table__
    columns = (
        *(row.c.id, row.c.kind, row.c.started_at, row.c.ended_at),
        *(row.c.options, row.c.datasets, row.c.error),
    )
    found = model.Session.execute(
        sa.select(*columns).order_by(row.c.started_at.desc()).limit(_MOST_RUNS)
    )
    return [
        watch.run(
            id=one.id,
            kind=one.kind,
            started_at=_aware(one.started_at),
            ended_at=None if one.ended_at is None else _aware(one.ended_at),
            options=one.options,
            datasets=one.datasets,
            error=one.error,
        )
        for one in found
    ]


def last_run_at() -> datetime | None:
    """When the newest run over everything began; None if there has been none."""
    newest = watch.last_run(runs())
    return None if newest is None else newest.started_at


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=timezone.utc)
