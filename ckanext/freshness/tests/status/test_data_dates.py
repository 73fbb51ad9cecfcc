"""The option by which a file that changes without newer data is no update: a table, and a rule for all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.evidence import DatedEvidence, Evidence, newest
from ckanext.freshness.checking.observations import DateColumn
from ckanext.freshness.status.judgement import by_their_data
from ckanext.freshness.status.snapshot import DatasetSnapshot, ResourceSnapshot


def at(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=timezone.utc)


def snapshot(
    column: DateColumn | None, since: str | None, answer: Sequence[str | None] | None = None
) -> DatasetSnapshot:
    """Return a dataset of the resource ``r``, whose newest period was first seen on a day, and another."""
    known: dict[str, Any] = {
        **{"name": "", "url": "https://example.org/a.csv", "url_type": None, "hash": ""},
        **{"created": None, "last_modified": None, "extras": {}, "is_known": True},
        **{"known_url": None, "known_hash": None, "hash_writer": None, "url_changed_at": None},
        **{"found_at_url": True, "is_news_at_url": False, "host": None, "undetermined": None},
        **{"broken_since": None, "fields": (), "wrote": None},
    }
    columns = [column] if column else []
    dated = ResourceSnapshot(
        id="r", dates=columns, data_since=at(since) if since else None, date_column=answer, **known
    )
    other = ResourceSnapshot(id="other", dates=[], **known)
    return DatasetSnapshot("p", "dataset", {}, False, None, {}, None, [dated, other], [], [])


DAYS = DateColumn(None, "date", "2026-03-31", "day", "year, month, day")
YEAR = DateColumn(None, "year", "2026-11-20", "year", "year")
SCHEDULE = DAYS._replace(is_schedule=True)


@pytest.mark.parametrize(
    ("column", "since", "answer", "evidence", "resource", "when", "counts"),
    [
        # The file changes; its data ended in March, which a check saw on 2 April.
        (DAYS, "2026-04-02", None, Evidence.HASH, "r", "2026-11-12", "2026-04-02"),
        (DAYS, "2026-04-02", None, Evidence.HTTP_HEADER, "r", "2026-11-12", "2026-04-02"),
        # Before a check saw them, the change may have brought them.
        (DAYS, "2026-04-02", None, Evidence.HASH, "r", "2026-04-02", "2026-04-02"),
        (DAYS, "2026-04-02", None, Evidence.HTTP_HEADER, "r", "2026-03-30", "2026-03-30"),
        # Within the year, nobody can tell whether a file got newer data; afterwards, one can.
        (YEAR, "2026-01-10", None, Evidence.HASH, "r", "2026-11-12", "2026-11-12"),
        (YEAR, "2026-01-10", None, Evidence.HASH, "r", "2027-02-01", "2026-12-31T23:59:59"),
        # What people, sources and scripts say does not depend on the file.
        *(
            (DAYS, "2026-04-02", None, evidence, "r", "2026-11-12", "2026-11-12")
            for evidence in Evidence
            if evidence not in (Evidence.HASH, Evidence.HTTP_HEADER)
        ),
        # Of these files nobody knows up to when their data reach.
        (DAYS, None, None, Evidence.HASH, "r", "2026-11-12", "2026-11-12"),
        (None, None, None, Evidence.HASH, "r", "2026-11-12", "2026-11-12"),
        (SCHEDULE, "2026-04-02", None, Evidence.HASH, "r", "2026-11-12", "2026-11-12"),
        (DAYS, "2026-04-02", [], Evidence.HASH, "r", "2026-11-12", "2026-11-12"),
        (DAYS, "2026-04-02", None, Evidence.HASH, "other", "2026-11-12", "2026-11-12"),
        (DAYS, "2026-04-02", None, Evidence.HASH, None, "2026-11-12", "2026-11-12"),
    ],
)
def test_what_counts(
    column: DateColumn | None,
    since: str | None,
    answer: list[str | None] | None,
    evidence: Evidence,
    resource: str | None,
    when: str,
    counts: str,
) -> None:
    piece = DatedEvidence(at(when), evidence, resource)
    (found,) = by_their_data([piece], snapshot(column, since, answer))
    assert found.when == at(counts)


MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(timezone.utc))
PIECES = st.lists(st.builds(DatedEvidence, MOMENTS, st.sampled_from(Evidence), st.just("r")))


@given(PIECES, st.sampled_from([DAYS, YEAR, SCHEDULE]), st.dates().map(str))
def test_it_makes_no_dataset_fresher(
    pieces: list[DatedEvidence], column: DateColumn, since: str
) -> None:
    found = newest(by_their_data(pieces, snapshot(column, since)))
    before = newest(pieces)
    assert (found is None) == (before is None)
    assert found is None or before is None or found.when <= before.when
