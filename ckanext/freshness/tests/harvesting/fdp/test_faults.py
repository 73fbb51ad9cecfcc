"""Faults of a source: none deletes or doubles a dataset. A table has every fault at every place.

Each row is three jobs: a healthy server; the fault, while other records change, come and go; a healthy
server again.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import IMPATIENT, LIMITS, Job, Site, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.faults import Fault, Reset
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record


@dataclass(frozen=True)
class Row:
    """A fault and the expected message."""

    name: str
    fault: Callable[[], Fault]
    reason: str
    slow: bool = False


MOMENTS = Reset.Moment
GZIP = b"\x1f\x8b\x08\x00"
BOMB = gzip.compress(bytes(2**24))
BINARY = "application/octet-stream"
UNLABELLED = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + GZIP
HUGE = b"HTTP/1.1 200 OK\r\nX-Big: " + b"x" * 2**20 + b"\r\nContent-Length: 0\r\n\r\n"
COMPRESSED = {"Content-Encoding": "gzip", "Content-Type": "text/turtle"}
OTHER_HOST = "http://127.0.0.77:9/elsewhere"

ROWS = [
    Row("500", lambda: faults.Status(500), r"has a fault \(500\)"),
    Row("503", lambda: faults.Status(503, headers={"Retry-After": "0"}), r"has a fault \(503\)"),
    Row("204", lambda: faults.Status(204, b""), r"does not return it \(204\)"),
    Row("418", lambda: faults.Status(418), r"does not return it \(418\)"),
    Row("hangs", faults.Hang, "did not answer within", slow=True),
    Row("hangs in the body", lambda: faults.Hang(0.5), "sent nothing more for", slow=True),
    Row("drips", lambda: faults.Drip(interval=0.05), "was not finished within", slow=True),
    Row("reset at once", lambda: faults.Reset(moment=MOMENTS.BEFORE), "broke the connection off"),
    Row("reset in the headers", faults.Reset, "broke the connection off"),
    Row("reset in the body", lambda: faults.Reset(moment=MOMENTS.BODY), "broke|ended before"),
    Row("no answer", faults.Raw, "closed the connection without an answer"),
    Row("truncated transfer", faults.Truncate, "ended before the body was complete"),
    Row("truncated Turtle", lambda: faults.Cut(0.45), "syntax error.*: text/turtle"),
    Row("HTML labelled as Turtle", lambda: faults.html("text/turtle"), "syntax error"),
    Row("binary", lambda: faults.Body(GZIP, BINARY), "application/octet-stream: not RDF"),
    Row("no type", lambda: faults.Raw(UNLABELLED), "answer: not RDF"),
    Row("empty", faults.empty, "sent an empty file: text/turtle"),
    Row("redirect loop", faults.Redirect, "redirects in a circle"),
    Row("another host", lambda: faults.Redirect(OTHER_HOST), 'add it to "allowed_hosts"'),
    Row("endless", faults.EndlessBody, "is larger than 256 KiB"),
    Row("gzip bomb", lambda: faults.Status(200, BOMB, COMPRESSED), "is larger than 256 KiB"),
    Row("broken gzip", lambda: faults.Status(200, GZIP + b"x", COMPRESSED), "ended before"),
    Row("malformed headers", faults.malformed_headers, "did not answer in HTTP"),
    Row("huge headers", lambda: faults.Raw(HUGE), "sent headers longer than"),
    Row("no Turtle", lambda: faults.Body(b"<http://a> nobody:said <b> ."), "has not been declared"),
    Row(
        "other RDF",
        lambda: faults.Body(b"<http://a> <http://b> <http://c> ."),
        "describes n|belongs to no",
    ),
]
FEW = [
    row for row in ROWS if row.name in ("503", "hangs", "truncated Turtle", "empty", "other RDF")
]
"""For places whose documents are requested and read as those of others."""
HTML = Row("HTML", faults.html, "text/html: not RDF")
REFUSED = [
    Row("401", lambda: faults.Status(401), r"refuses access \(401\)"),
    Row("403", lambda: faults.Status(403), r"refuses access \(403\)"),
]
GONE = [
    Row("404", lambda: faults.Status(404), "the server answers 404"),
    Row("410", lambda: faults.Status(410), "the server answers 410"),
]


class World:
    """A source with two catalogs, and a site that has harvested it. The second catalog is healthy."""

    def __init__(self, server: FdpServer) -> None:
        self.server = server
        self.first, self.second = (server.add_catalog(title=title) for title in ("F", "S"))
        self.datasets = [
            server.add_dataset(self.first, title=f"F{n}", distributions=2 if n == 4 else 0)
            for n in range(6)
        ]
        for n in range(3):
            server.add_dataset(self.second, title=f"S{n}", distributions=n % 2)
        self.site = self._harvested = Site(server)
        job = self.site.job()
        assert job.errors == [] and len(job.of(RecordClass.NEW)) == 9
        self.ids = self.site.ids()
        self._restore = server.snapshot()

    def restore(self) -> None:
        """Restore the state after the first job."""
        self._restore()
        self.server.faults.clear()
        self.site = self._harvested.copy()

    def play(self, where: str, row: Row) -> Job:
        """Apply the fault; change a record of each catalog and add one to the healthy catalog."""
        self.site.limits = IMPATIENT if row.slow else LIMITS
        self.server.faults[where] = row.fault()
        self.server.change(self.datasets[4], title="F4 changed")
        self.server.change(self.server.datasets[7], title="S1 changed")
        self.server.add_dataset(self.second, title="S3 new", distributions=1)
        return self.site.job()

    def check(self, job: Job, missing: Collection[Record]) -> None:
        """Check that nothing is deleted or doubled, and that all readable records are imported."""
        assert job.of(RecordClass.DELETED) == set()
        assert self.ids.items() <= self.site.ids().items()
        read = urls(self.server, *(one for one in self.server.datasets if one not in missing))
        assert set(job.kinds) == read
        for record in self.server.datasets:
            if (url := self.server.iri_of(record)) in read:
                package = self.site.packages[url]
                assert package.title == record.label
                assert len(package.resources) == len(record.listing(Kind.DISTRIBUTION))

    def recover(self) -> None:
        """Check that the next job, without the fault, has no errors and finds everything."""
        self.server.faults.clear()
        self.site.limits = LIMITS
        job = self.site.job()
        assert job.errors == []
        self.check(job, ())


@pytest.fixture(scope="module")
def kept_world() -> Iterator[World]:
    with FdpServer() as server:
        yield World(server)


@pytest.fixture
def world(kept_world: World) -> World:
    kept_world.restore()
    return kept_world


PLACES = {
    "root": (*ROWS, HTML, *REFUSED, *GONE),
    "catalog": (*FEW, HTML, *REFUSED, *GONE),
    "dataset": (*FEW, HTML, *REFUSED),
    "distribution": (*FEW, HTML, *REFUSED, *GONE),
}


@pytest.mark.parametrize(
    ("place", "row"),
    [
        pytest.param(place, row, id=f"{place} {row.name}")
        for place, rows in PLACES.items()
        for row in rows
    ],
)
def test_a_fault_is_told_and_deletes_nothing(world: World, place: str, row: Row) -> None:
    """There is one message, with the place's URL and the reason."""
    server, failing = world.server, world.datasets[4]
    distribution = failing.listing(Kind.DISTRIBUTION)[1]
    assert isinstance(distribution, Record)
    places = {"catalog": world.first, "dataset": failing, "distribution": distribution}
    record = places.get(place, server.root)
    job = world.play(record.path or "/", row)
    missing = {"root": server.datasets, "catalog": world.datasets, "dataset": [failing]}
    if place == "distribution":
        assert job.errors == []
        (words,) = job.warnings
        assert words.startswith(f"distribution {server.url_of(record)}: ")
        assert "; its resource stays as it is" in words
        assert ("is removed if a job" in words) is (row in [*REFUSED, *GONE])
    else:
        (words,) = job.record_errors.values() if place == "dataset" else job.container_errors
        assert job.errors == [words] and words.startswith(f"{server.url_of(record)}: ")
    assert re.search(row.reason, words), words
    world.check(job, missing.get(place, ()))
    world.recover()


