"""Servers that differ from the reference implementation: URLs, layouts, hosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.freshness.tests.servers.fdp_render import OLD_FDP_O, R3D, Layout

# URLs


SPELLINGS = {
    "https": lambda iri: iri.replace("http:", "https:"),
    "slash": lambda iri: f"{iri}/",
    "https and slash": lambda iri: f"{iri}/".replace("http:", "https:"),
    "escaped": lambda iri: iri.replace("%C3%A4", "%c3%a4"),
    "not escaped": lambda iri: iri.replace("%C3%A4", "ä"),
    "persistent": lambda iri: f"https://purl.example.org/{iri.rpartition('/dataset/')[2]}",
}


@pytest.mark.parametrize("respell", SPELLINGS.values(), ids=SPELLINGS)
def test_documents_that_spell_a_listed_url_otherwise(
    fdp: FdpServer, respell: Callable[[str], str]
) -> None:
    """It is one record, with its own distributions, read from a page or by itself."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog, path=f"/dataset/%C3%A4-{n}") for n in range(3)]
    healthy = fdp.answer

    def answer(request: Request) -> Answer:
        found, text = healthy(request), ""
        if request.path == catalog.path or request.path == "/":
            return found
        text = found.body.decode()
        for dataset in datasets:
            iri = fdp.iri_of(dataset)
            text = text.replace(f"<{iri}>", f"<{respell(iri)}>")
        return Answer(found.status, text.encode(), found.headers)

    fdp.answer = answer  # type: ignore[method-assign]
    site = Site(fdp)
    job = site.job()
    assert job.errors == job.warnings == []
    assert job.of(RecordClass.NEW) == set(site.packages) == urls(fdp, *datasets)
    assert all(package.resources == ["File 1", "File 2"] for package in site.packages.values())
    unchanged(site)
    fdp.change(datasets[0], title="changed")
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.CHANGED) == urls(fdp, datasets[0])
    assert "changed" in site.titles()


@pytest.mark.parametrize(
    "layout",
    [
        Layout(ontology=OLD_FDP_O),
        Layout(ontology=OLD_FDP_O, root_type="FairDataPoint"),
        Layout(root_type=f"{R3D}Repository", catalog_relation=f"{R3D}dataCatalog"),
        Layout(containers=False),
        Layout(member_links=False, metadata_catalog=False),
        Layout(is_part_of=False, root_slash=True),
    ],
    ids=lambda layout: str(layout).partition("(")[2][:40],
)
def test_layouts(fdp: FdpServer, layout: Layout) -> None:
    fdp.layout, fdp.shuffle = layout, True
    first, second = fdp.add_catalog(), fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for catalog in (first, first, second)]
    site = Site(fdp)
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, *datasets)
    assert [len(package.resources) for package in site.packages.values()] == [2, 2, 2]
    for dataset, catalog in zip(datasets, (first, first, second), strict=True):
        guid = f"catalog={fdp.iri_of(catalog)};dataset={fdp.iri_of(dataset)}"
        assert site.packages[fdp.iri_of(dataset)].guid == guid
    unchanged(site)
    fdp.remove(datasets[0])
    assert len(site.job().of(RecordClass.DELETED)) == 1


# Hosts and secrets


def test_another_host_is_followed_where_it_is_allowed(fdp: FdpServer) -> None:
    """Both for listed URLs and for redirects."""
    other = fdp.url_at("127.0.0.2")
    catalog = fdp.add_catalog()
    there, here = fdp.add_dataset(catalog, "there"), fdp.add_dataset(catalog, "here")
    fdp.list_also(f"{other}/dataset/foreign", catalog, Level.DATASET)
    fdp.files["/dataset/foreign"] = Answer.text(
        f"<{other}/dataset/foreign> a <http://www.w3.org/ns/dcat#Dataset> .", "text/turtle"
    )
    fdp.faults[
        lambda request: request.target == there.path and request.host.startswith("127.0.0.1")
    ] = faults.Redirect(f"{other}{there.path}")
    site = Site(fdp)
    job = site.job()
    assert job.of(RecordClass.NEW) == urls(fdp, here)
    assert set(job.record_errors) == {fdp.iri_of(there), f"{other}/dataset/foreign"}
    assert all("allowed_hosts" in error for error in job.errors)
    assert all(request.host.startswith("127.0.0.1:") for request in fdp.requests)
    site.config = SourceConfig(allowed_hosts=("127.0.0.2",))
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == {fdp.iri_of(there), f"{other}/dataset/foreign"}
