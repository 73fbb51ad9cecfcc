"""Lists as servers in the field have them, and what each proves."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.strategy import WITHDRAWN_AFTER, RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import NOW, Site, harvested, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind


@pytest.mark.parametrize("how", ["redirect", "to another catalog", "its document", "another root"])
def test_a_catalog_as_source_that_answers_with_another_container(fdp: FdpServer, how: str) -> None:
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
    assert error.startswith(f"{fdp.url_of(catalog)}: Its metadata file describes ")
    assert (job.kinds, job.brake) == ({}, None)
    fdp.faults.clear()
    unchanged(site)
    assert set(site.packages) == urls(fdp, *datasets[:2])


def test_a_server_as_source_that_redirects_to_one_of_its_catalogs(fdp: FdpServer) -> None:
    """The source is not taken for that catalog from then on."""
    site, (catalog, _), _ = harvested(fdp, 12, 2)
    fdp.faults["/"] = faults.Redirect(catalog.path)
    job = site.job()
    (error,) = job.container_errors
    assert f"record: {fdp.iri_of(catalog)} instead of the FAIR Data Point" in error
    assert (job.kinds, job.brake) == ({}, None)
    fdp.faults.clear()
    unchanged(site)


def turtle(fdp: FdpServer, text: str) -> Answer:
    prefixes = (
        "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
    )
    return Answer.text(f"{prefixes}\n{text.replace('BASE', fdp.url)}", "text/turtle")


def test_a_record_that_is_gone_only_at_another_spelling_of_its_url(fdp: FdpServer) -> None:
    """molgenis/molgenis-emx2 3833: a server that answers only one of the URLs with and without a last slash."""
    site, (catalog,), (first, *others) = harvested(fdp, 6)
    ids, iri = site.ids(), fdp.iri_of(first)
    listed = ", ".join(f"<{fdp.iri_of(one)}>" for one in others)
    text = f"<{fdp.iri_of(catalog)}> a dcat:Catalog ; dcat:dataset <{iri}/>, {listed} ."
    fdp.files[catalog.path] = turtle(fdp, text)
    job = site.job()
    assert (site.ids(), job.of(RecordClass.DELETED)) == (ids, set())
    (error,) = job.errors
    assert error.startswith(f"{iri}/: ") and f"but {iri}, its URL before, answers" in error
    fdp.faults[first.path] = faults.Status(410)
    site.job()
    job = site.job(NOW + WITHDRAWN_AFTER)
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], {iri})


def test_a_listed_url_that_describes_a_record_that_is_no_longer_listed(fdp: FdpServer) -> None:
    """The record has another URL now, or the server redirects a lost record to it: it stays."""
    site, (catalog,), (moved, *_) = harvested(fdp, 12)
    ids = site.ids()
    fdp.unlist(moved, catalog)
    fdp.list_also(f"{fdp.url}/other/1", catalog, Kind.DATASET)
    fdp.files["/other/1"] = fdp.answer(Request("GET", moved.path, {}, "", 0.0))
    for _ in range(3):
        job = site.job()
        assert job.of(RecordClass.DELETED) == set()
        assert sorted(site.ids().values()) == sorted(ids.values())


def test_a_left_out_record_whose_url_leads_to_a_listed_one(fdp: FdpServer) -> None:
    """It was merged into that one: its URL does not answer with the record itself, so that nobody is asked."""
    site, (catalog,), (merged, into, *_) = harvested(fdp, 12)
    fdp.unlist(merged, catalog)
    fdp.faults[merged.path] = faults.Redirect(into.path)
    job = site.two_jobs()
    assert (job.brake, job.of(RecordClass.DELETED)) == (None, urls(fdp, merged))


def test_a_catalog_whose_url_leads_to_another_one_that_is_not_listed(fdp: FdpServer) -> None:
    """Nothing is deleted for that. If its datasets are elsewhere or gone, it counts as moved."""
    catalog, lost, other = [fdp.add_catalog() for _ in range(3)]
    for _ in range(12):
        fdp.add_dataset(catalog)
    datasets = [fdp.add_dataset(lost) for _ in range(2)]
    new = fdp.add_dataset(other)
    fdp.unlist(other, fdp.root)
    site = Site(fdp)
    site.job()
    ids = site.ids()
    fdp.faults[lost.path] = faults.Redirect(other.path)
    for _ in range(2):
        job = site.job()
        (error,) = job.errors
        assert error.startswith(
            f"{fdp.url_of(lost)}: it describes {fdp.iri_of(other)} instead of the catalog "
        )
        assert job.of(RecordClass.DELETED) == set()
    for one in datasets:
        fdp.faults[one.path] = faults.Status(410)
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], urls(fdp, *datasets))
    assert set(site.ids()) == {*ids, fdp.iri_of(new)} - urls(fdp, *datasets)
    unchanged(site)
