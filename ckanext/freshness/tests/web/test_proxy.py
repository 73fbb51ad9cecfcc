"""Requests through the site's proxy, whose connections the guard does not see."""

from __future__ import annotations

import asyncio
import base64
import ssl
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import trustme

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.raw import RawServer, saying
from ckanext.freshness.tests.web.support import (
    SETTINGS,
    UNHURRIED,
    FileServer,
    deaf_port,
    failure,
    lookup,
    visit,
)
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FailureReason, FetchError
from ckanext.freshness.web.exchange import ClientSettings, Request
from ckanext.freshness.web.hosts import Hosts

PUBLIC = {"data.example": ["8.8.8.8"]}


@dataclass
class Proxy:
    """An HTTP proxy that sends every request to one server, whatever its URL."""

    to: int
    refuse: int | None = None
    requests: list[list[str]] = field(default_factory=list)

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode().splitlines()
        self.requests.append(lines)
        if self.refuse is not None:
            writer.write(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n" % self.refuse)
            return
        there, back = await asyncio.open_connection("127.0.0.1", self.to)
        method, target, _ = lines[0].split()
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            path = "/" + target.split("/", 3)[3]
            back.write(head.replace(target.encode(), path.encode(), 1))
        await asyncio.wait(
            [asyncio.create_task(_copy(reader, back)), asyncio.create_task(_copy(there, writer))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        back.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


@pytest.fixture
def proxy(server: FileServer) -> Iterator[tuple[Proxy, ClientSettings]]:
    """A proxy before the file server, and settings that use it and allow no internal network."""
    made = Proxy(server.port)
    with RawServer(made.speak) as running:
        url = running.url.replace("//", "//user:geheim@")
        yield made, replace(SETTINGS, guard=Guard(), proxy=url)


@pytest.mark.parametrize("host", ["127.0.0.1", "proxy.internal"])
def test_a_visit_through_the_proxy(
    server: FileServer, proxy: tuple[Proxy, ClientSettings], host: str
) -> None:
    settings = replace(proxy[1], proxy=str(proxy[1].proxy).replace("127.0.0.1", host))
    names = {**PUBLIC, "proxy.internal": ["127.0.0.1"]}
    answer = visit("http://data.example/x?y", settings=settings, names=names)
    assert answer.status == 200
    assert server.requests[0].target == "/x?y"
    [lines] = proxy[0].requests
    assert lines[0] == "GET http://data.example/x?y HTTP/1.1"
    credentials = base64.b64encode(b"user:geheim").decode()
    assert f"Proxy-Authorization: Basic {credentials}" in lines


REFUSED = [
    ("http://10.0.0.1/x", {}, FailureReason.INSIDE_ADDRESS),
    ("http://[::ffff:169.254.169.254]/x", {}, FailureReason.INSIDE_ADDRESS),
    ("http://2130706433/x", {}, FailureReason.INSIDE_ADDRESS),
    ("http://inside.example/x", {"inside.example": ["192.168.0.1"]}, FailureReason.INSIDE_ADDRESS),
    ("https://inside.example/x", {"inside.example": ["192.168.0.1"]}, FailureReason.INSIDE_ADDRESS),
    # The site may have no name servers for the Internet.
    ("http://unknown.example/x", {}, FailureReason.NO_ROUTE),
]


@pytest.mark.parametrize(("url", "names", "reason"), REFUSED)
def test_what_may_not_be_visited_is_not_asked_of_the_proxy(
    proxy: tuple[Proxy, ClientSettings],
    url: str,
    names: dict[str, list[str]],
    reason: FailureReason,
) -> None:
    assert failure(url, settings=proxy[1], names=names).reason is reason
    assert proxy[0].requests == []


def test_nor_after_a_redirect(server: FileServer, proxy: tuple[Proxy, ClientSettings]) -> None:
    server.faults["/x"] = faults.Redirect(to="http://10.0.0.1/y")
    error = failure("http://data.example/x", settings=proxy[1], names=PUBLIC)
    assert error.reason is FailureReason.INSIDE_ADDRESS
    assert len(proxy[0].requests) == 1


def test_a_name_that_alone_is_not_found_does_not_exist(
    proxy: tuple[Proxy, ClientSettings],
) -> None:
    async def main() -> None:
        async with Client(proxy[1], Hosts(UNHURRIED), lookup(PUBLIC)) as client:
            await client.fetch(Request("http://data.example/x"))
            with pytest.raises(FetchError) as caught:
                await client.fetch(Request("http://unknown.example/x"))
            assert caught.value.reason is FailureReason.NAME_NOT_FOUND

    asyncio.run(main())


def test_tls_goes_through_the_proxy_and_is_verified(tmp_path: Path) -> None:
    authority = trustme.CA()
    bundle = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("data.example").configure_cert(served)
    ok = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    with RawServer(ok, served) as server:
        made = Proxy(server.port)
        with RawServer(made.speak) as running:
            settings = replace(SETTINGS, guard=Guard(), proxy=running.url)
            trusting = replace(settings, ca_bundle=bundle)
            answer = visit("https://data.example/x", settings=trusting, names=PUBLIC)
            assert answer.body == b"ok"
            assert made.requests[0][0] == "CONNECT data.example:443 HTTP/1.1"
            error = failure("https://data.example/x", settings=settings, names=PUBLIC)
            assert error.reason is FailureReason.TLS_UNTRUSTED


@pytest.mark.parametrize("status", [403, 407, 502])
def test_a_proxy_that_refuses_a_tunnel(proxy: tuple[Proxy, ClientSettings], status: int) -> None:
    proxy[0].refuse = status
    error = failure("https://data.example/x", settings=proxy[1], names=PUBLIC)
    assert error.reason is FailureReason.PROXY
    assert f"could not be asked through the proxy: it answered {status}" in str(error)
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(proxy[1])
    assert "geheim" not in shown
    assert base64.b64encode(b"user:geheim").decode() not in shown


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["nowhere.internal", "proxy.internal", "127.0.0.1"])
def test_a_proxy_that_is_away_says_nothing_of_servers(scheme: str, host: str) -> None:
    """It has no address, or takes no connection."""
    names = {**PUBLIC, "proxy.internal": ["127.0.0.1"]}
    with deaf_port() as port:
        settings = replace(SETTINGS, guard=Guard(), proxy=f"http://user:geheim@{host}:{port}")
        url = f"{scheme}://data.example/x"
        error = failure(url, settings=settings, names=names, connect=0.1, attempts=1)
    assert error.reason is FailureReason.PROXY
    assert "could not be asked through the proxy: it cannot be reached" in str(error)
    assert "geheim" not in str(error)


def test_a_server_that_takes_no_connection_from_the_proxy_is_to_blame() -> None:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    with RawServer(wait) as proxy:
        settings = replace(SETTINGS, guard=Guard(), proxy=proxy.url)
        url = "https://data.example/x"
        error = failure(url, settings=settings, names=PUBLIC, connect=0.2, attempts=1)
    assert error.reason is FailureReason.CONNECT_TIMEOUT
