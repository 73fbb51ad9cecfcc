"""What an answer says about a link: a table of statuses, and the headers that decide a check.

A link **works** if people get the file, and has **failed** if they do not. Often nobody **can tell**: a server
refuses programs but not people, or it asks for an account. And sometimes the cause is **ours**: a limit, a rule
or the network of this site. Only failures count towards "broken". What a request without an answer says is in
:mod:`..web.errors`.

Pure: no network, database or clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import NamedTuple

from ..dates import stated_date
from ..web.errors import Meaning
from ..web.exchange import Answer
from ..web.headers import can_be_sent, parse_http_date


class Row(NamedTuple):
    """A row of a table.

    :ivar why: the reason, in words for the documentation
    """

    meaning: Meaning
    why: str


_WORKS, _FAILED, _CANNOT_TELL, _OURS = Meaning

STATUSES: Mapping[int, Row] = {
    202: Row(
        _CANNOT_TELL,
        "the file may exist later (RFC 9110, section 15.3.3); failed after 10 days, unless with a page",
    ),
    204: Row(_FAILED, "there is no file (RFC 9110, section 15.3.5)"),
    205: Row(_FAILED, "there is no file (RFC 9110, section 15.3.6)"),
    304: Row(_WORKS, "not modified, if we named what we know"),
    **dict.fromkeys(
        (300, 301, 302, 303, 307, 308),
        Row(_WORKS, "without a ``Location``, browsers save what comes with it"),
    ),
    401: Row(_CANNOT_TELL, "people with an account may get the file"),
    402: Row(_CANNOT_TELL, "Cloudflare asks programs for money so, but not people"),
    # 468 is SafeLine's, 999 LinkedIn's.
    **dict.fromkeys(
        (403, 405, 406, 415, 418, 468, 999),
        Row(_CANNOT_TELL, "servers and firewalls also refuse programs so, but not people"),
    ),
    407: Row(_CANNOT_TELL, "a proxy asks for a login"),
    426: Row(_CANNOT_TELL, "the server asks for another version of HTTP, which browsers may speak"),
    # 430 is Shopify's.
    **dict.fromkeys((420, 429, 430), Row(_CANNOT_TELL, "too many requests")),
    451: Row(_CANNOT_TELL, "forbidden by law in some places only (RFC 7725)"),
    **dict.fromkeys((498, 499), Row(_CANNOT_TELL, "ArcGIS asks for a token")),
    511: Row(_OURS, "the network of this site asks for a login (RFC 6585)"),
}
"""Statuses whose meaning is not that of their class: 2xx brings the file, and without it people get none."""

NOT_THERE = frozenset({404, 410})
"""Statuses of files that are gone, whatever their pages say."""


def status_means(status: int) -> Meaning:
    """Return what a status says about a link."""
    row = STATUSES.get(status)
    if row is not None:
        return row.meaning
    return Meaning.WORKS if 200 <= status < 300 else Meaning.FAILED


# Object stores

STORE_CODES = frozenset(
    {
        # A file that is gone, if nobody may list the bucket, or that is not public any more
        *("AccessDenied", "AllAccessDisabled", "InvalidObjectState"),
        *("AccountProblem", "UserProjectAccountProblem", "AccountIsDisabled", "UserDisable"),
        *("NoAuthenticationInformation", "AuthenticationRequired", "UnauthorizedAccess"),
        # A signature in the URL that is not valid any more
        *("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthenticationFailed"),
        *("AuthorizationPermissionMismatch", "InvalidSecurityToken"),
    }
)
"""Codes with which object stores (S3 and all that speak its protocol, Azure, Google) refuse everybody a file
that they gave before. Others, such as ``AuthorizationFailure``, depend on the network of who asks."""

_STORE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:<\?xml[^>]{0,99}>\s*)?<Error[^>]{0,99}>\s*<Code>(\w{1,99})</Code>"
)
_BY_ORIGIN = re.compile(rb"explicit deny|referr?er", re.IGNORECASE)
"""Messages of rules that may be for some networks or programs only."""
_EXPIRED = re.compile(
    rb"<Code>(?:ExpiredToken|ExpiredRequest|TokenRefreshRequired|SecurityTokenExpired)<"
    rb"|(?:Request|token) has expired|not valid in the specified time frame",
    re.IGNORECASE,
)


def may_be_of_store(answer: Answer) -> bool:
    """Decide whether an answer may be the refusal of an object store, so that its beginning is read."""
    return answer.status in (401, 403) and "xml" in answer.headers.get("Content-Type", "").lower()


def refusal_of_store(first: bytes, *, worked: bool) -> str | None:
    """Return the code with which an object store refuses a file to everybody; None if it does not.

    :param first: the first bytes of the answer
    :param worked: whether the link has worked: a file that was never seen may be for people in another network
    """
    found = _STORE.match(first.lstrip())
    if found is None or _BY_ORIGIN.search(first):
        return None
    code = found[1].decode()
    is_for_all = _EXPIRED.search(first) or (worked and code in STORE_CODES)
    return code if is_for_all else None


# Headers

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
    busy: bool = False
    """Whether the server names the moment when to ask again."""
    empty: bool = False
    """Content-Length is 0."""
    age: timedelta = timedelta(0)
    """How long a cache has kept the answer."""
    promises_later: bool = False
    """Whether the server promises the file for later, to browsers as well as to programs."""
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
        "Retry-After" in headers,
        answer.status != 304 and headers.get("Content-Length") == "0",
        age,
        _promises_later(answer),
        answer.status == HTTPStatus.PARTIAL_CONTENT and _is_part(headers.get("Content-Range", "")),
    )


def _promises_later(answer: Answer) -> bool:
    """Decide whether a server promises the file for later. Bot walls also answer 202, to programs."""
    if answer.status == 202:
        is_page = mimetype_of(answer) in ("text/html", "application/xhtml+xml")
        return not is_page and "x-amzn-waf-action" not in answer.headers
    return answer.status == 503 and "Retry-After" in answer.headers


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
