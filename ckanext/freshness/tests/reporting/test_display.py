"""Dates, numbers and shares in words, as a table for each language."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.aging.status import Status
from ckanext.freshness.reporting import display

UTC = timezone.utc
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "delta", "text"),
    [
        ("en", timedelta(days=-3), "3 days ago"),
        ("en", timedelta(days=2), "in 2 days"),
        ("en", timedelta(minutes=-12), "12 minutes ago"),
        ("en", timedelta(hours=-20), "20 hours ago"),
        ("en", timedelta(hours=-30), "1 day ago"),
        ("en", timedelta(days=-9), "9 days ago"),
        ("en", timedelta(days=-14), "2 weeks ago"),
        ("en", timedelta(days=-400), "13 months ago"),
        ("de", timedelta(days=-3), "vor 3 Tagen"),
        ("fr", timedelta(days=-3), "il y a 3 jours"),
        ("es", timedelta(days=60), "dentro de 2 meses"),
    ],
)
def test_a_moment_relative_to_now(language: str, delta: timedelta, text: str) -> None:
    assert display.ago(NOW + delta, NOW, display.locale_of(language)) == text


@pytest.mark.parametrize(
    ("language", "moment", "text"),
    [
        ("en", datetime(2026, 11, 12, tzinfo=UTC), "12 Nov"),
        ("en", datetime(2024, 6, 3, tzinfo=UTC), "3 Jun 2024"),
        ("de", datetime(2026, 11, 12, tzinfo=UTC), "12. November"),
        ("fr", datetime(2024, 6, 3, tzinfo=UTC), "3 juin 2024"),
    ],
)
def test_a_day(language: str, moment: datetime, text: str) -> None:
    assert display.day(moment, NOW, UTC, display.locale_of(language)) == text


@pytest.mark.parametrize(
    ("language", "duration", "text"),
    [
        ("en", timedelta(0), "1 second"),
        ("en", timedelta(milliseconds=-3), "1 second"),
        ("de", timedelta(milliseconds=400), "1 Sekunde"),
        ("en", timedelta(minutes=48), "48 minutes"),
        ("en", timedelta(days=9), "9 days"),
    ],
)
def test_no_duration_is_zero(language: str, duration: timedelta, text: str) -> None:
    assert display.lasting(NOW, NOW + duration, display.locale_of(language)) == text


def test_a_moment_to_the_minute() -> None:
    moment = datetime(2026, 11, 12, 2, 13, tzinfo=UTC)
    assert display.exact(moment, UTC, display.locale_of("en")) == "12 Nov 2026, 02:13 UTC"


@pytest.mark.parametrize(
    ("language", "part", "whole", "text"),
    [
        ("en", 924, 1284, "72%"),
        ("de", 924, 1284, "72\xa0%"),
        ("en", 0, 7, "0%"),
        ("en", 7, 7, "100%"),
        ("en", 1, 10_000, "1%"),
        ("en", 9_999, 10_000, "99%"),
        ("en", 0, 0, "0%"),
    ],
)
def test_a_share_is_never_all_or_nothing_unless_it_is(
    language: str, part: int, whole: int, text: str
) -> None:
    assert display.percent(part, whole, display.locale_of(language)) == text


@pytest.mark.parametrize(
    ("language", "size", "text"),
    [
        ("en", 0, "0 bytes"),
        ("en", 1, "1 byte"),
        ("de", 218, "218 Byte"),
        ("fr", 999, "999 octets"),
        ("en", 1000, "1 kB"),
        ("en", 640_000, "640 kB"),
        ("en", 999_999, "1,000 kB"),
        ("de", 3_140_000, "3,1 MB"),
        ("en", 1_800_000_000, "1.8 GB"),
        ("fr", 1_800_000_000, "1,8 Go"),
        ("en", 10**16, "10,000 TB"),
    ],
)
def test_a_size(language: str, size: int, text: str) -> None:
    found = display.size(size, display.locale_of(language))
    assert " ".join(found.split()) == text


def test_a_date_in_full() -> None:
    for language, text in (("en", "22 November 2026"), ("de", "22. November 2026")):
        assert display.date_of(NOW, UTC, display.locale_of(language)) == text


def test_every_status_has_a_look_of_its_own() -> None:
    assert set(display.STATUSES) == {status.value for status in Status}
    for states in (display.STATUSES, display.LINKS):
        assert len({state.label for state in states.values()}) == len(states)
        assert len({state.icon for state in states.values()}) == len(states)
