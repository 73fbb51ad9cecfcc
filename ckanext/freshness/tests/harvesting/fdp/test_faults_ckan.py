"""Faults on a whole site: datasets in CKAN, errors in reports, real queues.

``test_faults`` has every fault at every place; this module has one of each kind.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.messages import code_of
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source, extras
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.faults import Fault
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Breakage, Record
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.harvest import model as harvest_model

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
    ("dataset", "empty", faults.empty, "the answer is empty", False),
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
            ((error,),) = job.warnings.values() if place == "distributions" else [[""]]
        else:
            error = only_error(job, url if place == "dataset" else None)
        where = server.source_url if place == "root" else server.url + places[place]
        if place != "page":
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


def test_deletion_beside_a_malformed_record(world: World) -> None:
    server = world.server
    malformed, gone = world.datasets[2], world.datasets[5]
    expected = world.names()
    del expected[server.iri_of(gone)]
    server.break_turtle(malformed, Breakage.UNCLOSED_STRING)
    server.remove(gone)
    job = world.harvest.run()
    error = only_error(job, server.iri_of(malformed))
    assert error.startswith(f"{server.url_of(malformed)}: the text/turtle is malformed near line")
    code = code_of(error)
    assert code is not None and code["code"] == "malformed near line"
    assert job.stats["deleted"] == 1
    assert world.names() == expected


def test_withdrawals(world: World) -> None:
    """A record that pages leave out is deleted at once; without pages, after a day."""
    server, harvest = world.server, world.harvest
    first, second = world.datasets[:2]
    server.withdraw(first)
    job = harvest.run()
    assert job.errors == []
    assert job.stats["deleted"] == 1
    assert server.iri_of(first) not in world.names()

    server.layout.pages = False
    server.withdraw(second, 401)
    for _ in range(2):
        job = harvest.run()
        assert only_error(job, server.iri_of(second)).endswith(": it answers 401")
        assert server.iri_of(second) in world.names()
    (since,) = model.Session.query(harvest_model.HarvestObjectExtra).filter_by(
        key="forbidden_since"
    )
    since.value = (datetime.now(timezone.utc) - timedelta(hours=24)).isoformat()
    model.Session.commit()
    job = harvest.run()
    assert job.errors == []
    assert job.stats["deleted"] == 1
    assert len(world.names()) == 7
    assert harvest.run().stats == {
        **dict.fromkeys(("added", "updated", "errored", "deleted"), 0),
        "not modified": 7,
    }


def test_a_wall_in_front_of_a_catalog_is_no_withdrawal(world: World) -> None:
    names = world.names()
    for dataset in world.datasets[:4]:
        world.server.withdraw(dataset)
    job = world.harvest.run()
    assert len(job.object_errors) == 4
    assert job.stats["deleted"] == 0
    assert world.names() == names
    for dataset in world.datasets[:4]:
        world.server.publish(dataset)
    assert world.harvest.run().errors == []


def test_drafts(world: World) -> None:
    server = world.server
    server.add_dataset(world.first, draft=True)
    hidden = server.add_catalog()
    server.withdraw(hidden)
    job = world.harvest.run()
    assert job.errors == []
    assert job.stats["not modified"] == 9
    assert len(world.names()) == 9


def test_move_while_the_old_catalog_fails(world: World) -> None:
    server = world.server
    names = world.names()
    moving = world.datasets[0]
    server.move(moving, world.second, listing_follows=True)
    server.faults[world.first.path] = faults.Status(500)
    assert only_error(world.harvest.run()).startswith(f"{server.url_of(world.first)}: ")
    server.faults.clear()
    assert world.harvest.run().errors == []
    assert world.names() == names
    guid = f"catalog={server.iri_of(world.second)};dataset={server.iri_of(moving)}"
    assert extras(world.harvest.datasets()[server.iri_of(moving)])["guid"] == guid
    assert len(world.harvest.current()) == 9


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
    (error,) = job.gather_errors
    assert error.endswith(", which cannot be requested")
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
        (error,) = job.gather_errors
        assert f"it lists {fdp.url}/%00, which cannot be requested" in error
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
