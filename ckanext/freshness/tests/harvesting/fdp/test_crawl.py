"""Crawls of FAIR Data Points: containers, records, distributions, hosts and requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rdflib import DCTERMS

from ckanext.freshness.harvesting.record import guid_of
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.strategy import WITHDRAWN_AFTER, RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import (
    DAY,
    NOW,
    Site,
    harvested,
    unchanged,
    urls,
)
from ckanext.freshness.tests.harvesting.served_lists import Documents, datasets
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.servers.fdp_render import OLD_FDP_O, R3D, Layout
from ckanext.freshness.tests.servers.replay import (
    FDP_EDITED,
    FDP_LOST_TYPE,
    FDP_RECORDING,
    FDP_RICH,
    FDP_TYPES,
    ReplayServer,
)

HEALTH = "/catalog/29a67c47-213e-473e-8c87-8931768d9357"
SERIES = "/datasetseries/e36985dd-ebd6-4cc8-a7d0-be48db319e01"
IN_STUDY = "/dataset/92c8d5ae-cdcc-4255-8abd-983af4cb0ad9"
IN_BIOBANK = "/dataset/48df08ea-6068-4140-a477-80a9657470e5"


# Recordings of deployed servers


def test_every_type_between_catalog_and_dataset_is_followed() -> None:
    """A dataset's catalog is the nearest dcat:Catalog above, and a series becomes a dataset."""
    with ReplayServer(FDP_TYPES) as server:
        site = Site(server, url=f"{server.url}/")
        job = site.job()
        assert job.record_errors == {}
        for dataset in (IN_STUDY, IN_BIOBANK, SERIES):
            guid = site.packages[server.url + dataset].guid
            assert guid == guid_of(server.url + dataset, server.url + HEALTH)
        assert len(site.packages) == 37
        others = {kind: found.count for kind, found in job.survey.crawl.not_harvested.items()}
        assert others == {
            "Biobank": 1,
            "PatientRegistry": 1,
            "Study": 1,
            "dcat:DataService": 1,
            "draft": 5,
        }
        unchanged(site)


def test_a_catalog_that_lost_its_type(fdp: FdpServer) -> None:
    """It is read if its parent lists it as a catalog, and if its document calls it by the requested URL."""
    with ReplayServer(FDP_LOST_TYPE) as recorded:
        (path,) = recorded._answers
        text = recorded._answers[path].body.decode().replace(recorded.url, fdp.url)
    catalog = fdp.add_catalog(path.removeprefix("/catalog/"))
    datasets = [
        fdp.add_dataset(catalog, name)
        for name in (
            "dd82c390-af0f-4b69-9feb-f4ab7b683ff3",
            "21edd971-6aaa-4a65-8571-1b33b57ee1d6",
            "59f51f41-cf70-44e6-98ee-bc347210aafb",
            "4dadb163-416b-4769-8981-3a729d41954c",
        )
    ]
    site = Site(fdp)
    site.job()
    fdp.files[path] = Answer.text(text, "text/turtle")
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.UNCHANGED) == urls(fdp, *datasets)
    (warning,) = job.survey.crawl.warnings
    assert "its type dcat:Catalog is missing" in str(warning)

    fdp.files[path] = Answer.text(
        text.replace(f"<{fdp.url}{path}>", "<http://other.example/>"), "text/turtle"
    )
    job = site.job()
    assert job.of(RecordClass.DELETED) == set()
    assert len(job.container_errors) == 1


# Drafts that only secret headers make readable


def test_drafts_that_a_token_makes_readable_are_not_harvested(fdp: FdpServer) -> None:
    record = fdp.add_catalog()
    draft, published = fdp.add_dataset(record), fdp.add_dataset(record)
    for dataset, state in ((draft, "DRAFT"), (published, "PUBLISHED")):
        fdp.files[f"{dataset.path}/meta"] = Answer.text(
            f'{{"state": {{"current": "{state}"}}}}', "application/json"
        )
    site = Site(fdp, headers={"Authorization": "Bearer secret"})
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, published)
    assert job.drafts == 1
    # Without a secret, nobody sees drafts, and nobody is asked.
    fdp.requests.clear()
    assert len(Site(fdp).job().of(RecordClass.NEW)) == 2
    assert fdp.count(f"{draft.path}/meta") == 0

    fdp.files[f"{draft.path}/meta"] = Answer(500)
    job = site.job()
    assert f"{draft.path}/meta: The server has a fault (500)" in "".join(job.errors)
    assert job.of(RecordClass.NEW) == job.of(RecordClass.DELETED) == set()


# Listings


def test_containers_that_list_themselves_and_each_other(fdp: FdpServer) -> None:
    outer = fdp.add_catalog(title="Outer")
    inner = fdp.add_catalog(title="Inner", parent=outer)
    dataset = fdp.add_dataset(inner)
    fdp.list_also(fdp.root, fdp.root, Kind.CATALOG)
    fdp.list_also(fdp.source_url + "/", fdp.root, Kind.CATALOG)
    for catalog in (outer, inner):
        fdp.list_also(catalog, catalog, Kind.CATALOG)
        fdp.list_also(catalog, catalog, Kind.DATASET)
        fdp.list_also(fdp.root, catalog, Kind.CATALOG)
        fdp.list_also(fdp.root, catalog, Kind.DATASET)
    fdp.list_also(outer, inner, Kind.CATALOG)
    site = Site(fdp)
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, dataset)
    assert job.containers.catalogs == urls(fdp, outer, inner)
    unchanged(site)


