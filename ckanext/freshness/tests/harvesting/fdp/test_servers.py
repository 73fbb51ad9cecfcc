"""Servers whose documents differ from their listings."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import Site
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record

PURL = "https://purl.example/"


def identities(site: Site) -> dict[str, int]:
    """Return the id of each dataset by its guid, since the URL in its document may change."""
    return {one.guid: one.id for one in site.packages.values()}


def guid(fdp: FdpServer, catalog: Record, record: Record) -> str:
    return f"catalog={fdp.url_of(catalog)};dataset={fdp.url_of(record)}"


# Documents of other records


def renamed(fdp: FdpServer, record: Record, name: str) -> bytes:
    """Return a record's document in which the record has another URL."""
    document = fdp.renderer.document(record)
    return document.replace(f"<{fdp.iri_of(record)}>", f"<{name}>").encode()


def last_part(record: Record) -> str:
    return record.path.rpartition("/")[2]


def same_last_part(fdp: FdpServer, record: Record) -> None:
    """Let a record's document use a persistent URL with the same last path segment."""
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, PURL + last_part(record)))


def redirect_target(fdp: FdpServer, record: Record) -> None:
    """Redirect to a new URL, which the document names."""
    body = renamed(fdp, record, f"{fdp.url}/now/here")
    fdp.files["/now/here"] = Answer(200, body, {"Content-Type": "text/turtle"})
    fdp.faults[record.path] = faults.Redirect("/now/here")


def another_record(fdp: FdpServer, record: Record) -> None:
    """Answer with another record of the same kind, which no container lists."""
    fdp.faults[record.path] = faults.Body(renamed(fdp, record, f"{PURL}another"))


def redirect_to_another_record(fdp: FdpServer, record: Record) -> None:
    body = renamed(fdp, record, f"{PURL}another")
    fdp.files["/now/here"] = Answer(200, body, {"Content-Type": "text/turtle"})
    fdp.faults[record.path] = faults.Redirect("/now/here")


ACCEPTED = [same_last_part, redirect_target]
REFUSED = [another_record, redirect_to_another_record]


@pytest.mark.parametrize("level", [Level.CATALOG, Level.DATASET], ids=lambda level: level.value)
@pytest.mark.parametrize("answer", [*ACCEPTED, *REFUSED], ids=lambda answer: answer.__name__)
def test_documents_with_another_name(
    fdp: FdpServer, answer: Callable[[FdpServer, Record], None], level: Level
) -> None:
    fdp.layout.pages = False
    catalog, other = fdp.add_catalog(title="Catalog"), fdp.add_catalog(title="Other")
    dataset, beside = (fdp.add_dataset(catalog, distributions=0) for _ in range(2))
    fdp.add_dataset(other, distributions=0)
    site = Site(fdp)
    assert len(site.job().of(RecordClass.NEW)) == 3
    before = identities(site)

    record = catalog if level is Level.CATALOG else dataset
    answer(fdp, record)
    for _ in range(2):
        job = site.job()
        assert job.of(RecordClass.NEW) == job.of(RecordClass.DELETED) == set()
        assert identities(site) == before
        if answer in ACCEPTED:
            assert job.errors == []
        else:
            (error,) = job.errors
            assert error.startswith(f"{fdp.url_of(record)}: it describes ")

    # A record that is removed meanwhile is deleted, if the server can prove it.
    fdp.unlist(beside, catalog)
    if level is Level.CATALOG:
        answer(fdp, record)  # with the current listing
    if level is Level.DATASET or answer in ACCEPTED:
        del before[guid(fdp, catalog, beside)]
    site.job()
    assert identities(site) == before


def test_two_listed_urls_with_one_record(fdp: FdpServer) -> None:
    """The dataset keeps the URL that had it first, whichever URL answers."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(catalog, "one", title="The same", distributions=0)
    name, twin = f"{PURL}one", f"/other{record.path}"
    same = Answer(200, renamed(fdp, record, name), {"Content-Type": "text/turtle"})
    fdp.files[record.path] = same
    site = Site(fdp)
    assert len(site.job().of(RecordClass.NEW)) == 1
    before = identities(site)

    fdp.files[twin] = same
    fdp.list_also(fdp.url + twin, catalog, Level.DATASET)
    for late, spoiled in ((None, False), (faults.Delay(0.3), False), (faults.Status(503), True)):
        fdp.faults = {record.path: late} if late else {}
        job = site.job()
        assert f"{fdp.url}{twin}: it describes {name}, as another listed URL does" in job.errors
        assert len(job.errors) == 1 + spoiled
        assert job.of(RecordClass.NEW) == set()
        assert identities(site) == before

    # No other container lists it.
    fdp.faults = {}
    fdp.unlist(record, catalog)
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], set())
    assert list(identities(site).values()) == list(before.values())
