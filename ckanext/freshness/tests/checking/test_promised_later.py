"""Servers that promise a file for later, or send something in its place of which nobody can tell what it is."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome
from ckanext.freshness.checking.stored_values import as_json, read
from ckanext.freshness.tests.checking.answers import BODY, say
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.checking.test_pages import PAGES
from ckanext.freshness.tests.servers.raw import RawServer

# test_pages.py has the pages of each kind.
WALLS, _, SEARCHING, _ = PAGES.values()
FIRST = datetime(2026, 11, 1, 2, tzinfo=timezone.utc)
FOUND, SAME = Outcome.FIRST_HASH, Outcome.SAME_HASH
FAILED, DOUBT = Outcome.ERROR, Outcome.CANNOT_TELL

HTML = b"Content-Type: text/html; charset=utf-8\r\n"
JSON = b"Content-Type: application/json\r\n"
WAIT = b"Retry-After: 86400\r\n"
FILE = say(200, BODY)
ACCEPTED = say(202, b'{"status": "Processing"}', JSON)
BUSY = say(503, b"", WAIT)
WEEKS = (0, 5, 9, 10, 11, 12)
SEARCH = say(200, SEARCHING["a search for what is lost"].encode())
WALL = say(200, WALLS["Cloudflare"].encode())
UNTIL_THEN = (DOUBT,) * 3 + (FAILED,) * 3
NEVER = (DOUBT,) * 6

ALWAYS: dict[str, tuple[bytes, tuple[Outcome, ...]]] = {
    "202 with JSON": (ACCEPTED, UNTIL_THEN),
    "202 with nothing": (say(202), UNTIL_THEN),
    "202 with a pause": (say(202, b"", WAIT), UNTIL_THEN),
    "202 with a page, as of SiteGround": (say(202, WALLS["SiteGround"].encode(), HTML), NEVER),
    "202 of Amazon's firewall": (say(202, b"", b"x-amzn-waf-action: challenge\r\n"), NEVER),
    "a text that says so": (say(200, b'{"status": "processing"}'), UNTIL_THEN),
    "503 with a pause": (BUSY, UNTIL_THEN),
    "503 with a date": (
        say(503, b"", b"Retry-After: Sun, 29 Nov 2026 02:00:00 GMT\r\n"),
        UNTIL_THEN,
    ),
    "503 with a pause of a wall": (say(503, WALLS["Cloudflare"].encode(), HTML + WAIT), NEVER),
    "503 without a pause": (say(503), (FAILED,) * 6),
    "500 with a pause": (say(500, b"", WAIT), (FAILED,) * 6),
    "429 with a pause": (say(429, b"", WAIT), NEVER),
    "429": (say(429), NEVER),
    "403": (say(403), NEVER),
    "a page, without a file before": (SEARCH, NEVER),
}
"""The same answer for weeks, and its outcomes after these days."""

OTHERS: dict[str, list[tuple[float, bytes, Outcome]]] = {
    "a file between": [
        *((0, ACCEPTED, DOUBT), (7, FILE, FOUND), (15, ACCEPTED, DOUBT), (24, ACCEPTED, DOUBT)),
        *((25, ACCEPTED, FAILED), (26, FILE, SAME), (27, ACCEPTED, DOUBT)),
    ],
    "a file before": [(0, FILE, FOUND), (20, BUSY, DOUBT), (29, BUSY, DOUBT), (30, BUSY, FAILED)],
    "another failure between": [
        (0, ACCEPTED, DOUBT),
        (5, say(404), FAILED),
        (6, say(403), DOUBT),
        (10, BUSY, FAILED),
    ],
    "a page in place of the file": [
        *((0, FILE, FOUND), (1, SEARCH, DOUBT), (10, SEARCH, DOUBT), (11, SEARCH, FAILED)),
        *((12, SEARCH, FAILED), (13, FILE, SAME), (14, SEARCH, DOUBT)),
    ],
    "a page, and a promise": [
        *((0, FILE, FOUND), (1, SEARCH, DOUBT), (7, ACCEPTED, DOUBT), (11, SEARCH, FAILED)),
    ],
    "a file before a wall": [(0, FILE, FOUND), (1, WALL, DOUBT), (16, WALL, DOUBT)],
    "checked seldom": [(0, FILE, FOUND), (30, ACCEPTED, DOUBT), (60, ACCEPTED, FAILED)],
}
"""After so many days: what the server says, and the outcome."""


def on_each(nights: list[tuple[float, bytes]], format_: str = "CSV") -> list[CheckResult]:
    """Check a link after so many days, with these answers."""
    results: list[CheckResult] = []
    said = b""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    with RawServer(speak) as server:
        known = KnownContent()
        for days, said in nights:  # noqa: B007 (the server says it)
            now = FIRST + timedelta(days=days)
            (result,) = run_check(
                [visit(f"{server.url}/a.csv", known, format=format_)],
                now=lambda now=now: now,  # type: ignore[misc]
                attempts=1,
            )
            # As the database keeps it.
            known = read(KnownContent, json.loads(as_json(result.known)))
            results.append(result)
    return results


@pytest.mark.parametrize("name", ALWAYS)
def test_a_promise_is_believed_for_ten_days(name: str) -> None:
    said, expected = ALWAYS[name]
    results = on_each([(days, said) for days in WEEKS])
    assert tuple(result.outcome for result in results) == expected
    if expected == UNTIL_THEN:
        assert str(results[-1].attempt.words).endswith("for 10 days")


@pytest.mark.parametrize("name", OTHERS)
def test_a_promise_ends_with_the_file(name: str) -> None:
    nights = OTHERS[name]
    results = on_each([(days, said) for days, said, _ in nights])
    assert [result.outcome for result in results] == [outcome for _, _, outcome in nights]


ROWS = b'{"total": 1, "results": [{"a": 1}], "message": "ok"}'
TABLE = b"a,b\n1,2\n3,4\n"
TEXTS: dict[str, tuple[str, bytes, bytes, Outcome]] = {
    # Perhaps data, and accepted without being called a change
    "other keys": ("JSON", b'{"rows": [1]}', b'{"zeilen": [1]}', FOUND),
    "another root": ("XML", b"<rows><row/></rows>", b"<zeilen><zeile/></zeilen>", FOUND),
    "no rows": ("JSON", ROWS, b'{"total": 0, "results": [], "message": "No data"}', FOUND),
    # Perhaps an error
    "an error with the same keys": (
        *("JSON", b'{"errors": [], "data": [1]}', b'{"errors": ["db down"], "data": []}', FAILED),
    ),
    "an error in the same root": ("XML", b"<r><a/></r>", b"<r><error>db</error></r>", FAILED),
    "lines in place of a table": ("CSV", TABLE, "Désolé\nintrouvable".encode(), FAILED),
    "a table of an error": ("CSV", TABLE, b"error;message\n500;failed", FAILED),
    "a promise": ("JSON", ROWS, b'{"status": "queued"}', FAILED),
}
"""A format, a good file, what comes in its place, and its outcome in time."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_doubtful_text_is_doubtful_for_ten_days(name: str) -> None:
    format_, good, doubtful, in_time = TEXTS[name]
    days = [0, 1, 10, 11, 12, 13]
    said = [say(200, body) for body in (good, *[doubtful] * 4, good)]
    results = on_each(list(zip(days, said, strict=True)), format_)
    is_file = in_time is FOUND
    then = [FOUND, SAME, Outcome.REPEAT_HASH] if is_file else [FAILED, FAILED, SAME]
    assert [result.outcome for result in results] == [FOUND, DOUBT, DOUBT, *then]
    assert not any(result.changed_at or result.modified for result in results)


def test_a_doubtful_text_stays_doubtful_without_a_file_before() -> None:
    """It may be all that was ever there."""
    said = say(200, b'{"message": "Good service on all lines"}')
    results = on_each([(days, said) for days in WEEKS], "JSON")
    assert tuple(result.outcome for result in results) == NEVER
