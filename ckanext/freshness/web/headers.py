"""The few header fields that the client reads and writes itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]*)?")
_FIXDATE = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4})"
    r" ([0-9]{2}):([0-9]{2}):([0-9]{2}) GMT"
)
"""How nearly all servers write dates (RFC 9110, section 5.6.7)."""

_MONTHS = {
    **{"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6},
    **{"Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12},
}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")


def parse_http_date(value: str) -> datetime | None:
    """The moment that an HTTP date names (RFC 9110, section 5.6.7), or None if it names none."""
    plain = _FIXDATE.fullmatch(value)
    try:
        if plain is not None and (month := _MONTHS.get(plain[2])):
            day, _, year, hour, minute, second = plain.groups()
            return datetime(
                int(year), month, int(day), int(hour), int(minute), int(second), tzinfo=timezone.utc
            )
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """How many seconds ``Retry-After`` asks for, seen from ``now``; never negative.

    RFC 9110, section 10.2.3: seconds or a date. Fractions of a second, which some servers send, are
    taken too. None if there is no such header, or nothing that can be understood.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = parse_http_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def can_be_sent(value: str) -> bool:
    """Whether a header may have this value (RFC 9110, section 5.5)."""
    if value.isascii() and value.isprintable():
        return True
    if not _VALUE.fullmatch(value):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def illegal_header(headers: Mapping[str, str]) -> str | None:
    """The name of the first header that cannot be sent, fit to be shown; None if all can."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not can_be_sent(value):
            return ascii(name)
    return None