@pytest.mark.parametrize("place", ["catalog", "dataset"])
def test_host_that_asks_for_a_long_pause(world: World, place: str) -> None:
    """The job reports it once, and not for each record that it could not read."""
    server = world.server
    failing = world.first if place == "catalog" else world.datasets[0]
    server.faults[failing.path] = faults.Status(503, headers={"Retry-After": "3600"})
    job = world.site.job()
    error, pause = sorted(job.errors, reverse=True)
    assert error.startswith(f"{server.url_of(failing)}: The server has a fault (503)")
    assert pause.startswith("127.0.0.1 asks for a pause longer than a job waits; documents not")
    assert job.of(RecordClass.DELETED) == set()
    assert world.site.ids() == world.ids
    server.faults.clear()
    assert world.site.job().errors == []
    assert world.site.ids() == world.ids


def test_server_that_goes_away_in_the_middle(fdp: FdpServer) -> None:
    """After a hundred failures in a row, no more requests are sent."""
    catalog = fdp.add_catalog()
    for _ in range(200):
        fdp.add_dataset(catalog, distributions=0)
    site = Site(fdp)
    site.job()
    ids = site.ids()
    fdp.faults[lambda request: request.target.startswith("/dataset/")] = faults.Reset(after=20)
    fdp.reset()
    job = site.job()
    assert job.of(RecordClass.DELETED) == set()
    assert site.ids() == ids
    assert len(job.of(RecordClass.UNCHANGED)) == 20
    (summary,) = job.container_errors
    assert re.match(r"127\.0\.0\.1 failed 100 times in a row\. \d+ more documents were", summary)
    assert len(job.record_errors) < 140
    fdp.faults.clear()
    assert site.job().of(RecordClass.UNCHANGED) == set(ids)
