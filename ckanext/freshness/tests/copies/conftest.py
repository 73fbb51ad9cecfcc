"""A store of each kind: a directory, memory, and S3."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer

from ckanext.freshness.copies.store import Store

KINDS = ("directory", "memory", "s3")


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """A server with the API of S3 on the loopback interface."""
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_bucket(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new bucket, and environment variables that lead to its server."""
    for name, value in {
        "AWS_ENDPOINT_URL": s3_url,
        "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "hidden-in-s3",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    name = f"copies-{uuid4().hex}"
    # boto3 would need as long for its client as a test for all the rest.
    urlopen(Request(f"{s3_url}/{name}", method="PUT")).close()
    return name


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A location of each kind of store."""
    if request.param == "s3":
        return f"s3://{request.getfixturevalue('s3_bucket')}/below"
    if request.param == "memory":
        return f"memory://{uuid4().hex}"
    return str(tmp_path / "copies")


@pytest.fixture
def store(location: str) -> Store:
    """An empty store of each kind."""
    return Store(location)


@pytest.fixture
def folder(tmp_path: Path) -> Store:
    """An empty store in a directory."""
    return Store(str(tmp_path / "copies"))
