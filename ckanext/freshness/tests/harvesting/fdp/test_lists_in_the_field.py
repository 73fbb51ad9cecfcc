"""Lists as servers in the field have them, and what each proves."""

from __future__ import annotations

import re

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind
from ckanext.freshness.tests.servers.fdp_paging import Paging
from ckanext.freshness.tests.servers.fdp_render import Layout

PAGINGS = [*Paging]


@pytest.mark.parametrize("paging", PAGINGS)
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


@pytest.mark.parametrize("paging", PAGINGS)
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
