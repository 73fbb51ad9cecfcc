"""Lists as servers in the field have them, and what each proves."""

from __future__ import annotations

import json
import re

import pytest

from ckanext.freshness.harvesting.fdp.containers import ONLY_ABOVE
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind
from ckanext.freshness.tests.servers.fdp_paging import Paging
from ckanext.freshness.tests.servers.fdp_render import Layout


@pytest.mark.parametrize("paging", Paging)
def test_a_list_of_one_page_is_proved(fdp: FdpServer, paging: Paging) -> None:
    """Its links call its only page ``?page=1``, as the first and as the last one."""
    fdp.layout = Layout(pages=False, containers=False, paging=paging, page_size=9)
    catalog = fdp.add_catalog()
    one, _, _ = [fdp.add_dataset(catalog) for _ in range(3)]
    site = Site(fdp)
    unlisted = urls(fdp, one)
    site.job()
    fdp.unlist(one, catalog)
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], unlisted)


@pytest.mark.parametrize("paging", Paging)
def test_pages_after_one_that_repeats_records_are_read(fdp: FdpServer, paging: Paging) -> None:
    """Nothing that is not listed is deleted."""
    fdp.layout = Layout(pages=False, containers=False, paging=paging, page_size=1)
    catalog = fdp.add_catalog()
    first, *_, last = [fdp.add_dataset(catalog) for _ in range(3)]
    site = Site(fdp)
    site.job()
    catalog.children[Kind.DATASET].insert(1, first)
    fdp.version += 1
    fdp.unlist(last, catalog)
    new = fdp.add_dataset(catalog)
    job = site.job()
    assert job.of(RecordClass.NEW) == urls(fdp, new)
    assert job.of(RecordClass.DELETED) == set()
    (error,) = job.container_errors
    assert re.search("lists only records of earlier pages|repeats an earlier page", error)


def test_a_catalog_of_drafts_proves_what_it_lists(fdp: FdpServer) -> None:
    """A new catalog with its first draft is usual on a FAIR Data Point."""
    fdp.layout.pages = False
    catalog, new = fdp.add_catalog(), fdp.add_catalog()
    unlisted, _, _ = [fdp.add_dataset(catalog) for _ in range(3)]
    fdp.add_dataset(new, draft=True)
    site = Site(fdp)
    site.job()
    fdp.unlist(unlisted, catalog)
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], urls(fdp, unlisted))


@pytest.mark.parametrize("how", ["redirect", "to another catalog", "its document", "another root"])
def test_a_catalog_as_source_that_answers_with_another_container(fdp: FdpServer, how: str) -> None:
    fdp.layout.pages = False
    catalog, other = fdp.add_catalog(), fdp.add_catalog()
    datasets = [fdp.add_dataset(one) for one in (catalog, catalog, other, other)]
    site = Site(fdp, url=fdp.url_of(catalog))
    site.job()
    fdp.unlist(catalog, fdp.root)
    answers: dict[str, faults.Fault] = {
        "redirect": faults.Redirect("/"),
        "to another catalog": faults.Redirect(other.path),
        "its document": faults.Another(target="/"),
        "another root": faults.Body(
            fdp.answer(Request("GET", "/", {}, "", 0.0)).body.replace(
                f"<{fdp.url}>".encode(), b"<http://other.example/>"
            )
        ),
    }
    fdp.faults[catalog.path] = answers[how]
    job = site.job()
    (error,) = job.container_errors
    assert error.startswith(f"{fdp.url_of(catalog)}: it describes ")
    assert (job.kinds, job.brake) == ({}, None)
    fdp.faults.clear()
    unchanged(site)
    assert set(site.packages) == urls(fdp, *datasets[:2])


def test_a_root_that_answers_with_another_root(fdp: FdpServer) -> None:
    """None of the known records is listed any more: they are held."""
    fdp.layout.pages = False
    catalog, other = fdp.add_catalog(), fdp.add_catalog()
    datasets = [fdp.add_dataset(one) for one in (catalog, catalog, other, other)]
    fdp.unlist(other, fdp.root)
    site = Site(fdp)
    site.job()
    answer = fdp.answer(Request("GET", "/", {}, "", 0.0))
    text = answer.body.replace(f"<{fdp.url}>".encode(), b"<http://other.example/>")
    text = text.replace(fdp.iri_of(catalog).encode(), fdp.iri_of(other).encode())
    fdp.faults["/"] = faults.Body(text)
    job = site.job()
    assert job.of(RecordClass.DELETED) == set()
    assert job.brake is not None
    assert urls(fdp, *datasets[:2]) <= set(site.packages)


def test_a_distribution_goes_to_its_owner_as_soon_as_that_is_read(fdp: FdpServer) -> None:
    """Until then the other dataset that lists it has it, though no document of that dataset changes."""
    fdp.layout.pages = False
    first, second = fdp.add_catalog(), fdp.add_catalog()
    owner, other = fdp.add_dataset(first), fdp.add_dataset(second)
    (shared, *_) = owner.children[Kind.DISTRIBUTION]
    fdp.list_also(shared, other)
    site = Site(fdp)
    fdp.faults[first.path] = faults.Status(503)
    site.job()
    assert len(site.packages[fdp.iri_of(other)].resources) == 3
    fdp.faults.clear()
    site.job()
    resources = {one: site.packages[fdp.iri_of(one)].resources for one in (owner, other)}
    assert {one: len(names) for one, names in resources.items()} == {owner: 2, other: 2}
    unchanged(site)


