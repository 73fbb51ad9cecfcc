"""Bad input and hostile servers: each has its outcome, and none stops a run or reaches inside the network."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome, ResourceToCheck
from ckanext.freshness.checking.hasher import ContentSandbox
from ckanext.freshness.checking.hdx_check import HdxTools, check_resources
from ckanext.freshness.tests.checking.hostile_cases import ENCRYPTED, GIVEN, KNOWN, SERVED, Case
from ckanext.freshness.tests.servers.hostile import (
    ADDRESS,
    HEALTHY,
    MISDEEDS,
    REDIRECTS,
    Canary,
    HostileServer,
)
from ckanext.freshness.tests.servers.hostile_tls import tls_servers
from ckanext.freshness.tests.web.support import asking, no_such_name
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.connections import Names
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

SECRET = "geheim"
TLS_HOST = "tls.example"
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
LIMITS = Limits(
    connect=5,
    read=0.8,
    total=8.0,
    max_bytes=1 << 20,
    attempts=2,
    backoff=(0.01,),
    jitter=0,
    retry_after_max=0.05,
)
SETTINGS = ClientSettings("tests (https://example.org/contact)", LIMITS, Guard([f"{ADDRESS}/32"]))
POLICY = HostPolicy(connections=1, per_second=1000.0)

AS_IT_WAS = KnownContent(hash=f"sha256:{sha256(HEALTHY).hexdigest()}")
"""What is stored of the hostile server's good file."""

CLOSED = frozenset({"/later"})
"""Cases after which the host asks for a pause that is longer than we wait."""


def lookup(host: str) -> Sequence[str]:
    """A resolver that knows few names, most of them the hostile server's."""
    kind, _, zone = host.rpartition(".")
    if kind == "failing":
        raise OSError(None, "DNS server returned general failure")
    if zone == "invalid":
        no_such_name()
    inside = {
        "localhost": ["127.0.0.1", "::1"],
        "inside.example": ["10.0.0.1", "127.0.0.1"],
        "inside-6.example": ["::1"],
        "mapped.example": ["::ffff:127.0.0.1"],
    }
    return inside.get(host, [ADDRESS])


@dataclass(slots=True)
class Run:
    """The results of checks, and the addresses that they connected to."""

    findings: list[CheckResult] = field(default_factory=list)
    connected: set[str] = field(default_factory=set)
    canary: int = 0

    def of(self, resource_id: str) -> CheckResult:
        """The one finding of a resource."""
        (found,) = [it for it in self.findings if it.resource.resource_id == resource_id]
        return found


