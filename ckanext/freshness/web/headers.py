"""Headers and other texts of servers: what they say, what may be sent, and what can be stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]*)?")
_EARLY_YEAR = re.compile(r" (00[0-9]{2}) ")
"""A year that email.utils takes for one of two digits. Some servers send 0001 in place of no date."""
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")


@lru_cache(maxsize=1024)
def parse_http_date(value: str) -> datetime | None:
    """Parse an HTTP date (RFC 9110, section 5.6.7); return None if it is none."""
    try:
        moment = parsedate_to_datetime(value)
        if early := _EARLY_YEAR.search(value):
            moment = moment.replace(year=int(early[1]))
        if moment.tzinfo is None:
            return moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, at least 0 (RFC 9110, section 10.2.3).

    The header is a number of seconds or a date. Fractions of a second, which some servers send, are
    accepted.

    :param value: the header's value; None if there is no such header
    :param now: the moment of the answer
    :returns: None if there is no header or it cannot be parsed
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = parse_http_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def can_be_sent(value: str) -> bool:
    """Decide whether a header may have this value (RFC 9110, section 5.5)."""
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
    """Return the name of the first header that cannot be sent, escaped to ASCII; None if all can be sent."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not can_be_sent(value):
            return ascii(name)
    return None


def storable(text: str) -> str:
    """Return a server's text with U+FFFD for what PostgreSQL refuses: NUL and lone surrogates.

    HTTP clients decode illegal bytes to lone surrogates. If they are UTF-8 after all, they become characters.
    """
    if text.isascii() and "\0" not in text:
        return text
    # Illegal bytes have surrogates in this range.
    has_bytes = all(
        not 0xD800 <= ord(character) <= 0xDFFF or 0xDC80 <= ord(character) <= 0xDCFF
        for character in text
    )
    encoded = text.encode("utf-8", "surrogateescape" if has_bytes else "replace")
    return encoded.decode("utf-8", "replace").replace("\0", "\ufffd")
