"""An exception that nobody foresaw, at each function that a cycle's checks run: it costs one check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness.copies.store import Store
from ckanext.freshness.tests.checking import test_unforeseen as checks
from ckanext.freshness.tests.servers.raw import RawServer, answering
from ckanext.freshness_iati.iati_check import IatiCheckResult, IatiTools, KnownFile, check_files
from ckanext.freshness_iati.rules import FileState, IatiOutcome
from ckanext.freshness_iati.tests.servers.iati_files import ACTIVITIES

# What is interrupted cannot tidy up.
pytestmark = pytest.mark.filterwarnings("ignore")

OF_ALL = (
    *checks.OF_ALL,
    *(f"freshness_iati/iati_check.py:{name}" for name in ("begin", "check_files", "due")),
)
ANSWERS = {**checks.ANSWERS, "file": b"HTTP/1.1 200 OK\r\n\r\n" + ACTIVITIES}
EXPECTED = {
    "file": IatiOutcome.DOWNLOADED,
    "none": IatiOutcome.FAILED,
    "no url": IatiOutcome.FAILED,
    "first": IatiOutcome.FAILED,
}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(answering(ANSWERS)) as running:
        yield running


def test_of_an_update_cycle(server: RawServer, tmp_path: Path) -> None:
    store = Store(str(tmp_path / "copies"))

    async def check(called: Callable[[str], None]) -> dict[str, Any]:
        files = [
            KnownFile(name, "package", name, checks.url_of(server, name), FileState())
            for name in EXPECTED
        ]
        found: list[IatiCheckResult] = []
        async with checks.make_client(ANSWERS) as client:
            with checks.traced(called, OF_ALL):
                tools = IatiTools(client, store, lambda: checks.NOW)
                await check_files(files, tools, found.append)
        return {result.file.resource_id: result.decision.outcome for result in found}

    assert asyncio.run(checks.harmed(check, EXPECTED)) == {}
