"""Which dataset a record has, and how that is called, when records go and come back elsewhere."""

from __future__ import annotations

import re

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    add_source,
    extras,
    stored,
    sysadmin,
)
from ckanext.freshness.tests.servers.fdp import Answer, FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.mark.parametrize("pages", [True, False], ids=["pages", "no pages"])
def test_a_record_that_comes_back_in_another_catalog(fdp: FdpServer, pages: bool) -> None:
    """It was deleted in between; its guid is another one then, its URL is not."""
    fdp.layout.pages = pages
    first, second = fdp.add_catalog(), fdp.add_catalog()
    record = fdp.add_dataset(first, title="Goes")
    for catalog in (first, second):
        fdp.add_dataset(catalog, title="Stays")
    harvest = add_source(fdp.source_url)
    harvest.run()
    url = fdp.iri_of(record)
    before = harvest.datasets()[url]
    fdp.unlist(record, first)
    assert harvest.run().stats["deleted"] == 1
    assert harvest.run().stats["not modified"] == 2  # a job in which it is nowhere
    assert stored(before["id"])["state"] == "deleted"

    fdp.move(record, second, listing_follows=True)
    fdp.change(record, title="Comes back")
    job = harvest.run()
    assert job.errors == []
    after = harvest.datasets()[url]
    assert (after["id"], after["name"]) == (before["id"], before["name"])
    assert (after["state"], after["title"]) == ("active", "Comes back")
    assert extras(after)["guid"] == f"catalog={fdp.iri_of(second)};dataset={url}"
    assert call_action("package_search", rows=0)["count"] == 3
    assert len(harvest.current()) == 3
    assert harvest.run().stats["not modified"] == 3


def test_three_sources_over_one_server_have_names_of_their_own(fdp: FdpServer) -> None:
    """The plain name, one with a mark of the URL, and one with a mark of the source too."""
    catalog = fdp.add_catalog()
    records = [fdp.add_dataset(catalog, title=title, distributions=0) for title in ("Rain", "Wind")]
    sources = [add_source(fdp.source_url, language=language) for language in ("en", "nl", "fr")]
    for source in sources:
        job = source.run()
        assert (job.errors, job.stats["added"]) == ([], 2)
    names = [
        {url: (one["id"], one["name"]) for url, one in source.datasets().items()}
        for source in sources
    ]
    for record, plain in zip(records, ("rain", "wind"), strict=True):
        plain_one, *marked = (of_source[fdp.iri_of(record)][1] for of_source in names)
        assert plain_one == plain
        assert all(re.fullmatch(f"{plain}-[0-9a-f]{{8}}", name) for name in marked)
        assert len(set(marked)) == 2

    fdp.change(records[0], title="Another title")
    for source, before in zip(sources, names, strict=True):
        job = source.run()
        assert job.errors == []
        assert (job.stats["updated"], job.stats["not modified"]) == (1, 1)
        after = source.datasets()
        assert {url: (one["id"], one["name"]) for url, one in after.items()} == before


def serve(fdp: FdpServer, record: Record, url: str, *, subject: str) -> None:
    """Answer at a URL with a record's document, in which it is called otherwise."""
    document = fdp.renderer.document(record).replace(f"<{fdp.iri_of(record)}>", f"<{subject}>")
    answer = Answer(200, document.encode(), {"Content-Type": "text/turtle"})
    fdp.files[url.removeprefix(fdp.url)] = answer


def ids(harvest: Harvest) -> list[str]:
    return sorted(one["id"] for one in harvest.datasets().values())


@pytest.mark.parametrize("made_again", [False, True], ids=["same source", "made again"])
@pytest.mark.parametrize("url", ["what it is called", "a third one"])
def test_a_listing_that_turns_to_what_documents_call_a_record(
    fdp: FdpServer, url: str, made_again: bool
) -> None:
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(catalog, "one", distributions=0)
    fdp.add_dataset(catalog, "other", distributions=0)
    subject = f"{fdp.url}/called/one"
    listed = subject if url == "what it is called" else f"{fdp.url}/third/one"
    for one in (fdp.iri_of(record), listed):
        serve(fdp, record, one, subject=subject)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 2
    before = ids(harvest)

    if made_again:
        call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
        harvest = add_source(fdp.source_url, language="en")
    fdp.unlist(record, catalog)
    fdp.list_also(listed, catalog, Kind.DATASET)
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 0)
    assert ids(harvest) == before
    assert harvest.run().stats["not modified"] == 2
    assert call_action("package_search", rows=0)["count"] == 2


