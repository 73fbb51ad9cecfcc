"""The headers of an answer, as :mod:`.decisions` needs them, and an answer's status in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from http import HTTPStatus

from ..web.exchange import Answer, can_be_sent, parse_http_date
from .decisions import AnswerHeaders, Decision, Outcome

_LONGEST_VALIDATOR = 1024
"""Longest validator that is stored; an ETag has some forty characters."""

REQUEST_DENIED = 999
"""LinkedIn's own status for suspected bots. It is not registered with IANA."""

BOT_WALLS: tuple[tuple[str, frozenset[str]], ...] = (
    # https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
    ("cf-mitigated", frozenset({"challenge"})),
    # 202 and 405:
    # https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-how-it-works.html
    ("x-amzn-waf-action", frozenset({"challenge", "captcha"})),
    # https://vercel.com/docs/headers/response-headers
    ("x-vercel-mitigated", frozenset({"challenge", "deny"})),
)
"""Headers and values by which a bot wall says that it answered in place of the site.

Only documented signs are listed. A wall that answers with 401, 403 or 429 needs no row.
"""


def read_headers(answer: Answer) -> AnswerHeaders:
    headers, modified, date, age = answer.headers, None, None, timedelta(0)
    text = headers.get("Last-Modified")
    # A 304 counts whatever its dates, and parsing them is half of the work on its headers.
    if text is not None and answer.status != 304:
        modified = parse_http_date(text)
        # These two are only compared with Last-Modified.
        date = parse_http_date(headers.get("Date", ""))
        age = _age(headers.get("Age", ""))
    return AnswerHeaders(
        answer.status,
        storable_validator(headers.get("ETag")),
        storable_validator(text),
        modified,
        date,
        is_bot_wall(answer.status, headers),
        headers.get("Content-Length") == "0",
        age,
    )


def is_bot_wall(status: int, headers: Mapping[str, str]) -> bool:
    """Decide whether a bot wall answered in place of the site.

    :param headers: a mapping that ignores the case of names
    """
    if status == REQUEST_DENIED:
        return True
    # Hardly any answer has one of these headers.
    return any(
        name in headers and headers[name].strip().lower() in values for name, values in BOT_WALLS
    )


def _age(text: str) -> timedelta:
    """Return the time in an Age header (RFC 9111, section 5.1); 0 if it names none."""
    text = text.strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    return timedelta(seconds=int(text) if is_number else 0)


def storable_validator(value: str | None) -> str | None:
    """Return a validator if it can be stored and sent back."""
    if not value or len(value) > _LONGEST_VALIDATOR or not can_be_sent(value):
        return None
    return value


def mimetype_of(answer: Answer) -> str | None:
    """Return the media type in Content-Type, without parameters; None if there is no usable one."""
    text = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return text if text.count("/") == 1 and len(text) <= 127 and can_be_sent(text) else None


def outcome_in_words(step: Decision, headers: AnswerHeaders) -> str | None:
    """Return why an answer was of no use, in words for people; None if it was."""
    if step.outcome is Outcome.ERROR:
        unasked = " to a request without conditions" if headers.status == 304 else ""
        return f"answered {status_in_words(headers.status)}{unasked}"
    if step.outcome is Outcome.CANNOT_TELL:
        answered = "a bot wall answered" if headers.wall else "answered"
        return f"{answered} {status_in_words(headers.status)}: the link may still work in a browser"
    return None


def status_in_words(status: int) -> str:
    """Return a status with its name: ``404 (Not Found)``."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
