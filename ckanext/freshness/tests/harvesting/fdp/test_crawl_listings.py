"""Listings of containers, and the catalog of each record."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    Site,
    unchanged,
    urls,
    with_and_without_pages,
)
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level

# Listings


@with_and_without_pages
def test_containers_that_list_themselves_and_each_other(fdp: FdpServer, pages: bool) -> None:
    fdp.layout.pages = pages
    outer = fdp.add_catalog(title="Outer")
    inner = fdp.add_catalog(title="Inner", parent=outer)
    dataset = fdp.add_dataset(inner)
    fdp.list_also(fdp.root, fdp.root, Level.CATALOG)
    fdp.list_also(fdp.source_url + "/", fdp.root, Level.CATALOG)
    for catalog in (outer, inner):
        fdp.list_also(catalog, catalog, Level.CATALOG)
        fdp.list_also(catalog, catalog, Level.DATASET)
        fdp.list_also(fdp.root, catalog, Level.CATALOG)
        fdp.list_also(fdp.root, catalog, Level.DATASET)
    fdp.list_also(outer, inner, Level.CATALOG)
    site = Site(fdp)
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
    assert job.containers.catalogs == urls(fdp, outer, inner)
    unchanged(site)


def test_a_record_that_answers_with_another_one_does_not_become_it(fdp: FdpServer) -> None:
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    one, other = fdp.add_dataset(catalog, title="One"), fdp.add_dataset(catalog, title="Other")
    site = Site(fdp)
    site.job()
    fdp.faults[one.path] = faults.Redirect(other.path)
    for _ in range(2):
        job = site.job()
        (error,) = job.record_errors.values()
        assert error == (
            f"{fdp.url_of(one)}: it describes {fdp.url_of(other)} instead, which is listed itself"
        )
        assert site.titles() == {"One", "Other"}


def test_nested_catalogs_as_deep_as_the_limit_says(fdp: FdpServer) -> None:
    catalogs = [fdp.add_catalog()]
    for _ in range(3):
        catalogs.append(fdp.add_catalog(parent=catalogs[-1]))
    datasets = [fdp.add_dataset(catalog) for catalog in catalogs]
    site = Site(fdp)
    assert site.job().of(RecordClass.NEW) == urls(fdp, *datasets)
    site.options = {"max_depth": 3}
    job = site.job()
    assert job.errors == [f"{fdp.url_of(catalogs[3])}: it lies deeper than 3 levels of catalogs"]
    assert job.of(RecordClass.UNCHANGED) == urls(fdp, *datasets[:3])
    assert len(site.packages) == 4


def test_endless_catalogs(fdp: FdpServer) -> None:
    """The server invents two catalogs below each catalog."""
    fdp.add_dataset(fdp.add_catalog())
    healthy = fdp.answer

    def answer(request: Request) -> Answer:
        if not request.path.startswith("/catalog/x"):
            return healthy(request)
        own = f"{fdp.url}{request.path}"
        text = (
            f"<{own}> a <http://www.w3.org/ns/dcat#Catalog> ; <http://www.w3.org/ns/dcat#catalog>"
        )
        return Answer.text(f"{text} <{own}a>, <{own}b> .", "text/turtle")

    fdp.answer = answer  # type: ignore[method-assign]
    fdp.list_also(f"{fdp.url}/catalog/x", fdp.root, Level.CATALOG)
    job = Site(fdp, max_depth=30, max_catalogs=20).job()
    assert len(job.of(RecordClass.NEW)) == 1
    assert job.errors and all("lists more than 20 catalogs" in error for error in job.errors)
    assert job.requests < 50


@with_and_without_pages
def test_max_records(fdp: FdpServer, pages: bool) -> None:
    fdp.layout.pages = pages
    catalog = fdp.add_catalog()
    datasets = sorted((fdp.add_dataset(catalog) for _ in range(6)), key=fdp.iri_of)
    site = Site(fdp, max_records=4)
    job = site.job()
    assert job.errors == [
        f"{fdp.url_of(catalog)}: the source lists more than max_records (4) datasets"
    ]
    assert job.of(RecordClass.NEW) == urls(fdp, *datasets[:4])
    site.options = {}
    site.job()
    site.options = {"max_records": 4}
    assert site.job().of(RecordClass.DELETED) == set()
    assert len(site.packages) == 6


def test_a_url_that_nobody_can_ask_for_is_told_and_the_rest_is_read(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    dataset = fdp.add_dataset(catalog)
    fdp.list_also(f"{fdp.url}/{'x' * 1300}", catalog, Level.DATASET)
    fdp.list_also("urn:uuid:1", catalog, Level.DATASET)
    job = Site(fdp).job()
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
    assert job.container_errors == []
    told = job.survey.not_harvested["URL that cannot be requested"]
    assert (told.count, told.examples) == (1, [fdp.url_of(catalog)])
    assert job.record_errors == {
        "urn:uuid:1": "urn:uuid:1: is a urn: URL; only http and https are requested"
    }


# Pages without an end


@pytest.mark.parametrize("following", ["0", "same", "{next}"])
@pytest.mark.parametrize("kind", ["dataset", "distribution"])
def test_pages_without_an_end(fdp: FdpServer, following: str, kind: str) -> None:
    catalog = fdp.add_catalog()
    dataset = fdp.add_dataset(catalog)
    healthy = fdp.answer

    def answer(request: Request) -> Answer:
        found = healthy(request)
        if f"/page/{kind}" not in request.path:
            return found
        number = int(request.query.partition("&")[0].removeprefix("page="))
        whither = {"0": 0, "same": number}.get(following, number + 1)
        shown = healthy(Request("GET", f"{request.path}?page=0&size=50", request.headers, "", 0.0))
        link = f'<{fdp.url}{request.path}?page={whither}&size=50>; rel="next"'
        return Answer(200, shown.body, {"Content-Type": "text/turtle", "Link": link})

    fdp.answer = answer  # type: ignore[method-assign]
    job = Site(fdp).job()
    assert job.errors == []
    warnings = [*job.survey.source_warnings, *job.warnings]
    assert ["repeats an earlier page" in one for one in warnings] == [True] * (kind == "dataset")
    assert job.requests < 12
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
