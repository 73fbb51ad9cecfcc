"""Checks by the policy hdx, against servers with all kinds of answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver
from msgspec import structs

from ckanext.freshness.checking.decisions import (
    UNOPENED,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.formats import TableShape
from ckanext.freshness.checking.hasher import ContentSandbox
from ckanext.freshness.checking.hdx_check import HdxTools, check_resources
from ckanext.freshness.tests.checking.workbooks import workbook
from ckanext.freshness.tests.runs.stories import WALL, page
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import (
    BODY,
    ETAG,
    FAST,
    MODIFIED,
    SETTINGS,
    FileServer,
    lookup,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings
from ckanext.freshness.web.hosts import HostPolicy, Hosts

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
MODIFIED_AT = datetime(2026, 9, 1, 10, tzinfo=timezone.utc)
UNPACED = HostPolicy(connections=2, per_second=math.inf)

Sink = Callable[[CheckResult], None]


def run_check(
    visits: Sequence[ResourceToCheck],
    *,
    confirm_after: float = 0.01,
    concurrency: int = 200,
    sink: Sink | None = None,
    policies: Mapping[str, HostPolicy] | None = None,
    names: Callable[[], AbstractResolver] | None = None,
    settings: ClientSettings = SETTINGS,
    now: Callable[[], datetime] = lambda: NOW,
    patience: float | None = None,
    **limits: Any,
) -> list[CheckResult]:
    """Run checks, and return the results in their order.

    :param patience: seconds within which all checks must end
    """
    found: list[CheckResult] = []

    def give(finding: CheckResult) -> None:
        found.append(finding)
        if sink is not None:
            sink(finding)

    async def main() -> None:
        configured = replace(settings, limits=replace(FAST, **limits))
        hosts = Hosts(UNPACED, policies)
        with ContentSandbox() as sandbox:
            resolver = names or lookup({})
            async with Client(configured, hosts, resolver, concurrency=concurrency) as client:
                tools = HdxTools(client, sandbox, now)
                checks = check_resources(visits, tools, give, confirm_after=confirm_after)
                await asyncio.wait_for(checks, patience)
                left = asyncio.all_tasks() - {asyncio.current_task()}
                assert not left, "tasks outlive the check"

    asyncio.run(main())
    return found


def visit(url: str, known: KnownContent | None = None, **more: Any) -> ResourceToCheck:
    return ResourceToCheck(
        more.pop("resource_id", url), "package", url, known or KnownContent(), **more
    )


def one(server: FileServer, known: KnownContent | None = None, **more: Any) -> CheckResult:
    (finding,) = run_check([visit(f"{server.url}/file.csv", known, **more)])
    return finding


def csv(body: bytes, etag: str | None = None, modified: str | None = None) -> Answer:
    headers = {"Content-Type": "text/csv; charset=utf-8"}
    if etag:
        headers["ETag"] = etag
    if modified:
        headers["Last-Modified"] = modified
    return Answer(200, body, headers)


@pytest.fixture(scope="module")
def seen(session_server: FileServer) -> KnownContent:
    """What is stored of the server's file."""
    (finding,) = run_check([visit(f"{session_server.url}/file.csv")])
    session_server.reset()
    return finding.known


# What each answer is found to be


def test_a_first_visit(server: FileServer) -> None:
    finding = one(server)
    assert finding.outcome is Outcome.FIRST_HASH
    assert finding.known.hash is not None and finding.known.hash.startswith("sha256:")
    assert (finding.known.etag, finding.known.last_modified) == (ETAG, MODIFIED)
    assert (finding.host, finding.size, finding.mimetype) == ("127.0.0.1", len(BODY), "text/csv")
    assert finding.modified == MODIFIED_AT
    assert (finding.attempt.at, finding.attempt.status) == (NOW, 200)
    assert (finding.attempt.received, finding.attempt.final_url) == (len(BODY), None)
    assert finding.changed_at is None


LATER = "Fri, 20 Nov 2026 10:00:00 GMT"


