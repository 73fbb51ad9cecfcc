"""A host that never answers: the run does not wait for it, and its URLs do not count as failed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.own_network import LEAST_HOSTS, OwnNetwork
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.web.support import FAST, FileServer, asking, no_such_name
from ckanext.freshness.web.hosts import HostPolicy

HASTY = HostPolicy(connections=2, per_second=math.inf, failures=4, last_round=0.2)
SILENT = "127.0.0.1"


@pytest.mark.parametrize(
    ("fault", "postpones"),
    [
        (faults.Hang(), True),
        (faults.Reset(), True),
        (faults.Status(404), False),
        (faults.Status(500), False),
        (faults.Redirect(), False),
        (faults.Reset(faults.Reset.Moment.BODY), False),
    ],
    ids=["hang", "reset", "404", "500", "redirect loop", "reset in the body"],
)
def test_dead_files_do_not_cost_healthy_ones_their_check(
    server: FileServer, fault: faults.Fault, postpones: bool
) -> None:
    server.faults[lambda request: request.path.startswith("/dead")] = fault
    paths = [f"/dead/{n}" for n in range(6)] + [f"/healthy/{n}" for n in range(5)]
    policy = replace(HASTY, last_round=60.0)
    found = run_check(
        [visit(f"{server.url}{path}") for path in paths],
        policies={SILENT: policy},
        read=1.5 if isinstance(fault, faults.Hang) else FAST.read,
        attempts=1,
    )
    outcomes = Counter((one.resource.url.split("/")[3], one.outcome) for one in found)
    assert outcomes == {("dead", Outcome.ERROR): 6, ("healthy", Outcome.FIRST_HASH): 5}
    assert not any(one.is_put_off for one in found)
    # What was postponed is tried from its end.
    in_order = [one.resource.url for one in found if "/healthy/" in one.resource.url]
    assert (in_order[0].endswith("/healthy/4")) is postpones


NEW, WORKED = KnownContent(), KnownContent(hash="sha256:aa")


def of_hosts(number: int, port: int, name: str = "silent", **more: Any) -> list[ResourceToCheck]:
    return [visit(f"http://{name}{n}.example:{port}/", **more) for n in range(number)]


@pytest.mark.parametrize(
    ("hosts", "others", "known", "is_ours"),
    [
        (LEAST_HOSTS, 0, NEW, True),
        (LEAST_HOSTS - 1, 0, WORKED, False),
        (12, 3, WORKED, True),
        (12, 3, NEW, False),
        (11, 3, WORKED, False),
    ],
    ids=["no answer", "a few hosts", "hosts of this network answer", "new links", "some answer"],
)
@pytest.mark.parametrize(
    "fault", [faults.Hang(), faults.Reset(), None], ids=["hang", "reset", "no names"]
)
def test_silence_of_all_hosts_is_no_failure_of_theirs(
    server: FileServer,
    fault: faults.Fault | None,
    hosts: int,
    others: int,
    known: KnownContent,
    is_ours: bool,
) -> None:
    """The silence of hosts that were silent before tells nothing."""
    server.faults[lambda request: request.host.startswith("silent")] = fault or faults.Hang()
    server.faults[lambda request: request.host.startswith("missing")] = faults.Status(404)

    def find(host: str) -> Sequence[str]:
        if host.startswith("silent") and fault is None:
            no_such_name()
        return ["127.0.0.1"]

    visits = of_hosts(hosts, server.port, known=known) + of_hosts(others, server.port, "missing")
    visits += of_hosts(5, server.port, "silent-before", known=WORKED, is_failing=True)
    read = 1.5 if others else 0.4
    found = run_check(visits, names=asking(find), read=read, attempts=1)
    assert len(found) == len(visits)
    silent = [one for one in found if one.host.startswith("silent")]
    outcome = Outcome.CANNOT_TELL if is_ours else Outcome.ERROR
    assert {one.outcome for one in silent} == {outcome}
    assert ({one.attempt.reason for one in silent} == {"no route"}) is is_ours


def test_only_an_answer_shows_that_the_network_works(server: FileServer) -> None:
    server.faults[lambda request: True] = faults.Hang()
    names = asking(lambda _: ["127.0.0.1"])
    visits = [
        *of_hosts(LEAST_HOSTS, server.port),
        *(visit(f"{url}{n}/") for url in ("ftp://a.example/", "http://10.0.0.") for n in range(4)),
    ]
    found = run_check(visits, names=names, read=0.4, attempts=1)
    assert {one.outcome for one in found} == {Outcome.CANNOT_TELL}


def test_failures_do_not_wait_for_the_end_of_a_run_whose_hosts_answer() -> None:
    passed: list[CheckResult] = []
    network = OwnNetwork(passed.append)
    for number in range(100):
        network.expect(f"h{number}")
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    for number in range(22):
        assert [one.host for one in passed] == [f"h{earlier}" for earlier in range(1, number)]
        outcome, status = (Outcome.SAME_HASH, 200) if number else (Outcome.ERROR, None)
        attempt = Attempt(at, outcome, status, None if number else "read timeout")
        network.give(CheckResult(visit(f"http://h{number}/"), f"h{number}", NEW, attempt))
    assert [one.host for one in passed[-2:]] == ["h0", "h21"]
    assert passed[-2].outcome is Outcome.ERROR
