"""Records whose URLs differ only in their fragments, because one document describes all of them."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.fdp.documents import outline_of_container, outline_of_dataset
from ckanext.freshness.harvesting.rdf.parsing import DocumentError
from ckanext.freshness.tests.harvesting.conftest import add_source, extras
from ckanext.freshness.tests.harvesting.fdp.parsed import parse
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer

PREFIXES = (
    "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .\n"
)
URL = "https://fdp.example/c"


def serve(fdp: FdpServer, path: str, turtle: str) -> None:
    """Serve a document whose relative IRIs are those below the server."""
    fdp.files[path] = Answer.text(f"{PREFIXES}{turtle}", "text/turtle")


def dataset(name: str, *distributions: str) -> str:
    """Return a dataset in Turtle, with distributions in its own document."""
    listed = "".join(f"; dcat:distribution <{name}-{one}>" for one in distributions)
    described = "".join(
        f'<{name}-{one}> a dcat:Distribution ; dct:title "{one}" ; '
        f"dcat:downloadURL <https://files.example/{one}> .\n"
        for one in distributions
    )
    return f'<{name}> a dcat:Dataset ; dct:title "{name}" {listed} .\n{described}'


def one_document(fdp: FdpServer, *datasets: str) -> None:
    """Serve a catalog whose document describes its datasets and their distributions."""
    catalog = "".join(f"<> dcat:dataset <#{name}> .\n" for name in datasets)
    described = "".join(dataset(f"#{name}", "csv", "json") for name in datasets)
    serve(fdp, "/c", f"<> a dcat:Catalog .\n{catalog}{described}")


@pytest.mark.usefixtures("clean_site")
def test_datasets_of_one_document(fdp: FdpServer) -> None:
    """A dataset that comes is not the one that goes."""
    one_document(fdp, "a", "b", "c")
    harvest = add_source(f"{fdp.url}/c")
    assert harvest.run().stats["added"] == 3
    before = harvest.datasets()
    assert {len(one["resources"]) for one in before.values()} == {2}

    one_document(fdp, "a", "b", "d")
    job = harvest.run()
    assert (job.errors, job.stats["added"], job.stats["deleted"]) == ([], 1, 1)
    after = harvest.datasets()
    assert {url.partition("#")[2] for url in after} == {"a", "b", "d"}
    gone = {one["id"] for url, one in before.items() if url.endswith("#c")}
    assert gone.isdisjoint(one["id"] for one in after.values())

    one_document(fdp, "a", "b", "c")
    harvest.run()
    assert {one["id"] for one in harvest.datasets().values()} == {
        one["id"] for one in before.values()
    }
    assert {extras(one)["guid"] for one in harvest.datasets().values()} == {
        extras(one)["guid"] for one in before.values()
    }


@pytest.mark.parametrize(
    ("described", "subject"),
    [
        (["#this"], "#this"),
        (["/#it"], "/#it"),
        (["#catalog", "-of-another-server"], "#catalog"),
        (["#one", "#two"], None),
        (["", "#one"], ""),
    ],
)
def test_a_document_that_describes_a_fragment_of_its_url(
    described: list[str], subject: str | None
) -> None:
    turtle = PREFIXES + "".join(f"<{URL}{one}> a dcat:Catalog .\n" for one in described)
    graph = parse(turtle.encode(), "text/turtle", URL)
    if subject is None:
        with pytest.raises(DocumentError, match="it describes no dcat:Catalog"):
            outline_of_container(graph, URL, is_root=False)
    else:
        assert outline_of_container(graph, URL, is_root=False).subject == URL + subject


@pytest.mark.parametrize("described", [["#a", "#b"], ["#b"]])
def test_a_document_without_the_requested_fragment(described: list[str]) -> None:
    turtle = PREFIXES + "".join(f"<{URL}{one}> a dcat:Dataset .\n" for one in described)
    graph = parse(turtle.encode(), "text/turtle", URL)
    found = outline_of_dataset(graph, f"{URL}#b", final_url=URL)
    assert found.members[f"{URL}#b"].subject == f"{URL}#b"
    with pytest.raises(DocumentError, match="it describes"):
        outline_of_dataset(graph, f"{URL}#c", final_url=URL)