def test_a_newer_date_of_a_large_file_is_believed_by_its_beginning(
    server: FileServer, seen: KnownContent
) -> None:
    body = BODY * 10_000
    server.files["/file.csv"] = csv(body, '"v2"', LATER)
    finding = one(
        server, seen, format="CSV", last_change=MODIFIED_AT, fresh_after=NOW - timedelta(days=30)
    )
    assert finding.outcome is Outcome.HEADER
    assert 0 < finding.attempt.received < len(body) / 2


def test_data_of_another_kind_are_a_mismatch_and_count(server: FileServer) -> None:
    book = workbook({"Data": {"A1": 1.0}})
    server.files["/file.csv"] = Answer(200, book, {"ETag": '"v1"'})
    first = one(server, format="XLS")
    told = ("XLS", "an Office file (XLSX, DOCX, PPTX)")
    assert first.outcome is Outcome.FIRST_HASH
    assert (first.known.promised, first.known.found) == told

    server.files["/file.csv"] = Answer(304)
    same = one(server, first.known, format="XLS")
    assert (same.outcome, same.known) == (Outcome.NOT_MODIFIED, first.known)

    server.files["/file.csv"] = Answer(200, book, {"ETag": '"v2"', "Last-Modified": LATER})
    by_date = one(server, first.known, format="XLS", fresh_after=NOW - timedelta(days=30))
    assert (by_date.outcome, by_date.known.found) == (Outcome.HEADER, told[1])

    mended = one(server, first.known, format="XLSX")
    assert (mended.outcome, mended.known.found) == (Outcome.SAME_HASH, None)


def test_a_wall_in_place_of_data_for_weeks_is_no_other_file(server: FileServer) -> None:
    promised: dict[str, Any] = {"format": "GeoJSON", "mimetype": "text/html"}
    features = [{"type": "Feature", "geometry": None, "properties": {"n": n}} for n in range(5)]
    data = json.dumps({"type": "FeatureCollection", "features": features}).encode()
    server.files["/file.csv"] = Answer(200, data)
    first = one(server, **promised).known
    waits = structs.replace(first, waits_since=NOW - timedelta(days=11))
    server.files["/file.csv"] = Answer(200, WALL, {"Content-Type": "text/html"})
    found = one(server, waits, **promised)
    assert (found.outcome, found.attempt.reason) == (Outcome.CANNOT_TELL, "wall")
    assert found.known == waits


def test_a_wall_that_leads_on_for_another_resource_stays_a_wall(server: FileServer) -> None:
    refresh = "<meta http-equiv='refresh' content='0; url=/gone'><table></table>"
    wall = page("Just a moment...", 1, refresh)
    # By its type, the page could be a saved workbook, which is no CSV file.
    server.files["/file.csv"] = Answer(200, wall, {"Content-Type": "text/csv"})
    server.files["/gone"] = Answer(404)
    url = f"{server.url}/file.csv"
    found = run_check([visit(url, resource_id=name, format=name) for name in ("API", "CSV")])
    outcomes = {one.resource.resource_id: one.outcome for one in found}
    assert outcomes == {"API": Outcome.CANNOT_TELL, "CSV": Outcome.ERROR}


def test_a_file_that_opens_at_one_of_two_downloads(server: FileServer, seen: KnownContent) -> None:
    book = workbook({"Data": {"A1": 1.0}})
    server.files["/file.csv"] = Answer(200, book[:-30])
    server.faults["/file.csv"] = faults.Body(book, times=1)
    found = one(server, seen, format="XLSX")
    assert (found.outcome, found.attempt.reason) == (Outcome.UNCONFIRMED, UNOPENED)


# Who waits for whom


