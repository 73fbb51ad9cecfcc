"""The distributions of a dataset, and the resources of those that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Site, unchanged
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.servers.replay import FDP_EDITED, FDP_RECORDING, FDP_RICH, ReplayServer

DCAT = "http://www.w3.org/ns/dcat#"
NOT_VISITED = (
    "was not requested: its host is not allowed "
    '(to allow it, add it to "allowed_hosts" in the source\'s configuration)'
)
NAMED = re.compile(r"dcat:distribution ([^;.]*(?:\.[^;.\s][^;.]*)*)[;.]")


@pytest.mark.parametrize(
    "recording", [FDP_RECORDING, FDP_EDITED, FDP_RICH], ids=lambda one: one.name
)
def test_no_dataset_of_a_real_server_gets_the_files_of_another(recording: Path) -> None:
    """In the second recording each page has one container with the distributions of all datasets."""
    with ReplayServer(recording) as server:
        site = Site(server, url=server.url)
        job = site.job()
        elsewhere = [f"https://example.org/other-catalogue: {NOT_VISITED}"] * (
            recording == FDP_RICH
        )
        assert job.errors == elsewhere
        assert job.warnings == []
        readable = set(server.urls("distributions"))
        for url, package in site.packages.items():
            text = server.body(url)
            named = set(re.findall(r"<([^>]*)>", " ".join(NAMED.findall(text)))) & readable
            assert {one["uri"] for one in package.content["resources"]} == named, url
        assert job.of(RecordClass.NEW) >= set(server.urls("datasets"))
        before = dict(site.packages)
        assert site.job().of(RecordClass.UNCHANGED) == set(before) == set(site.packages)


def child(dataset: Record, number: int) -> Record:
    found = dataset.listing(Level.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


def resources(site: Site, fdp: FdpServer, dataset: Record) -> list[str]:
    return site.packages[fdp.iri_of(dataset)].resources


@pytest.mark.parametrize("status", [403, 404])
def test_a_wall_before_all_distributions(fdp: FdpServer, status: int) -> None:
    """No resource goes. When the wall is gone, what is still refused has its 24 hours from then on."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for _ in range(3)]
    site = Site(fdp)
    site.job()
    before = {url: package.resources for url, package in site.packages.items()}
    fdp.faults[is_distribution] = faults.Status(status)
    for day in range(3):
        job = site.job(NOW + day * DAY)
        assert len(job.warnings) == 6
        assert {url: package.resources for url, package in site.packages.items()} == before
    assert all("because most distributions of the source" in one for one in job.warnings)
    del fdp.faults[is_distribution]
    withdrawn = datasets[0].children[Level.DISTRIBUTION][0]
    assert isinstance(withdrawn, Record)
    fdp.faults[withdrawn.path] = faults.Status(status)
    for day, count in ((3, 2), (4, 2), (5, 1)):
        site.job(NOW + day * DAY)
        assert len(site.packages[fdp.iri_of(datasets[0])].resources) == count


def is_distribution(request: Request) -> bool:
    return request.path.startswith("/distribution/")


@pytest.mark.parametrize("entry", ["'/distribution/1'", "< {}>", "<\\u000A{}>"])
def test_a_distribution_without_a_url_may_be_one_that_is_missing(
    fdp: FdpServer, entry: str
) -> None:
    """Its resource stays, and each job warns until the dataset names URLs again."""
    dataset = fdp.add_dataset(fdp.add_catalog())
    iri = fdp.iri_of(dataset)
    site = Site(fdp)
    site.job()
    resources = site.packages[iri].content["resources"]
    first, second = [one["uri"] for one in resources]
    text = f"<{iri}> a <{DCAT}Dataset> ; <{DCAT}distribution> {entry.format(first)}, <{second}> ."
    fdp.files[dataset.path] = Answer.text(text, "text/turtle")
    for _ in range(2):
        job = site.job()
        assert site.packages[iri].content["resources"] == resources
        stays, left_out = job.warnings
        assert stays.startswith(f"distribution {first}: its dataset names a distribution without")
        assert left_out.endswith("is no URL that can be requested; it is left out")
    fdp.files[dataset.path] = Answer.text(
        text.replace(entry.format(first) + ", ", ""), "text/turtle"
    )
    job = site.job()
    assert (job.warnings, len(site.packages[iri].resources)) == ([], 1)


def test_a_distribution_that_its_document_calls_otherwise(fdp: FdpServer) -> None:
    """Its dataset names a persistent URL: that is the resource's URI, and it stays while this URL fails."""
    catalog = fdp.add_catalog()
    dataset = fdp.add_dataset(catalog, distributions=0)
    file = child(fdp.add_dataset(catalog, distributions=1), 0)
    persistent = f"{fdp.url}/persistent/7"
    fdp.list_also(persistent, dataset, Level.DISTRIBUTION)
    fdp.faults["/persistent/7"] = faults.Redirect(file.path)
    site = Site(fdp)
    assert site.job().errors == []
    (resource,) = site.packages[fdp.iri_of(dataset)].content["resources"]
    assert (resource["name"], resource["uri"]) == ("File 1", persistent)
    unchanged(site)
    fdp.faults["/persistent/7"] = faults.Status(404)
    job = unchanged(site)
    assert job.warnings[0].startswith(
        f"distribution {persistent}: It is no longer there (the server answers 404); its resource st"
    )
    site.job(NOW + DAY)
    assert resources(site, fdp, dataset) == []


def test_a_service_that_cannot_be_read_takes_nothing_away_at_once(fdp: FdpServer) -> None:
    dataset = fdp.add_dataset(fdp.add_catalog())
    iri, service = fdp.iri_of(dataset), f"{fdp.url}/service/1"
    distribution = f"[ a <{DCAT}Distribution> ; <{DCAT}accessService> <{service}> ]"
    text = f"<{iri}> a <{DCAT}Dataset> ; <{DCAT}distribution> {distribution} ."
    fdp.files[dataset.path] = Answer.text(text, "text/turtle")
    described = f"<{service}> a <{DCAT}DataService> ; <{DCAT}endpointURL> <{service}/api> ."
    fdp.files["/service/1"] = Answer.text(described, "text/turtle")
    site = Site(fdp)
    assert site.job().errors == []
    before = site.packages[iri].content["resources"]
    assert f"{service}/api" in str(before)
    unchanged(site)
    fdp.files["/service/1"] = Answer(503)
    job = unchanged(site)
    assert f"service {service}: The server has a fault (503); only its URL is kept" in job.warnings
    assert site.job(NOW + DAY).of(RecordClass.CHANGED) == {iri}
    assert f"{service}/api" not in str(site.packages[iri].content["resources"])
    fdp.files["/service/1"] = Answer.text(described, "text/turtle")
    site.job(NOW + DAY)
    assert site.packages[iri].content["resources"] == before
