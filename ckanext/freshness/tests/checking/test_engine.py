"""The engine, with a policy of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from ckanext.freshness.checking.engine import NextStep, check_all
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.web.support import SETTINGS, UNHURRIED, FileServer, lookup
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.connections import Names
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.exchange import Answer, Body, Limits, Request, RequestAttempts
from ckanext.freshness.web.hosts import Hosts
from ckanext.freshness.web.urls import Target


@dataclass(frozen=True)
class Wanted:
    """A URL to check, with a name."""

    url: str
    name: str = ""


Said = tuple[str, str]
Sink = Callable[[Said], None]


class HeadThenGet:
    """A policy that sends HEAD, then GET if HEAD is refused or not answered."""

    def __init__(self, client: Client, wanted: Wanted, target: Target | None) -> None:
        self.wanted = [wanted]
        self.client = client
        self.target = target
        self.asking: RequestAttempts | None = None
        self.closed = False

    def takes(self, visit: Wanted, /) -> bool:
        self.wanted.append(visit)
        return True

    def begin(self) -> RequestAttempts:
        if self.asking is None:
            self._ask("HEAD")
        assert self.asking is not None
        return self.asking

    def _ask(self, method: str) -> None:
        url = self.wanted[0].url
        request = Request(url, method, limits=Limits(read=0.2, attempts=1))
        self.asking = self.client.begin(request, lambda answer: Body.COLLECT, self.target)

    async def answered(self, answer: Answer, sink: Sink, /) -> NextStep:
        method = self.begin().request.method
        if method == "HEAD" and answer.status == 405:
            self._ask("GET")
            return NextStep.CONFIRM
        return self._end(f"{method} {answer.status}", sink)

    def failed(self, error: FetchError, sink: Sink, /) -> NextStep:
        if self.asking is not None and self.asking.request.method == "HEAD":
            self._ask("GET")
            return NextStep.ASK_NOW
        return self._end(error.reason.value, sink)

    def close(self) -> None:
        self.closed = True

    def _end(self, said: str, sink: Sink) -> NextStep:
        for one in self.wanted:
            sink((one.name, said))
        return NextStep.END


def run(wanted: Sequence[Wanted]) -> list[Said]:
    found: list[Said] = []

    async def main() -> None:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            await check_all(
                wanted,
                client,
                lambda one, host, target: HeadThenGet(client, one, target),
                found.append,
                confirm_after=0.01,
            )

    asyncio.run(main())
    return found


@pytest.mark.parametrize(
    ("served", "said", "methods"),
    [
        (Served(200, b"data"), "HEAD 200", ["HEAD"]),
        (Served(404, b""), "HEAD 404", ["HEAD"]),
        (Served(405, b""), "GET 405", ["HEAD", "GET"]),
    ],
)
def test_the_policy_says_what_is_asked(served: Served, said: str, methods: list[str]) -> None:
    with FileServer() as server:
        server.files["/x"] = served
        assert run([Wanted(f"{server.url}/x", name="one")]) == [("one", said)]
        assert [one.method for one in server.requests] == methods


def test_what_gets_no_answer_may_be_asked_otherwise() -> None:
    with FileServer() as server:
        server.faults["/x"] = faults.Reset(times=2)
        assert run([Wanted(f"{server.url}/x", name="one")]) == [("one", "GET 200")]


def test_each_visit_gets_what_its_url_gave() -> None:
    with FileServer() as server:
        wanted = [Wanted(f"{server.url}/x", name=name) for name in ("one", "two")]
        assert run(wanted) == [("one", "HEAD 200"), ("two", "HEAD 200")]
        assert len(server.requests) == 1


def test_a_url_that_is_none_is_not_asked() -> None:
    assert run([Wanted("no URL", name="one")]) == [("one", "invalid url")]


def test_what_is_on_its_way_when_everything_ends_is_closed() -> None:
    begun: list[HeadThenGet] = []

    async def main(wanted: Sequence[Wanted]) -> None:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:

            def begin(one: Wanted, host: str, target: Target | None) -> HeadThenGet:
                begun.append(HeadThenGet(client, one, target))
                return begun[-1]

            await check_all(wanted, client, begin, fail)

    def fail(said: Said) -> None:
        raise RuntimeError(said)

    with FileServer() as hanging, FileServer(address="127.0.0.2") as server:
        hanging.faults["/x"] = faults.Hang()
        urls = [f"{one.url}/x" for one in (hanging, server)]
        with pytest.raises(RuntimeError, match="HEAD 200"):
            asyncio.run(main([Wanted(url) for url in urls]))
    assert [one.closed for one in begun] == [True, True]