def test_no_host_waits_for_another(server: FileServer) -> None:
    slow, quick = server.url, server.url_at("127.0.0.2")
    hold = faults.Hold()
    server.faults[lambda request: request.host.startswith("127.0.0.1")] = hold
    arrived: list[str] = []

    def sink(finding: CheckResult) -> None:
        arrived.append(finding.host)
        if arrived.count("127.0.0.2") == 30:
            hold.release()

    visits = [visit(f"{slow}/{n}") for n in range(10)] + [visit(f"{quick}/{n}") for n in range(30)]
    found = run_check(visits, concurrency=3, sink=sink, read=5)
    assert {finding.outcome for finding in found} == {Outcome.FIRST_HASH}
    assert server.peak <= 2 * UNPACED.connections


def pause(server: FileServer) -> dict[str, HostPolicy]:
    """The answer to the first request to 127.0.0.1 asks for a pause."""
    server.faults["/0"] = faults.Status(503, headers={"Retry-After": "1.5"}, times=1)
    return {}


def rate(_: FileServer) -> dict[str, HostPolicy]:
    return {"127.0.0.1": HostPolicy(2, 0.7)}


@pytest.mark.parametrize("hold_up", [pause, rate])
def test_no_runner_waits_for_a_host(
    server: FileServer, hold_up: Callable[[FileServer], dict[str, HostPolicy]]
) -> None:
    policies = hold_up(server)
    visits = [visit(f"{server.url}/{n}") for n in range(3)]
    visits += [visit(f"{server.url_at('127.0.0.2')}/other/{n}") for n in range(5)]
    found = run_check(visits, concurrency=1, policies=policies)
    assert [finding.host for finding in found][-2:] == ["127.0.0.1"] * 2
    assert len(found) == 8


def test_the_run_goes_on_while_a_change_waits_for_its_confirmation(
    server: FileServer, seen: KnownContent
) -> None:
    server.files["/file.csv"] = csv(b"id,name\n2,Bob\n", '"v2"')
    visits = [visit(f"{server.url}/file.csv", seen)]
    visits += [visit(f"{server.url}/other/{n}") for n in range(30)]
    found = run_check(visits, concurrency=1, confirm_after=1.5)
    outcomes = [finding.outcome for finding in found]
    assert sorted(map(str, outcomes)) == sorted(
        map(str, [Outcome.CHANGED] + [Outcome.FIRST_HASH] * 30)
    )
    # The only runner asked for the changed file first: had it waited there, that would be first.
    assert outcomes[0] is Outcome.FIRST_HASH


def test_a_host_of_many_urls_is_asked_on_before_it_has_answered_once(server: FileServer) -> None:
    hold = faults.Hold()
    server.faults["/0"] = hold
    found = run_check(
        [visit(f"{server.url}/{n}") for n in range(20)], sink=lambda _: hold.release(), attempts=1
    )
    assert found[0].resource.url == f"{server.url}/1"
    assert {finding.outcome for finding in found} == {Outcome.FIRST_HASH}


# One URL of several resources


def test_a_url_of_several_resources_is_asked_once(server: FileServer, seen: KnownContent) -> None:
    server.files["/file.csv"] = csv(b"new")
    url = f"{server.url}/file.csv"
    memories = {
        "first": KnownContent(),
        "changed": KnownContent(hash=seen.hash),
        "repeat": KnownContent(hash="sha256:x", earlier=(seen.hash or "",)),
    }
    visits = [visit(url, known, resource_id=name) for name, known in memories.items()]
    found = {finding.resource.resource_id: finding for finding in run_check(visits)}
    assert {name: finding.outcome for name, finding in found.items()} == {
        "first": Outcome.FIRST_HASH,
        "changed": Outcome.CHANGED,
        "repeat": Outcome.CHANGED,
    }
    assert len(server.requests) == 2
    assert not {"If-None-Match", "If-Modified-Since"} & set(server.requests[1].headers)
    assert {finding.known.hash for finding in found.values()} == {found["first"].known.hash}


def test_who_asks_otherwise_asks_alone(server: FileServer, seen: KnownContent) -> None:
    url = f"{server.url}/file.csv"
    visits = [visit(url, resource_id="new"), visit(url, seen, resource_id="known")]
    found = {finding.resource.resource_id: finding.outcome for finding in run_check(visits)}
    assert found == {"new": Outcome.FIRST_HASH, "known": Outcome.NOT_MODIFIED}