@pytest.mark.parametrize("is_container", [True, False])
def test_a_record_that_names_a_catalog_outside_of_the_source(
    fdp: FdpServer, is_container: bool
) -> None:
    """It is harvested in the catalog that lists it, and the job says so."""
    fdp.layout.pages = False
    catalog, outside = fdp.add_catalog(), fdp.add_catalog()
    fdp.unlist(outside, fdp.root)
    part_of = fdp.add_biobank(catalog) if is_container else outside
    named, second, _ = [fdp.add_dataset(catalog, part_of=one) for one in (part_of, part_of, None)]
    site = Site(fdp)
    job = site.job()
    assert (job.errors, len(job.of(RecordClass.NEW))) == ([], 3)
    example = min(urls(fdp, named, second))
    warning = (
        f"{fdp.iri_of(outside)}: 2 datasets, such as {example}, name it by dct:isPartOf, but it is no record "
        "of this source; they are in the catalogs that list them"
    )
    for one in (job, unchanged(site)):
        assert one.survey.source_warnings == ([] if is_container else [warning])
    guid = site.packages[fdp.iri_of(named)].guid
    assert guid == f"catalog={fdp.iri_of(catalog)};dataset={fdp.iri_of(named)}"


def turtle(fdp: FdpServer, text: str) -> Answer:
    prefixes = (
        "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
    )
    return Answer.text(f"{prefixes}\n{text.replace('BASE', fdp.url)}", "text/turtle")


def test_a_listed_url_that_describes_a_record_that_is_no_longer_listed(fdp: FdpServer) -> None:
    """The record has another URL now, or the server redirects a lost record to it: it stays."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    moved, *_ = [fdp.add_dataset(catalog) for _ in range(12)]
    site = Site(fdp)
    site.job()
    ids = site.ids()
    fdp.unlist(moved, catalog)
    fdp.list_also(f"{fdp.url}/other/1", catalog, Kind.DATASET)
    fdp.files["/other/1"] = fdp.answer(Request("GET", moved.path, {}, "", 0.0))
    for _ in range(3):
        job = site.job()
        assert job.of(RecordClass.DELETED) == set()
        assert sorted(site.ids().values()) == sorted(ids.values())


def test_a_catalog_that_only_its_parent_describes(fdp: FdpServer) -> None:
    """Its own URL answers 404."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    iri = fdp.iri_of(fdp.add_dataset(catalog))
    root = (
        "<BASE/> a <https://w3id.org/fdp/fdp-o#FAIRDataPoint> ; dcat:catalog <BASE/catalog/outer> ."
    )
    outer = "<BASE/catalog/outer> a dcat:Catalog ; dcat:catalog <BASE/catalog/inner> ."
    inner = f"<BASE/catalog/inner> a dcat:Catalog ; dct:title 'Inner' ; dcat:dataset <{iri}> ."
    fdp.files |= {"/": turtle(fdp, root), "/catalog/outer": turtle(fdp, f"{outer}\n{inner}")}
    job = Site(fdp).job()
    assert job.errors == [f"{fdp.url}/catalog/inner: it answers 404; {ONLY_ABOVE}"]


@pytest.mark.parametrize("named", [{}, {"@id": "http://graph.example/"}])
def test_a_catalog_in_a_graph_of_json_ld(fdp: FdpServer, named: dict[str, str]) -> None:
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for _ in range(3)]
    site = Site(fdp)
    site.job()
    unlisted = urls(fdp, datasets[0])
    document = {
        "@context": {"dcat": "http://www.w3.org/ns/dcat#"},
        **named,
        "@graph": [
            {
                "@id": fdp.iri_of(catalog),
                "@type": "dcat:Catalog",
                "dcat:dataset": [{"@id": fdp.iri_of(one)} for one in datasets[1:]],
            }
        ],
    }
    fdp.files[catalog.path] = Answer.text(json.dumps(document), "application/ld+json")
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], unlisted)


def test_a_document_that_describes_the_whole_catalogue(fdp: FdpServer) -> None:
    """The URLs of its records do not answer."""
    fdp.files["/catalog.ttl"] = turtle(
        fdp,
        "<BASE/catalog.ttl> a dcat:Catalog ; dct:title 'C' ; dcat:dataset <BASE/id/1>, <BASE/id/2> ."
        "<BASE/id/1> a dcat:Dataset ; dct:title '1' . <BASE/id/2> a dcat:Dataset ; dct:title '2' .",
    )
    site = Site(fdp, url=f"{fdp.url}/catalog.ttl")
    job = site.job()
    (error,) = job.errors
    assert error == (
        f"{fdp.url}/catalog.ttl: none of the 2 records that it lists answers at its own URL. It describes 2 of "
        "them itself, but records are read from documents of their own: ask the publisher to let their URLs "
        "answer"
    )
