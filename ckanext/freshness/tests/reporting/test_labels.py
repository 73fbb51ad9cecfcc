"""Dates, numbers and shares in words, as a table for each language."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.reporting import labels

UTC = timezone.utc
NOW = datetime(2026, 11, 22, 10, 0, tzinfo=UTC)


DAY = timedelta(days=1)
NIGHT = datetime(2026, 11, 12, 2, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "style", "moment", "text"),
    [
        ("en", "ago", NOW + 2 * DAY, "in 2 days"),
        ("en", "ago", NOW - timedelta(hours=20), "20 hours ago"),
        ("en", "ago", NOW - 30 * DAY, "30 days ago"),
        ("en", "ago", NOW - 40 * DAY, "1 month ago"),
        ("en", "lasting", NOW - 700 * DAY, "23 months"),
        ("de", "ago", NOW - 3 * DAY, "vor 3 Tagen"),
        ("en", "day", NIGHT.replace(year=2024), "12 Nov 2024"),
        ("de", "day", NIGHT, "12. November"),
        ("en", "exact", NIGHT, "12 Nov 2026, 02:13 UTC"),
        ("en", "time", NIGHT.replace(year=2024), "12 Nov 2024, 02:13"),
    ],
)
def test_a_moment(language: str, style: str, moment: datetime, text: str) -> None:
    assert labels.when(moment, style, NOW, UTC, labels.locale_of(language)) == text


@pytest.mark.parametrize(
    ("language", "part", "whole", "text"),
    [
        ("en", 924, 1284, "72%"),
        ("en", 0, 7, "0%"),
        ("en", 7, 7, "100%"),
        ("en", 1, 10_000, "1%"),
        ("en", 9_999, 10_000, "99%"),
        ("en", 0, 0, "0%"),
    ],
)
def test_a_share_is_never_all_or_nothing_unless_it_is(
    ckan_config: Any,
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    part: int,
    whole: int,
    text: str,
) -> None:
    monkeypatch.setitem(ckan_config, "ckan.locale_default", language)
    assert labels.percent(part, whole) == text


@pytest.mark.parametrize("statuses", [(401, 498, 499), (429, 420, 430)])
def test_statuses_that_say_the_same_have_one_sentence(statuses: tuple[int, ...]) -> None:
    sentences = {
        labels.link_problem({"status": status, "outcome": "cannot tell"}).partition("(")[0]
        for status in statuses
    }
    assert len(sentences) == 1 and labels.BLOCKED not in sentences
