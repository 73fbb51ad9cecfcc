"""``data.json`` of DCAT-US, which is read as a catalogue in RDF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckanext.freshness.harvesting.rdf import triples
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Job, unchanged
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

CONTEXTS = (
    None,
    "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld",
    "https://raw.githubusercontent.com/DOI-DO/dcat-us/main/context/dcat-us-3.0.jsonld",
)


def dataset(number: int) -> dict[str, Any]:
    return {
        "@type": "dcat:Dataset",
        "identifier": f"https://data.example.gov/id/{number}",
        "title": f"Dataset {number}",
        "description": "About roads",
        "keyword": ["roads", "maps"],
        "modified": "2026-01-02",
        "accrualPeriodicity": "R/P1Y",
        "accessLevel": "public",
        "bureauCode": ["010:86"],
        "landingPage": f"https://data.example.gov/{number}",
        "publisher": {"@type": "org:Organization", "name": "Department of Roads"},
        "contactPoint": {
            "@type": "vcard:Contact",
            "fn": "Ann",
            "hasEmail": "mailto:ann@example.gov",
        },
        "distribution": [
            {
                "@type": "dcat:Distribution",
                "title": "CSV",
                "downloadURL": f"https://data.example.gov/{number}.csv",
                "mediaType": "text/csv",
            },
            {
                "title": "API",
                "accessURL": f"https://data.example.gov/api/{number}",
                "format": "API",
            },
        ],
    }


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_data_json_is_harvested(context: str | None) -> None:
    found: dict[str, Any] = {"dataset": [dataset(number) for number in range(5)]}
    if context is not None:
        found["@context"] = context

    def publish() -> None:
        body = json.dumps(found).encode()
        server.files["/data.json"] = Answer(200, body, {"Content-Type": "application/json"})

    with FileServer() as server:
        publish()
        site = CatalogueSite(None, url=f"{server.url}/data.json")
        job = site.job()
        assert job.errors == [] and len(job.of(RecordClass.NEW)) == 5
        package = site.packages["https://data.example.gov/id/3"]
        fields = package.content["fields"]
        assert package.resources == ["API", "CSV"] and package.content["tags"] == ["maps", "roads"]
        assert fields["title"] == "Dataset 3" and fields["url"] == "https://data.example.gov/3"
        assert fields["frequency"] == "R/P1Y" and fields["modified"] == "2026-01-02"
        assert fields["publisher_name"] == "Department of Roads"
        assert fields["contact_email"] == "ann@example.gov"
        unchanged(site)

        found["dataset"][1]["title"] = "Another title"
        del found["dataset"][4]
        publish()
        job = site.job()
        assert job.errors == []
        assert job.of(RecordClass.CHANGED) == {"https://data.example.gov/id/1"}
        job = site.job(NOW + DAY)
        assert job.of(RecordClass.DELETED) == {"https://data.example.gov/id/4"}


def crawl(*found: dict[str, Any]) -> tuple[CatalogueSite, Job]:
    """Harvest some versions of a data.json, and return the last job."""
    with FileServer() as server:
        site = CatalogueSite(None, url=f"{server.url}/data.json")
        for day, one in enumerate(found):
            body = json.dumps(one).encode()
            server.files["/data.json"] = Answer(200, body, {"Content-Type": "application/json"})
            job = site.job(NOW + day * DAY)
        return site, job


def test_names_of_fields_that_a_template_did_not_fill_are_no_values() -> None:
    """As ArcGIS Hub writes them. Braces within a text belong to it."""
    unfilled = {
        **{"title": "Roads {{draft}}", "spatial": "{{extent:computeSpatialProperty}}"},
        **{"license": " {{license}} ", "publisher": {"name": "{{orgName}}"}},
        **{"modified": "{{modified:toISO}}", "keyword": ["{{tags}}", "roads"]},
        **{"landingPage": "{{url}}", "distribution": [{"title": "A", "accessURL": "{{url}}"}]},
    }
    site, job = crawl({"dataset": [{"identifier": "id-1", **unfilled}]})
    content = site.packages["id-1"].content
    assert job.errors == [] and content["tags"] == ["roads"]
    assert content["fields"].pop("title") == "Roads {{draft}}" and "{{" not in str(content)


@pytest.mark.parametrize(
    "odd",
    [
        '"title": ' + "9" * 5000,
        '"modified": -' + "9" * 5000,
        '"distribution": [{"downloadURL": "https://example.org/1", "byteSize": 1e999}]',
        '"spatial": -1e999, "temporal": NaN',
        '"@context": "http://[bad/x"',
        '"landingPage": "http://[bad/x", "license": "//[", "publisher": {"@id": "http://[bad/x"}',
        '"distribution": [{"downloadURL": "http://[bad/x", "accessURL": "http://a:x/"}]',
        r'"title": "\u0000", "keyword": ["\ud800", "\u0000", "\uffff"]',
        # Keys of JSON-LD with values that they may not have
        *('"@id": 5', '"@id": ["x"]', '"@type": 5', '"@type": [null]', '"@context": {"title": 5}'),
        '"theme": {"@list": "x"}, "spatial": {"@value": {}}, "keyword": {"@index": 5}, "@reverse": 1',
        '"description": {"@value": "Odd", "@language": "e n", "@type": "x y"}, "@nest": [{"@graph": 2}]',
    ],
)
def test_an_odd_value_costs_no_dataset(odd: str) -> None:
    entry = f'{{"identifier": "https://example.org/odd", "title": "Odd", {odd}}}'
    with FileServer() as server:
        body = f'{{"dataset": [{json.dumps(dataset(1))}, {entry}]}}'.encode()
        server.files["/data.json"] = Answer(200, body, {"Content-Type": "application/json"})
        job = CatalogueSite(None, url=f"{server.url}/data.json").job()
    assert (job.errors, len(job.of(RecordClass.NEW))) == ([], 2)


@pytest.mark.parametrize("entry", [None, "x", [], {}])
def test_an_entry_that_says_nothing_may_be_the_missing_dataset(entry: Any) -> None:
    found = [dataset(number) for number in range(5)]
    site, job = crawl({"dataset": found}, {"dataset": [*found[1:], entry]})
    assert len(site.packages) == 5 and "without a URL" in job.errors[0]


def test_distributions_keep_the_order_of_their_list() -> None:
    """By number, whatever their names. If only the order changes, nothing else does."""
    titles = ["Web page", *(f"Layer {number}" for number in range(12, 0, -1)), "API", "CSV"]
    described: list[dict[str, Any]] = [
        {"title": title, "accessURL": f"https://data.example.gov/{title}"} for title in titles
    ]
    described[3]["@id"] = "https://data.example.gov/z"
    described[4]["position"] = 0  # a key of the publisher's own
    ordered = {**dataset(1), "distribution": described}
    turned = {**ordered, "distribution": described[::-1]}

    def crawled(*versions: dict[str, Any]) -> tuple[Job, dict[str, Any]]:
        site, job = crawl(*({"dataset": [dataset(0), one]} for one in versions))
        assert job.errors == []
        return job, site.packages["https://data.example.gov/id/1"].content

    _, before = crawled(ordered)
    assert [one["name"] for one in before["resources"]] == titles
    job, _ = crawled(ordered, ordered)
    assert len(job.of(RecordClass.UNCHANGED)) == 2
    job, after = crawled(ordered, turned)
    assert job.of(RecordClass.CHANGED) == {"https://data.example.gov/id/1"}
    assert after == {**before, "resources": before["resources"][::-1]}


def test_a_data_json_that_is_read_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"title": "All", "dataset": [dataset(number) for number in range(5)]})
    with FileServer() as server:
        server.files["/data.json"] = Answer(200, body.encode())
        site = CatalogueSite(None, url=f"{server.url}/data.json")
        assert len(site.job().of(RecordClass.NEW)) == 5
        monkeypatch.setattr(triples, "_PART", 2)
        server.files["/data.json"] = Answer(200, f"{body} ".encode())
        job = site.job()
        assert job.errors == [] and len(job.of(RecordClass.UNCHANGED)) == 5


BEFORE = {"title": "Roads", "@id": "https://a.example/d/7", "identifier": "x"}
WITHOUT_IRI = {"title": "Roads", "identifier": "x"}


@pytest.mark.parametrize(
    ("after", "new"),
    [
        ([{**BEFORE, "@id": "https://b.example/d/7", "identifier": "y"}], 0),
        ([{**BEFORE, "@id": "https://b.example/e/9"}], 0),
        ([WITHOUT_IRI], 0),
        # Another dataset, for all that is known
        ([{**BEFORE, "@id": "https://b.example/d/7", "title": "Rivers"}], 1),
        ([{**BEFORE, "@id": "https://a.example/d/8", "identifier": "y"}], 1),
        ([{**BEFORE, "@id": f"https://{host}.example/d/7"} for host in "bc"], 2),
        ([BEFORE, {**BEFORE, "@id": "https://b.example/d/7"}], 1),
    ],
    ids=["host", "path", "no IRI", "title", "path and identifier", "two of them", "still there"],
)
def test_a_dataset_with_another_iri_is_the_same_by_title_and_path_or_identifier(
    after: list[dict[str, Any]], new: int
) -> None:
    others = [dataset(number) for number in range(9)]
    before, _ = crawl({"dataset": [*others, BEFORE]})
    site, job = crawl({"dataset": [*others, BEFORE]}, {"dataset": [*others, *after]})
    assert job.errors == [] and len(job.of(RecordClass.NEW)) == new
    assert {one.id for one in before.packages.values()} <= {
        one.id for one in site.packages.values()
    }
    assert len(site.packages) == 10 + new