# The end


class SinkError(Exception):
    """The exception of a lost database."""


def test_a_sink_that_raises_ends_the_run(server: FileServer) -> None:
    server.faults[lambda request: request.path == "/hang"] = faults.Hang()

    def sink(finding: CheckResult) -> None:
        raise SinkError

    visits = [visit(f"{server.url}/hang"), visit(f"{server.url_at('127.0.0.2')}/file.csv")]
    with pytest.raises(SinkError):
        run_check(visits, sink=sink, read=60, total=60)
    server.wait_until_idle()


def test_a_run_can_be_broken_off(server: FileServer) -> None:
    server.faults[lambda request: True] = faults.Hang()

    async def main() -> None:
        with ContentSandbox() as sandbox:
            async with Client(SETTINGS, Hosts(UNPACED)) as client:
                visits = [visit(f"{server.url}/{n}") for n in range(10)]
                task = asyncio.ensure_future(
                    check_resources(visits, HdxTools(client, sandbox, lambda: NOW), lambda _: None)
                )
                await asyncio.to_thread(server.wait_for, "/", 1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    server.wait_until_idle()


# The tables of the files


OLD = b"id,name\n" + b"a,b\n" * 3
NEW = b"id,name,district\n" + b"a,b,c\n" * 5
OLD_SHAPE = [TableShape(None, 3, ["id", "name"])]
NEW_SHAPE = [TableShape(None, 5, ["id", "name", "district"])]


def shape_of(server: FileServer, *bodies: bytes, **more: Any) -> Any:
    """Return the outcome and the shape of a check whose downloads get these bodies."""
    more = {"format": "CSV", **more}
    server.files["/file.csv"] = csv(bodies[-1])
    if len(bodies) > 1:
        server.faults["/file.csv"] = faults.Body(bodies[0], times=1)
    (result,) = run_check([visit(f"{server.url}/file.csv", **more)])
    return result.outcome, result.shape


def known(body: bytes, **more: Any) -> KnownContent:
    return KnownContent(hash=f"sha256:{hashlib.sha256(body).hexdigest()}", **more)


KNOWN_SHAPE = {"known": known(OLD), "has_shape": True}
SHAPES: list[tuple[dict[str, Any], list[bytes], Outcome, Any]] = [
    ({}, [OLD], Outcome.FIRST_HASH, OLD_SHAPE),
    ({"format": "PDF"}, [OLD], Outcome.FIRST_HASH, []),
    ({"known": known(OLD)}, [OLD], Outcome.SAME_HASH, OLD_SHAPE),
    (KNOWN_SHAPE, [OLD], Outcome.SAME_HASH, None),
    (KNOWN_SHAPE, [NEW, NEW], Outcome.CHANGED, NEW_SHAPE),
    (KNOWN_SHAPE, [NEW, OLD], Outcome.SAME_HASH, None),
    (KNOWN_SHAPE, [NEW, b"x,y\nz,z\n"], Outcome.API, None),
    (
        {"known": known(OLD, outdated=True), "has_shape": True},
        [NEW],
        Outcome.FIRST_HASH,
        NEW_SHAPE,
    ),
    # The next check reads it, as it is forgotten then.
    (
        {"known": known(NEW, earlier=("sha256:0", known(OLD).hash)), "has_shape": True},
        [OLD],
        Outcome.REPEAT_HASH,
        None,
    ),
]
"""What is known before, the downloads, the outcome, and the shape that is read."""


@pytest.mark.parametrize(("before", "bodies", "outcome", "shape"), SHAPES)
def test_the_shape_is_read_once_for_each_content(
    server: FileServer, before: dict[str, Any], bodies: list[bytes], outcome: Outcome, shape: Any
) -> None:
    assert shape_of(server, *bodies, **before) == (outcome, shape)
