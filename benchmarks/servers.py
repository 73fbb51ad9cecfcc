"""Servers of generated files and records. Each runs in a process of its own (:class:`.measure.Remote`)."""

from __future__ import annotations

import asyncio
import secrets
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from email.utils import formatdate
from functools import lru_cache
from typing import Any

from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import Literal, agent, contact, period

_FIRST_MODIFIED = 1_700_000_000
_NAMES = b"date,place,value,share\n"
_CSV = b"2026-01-01,some place,123.45,67.89\n" * 3000
_ACTIVITY = (
    "<iati-activity><title><narrative>Santé, eau potable et écoles n° {n}</narrative></title>"
    '<transaction><value currency="EUR">{n}.00</value></transaction></iati-activity>\n'
)
_IATI = "".join(_ACTIVITY.format(n=n * 7919 % 100_000) for n in range(900)).encode()


def addresses(number: int) -> list[str]:
    """Return loopback addresses of this machine, one for each host."""
    return [f"127.0.{10 + one // 200}.{one % 200 + 1}" for one in range(number)]


@dataclass(slots=True)
class File:
    """A file. Each version is a day younger and has other bytes and validators.

    :ivar differs: whether each download has other bytes
    :ivar is_iati: whether it is an IATI file, not a table
    :ivar has_names: whether a first row has the names of columns, so that checks read their values
    """

    size: int
    validators: bool = True
    differs: bool = False
    is_iati: bool = False
    has_names: bool = False
    version: int = 1
    downloads: int = 0

    def headers(self, length: int) -> bytes:
        lines = ["HTTP/1.1 200 OK", f"Content-Length: {length}", *self.stated()]
        lines.append(f"Content-Type: {'application/xml' if self.is_iati else 'text/csv'}")
        return "\r\n".join((*lines, "", "")).encode()

    def stated(self) -> list[str]:
        """Return the lines of the validators."""
        modified = formatdate(_FIRST_MODIFIED + self.version * 86_400, usegmt=True)
        lines = [f'ETag: "v{self.version}"', f"Last-Modified: {modified}"]
        return lines if self.validators else []

    def body(self, path: str) -> bytes:
        self.downloads += 1
        number = self.downloads if self.differs else 0
        if not self.is_iati:
            first = b"2026-01-01,%s,%d,%d\n" % (path.encode(), self.version, number)
            names = _NAMES if self.has_names else b""
            return (names + first + _CSV)[: self.size]
        head = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<iati-activities version="2.03" '
            f'generated-datetime="2026-11-{self.version:02d}T00:00:00Z"><!-- {path} -->\n'
        )
        end = _IATI.rfind(b"\n", 0, self.size) + 1
        return head.encode() + _IATI[:end] + b"</iati-activities>\n"


class FileHost:
    """Files by path, the same at each address and at one port. Little stands between socket and answer.

    :param latency: seconds before each answer
    """

    def __init__(self, files: dict[str, File], hosts: Sequence[str], latency: float = 0.0) -> None:
        self.files, self.latency = files, latency
        self._sockets: list[socket.socket] = []
        for address in hosts:
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((address, self.port() if self._sockets else 0))
            self._sockets.append(one)
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()

    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    def change(self, paths: Sequence[str]) -> None:
        """Publish the next version of some files."""
        for path in paths:
            self.files[path].version += 1

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        for one in self._sockets:
            await loop.create_server(lambda: _Connection(self), sock=one, backlog=1024)
        await asyncio.Event().wait()

    def answer(self, request: bytes) -> bytes:
        lines = request.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        file = self.files[path]
        known = {line.partition(": ")[2] for line in lines if line.lower().startswith("if-")}
        if known & {line.partition(": ")[2] for line in file.stated()}:
            return "\r\n".join(("HTTP/1.1 304 Not Modified", *file.stated(), "", "")).encode()
        body = file.body(path)
        return file.headers(len(body)) + (b"" if method == "HEAD" else body)


class _Connection(asyncio.Protocol):
    """One connection, whose requests are answered one after another."""

    def __init__(self, host: FileHost) -> None:
        self._host = host
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            request, self._received = self._received[:end], self._received[end + 4 :]
            asyncio.get_running_loop().call_later(self._host.latency, self._answer, request)

    def _answer(self, request: bytes) -> None:
        self._transport.write(self._host.answer(request))
        if b"connection: close" in request.lower():
            self._transport.close()


