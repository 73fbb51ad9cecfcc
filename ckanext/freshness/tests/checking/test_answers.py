"""What three nightly checks find of each answer of the table."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome, ResourceToCheck
from ckanext.freshness.tests.checking.answers import (
    BROKEN,
    CASES,
    MOST_BYTES,
    Asked,
    Case,
)
from ckanext.freshness.tests.checking.test_hdx_check import run_check
from ckanext.freshness.tests.servers.raw import RawServer
from ckanext.freshness.tests.web.support import SETTINGS, asking

NIGHTS = range(3)


class Server:
    """A server of all cases, each under its number."""

    def __init__(self) -> None:
        self.night = 0
        self.requests: Counter[tuple[int, int]] = Counter()

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.partition(b"\r\n")
        target = line.split()[1].decode()
        number = int(target[1:].partition("?")[0])
        key = self.night, number
        asked = Asked(self.night, self.requests[key], target, headers.lower())
        self.requests[key] += 1
        writer.write(CASES[number].answer(asked))
        await writer.drain()


@pytest.fixture(scope="module")
def nights() -> Iterator[list[list[CheckResult]]]:
    """The results of each case in each night."""
    server = Server()
    results: list[list[CheckResult]] = [[] for _ in CASES]
    with RawServer(server.speak) as running:
        for server.night in NIGHTS:
            resources = [
                _resource(number, case, running.port, results[number])
                for number, case in enumerate(CASES)
            ]
            for result in _checked(resources):
                results[int(result.resource.resource_id)].append(result)
    yield results


def _resource(number: int, case: Case, port: int, before: list[CheckResult]) -> ResourceToCheck:
    dates = [result.modified for result in before if result.modified is not None]
    return ResourceToCheck(
        f"{number}",
        "package",
        f"{case.link}host-{number}.example:{port}/{number}",
        before[-1].known if before else KnownContent(),
        last_change=max(dates, default=None),
        format=case.format,
        may_be_landing_page=case.may_be_landing_page,
        doubts=True,
    )


def _checked(resources: list[ResourceToCheck]) -> list[CheckResult]:
    names = asking(lambda _: ["127.0.0.1"])
    limits: dict[str, Any] = {"attempts": 2, "read": 5.0, "total": 20.0, "retry_after_max": 1.0}
    browser = replace(SETTINGS, user_agent="Mozilla/5.0 (compatible; tests)", plain_agent="tests")
    return run_check(resources, names=names, settings=browser, max_bytes=MOST_BYTES, **limits)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_three_nights(nights: list[list[CheckResult]], number: int) -> None:
    case, results = CASES[number], nights[number]
    assert tuple(result.outcome for result in results) == case.nights, results[-1].attempt
    if case.name.startswith("refresh:"):
        # A page is no redirect for good.
        assert not any(result.moved_to for result in results)
    is_broken = all(result.outcome is Outcome.ERROR for result in results)
    assert is_broken is (case.nights == BROKEN)
    if case.name.startswith("second download:"):
        # What came in place of the file is neither described nor kept.
        assert all((result.size, result.mimetype) == (None, None) for result in results[1:])
    if case.dated is not None:
        dated = tuple(night for night in NIGHTS if results[night].modified is not None)
        assert dated == case.dated


def test_what_fails_keeps_what_is_known(nights: list[list[CheckResult]]) -> None:
    for before, after in itertools.chain.from_iterable(map(itertools.pairwise, nights)):
        if after.outcome in (Outcome.ERROR, Outcome.CANNOT_TELL):
            assert (
                structs.replace(after.known, waits_since=before.known.waits_since) == before.known
            )
