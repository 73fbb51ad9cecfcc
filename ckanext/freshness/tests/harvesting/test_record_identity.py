"""Records and sources at other URLs: which record, dataset and resource each is."""

from __future__ import annotations

import dataclasses

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, stored
from ckanext.freshness.tests.harvesting.test_pages import Browser, path, words
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

pytestmark = pytest.mark.usefixtures("clean_site")


def serve(fdp: FdpServer, record: Record, url: str, *, subject: str) -> None:
    """Serve a record's document at another URL than the one it names."""
    document = fdp.renderer.document(record).replace(f"<{fdp.iri_of(record)}>", f"<{subject}>")
    answer = Answer(200, document.encode(), {"Content-Type": "text/turtle"})
    fdp.files[url.removeprefix(fdp.url)] = answer


def ids(harvest: Harvest) -> list[str]:
    return sorted(one["id"] for one in harvest.datasets().values())


def test_a_listing_that_turns_to_other_urls_of_its_records(fdp: FdpServer) -> None:
    """To the URL that the record's document names, to a third URL, or to two other spellings at once."""
    catalog = fdp.add_catalog()
    subjects = {}
    for name in ("one", "two"):
        record = fdp.add_dataset(catalog, name, distributions=0)
        subjects[name] = f"{fdp.url}/called/{name}"
        serve(fdp, record, fdp.iri_of(record), subject=subjects[name])
    fdp.add_dataset(catalog, path="/dataset/spelt", distributions=0)
    one, two, spelt = fdp.datasets
    fdp.add_dataset(catalog, "other", distributions=0)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 4
    before = ids(harvest)

    for record, name, listed in ((one, "one", "/called/one"), (two, "two", "/third/two")):
        serve(fdp, record, fdp.url + listed, subject=subjects[name])
        fdp.unlist(record, catalog)
        fdp.list_also(fdp.url + listed, catalog, Kind.DATASET)
    fdp.unlist(spelt, catalog)
    for other in ("/dataset/spelt/", "/dataset/spelt//"):
        fdp.add_dataset(catalog, path=other, title=other, distributions=0)
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 0)
    after = ids(harvest)
    # One spelling continues the package, and the other gets its own.
    assert set(before) < set(after)
    assert len(after) == len(harvest.current()) == 5
    assert harvest.run().stats["not modified"] == 5
    assert call_action("package_search", rows=0)["count"] == 5


RETURNS = {
    # URL and subject before the deletion, URL and subject afterwards, whether it is the same record
    "two URLs that answer with one document": ("/v1/a", "/called/a", "/v2/a", "/called/a", True),
    "listed as it was called": ("/v1/b", "/called/b", "/called/b", "/called/b", True),
    "called as it was listed": ("/v1/c", "/v1/c", "/v2/c", "/v1/c", True),
    "another spelling": ("/v1/d", "/called/d", "/v2/d", "/called/d/", True),
    "called otherwise, too": ("/v1/e", "/called/e", "/v2/e", "/v2/called/e", False),
}


def test_deleted_records_that_come_back_at_other_urls(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    others = [fdp.add_dataset(catalog, title=title, distributions=0) for title in ("Other", "Else")]
    records = {}
    for case, (listed, called, *_) in RETURNS.items():
        records[case] = fdp.add_dataset(catalog, title=case, distributions=0)
        fdp.unlist(records[case], catalog)
        serve(fdp, records[case], fdp.url + listed, subject=fdp.url + called)
        fdp.list_also(fdp.url + listed, catalog, Kind.DATASET)
    harvest = add_source(fdp.source_url, delete_unlisted=True)
    assert harvest.run().stats["added"] == len(RETURNS) + len(others)
    before = {one["title"]: (one["id"], one["name"]) for one in harvest.datasets().values()}
    for listed, *_ in RETURNS.values():
        fdp.unlist(fdp.url + listed, catalog)
    assert harvest.two_jobs().stats["deleted"] == len(RETURNS)

    for case, (_, _, listed, called, _) in RETURNS.items():
        serve(fdp, records[case], fdp.url + listed, subject=fdp.url + called)
        fdp.list_also(fdp.url + listed, catalog, Kind.DATASET)
    job = harvest.run()
    assert job.errors == []
    found = harvest.datasets()
    for case, (_, _, _, called, same) in RETURNS.items():
        after = found[fdp.url + called]
        assert ((after["id"], after["name"]) == before[case]) is same, case
    assert len(ids(harvest)) == len(harvest.current()) == len(RETURNS) + len(others)
    assert harvest.run().stats["not modified"] == len(RETURNS) + len(others)


def resource_ids(harvest: Harvest) -> dict[str, list[str]]:
    """Return the ids of the datasets and of their resources."""
    return {
        package_id: sorted(resource["id"] for resource in stored(package_id)["resources"])
        for _, package_id in harvest.current()
    }


def move(fdp: FdpServer, harvest: Harvest) -> None:
    """Move a server to another host, with all its IRIs, and edit the source's URL."""
    there = fdp.url_at("127.0.0.2")
    fdp.renderer.base = there
    harvest.switch(url=there)


def test_records_at_other_paths_keep_their_ids_by_uuid(fdp: FdpServer) -> None:
    """All records, distributions and files are at other URLs, and one distribution cannot be read there."""
    catalog = fdp.add_catalog()
    datasets = [fdp.add_dataset(catalog) for _ in range(3)]
    harvest = add_source(fdp.source_url)
    harvest.run()
    before = resource_ids(harvest)
    assert [len(resources) for resources in before.values()] == [2, 2, 2]
    distributions = [
        one
        for dataset in datasets
        for one in dataset.children[Kind.DISTRIBUTION]
        if isinstance(one, Record)
    ]
    for record in [catalog, *datasets, *distributions]:
        fdp.respell(record, f"/moved{record.path}")
    for record in distributions:
        name = record.fields["download_url"].rpartition("/")[2]
        fdp.change(record, download_url=f"https://files.example/moved/{name}")
    failing = distributions[0]
    fdp.faults[failing.path] = faults.Status(500)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert resource_ids(harvest) == before
    del fdp.faults[failing.path]
    assert harvest.run().stats["updated"] == 1
    assert resource_ids(harvest) == before
    assert harvest.run().stats["not modified"] == 3


def test_what_nothing_identifies_is_held(app: object, fdp: FdpServer) -> None:
    """Numbers identify no records of another server, nor does a path with another title."""
    catalog = fdp.add_catalog(id="1")
    for number in range(3):
        fdp.add_dataset(catalog, id=str(number))
    harvest = add_source(fdp.source_url)
    harvest.run()
    with CatalogueServer(3) as here, CatalogueServer(3) as there:
        there.entries = [
            dataclasses.replace(one, title=f"Other {one.title}") for one in here.entries
        ]
        catalogue = add_source(here.source_url, source_type="dcat_catalog")
        catalogue.run()
        before = [(one, resource_ids(one)) for one in (harvest, catalogue)]
        move(fdp, harvest)
        catalogue.switch(url=there.source_url)
        editor = Browser(app, factories.SysadminWithToken())
        for one, datasets in before:
            job = one.run()
            assert (job.stats["added"], job.stats["deleted"]) == (3, 0)
            assert datasets.items() <= resource_ids(one).items()
            page = words(editor.get(path(one, "held")))
            assert "3 of 6 datasets would be deleted. We stopped that." in page
