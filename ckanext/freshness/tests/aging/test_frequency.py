"""Update frequencies: numbers, ISO 8601 and English phrases, and what gives no frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.frequency import (
    ALWAYS_FRESH,
    VOCABULARIES,
    WORDS,
    UnknownFrequency,
    label,
    parse,
)
from ckanext.freshness.aging.vocabularies import AS_NEEDED, MAX_DAYS, Reason, Vocabulary

EU = "http://publications.europa.eu/resource/authority/frequency/"
CLD = "http://purl.org/cld/freq/"
ISO_8601 = {
    "P1D": 1,
    "P2W": 14,
    "P1M": 30,
    "P100Y": 36500,
    "P1Y6M": 545,
    "P0.5Y": 180,
    "P0,5M": 15,
    "P0.5W": 4,
    "PT1S": 1,
    "PT24H1S": 2,
    "P1DT12H": 2,
    "R/P1M": 30,
    "R-1/P1W": 7,
    "R/2020-01-01/P1M": 30,
    "R12/2020-01-01T00:00:00Z/P1M": 30,
    "R/P1M/2030-01-01T00:00:00+01:00": 30,
}

ENGLISH = {
    "Every day": 1,
    "every other day": 2,
    "every other week": 14,
    "every 2nd month": 60,
    "every half year": 180,
    "once every year": 365,
    "once in 5 years": 1825,
    "every 36525 days": 36525,
    "every five minutes": 1,
    "every 36 hours": 2,
    "7 days": 7,
    "six-monthly": 180,
    "once a year": 365,
    "twice a day": 1,
    "three times a week": 3,
    "3x per year": 120,
    "3 x/week": 3,
    "24 times a year": 15,
    "Bi-annually": 180,
}


def outcome(value: object) -> int | Reason:
    result = parse(value)
    return result if isinstance(result, int) else result.reason


@pytest.mark.parametrize("days", WORDS)
@pytest.mark.parametrize("write", [int, float, str, "{}.0".format, " {}\t\n".format])
def test_hdx_numbers(days: int, write: Callable[[int], object]) -> None:
    assert parse(write(days)) == days


@pytest.mark.parametrize(("text", "expected"), [*ISO_8601.items(), *ENGLISH.items()])
def test_text_in_every_case(text: str, expected: int | Reason) -> None:
    texts = [text, text.upper(), text.lower(), f"  {text}\t\n", f"\u00a0{text}"]
    assert {each: outcome(each) for each in texts} == dict.fromkeys(texts, expected)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.NOT_GIVEN),
        ("", Reason.NOT_GIVEN),
        ("every now and then", Reason.NOT_UNDERSTOOD),
        ("in 5 years", Reason.NOT_UNDERSTOOD),
        ("x" * 1_000_000, Reason.NOT_UNDERSTOOD),
        (" " * 1_000_000, Reason.NOT_GIVEN),
        ("NaN", Reason.NOT_UNDERSTOOD),
        (float("nan"), Reason.NOT_UNDERSTOOD),
        (1.5, Reason.NOT_UNDERSTOOD),
        (True, Reason.NOT_UNDERSTOOD),
        (["30"], Reason.NOT_UNDERSTOOD),
        ("007", Reason.NOT_UNDERSTOOD),
        ("\u0667", Reason.NOT_UNDERSTOOD),
        ("-7", Reason.OUT_OF_RANGE),
        (-7, Reason.OUT_OF_RANGE),
        (MAX_DAYS + 1, Reason.OUT_OF_RANGE),
        (10**10_000, Reason.OUT_OF_RANGE),
        ("every 0 days", Reason.OUT_OF_RANGE),
        ("every 101 years", Reason.OUT_OF_RANGE),
        ("R/P0D", Reason.OUT_OF_RANGE),
        ("P0Y0M", Reason.OUT_OF_RANGE),
        ("P", Reason.NOT_UNDERSTOOD),
        ("P1", Reason.NOT_UNDERSTOOD),
        ("-P1D", Reason.NOT_UNDERSTOOD),
        ("R0/P1D", Reason.NOT_UNDERSTOOD),
        ("R/2020-01-01/2020-02-01", Reason.NOT_UNDERSTOOD),
        (EU + "SOMETIMES", Reason.NOT_UNDERSTOOD),
        ("http://example.org/frequency/MONTHLY", Reason.NOT_UNDERSTOOD),
        ("ftp://purl.org/cld/freq/monthly", Reason.NOT_UNDERSTOOD),
    ],
    ids=lambda value: f"{type(value).__name__} {str(value)[:40]}" if value != 10**10_000 else "big",
)
def test_what_gives_no_frequency(value: object, reason: Reason) -> None:
    result = parse(value)
    assert isinstance(result, UnknownFrequency)
    assert result.reason is reason
    assert len(result.text) < 100
    assert result.text in result.words


class Seasons:
    """A vocabulary as another extension would write it."""

    name = "seasons"

    def read(self, text: str) -> int | None:
        return {"each season": 91, "monthly": 31, "once in a lifetime": 30_000_000}.get(text)


@pytest.mark.parametrize(
    ("vocabularies", "text", "expected"),
    [
        ((*VOCABULARIES, Seasons()), "each season", 91),
        ((*VOCABULARIES, Seasons()), "monthly", 30),
        ((Seasons(), *VOCABULARIES), "monthly", 31),
        (
            (Seasons(), *VOCABULARIES),
            "once in a lifetime",
            UnknownFrequency("once in a lifetime", Reason.OUT_OF_RANGE),
        ),
        (VOCABULARIES, "each season", UnknownFrequency("each season", Reason.NOT_UNDERSTOOD)),
    ],
)
def test_other_vocabularies(
    vocabularies: Sequence[Vocabulary], text: str, expected: int | UnknownFrequency
) -> None:
    assert parse(text, vocabularies) == expected


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (1, "Every day"),
        (7, "Every week"),
        (14, "Every two weeks"),
        (30, "Every month"),
        (365, "Every year"),
        (0, "Live"),
        (-1, "Never"),
        (-2, "As needed"),
        (21, "Every 21 days"),
        (1825, "Every 5 years"),
    ],
)
def test_label(days: int, words: str) -> None:
    assert label(days) == words


@given(st.integers(AS_NEEDED, MAX_DAYS))
def test_a_label_reads_as_the_days_it_stands_for(days: int) -> None:
    assert outcome(label(days)) == days
    assert outcome(str(days)) == days


FRAGMENTS = (
    *"RPTYMWDHS10.,-_/# ",
    *("99999999", "every", "each", "once", "twice", "times", "x", "a", "per", "second", "other"),
    *("half", "bi", "semi", "week", "month", "years", "http://", EU, CLD, "MONTHLY", "asNeeded"),
    "MaintenanceFrequency",
)
fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=12)
anything = st.one_of(
    st.text(),
    fragments.map(" ".join),
    fragments.map("".join),
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(),
    st.lists(st.integers()),
)


@given(anything)
def test_parse_never_raises(value: object) -> None:
    result = parse(value)
    if isinstance(result, int):
        assert 1 <= result <= MAX_DAYS or result in ALWAYS_FRESH
    else:
        assert result.words
