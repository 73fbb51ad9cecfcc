"""A thousand names for which no name server ever answers, and the living behind them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from ckanext.freshness.checking.decide import Outcome
from ckanext.freshness.checking.findings import Finding
from ckanext.freshness.tests.checking.test_engine import QUICK, run_check, visit
from ckanext.freshness.tests.servers.name_server import NameServer
from ckanext.freshness.tests.web.support import FileServer
from ckanext.freshness.web.errors import Reason
from ckanext.freshness.web.names import NameLimits, Names
from ckanext.freshness.web.nameservers import NameServers

SILENT, LIVING = 1_000, 40


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    with NameServer(silent=lambda name: name.startswith("silent")) as server:
        yield server


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def test_silent_names_do_not_hold_up_the_living(
    server: FileServer, name_server: NameServer
) -> None:
    threads: list[int] = []
    arrived: Counter[str] = Counter()
    before: list[int] = []

    def lookup(host: str) -> list[str]:
        threads.append(threading.active_count())
        return name_server.lookup(host, timeout=0.5)

    def sink(finding: Finding) -> None:
        kind = finding.host[:6]
        arrived[kind] += 1
        if kind == "living":
            before.append(arrived["silent"])

    silent = [visit(f"http://silent{n}.example/") for n in range(SILENT)]
    living = [visit(f"http://living{n}.example:{server.port}/file.csv") for n in range(LIVING)]
    # One attempt after the other: the silent come back once.
    found = run_check(
        silent + living,
        QUICK,
        names=Names(
            lookup,
            NameLimits(patience=0.1, timeout=1),
            NameServers([name_server.address], (0.4, 0.6)),
        ),
        sink=sink,
        attempts=2,
        backoff=(3,),
    )

    outcomes = Counter((finding.host[:6], finding.outcome) for finding in found)
    assert outcomes == {("silent", Outcome.ERROR): SILENT, ("living", Outcome.FIRST_HASH): LIVING}
    errors = [finding.attempt for finding in found if finding.outcome is Outcome.ERROR]
    assert {attempt.reason for attempt in errors} == {Reason.NAME_LOOKUP_FAILED.value}
    # The living stood behind all of them, and were done while the dead still waited.
    assert max(before) < SILENT / 2
    assert max(threads) < 300


def test_a_name_that_is_forgotten_at_once_is_visited_all_the_same(server: FileServer) -> None:
    names = Names(lambda host: ["127.0.0.1"], NameLimits(ttl=1e-9))
    visits = [visit(f"http://forgotten.example:{server.port}/{n}") for n in range(5)]
    found = run_check(visits, QUICK, names=names)
    assert {finding.outcome for finding in found} == {Outcome.FIRST_HASH}