RETURNS = [
    # URL and subject before it was deleted, URL and subject when it comes back
    ("two URLs that answer with one document", "/v1/one", "/called/one", "/v2/one", "/called/one"),
    ("listed as it was called", "/v1/one", "/called/one", "/called/one", "/called/one"),
    ("called as it was listed", "/v1/one", "/v1/one", "/v2/one", "/v1/one"),
    ("another spelling", "/v1/one", "/called/one", "/v2/one", "/called/one/"),
    ("called otherwise, too", "/v1/one", "/called/one", "/v2/one", "/v2/called/one"),
]


@pytest.mark.parametrize(
    ("listed", "called", "then_listed", "then_called"), [r[1:] for r in RETURNS]
)
def test_a_deleted_record_that_comes_back_at_another_url(
    fdp: FdpServer, listed: str, called: str, then_listed: str, then_called: str
) -> None:
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(catalog, "one", distributions=0)
    fdp.add_dataset(catalog, "other", distributions=0)
    fdp.unlist(record, catalog)
    serve(fdp, record, fdp.url + listed, subject=fdp.url + called)
    fdp.list_also(fdp.url + listed, catalog, Kind.DATASET)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == 2
    before = harvest.datasets()[fdp.url + called]
    fdp.unlist(fdp.url + listed, catalog)
    assert harvest.run().stats["deleted"] == 1

    serve(fdp, record, fdp.url + then_listed, subject=fdp.url + then_called)
    fdp.list_also(fdp.url + then_listed, catalog, Kind.DATASET)
    job = harvest.run()
    assert job.errors == []
    after = harvest.datasets()[fdp.url + then_called]
    same = then_called != "/v2/called/one"
    assert ((after["id"], after["name"]) == (before["id"], before["name"])) is same
    assert len(ids(harvest)) == len(harvest.current()) == 2
    assert harvest.run().stats["not modified"] == 2


def test_a_spelling_that_comes_back_beside_the_present_one(fdp: FdpServer) -> None:
    """The package went on under the other one: it is not taken away again at each harvest."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    first = fdp.add_dataset(catalog, path="/dataset/one", title="One", distributions=0)
    harvest = add_source(fdp.source_url)
    harvest.run()
    before = ids(harvest)
    fdp.unlist(first, catalog)
    second = fdp.add_dataset(catalog, path="/dataset/one/", title="One, too", distributions=0)
    assert harvest.run().stats["updated"] == 1
    assert ids(harvest) == before

    fdp.list_also(first, catalog)
    assert harvest.run().stats["added"] == 1
    found = harvest.datasets()
    assert {fdp.iri_of(one) for one in (first, second)} == set(found)
    assert [found[fdp.iri_of(second)]["id"]] == before
    assert harvest.run().stats["not modified"] == 2


@pytest.mark.parametrize("made_again", [False, True], ids=["same source", "made again"])
def test_a_record_that_comes_back_in_two_spellings(fdp: FdpServer, made_again: bool) -> None:
    """One of them goes on with its package, and the other one has its own."""
    fdp.layout.pages = False
    catalog = fdp.add_catalog()
    first = fdp.add_dataset(catalog, path="/dataset/one", title="One", distributions=0)
    harvest = add_source(fdp.source_url)
    harvest.run()
    (before,) = ids(harvest)
    if made_again:
        call_action("harvest_source_delete", {"user": sysadmin()}, id=harvest.source["id"])
        harvest = add_source(fdp.source_url, language="en")
    fdp.unlist(first, catalog)
    for path in ("/dataset/one/", "/dataset/one//"):
        fdp.add_dataset(catalog, path=path, title=path, distributions=0)
    assert harvest.run().errors == []
    after = ids(harvest)
    assert before in after
    assert (len(after), len(harvest.current())) == (2, 2)
    assert harvest.run().stats["not modified"] == 2
