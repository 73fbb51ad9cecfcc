"""A client that sends exactly what it is told, for the tests of the servers themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import http.client
import socket
from collections.abc import Mapping
from email.message import Message
from urllib.parse import urlsplit

import rdflib

TIMEOUT = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """Status, headers and the whole body."""

    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


def fetch(
    url: str,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    timeout: float = TIMEOUT,
) -> Reply:
    """One request, nothing requoted, no redirect followed.

    Raises what http.client and the socket raise: a broken answer is not repaired.
    """
    address, target = split(url)
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    with contextlib.closing(connection):
        connection.request(method, target, headers=dict(headers or {}))
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())


def graph(source: Reply | bytes, format: str = "turtle") -> rdflib.Graph:
    """The triples of a body. Raises AssertionError for a reply that is not 200."""
    if isinstance(source, Reply):
        assert source.status == 200, source
        source = source.body
    return rdflib.Graph().parse(data=source, format=format)


def exchange(url: str, method: str = "GET", timeout: float = TIMEOUT) -> bytes:
    """All bytes that come back before the server closes, for answers that are no HTTP.

    Raises ConnectionResetError for a reset, TimeoutError if the server keeps quiet.
    """
    address, target = split(url)
    with socket.create_connection(address, timeout=timeout) as connection:
        lines = f"{method} {target} HTTP/1.1", f"Host: {address[0]}", "Connection: close", "", ""
        connection.sendall("\r\n".join(lines).encode())
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def split(url: str) -> tuple[tuple[str, int], str]:
    """Address and request target of an http URL."""
    parts = urlsplit(url)
    assert parts.hostname is not None and parts.port is not None
    query = f"?{parts.query}" if parts.query else ""
    return (parts.hostname, parts.port), f"{parts.path or '/'}{query}"