class FairDataPoint:
    """A FAIR Data Point with generated datasets, each with about what a well-kept one has in the wild."""

    def __init__(self, datasets: int) -> None:
        self._server = FdpServer()
        parents = [self._server.add_catalog(f"bench-{n}", title=f"Catalog {n}") for n in range(5)]
        self._records = [
            self._server.add_dataset(
                parents[n % 5],
                f"bench-{n:06d}",
                distributions=[_distribution(n, which) for which in ("csv", "json")],
                **_fields(n),
            )
            for n in range(datasets)
        ]
        self._server.start()

    def url(self) -> str:
        return self._server.source_url

    def change(self, number: int) -> None:
        """Change the first datasets."""
        for record in self._records[:number]:
            self._server.change(record, title=Literal(secrets.token_hex(), "en"))


class Portal:
    """A CKAN with generated datasets."""

    def __init__(self, datasets: int) -> None:
        self._server = PortalServer(datasets)
        self._server.start()

    def url(self) -> str:
        return self._server.url

    def change(self, number: int) -> None:
        """Change the first datasets."""
        now = datetime.now(timezone.utc).replace(tzinfo=None).isoformat(timespec="microseconds")
        for dataset_id in list(self._server.datasets)[:number]:
            self._server.change(dataset_id, notes=secrets.token_hex())
            # ckanext-harvest asks for what has changed since its last job.
            self._server.datasets[dataset_id]["metadata_modified"] = now


class PagedCatalogue:
    """A catalogue in pages of 100 datasets, each written once: to write RDF takes longer than to read it."""

    def __init__(self, datasets: int) -> None:
        self._server = CatalogueServer(datasets, page_size=100)
        self._server.page = lru_cache(maxsize=None)(self._server.page)  # type: ignore[method-assign]
        self._server.start()

    def url(self) -> str:
        return self._server.source_url

    def change(self, number: int) -> None:
        """Change the first dataset of the first pages."""
        entries = self._server.entries
        for place in range(0, number * 100, 100):
            entries[place] = replace(entries[place], title=secrets.token_hex())
        if number:
            self._server.page.cache_clear()  # type: ignore[attr-defined]


_AUTHORITY = "http://publications.europa.eu/resource/authority"
_SENTENCE = "The records are collected by partners in the field, checked, and released each year. "


def _fields(number: int) -> dict[str, Any]:
    first = date(2015, 1, 1)
    return {
        "title": Literal(f"Bench dataset {number:06d}", "en"),
        "description": Literal(f"Dataset {number}. {_SENTENCE * 7}".rstrip(), "en"),
        "identifier": f"bench-{number:06d}",
        "theme": f"{_AUTHORITY}/data-theme/HEAL",
        "keyword": [f"word {number % 8 + one}" for one in range(5)],
        "issued": first,
        "modified": first + timedelta(days=number % 3650),
        "frequency": f"{_AUTHORITY}/frequency/{('WEEKLY', 'MONTHLY', 'ANNUAL')[number % 3]}",
        "language": f"{_AUTHORITY}/language/ENG",
        "spatial": f"{_AUTHORITY}/country/KEN",
        "temporal": period(first, first + timedelta(days=number % 3650)),
        "license": "http://creativecommons.org/licenses/by/4.0/",
        "access_rights": f"{_AUTHORITY}/access-right/PUBLIC",
        "landing_page": f"https://example.org/datasets/{number}",
        "publisher": agent(f"Institute {number % 17}", f"info{number % 17}@example.org"),
        "contact": contact(f"Desk {number % 17}", f"desk{number % 17}@example.org"),
    }


def _distribution(number: int, kind: str) -> dict[str, Any]:
    return {
        "title": Literal(f"{kind.upper()} of dataset {number}", "en"),
        "description": "As released.",
        "download_url": f"https://example.org/files/{number}.{kind}",
        "access_url": f"https://example.org/datasets/{number}",
        "media_type": f"text/{kind}",
        "format": kind.upper(),
        "byte_size": 1024 * (number + 1),
        "license": "http://creativecommons.org/licenses/by/4.0/",
    }
