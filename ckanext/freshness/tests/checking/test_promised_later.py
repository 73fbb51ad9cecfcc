"""Servers that promise a file for later, or send a page that may lead to it, night after night."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome
from ckanext.freshness.checking.stored_values import as_json, read
from ckanext.freshness.tests.checking.answers import BODY, ETAG, say
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.checking.test_pages import PAGES
from ckanext.freshness.tests.servers.raw import RawServer

WALLS, LEADING, SEARCHING, _ = PAGES.values()
FIRST = datetime(2026, 11, 1, 2, tzinfo=timezone.utc)
FOUND, SAME, UNCHANGED = Outcome.FIRST_HASH, Outcome.SAME_HASH, Outcome.NOT_MODIFIED
FAILED, DOUBT = Outcome.ERROR, Outcome.CANNOT_TELL

HTML = b"Content-Type: text/html; charset=utf-8\r\n"
JSON = b"Content-Type: application/json\r\n"
WAIT = b"Retry-After: 86400\r\n"
FILE, FILE_OF_ETAG = say(200, BODY), say(200, BODY, ETAG)
ACCEPTED = say(202, b'{"status": "Processing"}', JSON)
BUSY = say(503, b"", WAIT)
WEEKS = (0, 7, 13, 14, 15, 16)
SEARCH = say(200, SEARCHING["a search for what is lost"].encode())
UNTIL_THEN = (DOUBT,) * 3 + (FAILED,) * 3
NEVER = (DOUBT,) * 6

ALWAYS: dict[str, tuple[bytes, tuple[Outcome, ...]]] = {
    "202 with JSON": (ACCEPTED, UNTIL_THEN),
    "202 with nothing": (say(202), UNTIL_THEN),
    "202 with a text": (say(202, b"queued", b"Content-Type: text/plain\r\n"), UNTIL_THEN),
    "202 with a pause": (say(202, b"", WAIT), UNTIL_THEN),
    "202 with a page, as of SiteGround": (say(202, WALLS["SiteGround"].encode(), HTML), NEVER),
    "202 with a page in capitals": (say(202, b"<html>", b"Content-Type: TEXT/HTML\r\n"), NEVER),
    "202 of Amazon's firewall": (say(202, b"", b"x-amzn-waf-action: challenge\r\n"), NEVER),
    "503 with a pause": (BUSY, UNTIL_THEN),
    "503 with a date": (
        say(503, b"", b"Retry-After: Sun, 29 Nov 2026 02:00:00 GMT\r\n"),
        UNTIL_THEN,
    ),
    "503 with a pause and a page": (say(503, b"<html>Maintenance</html>", HTML + WAIT), UNTIL_THEN),
    "503 with a pause of a wall": (say(503, WALLS["F5's refusal"].encode(), HTML + WAIT), NEVER),
    "503 without a pause": (say(503), (FAILED,) * 6),
    "500 with a pause": (say(500, b"", WAIT), (FAILED,) * 6),
    "429 with a pause": (say(429, b"", WAIT), NEVER),
    "429": (say(429), NEVER),
    "403": (say(403), NEVER),
    "403 with a pause": (say(403, b"", WAIT), NEVER),
    "401": (say(401), NEVER),
    "402": (say(402), NEVER),
    "451": (say(451), NEVER),
    "999": (say(999), NEVER),
    **{
        f"a page, without a file before: {name}": (say(200, page.encode()), NEVER)
        for name, page in SEARCHING.items()
    },
}
"""The same answer for weeks, and its outcomes after these days."""

OTHERS: dict[str, list[tuple[float, bytes, Outcome]]] = {
    "a file between": [
        *((0, ACCEPTED, DOUBT), (7, FILE, FOUND), (15, ACCEPTED, DOUBT), (28, ACCEPTED, DOUBT)),
        *((29, ACCEPTED, FAILED), (30, FILE, SAME), (31, ACCEPTED, DOUBT)),
    ],
    "a file before": [(0, FILE, FOUND), (20, BUSY, DOUBT), (33, BUSY, DOUBT), (34, BUSY, FAILED)],
    "not modified between": [
        (0, FILE_OF_ETAG, FOUND),
        (1, ACCEPTED, DOUBT),
        (5, b"HTTP/1.1 304 X\r\n" + ETAG + b"\r\n", UNCHANGED),
        (16, ACCEPTED, DOUBT),
    ],
    "another failure between": [
        (0, ACCEPTED, DOUBT),
        (5, say(404), FAILED),
        (6, say(403), DOUBT),
        (14, BUSY, FAILED),
    ],
    "a night that begins earlier": [(0, ACCEPTED, DOUBT), (13.97, ACCEPTED, FAILED)],
    "a file at last": [(0, ACCEPTED, DOUBT), (14, ACCEPTED, FAILED), (15, FILE, FOUND)],
    "a page in place of the file": [
        *((0, FILE, FOUND), (1, SEARCH, DOUBT), (14, SEARCH, DOUBT), (15, SEARCH, FAILED)),
        *((16, SEARCH, FAILED), (17, FILE, SAME), (18, SEARCH, DOUBT)),
    ],
    "a page, and a promise": [
        *((0, FILE, FOUND), (1, SEARCH, DOUBT), (7, ACCEPTED, DOUBT), (15, SEARCH, FAILED)),
    ],
    **{
        f"a file before {kind}: {name}": [
            *((0, FILE, FOUND), (1, page, DOUBT), (16, page, later), (30, page, later)),
        ]
        for kind, pages, later in (
            ("a wall", WALLS, DOUBT),
            ("a page on the way", LEADING, DOUBT),
            ("a page that may lead on", SEARCHING, FAILED),
        )
        for name, page in ((name, say(200, page.encode())) for name, page in pages.items())
    },
    "checked seldom": [(0, FILE, FOUND), (30, ACCEPTED, DOUBT), (60, ACCEPTED, FAILED)],
}
"""After so many days: what the server says, and the outcome."""


def on_each(nights: list[tuple[float, bytes]]) -> list[CheckResult]:
    """Check a link after so many days, with these answers."""
    results: list[CheckResult] = []
    said = b""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    with RawServer(speak) as server:
        memory = KnownContent()
        for days, said in nights:  # noqa: B007 (the server says it)
            now = FIRST + timedelta(days=days)
            (result,) = run_check(
                [visit(f"{server.url}/a.csv", memory, format="CSV")],
                now=lambda now=now: now,  # type: ignore[misc]
                attempts=1,
            )
            # As the database keeps it.
            memory = read(KnownContent, json.loads(as_json(result.memory)))
            results.append(result)
    return results


@pytest.mark.parametrize("name", ALWAYS)
def test_a_promise_is_believed_for_two_weeks(name: str) -> None:
    said, expected = ALWAYS[name]
    results = on_each([(days, said) for days in WEEKS])
    assert tuple(result.outcome for result in results) == expected
    failures = [result.counts_as_failure for result in results]
    assert failures == [outcome is FAILED for outcome in expected]
    if expected == UNTIL_THEN:
        assert str(results[-1].attempt.words).endswith("for 14 days")


@pytest.mark.parametrize("name", OTHERS)
def test_a_promise_ends_with_the_file(name: str) -> None:
    nights = OTHERS[name]
    results = on_each([(days, said) for days, said, _ in nights])
    assert [result.outcome for result in results] == [outcome for _, _, outcome in nights]
