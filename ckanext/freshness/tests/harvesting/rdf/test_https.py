"""Sources that turn from http to https: URL, records and files. Packages, names and resource ids stay."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.base import LoopbackServer, Request
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.raw import RawServer

pytestmark = pytest.mark.usefixtures("clean_site")


@contextlib.contextmanager
def behind_tls(server: LoopbackServer, bundle: Path) -> Iterator[str]:
    """Serve a server's documents over TLS at its port, with https in all URLs, and yield its URL."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        found = server.answer(Request("GET", target, {}, "", 0.0))
        body = found.body.replace(server.url.encode(), secure.url.encode())
        lines = [f"HTTP/1.1 {found.status} OK", f"Content-Length: {len(body)}"]
        lines += [f"Content-Type: {found.headers['Content-Type']}", "Connection: close", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(bundle))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    server.stop()
    with RawServer(speak, tls, port=server.port) as secure:
        yield secure.url


def datasets() -> dict[str, tuple[str, str, dict[str, str]]]:
    """Return id, name and resource ids, by name, of all datasets, by title."""
    found = call_action("package_search", rows=100)["results"]
    return {
        one["title"]: (one["id"], one["name"], {r["name"]: r["id"] for r in one["resources"]})
        for one in found
    }


def fair_data_point() -> FdpServer:
    server = FdpServer()
    for _ in range(3):
        server.add_dataset(server.add_catalog())
    return server


def catalogue() -> CatalogueServer:
    server = CatalogueServer(3)
    server.entries.append(Entry("id-x", "Without a URL", is_blank=True))
    return server


@pytest.mark.parametrize(
    ("source_type", "make"), [("fdp", fair_data_point), ("dcat_catalog", catalogue)]
)
def test_a_source_turns_to_https(
    source_type: str,
    make: Callable[[], FdpServer | CatalogueServer],
    tmp_path: Path,
    ckan_config: Any,
) -> None:
    server = make()
    server.start()
    harvest = add_source(server.source_url, source_type=source_type)
    assert harvest.run().errors == []
    before = datasets()
    assert before and all(resources for _, _, resources in before.values())
    bundle = tmp_path / "ca.pem"
    with behind_tls(server, bundle) as url:
        ckan_config["ckanext.freshness.ca_bundle"] = str(bundle)
        harvest.switch(url=server.source_url.replace(server.url, url))
        job = harvest.run()
        assert (job.errors, job.stats["added"], job.stats["deleted"]) == ([], 0, 0)
        assert datasets() == before
        assert harvest.run().stats["not modified"] == len(before)
    shown = call_action("package_show", id=next(iter(before.values()))[0])
    assert shown["resources"][0]["url"].startswith("https:")
