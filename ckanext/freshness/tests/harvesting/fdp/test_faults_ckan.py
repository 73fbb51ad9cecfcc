"""Faults on a whole site: datasets in CKAN, errors in reports, real queues.

``test_faults`` has every fault at every place; this module has one of each kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.faults import Fault
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record

pytestmark = pytest.mark.usefixtures("impatient", "clean_site")


@pytest.fixture
def impatient(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set short limits for servers that hang."""
    for option, value in (
        ("attempts", "1"),
        ("read_timeout", "0.8"),
        ("max_bytes", "262144"),
        ("requests_per_second", "10000"),
    ):
        monkeypatch.setitem(ckan_config, f"ckanext.freshness.{option}", value)


@dataclass
class World:
    """A source with two catalogs, the first of three pages, and a site that has harvested it."""

    server: FdpServer
    first: Record = field(init=False)
    second: Record = field(init=False)
    datasets: list[Record] = field(init=False)
    beside: list[Record] = field(init=False)
    harvest: Harvest = field(init=False)

    def __post_init__(self) -> None:
        server = self.server
        server.layout.max_page_size = 2
        self.first, self.second = server.add_catalog(), server.add_catalog()
        self.datasets = [
            server.add_dataset(self.first, title=f"F{n}", distributions=1) for n in range(6)
        ]
        self.beside = [server.add_dataset(self.second, title=f"S{n}") for n in range(3)]
        self.harvest = add_source(server.source_url)
        job = self.harvest.run()
        assert job.errors == []
        assert job.stats["added"] == 9

    def names(self) -> dict[str, tuple[str, str]]:
        """Return id and name of each dataset, by its record's URL."""
        return {url: (one["id"], one["name"]) for url, one in self.harvest.datasets().items()}

    def titles(self) -> dict[str, str]:
        return {url: one["title"] for url, one in self.harvest.datasets().items()}


@pytest.fixture
def world(fdp: FdpServer) -> World:
    return World(fdp)


def only_error(job: Job, record: str | None = None) -> str:
    """Return the only error of a job, of the gather or of an object."""
    (error,) = job.errors
    if record is None:
        assert job.gather_errors == [error]
    else:
        ((guid, _),) = job.object_errors.items()
        assert guid.endswith(f"dataset={record}")
    return error


FAULTS: list[tuple[str, str, Callable[[], Fault], str, bool]] = [
    # place, fault, reason, and whether the fourth dataset of the first catalog is still imported
    ("root", "403", lambda: faults.Status(403), "it answers 403", False),
    ("catalog", "hangs", faults.Hang, "did not answer within 0.8 s", False),
    ("page", "reset", faults.Reset, "broke the connection off", True),
    ("dataset", "empty", faults.empty, "the text/turtle is empty", False),
    ("distributions", "503", lambda: faults.Status(503), "it answers 503", True),
]


def test_faults_one_after_the_other(world: World) -> None:
    """Nothing is deleted or doubled, all that can be read is imported, the next job is clean."""
    server, harvest = world.server, world.harvest
    failing, healthy = world.datasets[3], world.beside[1]
    places = {
        "root": "/",
        "catalog": world.first.path,
        "page": f"{world.first.path}/page/dataset?page=1&size=2",
        "dataset": failing.path,
        "distributions": f"{failing.path}/page/distribution?page=0&size=50",
    }
    names = world.names()
    url, other = server.iri_of(failing), server.iri_of(healthy)
    for place, name, fault, reason, comes in FAULTS:
        which = f"{place}: {name}"
        server.layout.pages = place != "dataset"
        server.faults[places[place]] = fault()
        server.change(failing, title=f"{which}, failing")
        server.change(healthy, title=f"{which}, healthy")
        new = server.add_dataset(world.second, title=f"{which}, new", distributions=0)
        before = world.titles()

        job = harvest.run()
        if place in ("page", "distributions"):
            # The records are read one by one, so nothing is missing.
            assert job.errors == [], which
            assert bool(job.warnings) is (place == "page"), which
        else:
            error = only_error(job, url if place == "dataset" else None)
            where = server.source_url if place == "root" else server.url + places[place]
            assert error.startswith(f"{where}: "), which
            assert re.search(reason, error), (which, error)
        assert job.stats["deleted"] == 0
        found = world.names()
        assert names.items() <= found.items(), which
        titles = world.titles()
        assert titles[url] == (f"{which}, failing" if comes else before[url])
        if place != "root":
            assert titles[other] == f"{which}, healthy"
            assert titles[server.iri_of(new)] == f"{which}, new"

        server.faults.clear()
        job = harvest.run()
        assert job.errors == [], which
        titles = world.titles()
        assert titles == {server.iri_of(one): one.label for one in server.datasets}
        assert names.items() <= world.names().items()
        names = world.names()
        assert sorted(package_id for _, package_id in harvest.current()) == sorted(
            package_id for package_id, _ in names.values()
        )


def test_urls_as_long_and_as_odd_as_they_come(fdp: FdpServer) -> None:
    """The database accepts each listed URL, or the job reports it and goes on."""
    noise = random.Random(1).randbytes(1000).hex()
    base = len(fdp.url)
    catalog = fdp.add_catalog(noise[: 1200 - base - len("/catalog/")])
    paths = ["/data?id=1;v=2", "/sp%20ace;a=b", "/%C3%A4", f"/{noise[: 1199 - base]}"]
    for path in paths:
        fdp.add_dataset(catalog, path=path, distributions=1)
    fdp.list_also(f"{fdp.url}/{noise[: 1200 - base]}", catalog, Level.DATASET)
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.gather_errors == []
    assert job.stats["added"] == 4
    assert set(harvest.datasets()) == {fdp.iri_of(one) for one in fdp.datasets}
    assert harvest.run().stats["not modified"] == 4


def test_characters_that_no_database_takes(fdp: FdpServer) -> None:
    catalog, other = fdp.add_catalog(), fdp.add_catalog()
    fdp.add_dataset(catalog, distributions=0)
    healthy = fdp.renderer.document(other)
    fdp.faults[other.path] = faults.Body(
        f"{healthy}\n<{fdp.iri_of(other)}> dcat:dataset <{fdp.url}/\\u0000> .".encode()
    )
    harvest = add_source(fdp.source_url)
    for count in ("added", "not modified"):
        job = harvest.run()
        assert job.gather_errors == []
        assert job.stats[count] == 1


def test_documents_are_remembered_by_their_bytes(world: World) -> None:
    """The test changes the memory. The job believes it, so it did not parse the bytes."""
    server, harvest = world.server, world.harvest

    def rows() -> list[HarvestDocument]:
        found = model.Session.query(HarvestDocument)
        return list(found.filter_by(source_id=harvest.source["id"]))

    learnt = {row.url: row.digest for row in rows()}
    parsed = [url for url in learnt if "#" not in url]
    assert len(parsed) == 1 + 2 + 3 + 2  # root, catalogs, pages
    harvest.run()
    assert {row.url: row.digest for row in rows()} == learnt

    (row,) = (one for one in rows() if one.url == server.iri_of(world.second))
    row.outline = {**row.outline, "datasets": [*row.outline["datasets"], f"{server.url}/made-up"]}  # type: ignore[assignment]
    model.Session.commit()
    server.reset()
    assert harvest.run().errors == []
    assert server.count("/made-up") == 1
