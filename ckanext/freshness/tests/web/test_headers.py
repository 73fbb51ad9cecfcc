"""Values of headers: dates, what can be sent, what can be stored."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.web.headers import can_be_sent, parse_retry_after, storable

NOW = datetime(2026, 9, 1, 12, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("-5", None),
        ("٣", None),
        ("120", 120.0),
        ("1.5", 1.5),
        ("9" * 20, None),
        ("Tue, 01 Sep 2026 12:02:00 GMT", 120.0),
        ("Tue, 31 Sep 2026 12:02:00 GMT", None),
        ("Tuesday, 01-Sep-26 12:02:00 GMT", 120.0),
        ("Tue Sep  1 12:02:00 2026", 120.0),
        ("Tue, 01 Sep 2026 14:02:00 +0200", 120.0),
        ("Tue, 01 Sep 2026 11:00:00 GMT", 0.0),
        ("Tue, 01 Sep 99999 11:00:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@given(st.text())
def test_retry_after_takes_anything(value: str) -> None:
    found = parse_retry_after(value, NOW)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("value", "sendable"),
    [
        ('"abc"', True),
        ("", True),
        ("a\nb", False),
        ("a\r\nX-Evil: 1", False),
        ("a\x7f", False),
        ("\udcff", False),
    ],
)
def test_what_can_be_sent(value: str, sendable: bool) -> None:
    assert can_be_sent(value) is sendable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("übel", "übel"),
        ("a\0b", "a\ufffdb"),
        # "ü" in UTF-8, read as ASCII with surrogateescape
        ("\udcc3\udcbc", "ü"),
        ("\udcff", "\ufffd"),
        # A surrogate that stands for no byte
        ("\ud800\udcff", "??"),
    ],
)
def test_storable(text: str, stored: str) -> None:
    assert storable(text) == stored
