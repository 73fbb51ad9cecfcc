"""A thousand names for which no name server answers do not delay the other names."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from time import monotonic

import pytest

from ckanext.freshness.checking.decisions import CheckResult, Outcome
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.servers.name_server import NameServer
from ckanext.freshness.tests.web.support import FileServer
from ckanext.freshness.web.connections import Names

SILENT, LIVING = 1_000, 40


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def test_silent_names_do_not_hold_up_the_living(server: FileServer) -> None:
    """The name server keeps silent about the first names until all others have results."""
    released = threading.Event()
    end = monotonic() + 60
    arrived: Counter[str] = Counter()
    early: list[CheckResult] = []

    def is_silent(name: str) -> bool:
        return name.startswith("silent") and not released.is_set() and monotonic() < end

    def sink(finding: CheckResult) -> None:
        kind = finding.host[:6]
        arrived[kind] += 1
        if kind == "silent" and not released.is_set():
            early.append(finding)
        if arrived["living"] == LIVING:
            released.set()

    silent = [visit(f"http://silent{n}.example/") for n in range(SILENT)]
    living = [visit(f"http://living{n}.example:{server.port}/file.csv") for n in range(LIVING)]
    with NameServer(is_silent, unknown=lambda name: name.startswith("silent")) as name_server:
        # All wait longer than the name server is silent.
        names = Names(partial(name_server.resolver, timeout=1, tries=50), timeout=100)
        found = run_check(silent + living, names=names, sink=sink, connect=100, total=100)

    outcomes = Counter((finding.host[:6], finding.outcome) for finding in found)
    assert outcomes == {("silent", Outcome.ERROR): SILENT, ("living", Outcome.FIRST_HASH): LIVING}
    assert not early
