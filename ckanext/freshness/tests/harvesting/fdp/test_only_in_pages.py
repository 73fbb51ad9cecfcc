"""Records that only pages list. Only a complete listing without them removes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from rdflib import Graph
from rdflib.term import Node

from ckanext.freshness.harvesting.rdf.mapping import map_dataset
from ckanext.freshness.harvesting.record import Record as Contents
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import NOW, Site, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record

ANSWERS: dict[str, Callable[[], faults.Fault]] = {
    **{
        str(status): lambda status=status: faults.Status(status)  # type: ignore[misc]
        for status in (401, 403, 404, 410, 500)
    },
    "HTML": faults.html,
    "HTML labelled as Turtle": lambda: faults.html("text/turtle"),
    "empty": faults.empty,
    "cut off": lambda: faults.Cut(0.45),
    "transfer cut off": faults.Truncate,
    "the root in its place": lambda: faults.Redirect("/"),
    "other RDF": lambda: faults.Body(b"<http://a> <http://b> <http://c> ."),
}
"""Answers of a page endpoint in place of a page."""

FEW = ["403", "404", "500", "other RDF"]
READABLE = {ANSWERS["the root in its place"], ANSWERS["other RDF"]}

each_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
few_answers = pytest.mark.parametrize("answer", [ANSWERS[one] for one in FEW], ids=FEW)


def child(dataset: Record, number: int) -> Record:
    found = dataset.listing(Level.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


def page_of(record: Record, kind: str) -> str:
    return f"{record.path}/page/{kind}?page=0&size=50"


# Distributions


@pytest.fixture
def dataset(fdp: FdpServer) -> Record:
    """Add a dataset with two distributions; only its page lists the second."""
    found = fdp.add_dataset(fdp.add_catalog())
    fdp.list_only_in_pages(child(found, 1), found)
    return found


def resources(site: Site, fdp: FdpServer, dataset: Record) -> list[str]:
    return site.packages[fdp.iri_of(dataset)].resources


@each_answer
def test_a_distribution_stays_when_its_page_fails(
    fdp: FdpServer, dataset: Record, answer: Callable[[], faults.Fault]
) -> None:
    site = Site(fdp)
    site.job()
    assert resources(site, fdp, dataset) == ["File 1", "File 2"]
    unchanged(site)
    before = site.packages[fdp.iri_of(dataset)]
    fdp.faults[page_of(dataset, "distribution")] = answer()
    for hours in (0, 24):
        job = site.job(NOW + timedelta(hours=hours))
        assert job.errors == []
        assert site.packages[fdp.iri_of(dataset)] == before
        url = fdp.url_of(child(dataset, 1))
        told = [one for one in job.warnings if one.startswith(f"distribution {url}: ")]
        # The answer in place of the page may be RDF. The distribution itself is then read.
        assert bool(told) is (answer not in READABLE)
    fdp.change(dataset, title="Changed meanwhile")
    site.job()
    assert resources(site, fdp, dataset) == ["File 1", "File 2"]
    fdp.faults.clear()
    assert site.job().warnings == []
    unchanged(site)
    fdp.remove(child(dataset, 1))
    job = site.job()
    assert job.of(RecordClass.CHANGED) == urls(fdp, dataset)
    assert resources(site, fdp, dataset) == ["File 1"]
    unchanged(site)


def test_a_distribution_stays_when_pages_of_another_dataset_fail(
    fdp: FdpServer, dataset: Record
) -> None:
    """One dataset without a page endpoint does not mean that no dataset has one."""
    others = [fdp.add_dataset(fdp.catalogs[0], f"{n}") for n in range(3)]
    site = Site(fdp)
    site.job()
    for one in others:
        fdp.change(one, title="Changed")
        fdp.faults[page_of(one, "distribution")] = faults.Status(404)
    fdp.change(child(dataset, 1), title="Changed")
    assert site.job().warnings == []
    assert resources(site, fdp, dataset) == ["Changed", "File 1"]


def test_a_distribution_stays_when_its_dataset_names_no_others(
    fdp: FdpServer, dataset: Record
) -> None:
    site = Site(fdp)
    site.job()
    fdp.remove(child(dataset, 0))
    site.job()
    assert resources(site, fdp, dataset) == ["File 2"]
    unchanged(site)


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_page_without_it_that_may_not_be_all_of_them(
    fdp: FdpServer, dataset: Record, is_gone: bool
) -> None:
    """Without links to the first or last page, the distribution itself is read."""
    site = Site(fdp)
    site.job()
    shown = fdp.renderer.page([child(dataset, 0)])
    fdp.faults[page_of(dataset, "distribution")] = faults.Body(shown.encode())
    if is_gone:
        fdp.vanish(child(dataset, 1))
    for hours, stays in ((0, True), (23, True), (24, not is_gone)):
        job = site.job(NOW + timedelta(hours=hours))
        assert job.errors == []
        assert bool(job.warnings) is is_gone
        assert resources(site, fdp, dataset) == (["File 1", "File 2"] if stays else ["File 1"])


@few_answers
def test_a_distribution_that_only_a_page_of_another_dataset_has(
    fdp: FdpServer, dataset: Record, answer: Callable[[], faults.Fault]
) -> None:
    """Its dct:isPartOf was changed."""
    owner = fdp.add_dataset(fdp.catalogs[0], distributions=0)
    fdp.move(child(dataset, 1), owner)
    site = Site(fdp)
    site.job()
    site.job()
    assert resources(site, fdp, owner) == ["File 2"]
    unchanged(site)
    fdp.faults[page_of(dataset, "distribution")] = answer()
    for hours in (0, 24):
        assert site.job(NOW + timedelta(hours=hours)).errors == []
        assert resources(site, fdp, owner) == ["File 2"]
        assert resources(site, fdp, dataset) == ["File 1"]
    fdp.faults.clear()
    unchanged(site)
    fdp.unlist(child(dataset, 1), dataset)
    site.job()
    assert resources(site, fdp, owner) == []


# Datasets


@pytest.fixture
def catalog(fdp: FdpServer) -> Record:
    """Add a catalog with three datasets; only its page lists the last."""
    found = fdp.add_catalog()
    datasets = [fdp.add_dataset(found, title=f"D{n}", distributions=0) for n in range(3)]
    fdp.list_only_in_pages(datasets[2], found)
    return found


def harvested(fdp: FdpServer) -> Site:
    site = Site(fdp)
    site.job()
    assert "D2" in site.titles()
    return site


@each_answer
def test_a_dataset_stays_when_its_page_fails(
    fdp: FdpServer, catalog: Record, answer: Callable[[], faults.Fault]
) -> None:
    site = harvested(fdp)
    unchanged(site)
    fdp.faults[page_of(catalog, "dataset")] = answer()
    for hours in (0, 24):
        assert site.job(NOW + timedelta(hours=hours)).of(RecordClass.DELETED) == set()
    fdp.faults.clear()
    unchanged(site)
    fdp.remove(fdp.datasets[2])
    assert len(site.job().of(RecordClass.DELETED)) == 1
    assert site.titles() == {"D0", "D1"}


def _name_by_containers(fdp: FdpServer, site: Site) -> None:
    fdp.layout.member_links = False


def _cannot_be_mapped(fdp: FdpServer, site: Site) -> None:
    """Make well-formed Turtle that the mapper refuses."""

    def refuse(graph: Graph, subject: Node) -> Contents:
        if str(subject) == fdp.iri_of(fdp.datasets[2]):
            raise ValueError("a profile's own")
        return map_dataset(graph, subject)

    site.options["mapper"], site.options["salt"] = refuse, "another mapper"


def _say_no_parent(fdp: FdpServer, site: Site) -> None:
    fdp.datasets[2].part_of = None
    fdp.change(fdp.datasets[2])


EDITS = {
    "the catalog's container alone names datasets": _name_by_containers,
    "it cannot be mapped": _cannot_be_mapped,
    "it names no parent": _say_no_parent,
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_dataset_stays_whatever_else_changes(
    fdp: FdpServer, catalog: Record, edit: Callable[[FdpServer, Site], None]
) -> None:
    site = harvested(fdp)
    edit(fdp, site)
    for hours in (0, 24):
        assert site.job(NOW + timedelta(hours=hours)).of(RecordClass.DELETED) == set()


@few_answers
def test_a_dataset_that_says_it_is_of_another_catalog_stays(
    fdp: FdpServer, catalog: Record, answer: Callable[[], faults.Fault]
) -> None:
    fdp.move(fdp.datasets[2], fdp.add_catalog())
    site = harvested(fdp)
    fdp.faults[page_of(catalog, "dataset")] = answer()
    for hours in (0, 24):
        assert site.job(NOW + timedelta(hours=hours)).of(RecordClass.DELETED) == set()
    fdp.faults.clear()
    unchanged(site)


def test_a_page_of_catalogs_is_no_listing(fdp: FdpServer, catalog: Record) -> None:
    """The root's document lists all catalogs. A catalog that it leaves out is gone with its records."""
    other = fdp.add_catalog()
    dataset = fdp.add_dataset(other, distributions=0)
    site = harvested(fdp)
    fdp.list_only_in_pages(other, fdp.root)
    fdp.faults[page_of(fdp.root, "catalog")] = faults.Status(500)
    assert site.job().of(RecordClass.DELETED) == urls(fdp, dataset)
