"""Servers that answer in other ways than they list, on a site as it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Fault
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

pytestmark = pytest.mark.usefixtures("clean_site")

PURL = "https://purl.example/"


@pytest.fixture(autouse=True)
def impatient(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One attempt for each request."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.harvest.attempts", 1)


def identities(harvest: Harvest) -> dict[str, tuple[str, str]]:
    """Id and name of each active dataset by its guid: what a record calls itself may change."""
    names = {one["id"]: one["name"] for one in harvest.datasets().values()}
    current = harvest.current()
    assert {package_id for _, package_id in current} == set(names)
    return {guid: (package_id, names[package_id]) for guid, package_id in current}


def guid(fdp: FdpServer, catalog: Record, record: Record) -> str:
    return f"catalog={fdp.url_of(catalog)};dataset={fdp.url_of(record)}"


# Pages


@pytest.mark.parametrize("vanish", [lambda: faults.Status(404), faults.html], ids=["404", "HTML"])
def test_pages_that_vanished_with_what_they_alone_had(
    fdp: FdpServer, vanish: Callable[[], Fault]
) -> None:
    """What nothing lists any more is asked for itself, and only its own 404 takes it away."""
    catalog = fdp.add_catalog()
    listed, there, draft, gone = (
        fdp.add_dataset(catalog, title=title, distributions=0)
        for title in ("Listed", "There", "Draft", "Gone")
    )
    pages = f"{catalog.path}/page/dataset"
    fdp.files[pages] = Answer.text(fdp.renderer.page([listed, there, draft, gone]), "text/turtle")
    for record in (there, draft, gone):
        fdp.unlist(record, catalog)
    harvest = add_source(fdp.source_url, max_delete_fraction=1)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 4)
    before = identities(harvest)

    fdp.faults[pages] = vanish()
    fdp.withdraw(draft)
    fdp.vanish(gone)
    del before[guid(fdp, catalog, gone)]
    for deleted in (1, 0, 0):
        fdp.reset()
        job = harvest.run()
        assert job.errors == []
        assert job.stats["deleted"] == deleted
        assert identities(harvest) == before
        asked = [fdp.count(record.path, "GET") for record in (there, draft, gone)]
        assert asked == [1, 1, deleted]

    fdp.faults.clear()
    fdp.files[pages] = Answer.text(fdp.renderer.page([listed, there]), "text/turtle")
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 1)
    assert set(harvest.datasets()) == {fdp.iri_of(listed), fdp.iri_of(there)}


# Other documents than were asked for


def renamed(fdp: FdpServer, record: Record, name: str) -> bytes:
    """A record's document, in which it is called otherwise."""
    document = fdp.renderer.document(record)
    return document.replace(f"<{fdp.iri_of(record)}>", f"<{name}>").encode()


def last_part(record: Record) -> str:
    return record.path.rpartition("/")[2]


def same_last_part(fdp: FdpServer, record: Record) -> None:
    """A persistent URL with the same last part."""
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, PURL + last_part(record)))


def redirect_target(fdp: FdpServer, record: Record) -> None:
    """It is elsewhere now, and calls itself as it is called there."""
    body = renamed(fdp, record, f"{fdp.url}/now/here")
    fdp.files["/now/here"] = Answer(200, body, {"Content-Type": "text/turtle"})
    fdp.faults[record.path] = faults.Redirect("/now/here")


def somebody_elses(fdp: FdpServer, record: Record) -> None:
    """Another record of the same kind, that nobody lists."""
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, f"{PURL}another"))


def redirect_to_somebody_else(fdp: FdpServer, record: Record) -> None:
    body = renamed(fdp, record, f"{PURL}another")
    fdp.files["/now/here"] = Answer(200, body, {"Content-Type": "text/turtle"})
    fdp.faults[record.path] = faults.Redirect("/now/here")


ACCEPTED = [same_last_part, redirect_target]
REFUSED = [somebody_elses, redirect_to_somebody_else]


@pytest.mark.parametrize("level", [Kind.CATALOG, Kind.DATASET], ids=lambda level: level.value)
@pytest.mark.parametrize("answer", [*ACCEPTED, *REFUSED], ids=lambda answer: answer.__name__)
def test_documents_with_another_name(
    fdp: FdpServer, answer: Callable[[FdpServer, Record], None], level: Kind
) -> None:
    fdp.layout.pages = False
    catalog, other = fdp.add_catalog(title="Catalog"), fdp.add_catalog(title="Other")
    dataset, beside = (fdp.add_dataset(catalog, distributions=0) for _ in range(2))
    fdp.add_dataset(other, distributions=0)
    harvest = add_source(fdp.source_url, max_delete_fraction=1)
    assert harvest.run().stats["added"] == 3
    before = identities(harvest)

    record = catalog if level is Kind.CATALOG else dataset
    answer(fdp, record)
    for _ in range(2):
        job = harvest.run()
        assert job.stats["added"] == job.stats["deleted"] == 0
        assert identities(harvest) == before
        if answer in ACCEPTED:
            assert job.errors == []
        else:
            (error,) = job.errors
            assert error.startswith(f"{fdp.url_of(record)}: it describes ")

    # What goes while they are called so goes, unless nobody can tell.
    fdp.unlist(beside, catalog)
    if level is Kind.CATALOG:
        answer(fdp, record)  # with the listing as it is now
    if level is Kind.DATASET or answer in ACCEPTED:
        del before[guid(fdp, catalog, beside)]
    harvest.run()
    assert identities(harvest) == before


def test_two_listed_urls_with_one_record(fdp: FdpServer) -> None:
    """It is the dataset of the URL that had it first, whichever answers first, or at all."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(catalog, "one", title="The same", distributions=0)
    name = PURL + "one"
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, name))
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 1
    before = identities(harvest)

    twin = f"/other{record.path}"
    same = Answer(200, renamed(fdp, record, name), {"Content-Type": "text/turtle"})
    del fdp.faults[record.path]
    fdp.files.update({record.path: same, twin: same})
    fdp.list_also(fdp.url + twin, catalog, Kind.DATASET)
    for late, spoiled in ((None, False), (faults.Delay(0.3), False), (faults.Status(503), True)):
        fdp.faults = {record.path: late} if late else {}
        job = harvest.run()
        assert f"{fdp.url}{twin}: it describes {name}, as another listed URL does" in job.errors
        assert len(job.errors) == 1 + spoiled
        assert job.stats["added"] == 0
        assert identities(harvest) == before

    # Nobody else lists it any more.
    fdp.faults = {}
    fdp.unlist(record, catalog)
    job = harvest.run()
    assert (job.errors, job.stats["updated"], job.stats["deleted"]) == ([], 1, 0)