_watchers: list[set[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watchers and isinstance(arguments[1], tuple):
        _watchers[-1].add(arguments[1][0])


@pytest.fixture(scope="module")
def watch() -> None:
    """Note the addresses that this process connects to, while a test wants it. Hooks cannot be removed."""
    sys.addaudithook(_watch)


@contextmanager
def connections() -> Iterator[set[str]]:
    """Collect the addresses that are connected to within the block."""
    _watchers.append(set())
    try:
        yield _watchers[-1]
    finally:
        _watchers.pop()


def run(
    visits: Iterable[ResourceToCheck],
    *,
    settings: ClientSettings = SETTINGS,
    names: Names | None = None,
    confirm_after: float = 0.01,
    concurrency: int = 200,
    sink: Callable[[CheckResult], None] | None = None,
) -> Run:
    """Run checks."""
    done = Run()

    async def main() -> None:
        hosts = Hosts(POLICY)
        known = names or Names(asking(lookup))
        async with Client(settings, hosts, known, concurrency=concurrency) as client:
            with ContentSandbox(workers=1) as sandbox:
                tools = HdxTools(client, sandbox, lambda: NOW)
                give = sink or done.findings.append
                await check_resources(visits, tools, give, confirm_after=confirm_after)

    with connections() as done.connected:
        asyncio.run(main())
    return done


@pytest.fixture(scope="module")
def canary() -> Iterator[Canary]:
    with Canary() as listener:
        yield listener


@pytest.fixture(scope="module")
def server(canary: Canary) -> Iterator[HostileServer]:
    """A server on the canary's port: a request that is led to another address reaches the canary."""
    with HostileServer(canary.port, port=canary.port) as running:
        yield running


def visit_of(case: Case, url: str, resource_id: str, memory: KnownContent) -> ResourceToCheck:
    return ResourceToCheck(resource_id, "package", url, memory, format="CSV")


def urls(port: int) -> dict[str, str]:
    """Return the URL of each case, on a host of its own unless the case names one."""
    served = {
        case.url: f"http://host-{number}.example:{port}{case.url}"
        for number, case in enumerate(SERVED)
    }
    given = {
        case.url: case.url.replace("{port}", str(port)).replace("{canary}", str(port))
        for case in GIVEN
    }
    return {**served, **given}


@pytest.fixture(scope="module")
def everything(
    watch: None, canary: Canary, server: HostileServer, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Run all hostile cases at once, with a good file after each."""
    directory = tmp_path_factory.mktemp("tls")
    places = urls(server.port)
    with tls_servers(TLS_HOST, directory, ADDRESS) as tls:
        places |= tls
        visits = []
        for case in (*SERVED, *GIVEN, *ENCRYPTED):
            visits.append(visit_of(case, places[case.url], name_of(case), case.memory))
            if case.url.startswith("/"):
                healthy = places[case.url].removesuffix(case.url) + "/healthy.csv"
                visits.append(visit_of(case, healthy, f"after {name_of(case)}", AS_IT_WAS))
        settings = replace(SETTINGS, ca_bundle=Path(directory / "ca.pem"))
        done = run(visits, settings=settings)
    assert Counter(it.resource.resource_id for it in done.findings) == Counter(
        it.resource_id for it in visits
    ), "not one finding of each visit"
    done.canary = canary.visitors()
    return done


def name_of(case: Case) -> str:
    """Return an id, since several cases have the same URL."""
    return f"{case.url}{'' if case.memory is KNOWN else ' unknown'}"


def test_the_tables_have_every_misdeed() -> None:
    assert {case.url for case in SERVED} == {*MISDEEDS, *(f"/to/{name}" for name in REDIRECTS)}


ALL = (*SERVED, *GIVEN, *ENCRYPTED)


@pytest.mark.parametrize("case", ALL, ids=lambda case: ascii(name_of(case))[:60])
def test_outcome(everything: Run, case: Case) -> None:
    found = everything.of(name_of(case))
    attempt = found.attempt
    reason = case.reason.value if isinstance(case.reason, FailureReason) else case.reason
    assert (found.outcome, attempt.reason, attempt.words is None) == (
        case.outcome,
        reason,
        case.words is None,
    ), attempt
    assert found.counts_as_failure is case.fails
    assert attempt.outcome is found.outcome
    assert case.words is None or case.words in (attempt.words or "")
    assert case.status in (None, attempt.status)
    if case.outcome in (Outcome.ERROR, Outcome.CANNOT_TELL, Outcome.UNCONFIRMED, Outcome.API):
        assert found.memory._replace(unconfirmed=None) == case.memory
        assert found.changed_at is None


@pytest.mark.parametrize("case", SERVED, ids=lambda case: name_of(case))
def test_the_host_is_asked_again_afterwards(everything: Run, case: Case) -> None:
    found = everything.of(f"after {name_of(case)}")
    if case.url in CLOSED:
        assert found.attempt.reason == FailureReason.HOST_DEFERRED.value
        assert not found.counts_as_failure
    else:
        assert found.outcome is Outcome.SAME_HASH, found.attempt


def test_nothing_inside_was_connected_to(everything: Run) -> None:
    assert everything.connected == {ADDRESS}
    assert everything.canary == 0


def test_no_secret_is_told(everything: Run) -> None:
    for found in everything.findings:
        assert SECRET not in repr((found.host, found.attempt, found.memory))


def test_what_is_said_follows_the_url_in_one_line(everything: Run) -> None:
    for found in everything.findings:
        words = found.attempt.words
        assert words is None or (words.isprintable() and 5 < len(words) < 700), words


def test_every_text_can_be_stored(everything: Run) -> None:
    for found in everything.findings:
        storable(found)


def storable(found: CheckResult) -> None:
    """PostgreSQL refuses lone surrogates and NUL. The resource's own URL comes from PostgreSQL."""
    kept = {key: value for key, value in found._asdict().items() if key != "resource"}
    text = json.dumps(kept, default=str, ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode("utf-8")


def test_the_canary_and_the_hook_would_notice(watch: None, canary: Canary) -> None:
    # Without a guard: so they see what the others must not do.
    limits = replace(LIMITS, read=0.2, total=0.5)
    unguarded = replace(SETTINGS, guard=Guard(["0.0.0.0/0", "::/0"]), limits=limits)
    with HostileServer(canary.port, port=canary.port, address="127.0.0.8") as server:
        visits = [
            ResourceToCheck(f"{n}", "package", f"{server.url}/to/{name}")
            for n, name in enumerate(("loopback", "decimal", "unspecified", "localhost"))
        ]
        done = run(visits, settings=unguarded)
    assert canary.visitors() >= 3
    assert {"127.0.0.1", "127.0.0.8"} <= done.connected


@pytest.mark.parametrize("outside", range(1, 4))
def test_a_name_that_changes_its_mind(
    watch: None, canary: Canary, server: HostileServer, outside: int
) -> None:
    asked: Counter[str] = Counter()

    def rebinding(host: str) -> Sequence[str]:
        asked[host] += 1
        return [ADDRESS] if asked[host] <= outside else ["127.0.0.1"]

    visit = ResourceToCheck(
        "1", "package", f"http://mind.example:{server.port}/good-and-closed", KNOWN
    )
    # Believed for less time than lies between the two downloads; each has a connection of its own.
    names = Names(asking(rebinding), ttl=0.02)
    done = run([visit], names=names, confirm_after=0.05)
    (found,) = done.findings
    assert done.connected <= {ADDRESS}
    assert canary.visitors() == 0
    if found.outcome is not Outcome.CHANGED:
        assert found.outcome in (Outcome.ERROR, Outcome.UNCONFIRMED)
        assert found.attempt.reason == FailureReason.INSIDE_ADDRESS.value
        assert not found.counts_as_failure
        assert found.memory._replace(unconfirmed=None) == KNOWN
    assert (found.outcome is Outcome.CHANGED) is (asked["mind.example"] <= outside)
