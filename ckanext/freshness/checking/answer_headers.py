"""What an answer says of what is at a URL, beside its body."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus

from ..web.client import Answer
from ..web.headers import can_be_sent, parse_http_date
from .bot_walls import is_wall
from .decisions import AnswerDates, Decision, Outcome

_KEPT = 1024
"""The longest validator that is kept; an ETag has some forty characters."""


def read_headers(answer: Answer) -> AnswerDates:
    """What the headers of an answer say."""
    given, modified, date, age = answer.headers, None, None, timedelta(0)
    text = given.get("Last-Modified")
    # A 304 is believed whatever its dates, and parsing two is half of the work on its headers.
    if text is not None and answer.status != 304:
        modified = parse_http_date(text)
        # Only to judge Last-Modified by.
        date = parse_http_date(given.get("Date", ""))
        age = _age(given.get("Age", ""))
    return AnswerDates(
        answer.status,
        _storable(given.get("ETag")),
        _storable(text),
        modified,
        date,
        is_wall(answer.status, given),
        given.get("Content-Length") == "0",
        age,
    )


def _age(text: str) -> timedelta:
    """Return the time that an Age header names (RFC 9111, section 5.1); 0 if it names none."""
    text = text.strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    return timedelta(seconds=int(text) if is_number else 0)


def _storable(value: str | None) -> str | None:
    """A validator, if it can be kept and sent back."""
    if not value or len(value) > _KEPT or not can_be_sent(value):
        return None
    return value


def mimetype_of(answer: Answer) -> str | None:
    """What the server says the bytes are, without parameters; None where it says nothing usable."""
    text = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return text if text.count("/") == 1 and len(text) <= 127 and can_be_sent(text) else None


def words_of(step: Decision, headers: AnswerDates) -> str | None:
    """What an answer's status was, in words, where it is to be told."""
    if step.outcome is Outcome.ERROR:
        return f"answered {status_in_words(headers.status)}"
    if step.outcome is Outcome.CANNOT_TELL:
        by = "a wall against robots answered" if headers.wall else "answered"
        return f"{by} {status_in_words(headers.status)}: it may be there for people"
    return None


def status_in_words(status: int) -> str:
    """A status with its name, where it has one."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
