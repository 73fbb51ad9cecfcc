"""The headers of an answer that decide a check, and which of its dates are believed.

Pure: no network, database or clock.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from html import unescape
from http import HTTPStatus
from typing import NamedTuple

from ..dates import stated_date
from ..web.exchange import Answer, can_be_sent, parse_http_date
from .meanings import has_wall_header

MADE_ON_THE_FLY = timedelta(minutes=1)
"""A Last-Modified this close to the answer's Date, or to its receipt, was made for the answer."""

BEHIND_GMT = frozenset({*range(0, 25, 2), 5, 7, 19})
"""Half hours by which local time is behind GMT: some servers call local time GMT. The odd ones are those of
Newfoundland in summer and in winter, and of the Marquesas. Zones before GMT give dates in the future."""

_HALF_HOUR = timedelta(minutes=30)


class AnswerHeaders(NamedTuple):
    """The headers of an answer. Dates are aware, and None if absent or not understood."""

    status: int
    etag: str | None = None
    last_modified_text: str | None = None
    last_modified: datetime | None = None
    date: datetime | None = None
    """The server's time of the answer."""
    wall: bool = False
    """Whether a bot wall answered. Its status can be any."""
    busy: bool = False
    """Whether the server names the moment when to ask again."""
    empty: bool = False
    """Content-Length is 0."""
    age: timedelta = timedelta(0)
    """How long a cache has kept the answer."""
    partial: bool = False
    """Whether the body is certainly only a part of the file. The checker never asks for a part."""


_LONGEST_VALIDATOR = 1024
"""Longest validator that is stored; an ETag has some forty characters."""


def read_headers(answer: Answer) -> AnswerHeaders:
    """Return the headers of an answer that decide."""
    headers, modified, date, age = answer.headers, None, None, timedelta(0)
    text = headers.get("Last-Modified")
    # A 304 counts whatever its dates, and parsing them is half of the work on its headers.
    if text is not None and answer.status != 304:
        modified = stated_date(parse_http_date(text))
        # These two are only compared with Last-Modified.
        date = parse_http_date(headers.get("Date", ""))
        age = _age(", ".join(headers.getall("Age", ())))
    return AnswerHeaders(
        answer.status,
        storable_validator(headers.get("ETag")),
        storable_validator(text),
        modified,
        date,
        has_wall_header(headers),
        "Retry-After" in headers,
        answer.status != 304 and headers.get("Content-Length") == "0",
        age,
        answer.status == HTTPStatus.PARTIAL_CONTENT and _is_part(headers.get("Content-Range", "")),
    )


_RANGE = re.compile(r"\s*bytes[\s=]\s*(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)\s*", re.IGNORECASE)


def _is_part(content_range: str) -> bool:
    """Decide whether a Content-Range (RFC 9110, section 14.4) is certainly a part of the file."""
    found = _RANGE.fullmatch(content_range)
    if found is None:
        return False
    first, last, size = found.groups()
    return int(first) > 0 or (size != "*" and int(last) + 1 < int(size))


_SECONDS = re.compile(r"(?<![\d.])\d{1,9}")


def _age(text: str) -> timedelta:
    """Return the longest time in Age headers, of which each cache may send one (RFC 9111, section 5.1)."""
    return timedelta(seconds=max((int(one) for one in _SECONDS.findall(text)), default=0))


def storable_validator(value: str | None) -> str | None:
    """Return a validator if it can be stored and sent back."""
    if not value or len(value) > _LONGEST_VALIDATOR or not can_be_sent(value):
        return None
    return value


def mimetype_of(answer: Answer) -> str | None:
    """Return the media type in Content-Type, without parameters; None if there is no usable one."""
    text = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return text if text.count("/") == 1 and len(text) <= 127 and can_be_sent(text) else None


_REFRESH = re.compile(r"\s*[\d.]+\s*(?:[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']*)|\Z)", re.IGNORECASE)
_SCRIPT = re.compile(
    rb"\blocation(?:\.href)?\s{0,9}(?:=|\.(?:replace|assign)\()\s{0,9}([\"'])"
    rb"((?!(?!https?:)[a-z]{1,20}:)[^\"'\s]{1,2000})\1(?!\s{0,9}\+)"
)
"""A script that leads browsers to a URL. On a long page, it may wait for a click."""
_LONGEST_LEAD = 4096
_META = re.compile(rb"<meta(\s[^>]{0,2000})", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"([a-z-]{1,40})\s{0,9}=\s{0,9}(?:\"([^\"]*)|'([^']*)|([^\s\"']+))", re.IGNORECASE
)


def refresh_of(answer: Answer, page: bytes) -> str | None:
    """Return the URL to which an answer sends browsers by a header, a tag or a script; None if to none.

    It is empty if they ask for the page once more.
    """
    given = answer.headers.get("Refresh") or ""
    for tag in _META.findall(page):
        values = {
            name.lower(): "".join(value)
            for name, *value in _ATTRIBUTE.findall(tag.decode("utf-8", "replace"))
        }
        if values.get("http-equiv", "").lower() == "refresh" and "content" in values:
            given = unescape(values["content"])
            break
    found = _REFRESH.match(given)
    if found is not None:
        return (found[1] or "").strip()
    script = _SCRIPT.search(page) if len(page) < _LONGEST_LEAD else None
    return script[2].decode("utf-8", "replace").replace("\\/", "/") if script else None


def status_in_words(status: int) -> str:
    """Return a status with its name: ``404 (Not Found)``."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)


def believed(headers: AnswerHeaders, now: datetime) -> datetime | None:
    """Return the Last-Modified of an answer; None if it was made for the answer, or lies in the future.

    :param now: receipt of the answer: some servers send no Date, or a wrong one
    """
    modified = headers.last_modified
    if modified is None or modified >= now - MADE_ON_THE_FLY:
        return None
    date = now if headers.date is None else headers.date
    # Some caches keep the answer's Date, others replace it.
    ages = [at - modified - kept for at in (now, date) for kept in (timedelta(0), headers.age)]
    return None if any(_is_made_on_the_fly(age) for age in ages) else modified


def _is_made_on_the_fly(age: timedelta) -> bool:
    """Decide whether a date was made for an answer, in GMT or in the local time of a zone behind it.

    :param age: from the date to the answer
    """
    halves = round(age / _HALF_HOUR)
    return halves in BEHIND_GMT and abs(age - halves * _HALF_HOUR) <= MADE_ON_THE_FLY
