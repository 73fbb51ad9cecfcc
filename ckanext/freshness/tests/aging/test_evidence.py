"""Evidence for a last modification: what is remembered, and what counts."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import permutations

import pytest

from ckanext.freshness.aging.evidence import (
    DatedEvidence,
    Evidence,
    keep,
    newest,
    observe,
    remember,
)


def day(number: int) -> datetime:
    return datetime(2024, 1, 1, tzinfo=timezone.utc) + timedelta(days=number - 1)


NOW = day(100)
TYPO = datetime(2099, 1, 1, tzinfo=timezone.utc)


def cut(claimed: datetime, first_seen: datetime) -> DatedEvidence:
    return DatedEvidence(first_seen, Evidence.UPLOAD, "r1", claimed)


def plain(when: datetime) -> DatedEvidence:
    return DatedEvidence(when, Evidence.UPLOAD, "r1")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (day(99), plain(day(99))),
        (NOW, plain(NOW)),
        (NOW + timedelta(microseconds=1), cut(NOW + timedelta(microseconds=1), NOW)),
        (TYPO, cut(TYPO, NOW)),
    ],
)
def test_observe(claim: datetime, expected: DatedEvidence) -> None:
    found = observe(claim, Evidence.UPLOAD, NOW, "r1")
    assert found == expected
    assert found.claim == claim
    assert (found.claimed is not None) is (claim > NOW)


@pytest.mark.parametrize(
    ("previous", "seen", "expected"),
    [
        pytest.param(None, plain(day(5)), plain(day(5)), id="first seen"),
        pytest.param(plain(day(5)), plain(day(9)), plain(day(9)), id="later"),
        pytest.param(plain(day(5)), plain(day(2)), plain(day(5)), id="never backwards"),
        pytest.param(plain(day(5)), plain(day(5)), plain(day(5)), id="the same"),
        pytest.param(plain(day(5)), cut(TYPO, NOW), cut(TYPO, NOW), id="into the future"),
        pytest.param(
            cut(TYPO, day(7)), cut(TYPO, NOW), cut(TYPO, day(7)), id="still in the future"
        ),
        pytest.param(
            cut(day(90), day(7)), plain(day(90)), cut(day(90), day(7)), id="the future has come"
        ),
        pytest.param(cut(TYPO, day(7)), plain(day(2)), plain(day(2)), id="corrected to earlier"),
        pytest.param(cut(TYPO, day(7)), plain(day(9)), plain(day(9)), id="corrected to later"),
        pytest.param(
            cut(TYPO, day(7)),
            cut(TYPO + timedelta(days=1), NOW),
            cut(TYPO + timedelta(days=1), NOW),
            id="another future",
        ),
    ],
)
def test_keep(previous: DatedEvidence | None, seen: DatedEvidence, expected: DatedEvidence) -> None:
    assert keep(previous, seen) == expected


HARVEST_OLD = DatedEvidence(day(10), Evidence.HARVEST)
UPLOAD_1 = DatedEvidence(day(20), Evidence.UPLOAD, "r1")
HEADER_1 = DatedEvidence(day(30), Evidence.HTTP_HEADER, "r1")
UPLOAD_2 = DatedEvidence(day(40), Evidence.UPLOAD, "r2")


@pytest.mark.parametrize(
    ("candidates", "previous", "resources", "expected"),
    [
        ([], [], None, None),
        ([UPLOAD_1], [], None, UPLOAD_1),
        ([HARVEST_OLD, UPLOAD_1, HEADER_1], [], None, HEADER_1),
        ([], [HARVEST_OLD, UPLOAD_1, UPLOAD_2], {"r1", "r2"}, UPLOAD_2),
        # What is not seen this time still counts.
        ([UPLOAD_1], [HEADER_1], {"r1"}, HEADER_1),
        # The newest resource is deleted: the rest decides.
        ([], [HARVEST_OLD, UPLOAD_1, HEADER_1, UPLOAD_2], {"r1"}, HEADER_1),
        ([UPLOAD_1], [UPLOAD_2], {"r1"}, UPLOAD_1),
        ([], [HARVEST_OLD, UPLOAD_1], set(), HARVEST_OLD),
        ([], [UPLOAD_1], set(), None),
        # One kind of evidence does not hold back another.
        ([DatedEvidence(day(35), Evidence.UPLOAD, "r1")], [UPLOAD_1, HEADER_1], {"r1"},
         DatedEvidence(day(35), Evidence.UPLOAD, "r1")),
        ([DatedEvidence(day(5), Evidence.HTTP_HEADER, "r1")], [UPLOAD_1, HEADER_1], {"r1"}, HEADER_1),
        # Of several of one kind, the latest.
        ([HARVEST_OLD, DatedEvidence(day(12), Evidence.HARVEST)], [], None,
         DatedEvidence(day(12), Evidence.HARVEST)),
        # A correction of the one leaves the other.
        ([plain(day(2))], [cut(TYPO, day(50)), HARVEST_OLD], {"r1"}, HARVEST_OLD),
    ],
)  # fmt: skip
def test_newest(
    candidates: list[DatedEvidence],
    previous: list[DatedEvidence],
    resources: set[str] | None,
    expected: DatedEvidence | None,
) -> None:
    assert newest(remember(previous, candidates, resources)) == expected


def test_of_equal_dates_the_first_kind_and_resource_count() -> None:
    pieces = [
        DatedEvidence(NOW, Evidence.HASH, "r1"),
        DatedEvidence(NOW, Evidence.UPLOAD, "r2"),
        DatedEvidence(NOW, Evidence.UPLOAD, "r1"),
    ]
    for order in permutations(pieces):
        assert newest(order) == DatedEvidence(NOW, Evidence.UPLOAD, "r1")
