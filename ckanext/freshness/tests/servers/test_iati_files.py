"""The server of IATI files does what it is switched to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckanext.freshness.tests.servers.client import fetch
from ckanext.freshness.tests.servers.iati_files import ACTIVITIES, ETAG, MODIFIED, IatiFiles


@pytest.fixture
def server() -> Iterator[IatiFiles]:
    with IatiFiles() as found:
        yield found


def test_a_healthy_server(server: IatiFiles) -> None:
    for method, body in (("GET", ACTIVITIES), ("HEAD", b"")):
        reply = fetch(f"{server.url}/x", method=method)
        assert (reply.status, reply.body) == (200, body)
        assert (reply.headers["ETag"], reply.headers["Last-Modified"]) == (ETAG, MODIFIED)
        assert reply.headers["Content-Length"] == str(len(ACTIVITIES))
    reply = fetch(f"{server.url}/x", headers={"If-None-Match": ETAG})
    assert (reply.status, server.methods) == (304, ["GET", "HEAD", "GET!"])


def test_the_switches(server: IatiFiles) -> None:
    server.etag = None
    server.head_status, server.conditional_status = 405, 412
    server.head = {"Content-Length": "7", "Last-Modified": None}
    head = fetch(f"{server.url}/x", method="HEAD")
    assert (head.status, head.headers["Content-Length"]) == (405, "7")
    assert "ETag" not in head.headers and "Last-Modified" not in head.headers
    assert fetch(f"{server.url}/x", headers={"If-Modified-Since": MODIFIED}).status == 412
    assert "ETag" not in fetch(f"{server.url}/x").headers
    server.restore()
    assert fetch(f"{server.url}/x", method="HEAD").status == 200
