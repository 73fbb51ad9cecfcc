"""Identity and name of a record's dataset when the record goes and comes back elsewhere."""

from __future__ import annotations

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

pytestmark = pytest.mark.usefixtures("clean_site")


def test_a_record_that_moves_while_its_catalog_cannot_be_read(
    fdp: FdpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stays in that catalog until the catalog is read, and moves then without a change of its own."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
    fdp.layout.is_part_of = False
    first, second = fdp.add_catalog(), fdp.add_catalog()
    moving, refused = [fdp.add_dataset(first, distributions=0) for _ in range(2)]
    fdp.add_dataset(first, distributions=0)
    harvest = add_source(fdp.source_url)
    harvest.run()
    before = ids(harvest)
    for record in (moving, refused):
        fdp.unlist(record, first)
        fdp.list_also(record, second)
    fdp.faults[first.path] = Status(503)
    assert harvest.run().stats["not modified"] == 2
    fdp.withdraw(refused)
    harvest.run()
    fdp.faults.clear()
    for record in (moving, refused):
        fdp.publish(record)
        assert harvest.run().stats["updated"] == 1
        guid = f"catalog={fdp.iri_of(second)};dataset={fdp.iri_of(record)}"
        assert guid in dict(harvest.current())
    assert ids(harvest) == before and len(harvest.current()) == 3


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
    for path in ("/dataset/spelt/", "/dataset/spelt//"):
        fdp.add_dataset(catalog, path=path, title=path, distributions=0)
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
    assert harvest.run().stats["deleted"] == len(RETURNS)

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
