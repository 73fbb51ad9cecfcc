"""The file server of the client's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ckanext.freshness.tests.web.support import FileServer


@pytest.fixture(scope="session")
def session_server() -> Iterator[FileServer]:
    """One server for all tests: a thread for each test would take longer than the tests."""
    with FileServer() as server:
        yield server


@pytest.fixture
def server(session_server: FileServer) -> Iterator[FileServer]:
    """The server without the files, faults and requests of other tests."""
    yield session_server
    session_server.faults.clear()
    session_server.files.clear()
    session_server.latency = 0.0
    session_server.wait_until_idle()
    session_server.reset()
