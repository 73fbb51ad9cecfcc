"""The few header fields that the client reads and writes itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]*)?")
_DAYS = frozenset({"Mon, ", "Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, ", "Sun, "})
_MONTHS = {
    **{" Jan ": "-01-", " Feb ": "-02-", " Mar ": "-03-", " Apr ": "-04-", " May ": "-05-"},
    **{" Jun ": "-06-", " Jul ": "-07-", " Aug ": "-08-", " Sep ": "-09-", " Oct ": "-10-"},
    **{" Nov ": "-11-", " Dec ": "-12-"},
}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")


def parse_http_date(value: str) -> datetime | None:
    """The moment that an HTTP date names (RFC 9110, section 5.6.7), or None if it names none."""
    try:
        # How nearly all servers write it: "Sun, 06 Nov 1994 08:49:37 GMT". Each digit is judged by
        # what reads it.
        if (
            len(value) == 29
            and value[:5] in _DAYS
            and (month := _MONTHS.get(value[7:12]))
            and value[16] == " "
            and value[19] == value[22] == ":"
            and value[25:] == " GMT"
            and value.isascii()
        ):
            iso = f"{value[12:16]}{month}{value[5:7]}T{value[17:25]}+00:00"
            return datetime.fromisoformat(iso).replace(tzinfo=timezone.utc)
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
