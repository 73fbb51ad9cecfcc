"""What statuses and failures say about a link."""

from __future__ import annotations

from ckanext.freshness.checking.answers import status_means
from ckanext.freshness.web.errors import FailureReason, Meaning

WORKS, FAILED, CANNOT_TELL, OURS = Meaning

STATUSES = {
    WORKS: {300, 301, 302, 303, 304, 307, 308, *range(200, 300)} - {202, 204, 205},
    CANNOT_TELL: {
        *(202, 401, 402, 403, 405, 406, 407, 415, 418, 420, 426, 429, 430, 451, 468, 498, 499, 999)
    },
    OURS: {511},
}


def test_every_status_means_something() -> None:
    for status in range(100, 1000):
        expected = next((meaning for meaning, ones in STATUSES.items() if status in ones), FAILED)
        assert status_means(status) is expected, status


def test_every_failure_means_something() -> None:
    for reason in FailureReason:
        assert reason.meaning is not WORKS
        assert (reason.meaning is FAILED) <= reason.theirs
        assert (reason.meaning is OURS) <= (not reason.theirs)
