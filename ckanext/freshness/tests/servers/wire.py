"""Writing an answer past aiohttp, byte by byte, where HTTP must be bent or broken."""

from __future__ import annotations

import http
from collections.abc import Mapping

from aiohttp import web

from ckanext.freshness.tests.servers.base import Answer, Exchange


class Written(web.StreamResponse):
    """Stands for an answer that is on the wire already, so that aiohttp adds nothing to it."""

    def __init__(self) -> None:
        super().__init__()
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> None:
        """Nothing is left to prepare."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write."""


def written(exchange: Exchange, *parts: bytes) -> Written:
    """Write these bytes to the connection, then end it in good order."""
    exchange.transport.write(b"".join(parts))
    exchange.transport.close()
    return Written()


def parts(exchange: Exchange, answer: Answer | None = None) -> tuple[bytes, bytes]:
    """Head and body of the healthy (or this) answer; no body where the request is HEAD."""
    answer = answer or exchange.healthy()
    body = b"" if exchange.request.method == "HEAD" else answer.body
    return head(answer.status, answer.headers, len(answer.body)), body


def head(status: int, headers: Mapping[str, str], length: int) -> bytes:
    """Status line, headers, Content-Length, and the empty line after them."""
    lines = [
        f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
        *(f"{key}: {value}" for key, value in headers.items()),
        f"Content-Length: {length}",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def is_label(header: str) -> bool:
    """Whether this is the name of the Content-Type header."""
    return header.lower() == "content-type"


def label(answer: Answer) -> str:
    """The Content-Type of an answer; text/turtle if it has none."""
    return next((value for key, value in answer.headers.items() if is_label(key)), "text/turtle")