@pytest.mark.parametrize("text", ['<{0}> <{1}title> "Live" .', "<{0}> a <{1}Resource> ."])
def test_an_unlisted_dataset_whose_document_lost_its_type_is_held(
    fdp: FdpServer, text: str
) -> None:
    site, (catalog,), datasets = harvested(fdp, 20)
    fdp.unlist(datasets[3], catalog)
    body = text.format(fdp.iri_of(datasets[3]), DCTERMS).encode()
    fdp.faults[datasets[3].path] = faults.Body(body, "text/turtle")
    for day in range(2):
        job = site.job(NOW + day * DAY)
        assert job.of(RecordClass.DELETED) == set() and job.brake is not None


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


def test_a_record_that_is_gone_only_at_another_spelling_of_its_url(fdp: FdpServer) -> None:
    """molgenis/molgenis-emx2 3833: a server that answers only one of the URLs with and without a last slash."""
    site, (catalog,), (first, *others) = harvested(fdp, 6)
    ids, iri = site.ids(), fdp.iri_of(first)
    listed = ", ".join(f"<{fdp.iri_of(one)}>" for one in others)
    text = f"<{fdp.iri_of(catalog)}> a <{DCAT}Catalog> ; <{DCAT}dataset> <{iri}/>, {listed} ."
    fdp.files[catalog.path] = Answer.text(text, "text/turtle")
    job = site.job()
    assert (site.ids(), job.of(RecordClass.DELETED)) == (ids, set())
    (error,) = job.errors
    assert error.startswith(f"{iri}/: ") and f"but {iri}, its URL before, answers" in error
    fdp.faults[first.path] = faults.Status(410)
    site.job()
    job = site.job(NOW + WITHDRAWN_AFTER)
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], {iri})


@pytest.mark.parametrize("part_of", ["a", "b"])
def test_what_one_container_lists_as_a_catalog_and_another_as_a_part_is_a_catalog(
    fdp: FdpServer, part_of: str
) -> None:
    """Whichever is read first. While it fails, it protects all that it may list."""
    parents = [fdp.add_catalog(name) for name in "ab"]
    catalog = fdp.add_catalog("c", parent=parents[part_of == "a"])
    fdp.list_also(catalog, parents[part_of == "b"], Kind.BIOBANK)
    datasets = [fdp.add_dataset(one) for one in (catalog, catalog, parents[0], parents[1])]
    site = Site(fdp)
    assert site.job().of(RecordClass.NEW) == urls(fdp, *datasets)
    fdp.faults = {catalog.path: faults.Status(503), datasets[0].path: faults.Status(404)}
    job = site.job()
    assert job.containers.unreadable.keys() == urls(fdp, catalog)
    assert job.of(RecordClass.DELETED) == set()


def test_a_catalog_whose_name_moves_to_another_host_stays_itself() -> None:
    """Its list proves that a dataset is gone."""
    with Documents() as server:
        site = Site(None, url=f"{server.url}/c")
        for number in (1, 2, 3):
            server.publish_dataset(number)
        for host, numbers in (("old", (1, 2, 3, 4)), ("new", (1, 2, 3))):
            name = f"<http://{host}.example/c>"
            text = datasets(*numbers).replace("<>", name)
            server.files["/d/4"] = Answer(500)
            if host == "old":
                server.publish_dataset(4)
            server.publish("/c", text, catalog=f"{name} a dcat:Catalog .\n")
            job = site.two_jobs()
        assert job.errors == [] and job.of(RecordClass.DELETED) == {f"{server.url}/d/4"}


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


def test_a_dataset_names_what_its_container_only_listed(fdp: FdpServer) -> None:
    """The distribution of another dataset becomes its own, although no document but its own has changed."""
    catalog = fdp.add_catalog()
    dataset, other = fdp.add_dataset(catalog), fdp.add_dataset(catalog, distributions=0)
    fdp.list_also(fdp.add_distribution(other, title="Of another"), dataset)
    fdp.layout = Layout(member_links=False)
    site = Site(fdp)
    site.job()
    assert site.packages[fdp.iri_of(dataset)].resources == ["File 1", "File 2"]
    fdp.layout = Layout()
    site.job()
    assert site.packages[fdp.iri_of(dataset)].resources == ["File 1", "File 2", "Of another"]


# Hosts and secrets


def test_another_host_is_followed_where_it_is_allowed(fdp: FdpServer) -> None:
    """Both for listed URLs and for redirects."""
    other = fdp.url_at("127.0.0.2")
    catalog = fdp.add_catalog()
    there, here = fdp.add_dataset(catalog, "there"), fdp.add_dataset(catalog, "here")
    fdp.list_also(f"{other}/dataset/foreign", catalog, Kind.DATASET)
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
    found = dataset.listing(Kind.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


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
    withdrawn = datasets[0].children[Kind.DISTRIBUTION][0]
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
    fdp.list_also(persistent, dataset, Kind.DISTRIBUTION)
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
    assert site.packages[fdp.iri_of(dataset)].resources == []


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


# Requests


# Parts
