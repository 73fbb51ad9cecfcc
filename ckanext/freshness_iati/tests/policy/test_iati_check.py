"""Whole checks of IATI datasets' URLs, against a server with all kinds of answers."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import StagedBody, Store, StoreError
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.hostile_tls import tls_servers
from ckanext.freshness.tests.servers.one_file import ETAG, MODIFIED
from ckanext.freshness.tests.web.support import FAST, SETTINGS, UNHURRIED, lookup
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings
from ckanext.freshness.web.hosts import Hosts
from ckanext.freshness_iati.attempts import Attempt, ErrorType, attempt, last_of
from ckanext.freshness_iati.iati_check import (
    IatiCheckResult,
    IatiTools,
    KnownFile,
    check_files,
)
from ckanext.freshness_iati.rules import FileState, IatiOutcome
from ckanext.freshness_iati.tests.servers.iati_files import ACTIVITIES, IatiFiles

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
OTHER = ACTIVITIES.replace(b"2.03", b"2.02")


@pytest.fixture(scope="module")
def module_server() -> Iterator[IatiFiles]:
    with IatiFiles() as server:
        yield server


@pytest.fixture
def server(module_server: IatiFiles) -> Iterator[IatiFiles]:
    yield module_server
    module_server.faults.clear()
    module_server.restore()
    module_server.wait_until_idle()
    module_server.reset()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "copies"))


class Cycle:
    """One dataset through several cycles: its state and its copy."""

    def __init__(self, server: IatiFiles, store: Store) -> None:
        self.server = server
        self.store = store
        self.url = f"{server.url}/file.xml"
        self.state = FileState()

    def __call__(self, after: timedelta = timedelta(0), url: str | None = None) -> IatiCheckResult:
        """Check the dataset, this long after the first cycle."""
        self.server.reset()
        checked = file_of("resource", self.url if url is None else url, self.state)
        (result,) = run([checked], self.store, NOW + after)
        self.state = result.decision.state
        return result

    @property
    def copy(self) -> bytes:
        """The stored bytes."""
        return b"".join(self.store.open(store_keys.resource_key("resource")))


@pytest.fixture
def cycle(server: IatiFiles, store: Store) -> Cycle:
    return Cycle(server, store)


def file_of(name: str, url: str, state: FileState) -> KnownFile:
    return KnownFile(name, "package", name, url, state)


def run(
    inputs: Sequence[KnownFile],
    store: Store,
    now: datetime = NOW,
    *,
    settings: ClientSettings = SETTINGS,
    hosts: Mapping[str, Sequence[str]] | None = None,
) -> list[IatiCheckResult]:
    found: list[IatiCheckResult] = []

    async def main() -> None:
        async with Client(settings, Hosts(UNHURRIED), lookup(hosts or {})) as client:
            tools = IatiTools(client, store, lambda: now)
            await check_files(inputs, tools, found.append)

    asyncio.run(main())
    return found


def error_type(made: Attempt | None) -> ErrorType | None:
    assert made is not None
    details = made["error_details"]
    types = {kind.value: kind for kind in ErrorType}
    return None if details is None else types[details["error_type"]]


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


# Downloads


def test_a_first_download(cycle: Cycle, server: IatiFiles) -> None:
    result = cycle()
    assert result.decision.outcome is IatiOutcome.DOWNLOADED and server.methods == ["GET"]
    good = cycle.state.good
    assert good is not None
    assert good.hash == sha1(ACTIVITIES)
    without = ACTIVITIES.replace(b'generated-datetime="2026-11-01T00:00:00Z"', b"")
    assert good.hash_excluding_generated_timestamp == sha1(without)
    assert (good.downloaded, good.verified_on_server) == (NOW, NOW)
    assert good.content_length == len(ACTIVITIES)
    assert good.initial_contents == ACTIVITIES.decode()[:150]
    assert (good.etag, good.last_modified, good.source_url) == (ETAG, MODIFIED, cycle.url)
    assert cycle.state.attempts == (attempt(NOW, "GET", 200),)
    assert result.mimetype == "application/xml"
    assert cycle.copy == ACTIVITIES


# Requests


def test_head_is_refused(cycle: Cycle, server: IatiFiles) -> None:
    server.head_status = 405
    cycle()
    result = cycle(23 * HOUR)
    assert server.methods == ["HEAD", "GET!"] and result.decision.outcome is IatiOutcome.VERIFIED
    good = cycle.state.good
    assert good is not None
    assert (good.downloaded, good.verified_on_server) == (NOW, NOW + 23 * HOUR)
    assert error_type(last_of(cycle.state.attempts, "HEAD")) is ErrorType.HTTP_NON_200
    assert last_of(cycle.state.attempts, "GET") == attempt(NOW + 23 * HOUR, "GET", 304)
    server.body, server.etag, server.last_modified = OTHER, '"v2"', None
    assert cycle(23 * HOUR).decision.outcome is IatiOutcome.DOWNLOADED
    assert server.methods == ["HEAD", "GET!"] and cycle.copy == OTHER
    cycle(48 * HOUR)
    assert server.methods == ["GET"], "unconditional"


# Failures

FAULTS: dict[str, tuple[faults.Fault, ErrorType]] = {
    "404": (faults.Status(404), ErrorType.HTTP_NON_200),
    "304": (faults.Status(304), ErrorType.HTTP_NON_200),
    "HTML": (faults.html(), ErrorType.NOT_IATI_CONTENT),
    "truncated": (faults.Truncate(0.9), ErrorType.CONNECTION_ERROR),
    "silent": (faults.Hang(), ErrorType.CONNECTION_TIMEOUT),
    "a circle": (faults.Redirect("/file.xml"), ErrorType.TOO_MANY_REDIRECTS),
    "no HTTP": (faults.malformed_headers(), ErrorType.OTHER_ERROR),
}


@pytest.mark.parametrize(("fault", "kind"), FAULTS.values(), ids=FAULTS)
def test_a_failure_leaves_what_is_good(
    cycle: Cycle, server: IatiFiles, fault: faults.Fault, kind: ErrorType
) -> None:
    cycle()
    before = cycle.state
    server.faults["/file.xml"] = fault
    read = 0.5 if isinstance(fault, faults.Hang) else FAST.read
    (result,) = run(
        [file_of("resource", cycle.url, before)],
        cycle.store,
        NOW + 30 * HOUR,
        settings=replace(SETTINGS, limits=replace(FAST, read=read, attempts=2)),
    )
    after = result.decision.state
    assert error_type(last_of(after.attempts, "GET")) is kind
    assert result.kept is None
    assert (after.good, after.content_modified) == (before.good, before.content_modified)
    assert after.failures == 1
    assert cycle.copy == ACTIVITIES
    # An immediate second check sends no request.
    server.reset()
    cycle.state = after
    assert cycle(30 * HOUR).decision.outcome is IatiOutcome.POSTPONED
    assert server.methods == []
    assert cycle.state.last_update_check == NOW + 30 * HOUR
    server.faults.clear()
    assert cycle(31 * HOUR).decision.outcome is IatiOutcome.DOWNLOADED


def test_what_is_no_iati_file_is_not_read_to_its_end(cycle: Cycle, server: IatiFiles) -> None:
    server.body = b"<html>" + b"x" * 20_000_000
    result = cycle()
    assert result.decision.outcome is IatiOutcome.FAILED
    details = cycle.state.attempts[0]["error_details"]
    assert details["detailed_message"] == (
        f"The file at {cycle.url} is no IATI file: its root element is <html>"
    )
    assert details["http_headers"]["Content-Length"] == "20000006"


def test_no_secret_is_told(cycle: Cycle, server: IatiFiles) -> None:
    server.status = 403
    server.headers = {"Set-Cookie": "sid=hunter2", "X-Auth-Token": "hunter2", "Server": "x"}
    cycle(url=f"http://user:hunter2@127.0.0.1:{server.port}/file.xml?token=hunter2")
    (made,) = cycle.state.attempts
    assert "hunter2" not in str(made)
    assert made["error_details"]["http_headers"]["Server"] == "x"


# The store


class FullBody(StagedBody):
    def write(self, data: bytes, /) -> int:
        raise StoreError("The disk is full.")


class FullStore(Store):
    """A store without room for bytes that arrive."""

    def stage(self) -> StagedBody:
        return FullBody()


def test_a_file_that_cannot_be_stored(cycle: Cycle, server: IatiFiles, tmp_path: Path) -> None:
    cycle()
    before = cycle.state
    server.body = OTHER + b" " * 1_000_000
    full = FullStore(str(tmp_path / "copies"))
    (result,) = run([file_of("resource", cycle.url, before)], full, NOW + 30 * HOUR)
    assert result.decision.outcome is IatiOutcome.NOT_STORED and result.kept is None
    after = result.decision.state
    assert error_type(last_of(after.attempts, "GET")) is ErrorType.STORE_ERROR
    assert after.attempts[0]["error_details"]["detailed_message"] == "The disk is full."
    assert (after.good, after.failures, after.postponed_until) == (before.good, 0, None)
    cycle.state = after
    assert cycle(30 * HOUR).decision.outcome is IatiOutcome.DOWNLOADED


# Many datasets


def test_certificates_are_verified_and_exceptions_recorded(store: Store, tmp_path: Path) -> None:
    host = "files.example"
    with tls_servers(host, tmp_path, "127.0.0.1") as urls:
        for name in ("self-signed", "expired", "wrong-name", "untrusted"):
            check_input = file_of("a", urls[name], FileState())
            (result,) = run([check_input], store, hosts={host: ["127.0.0.1"]})
            assert error_type(last_of(result.decision.state.attempts, "GET")) is ErrorType.SSL_ERROR
        excused = replace(SETTINGS, insecure_hosts=frozenset({host}))
        (result,) = run([check_input], store, hosts={host: ["127.0.0.1"]}, settings=excused)
        (made,) = result.decision.state.attempts
        assert error_type(made) is ErrorType.NOT_IATI_CONTENT and made["insecure"]
