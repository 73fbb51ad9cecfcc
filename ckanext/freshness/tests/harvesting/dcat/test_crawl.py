"""Crawls of catalogues in RDF: pages, identities, and what proves that a list was read whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from rdflib import URIRef

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, unchanged
from ckanext.freshness.tests.servers.catalogue import DCAT, MEDIA_TYPES, CatalogueServer, Entry

NEW, CHANGED, DELETED = RecordClass.NEW, RecordClass.CHANGED, RecordClass.DELETED
LINKS = ("paged", "view", "header")


@pytest.fixture
def server() -> Iterator[CatalogueServer]:
    with CatalogueServer() as running:
        yield running


@pytest.fixture
def site(server: CatalogueServer) -> CatalogueSite:
    return CatalogueSite(server)


@pytest.mark.parametrize("form", MEDIA_TYPES)
@pytest.mark.parametrize("link", [None, *LINKS])
def test_a_catalogue_is_read_changed_and_left(
    server: CatalogueServer, site: CatalogueSite, link: str | None, form: str
) -> None:
    server.form = form
    if link:
        server.page_size, server.link = 3, link
    first = site.job()
    assert first.errors == [] and first.of(NEW) == server.iris()
    assert site.packages[server.iri("002")].resources == ["data.csv"]
    ids = site.ids()
    assert len(unchanged(site).of(RecordClass.UNCHANGED)) == 7
    server.entries[1] = dataclasses.replace(server.entries[1], title="Another title")
    gone = server.entries.pop(4)
    second = site.job()
    assert second.errors == []
    assert second.of(CHANGED) == {server.iri("001")} and second.of(DELETED) == set()
    # Its own URL answers 404 and was never read: it cannot tell.
    assert site.job(NOW + DAY).of(DELETED) == {server.iri(gone.key)}
    assert site.ids() == {url: id_ for url, id_ in ids.items() if url != server.iri(gone.key)}


def test_a_distribution_that_is_only_named_keeps_its_resource(
    server: CatalogueServer, site: CatalogueSite
) -> None:
    site.job()
    before = site.packages[server.iri("002")].resources
    server.entries[2] = dataclasses.replace(server.entries[2], title="Changed", files=())
    file = URIRef(f"{server.url}/files/002/dat%61.csv")
    server.extra.add((URIRef(server.iri("002")), DCAT.distribution, file))
    assert site.job().of(CHANGED) == {server.iri("002")}
    assert site.packages[server.iri("002")].resources == before
    with CatalogueServer() as elsewhere:
        elsewhere.entries = server.entries
        site.url = elsewhere.source_url
        there = URIRef(f"{elsewhere.url}/files/002/data.csv")
        elsewhere.extra.add((URIRef(elsewhere.iri("002")), DCAT.distribution, there))
        site.job()
        assert site.packages[elsewhere.iri("002")].resources == before
    site.url = server.source_url
    site.job()
    server.extra.remove((None, None, None))
    site.job()
    assert site.packages[server.iri("002")].resources == []


# Identities


def test_blank_nodes_keep_their_identity(server: CatalogueServer, site: CatalogueSite) -> None:
    server.entries = [Entry(f"id-{n}", f"Dataset {n}", is_blank=True) for n in range(4)]
    assert site.job().of(NEW) == {f"id-{n}" for n in range(4)}
    unchanged(site)
    server.entries[0] = dataclasses.replace(server.entries[0], files=("data.csv", "more.csv"))
    server.entries.reverse()
    assert site.job().of(CHANGED) == {"id-0"}
    assert site.packages["id-0"].resources == ["data.csv", "more.csv"]


# Moves


@pytest.mark.parametrize("link", [None, *LINKS])
@pytest.mark.parametrize("iris", ["all changed", "all the same"])
def test_a_catalogue_that_moves_keeps_its_datasets(
    server: CatalogueServer, site: CatalogueSite, iris: str, link: str | None
) -> None:
    """It has lost a dataset and got one since."""
    site.job()
    before = {package.title: package.id for package in site.packages.values()}
    with CatalogueServer(8) as elsewhere:
        elsewhere.entries.pop(2)
        elsewhere.page_size, elsewhere.link = (2 if link else None), link or ""
        if iris == "all the same":
            elsewhere.iri = server.iri  # type: ignore[method-assign]
        site.url = elsewhere.source_url
        server.entries.pop(2)
        job = site.job()
        assert job.errors == [] and job.brake is None
        assert job.of(NEW) == {elsewhere.iri("007")}
        site.job(NOW + DAY)
        after = {package.title: package.id for package in site.packages.values()}
        assert after.keys() - before.keys() == {"Dataset 7"}
        assert before.keys() - after.keys() == {"Dataset 2"}
        assert all(after[title] == before[title] for title in after.keys() & before.keys())
        unchanged(site)
