"""Which dataset a record has, and how that is called, when records go and come back elsewhere."""

from __future__ import annotations

import re

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import add_source, extras, stored
from ckanext.freshness.tests.servers.fdp import FdpServer

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
