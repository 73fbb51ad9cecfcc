"""When a job should have made progress: the pages of a source and the doctor decide it by the same rules."""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..dates import utc

BEGINNING = timedelta(seconds=30)
"""A consumer that took a job holds its lock within this time."""
STILL = timedelta(minutes=5)
"""A consumer without progress for this long is dead: a page of records takes it about 90 seconds at most."""
CRON = timedelta(minutes=20)
"""``ckan harvester run``, called every few minutes, marks a complete job as finished within this time."""

_job = harvest.JOB
_object = harvest.OBJECT

_IMPORT = (
    _object.c.fetch_started,
    _object.c.fetch_finished,
    _object.c.import_started,
    _object.c.import_finished,
)
LAST = sa.func.max(sa.func.greatest(_object.c.gathered, *_IMPORT))
"""SQL: when something happened last to any of some objects."""


def is_importing(now: datetime) -> bool:
    """Decide whether a consumer imports records of any job, so that others wait for their turn."""
    running = sa.select(_job.c.id).where(_job.c.status == "Running")
    last = model.Session.execute(
        sa.select(sa.func.max(sa.func.greatest(*_IMPORT))).where(
            _object.c.harvest_job_id.in_(running)
        )
    ).scalar()
    return last is not None and utc(now) - last <= STILL
