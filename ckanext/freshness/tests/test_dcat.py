"""What ckanext-dcat writes about a dataset's updates: as DCAT, for search engines and as Croissant."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
from ckan.tests import factories
from rdflib import DCAT, Graph, Literal, URIRef
from rdflib.namespace import DCTERMS, RDF, XSD

from ckanext.dcat.processors import RDFSerializer
from ckanext.freshness import dcat
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import queue

EU = "http://publications.europa.eu/resource/authority/frequency/"


@pytest.fixture
def with_dcat(with_plugins: Any, ckan_config: Any) -> Iterator[None]:
    """ckanext-dcat enabled beside us, with all its ways to write a dataset."""
    before = {option: ckan_config.get(option) for option, _ in dcat.PROFILES.values()}
    p.load(*dcat.PROFILES)
    yield
    p.unload(*dcat.PROFILES)
    ckan_config.update(before)


FREQUENCIES = {
    "7": URIRef(f"{EU}WEEKLY"),
    "monthly": URIRef(f"{EU}MONTHLY"),
    "1": URIRef(f"{EU}DAILY"),
    "0": URIRef(f"{EU}UPDATE_CONT"),
    "-1": URIRef(f"{EU}NEVER"),
    "-2": URIRef(f"{EU}IRREG"),
    # The authority's own code is more exact than a number of days.
    "HOURLY": URIRef(f"{EU}HOURLY"),
    # In an IRI of another vocabulary the publisher has said it.
    "http://purl.org/cld/freq/weekly": URIRef("http://purl.org/cld/freq/weekly"),
    # The authority has no word for it, and we none for what is not understood.
    "300": Literal("300"),
    "now and then": Literal("now and then"),
}


def test_how_often_and_when_the_data_are_modified(
    with_dcat: None, clean_db: Any, clean_index: Any
) -> None:
    for written, expected in FREQUENCIES.items():
        dataset = make(written)
        assert statement(dataset, DCTERMS.accrualPeriodicity) == expected
    assert statement(dataset, DCTERMS.modified) is None, "a confirmation is no change"
    link = {"url": "http://data.example/file.csv", "created": "2025-12-31T10:20:30"}
    assert statement(make("7", resources=[link]), DCTERMS.modified) is None, "it was added then"
    link |= {"last_modified": "2025-12-30T10:20:30"}
    modified = statement(make("7", resources=[link]), DCTERMS.modified)
    assert modified.toPython() == datetime(2025, 12, 30, 10, 20, 30, tzinfo=timezone.utc)


PERIODS = {
    "2026-08-31": Literal("2026-08-31", datatype=XSD.date),
    "2026-W35": Literal("2026-08-30", datatype=XSD.date),
    "2026-08": Literal("2026-08", datatype=XSD.gYearMonth),
    "2026-Q3": Literal("2026-09-30", datatype=XSD.date),
    "2026": Literal("2026", datatype=XSD.gYear),
}


def test_up_to_when_the_data_reach(with_dcat: None, clean_db: Any, clean_index: Any) -> None:
    dataset = make("7")
    for written, expected in PERIODS.items():
        extras = [*dataset["extras"], {"key": "freshness_data_until", "value": written}]
        assert ends({**dataset, "extras": extras}) == [expected]
        stated = {"key": "temporal_end", "value": "2020-01-01"}
        assert [str(end) for end in ends({**dataset, "extras": [*extras, stated]})] == [
            "2020-01-01"
        ]


SCHEMA_ORG = [("structured_data", "http://schema.org/"), ("croissant", "https://schema.org/")]


@pytest.mark.parametrize(("helper", "schema"), SCHEMA_ORG)
def test_search_engines_and_croissant_get_status_last_change_and_next_update(
    helper: str, schema: str, with_dcat: None, clean_db: Any, clean_index: Any
) -> None:
    def written(dataset: dict[str, Any]) -> dict[str, list[str]]:
        graph = Graph().parse(data=getattr(tk.h, helper)(dataset), format="json-ld")
        (node,) = graph.subjects(RDF.type, URIRef(f"{schema}Dataset"))
        assert graph.value(node, DCTERMS.modified) is None
        paths: dict[str, Any] = {
            "modified": URIRef(f"{schema}dateModified"),
            "status": URIRef(f"{schema}creativeWorkStatus"),
            "next": URIRef(f"{schema}potentialAction") / URIRef(f"{schema}startTime"),
            "covers": URIRef(f"{schema}temporalCoverage"),
        }
        return {name: [str(one) for one in graph.objects(node, paths[name])] for name in paths}

    link = {"url": "http://data.example/file.csv", "last_modified": "2025-12-30T10:20:30"}
    dataset = make("7", resources=[link])
    assert written(dataset) == {
        "modified": ["2025-12-30T10:20:30Z"],
        "status": ["delinquent"],
        # A week after the confirmation.
        "next": ["2026-02-07T10:20:30Z"],
        "covers": [],
    }
    until = {"key": "freshness_data_until", "value": "2026-08"}
    extras = [*dataset["extras"], until]
    assert written({**dataset, "extras": extras})["covers"] == ["../2026-08"]
    extras.append({"key": "temporal_start", "value": "2020-01-01"})
    (stated,) = written({**dataset, "extras": extras})["covers"]
    assert stated.startswith("2020-01-01")
    assert written({**dataset, "id_given": "http://data.example/1"})["next"]
    own = factories.Dataset(extras=[{"key": "freshness", "value": "ripe"}])
    assert written(own)["status"] == []
    assert len(written(own)["modified"]) == 1
    # Nobody has said how often it is updated, and the edit of the metadata is no change of the data.
    unknown = factories.Dataset()
    assert written(unknown) == {
        "modified": [],
        "status": ["unavailable"],
        "next": [],
        "covers": [],
    }


def ends(dataset: dict[str, Any]) -> list[Any]:
    """The ends of the periods that the RDF of a dataset states by DCAT."""
    serializer = RDFSerializer(profiles=["euro_dcat_ap_3", "freshness"])
    about = serializer.graph_from_dataset(dataset)
    periods = serializer.g.objects(about, DCTERMS.temporal)
    return [end for period in periods for end in serializer.g.objects(period, DCAT.endDate)]


def make(frequency: str, **more: Any) -> dict[str, Any]:
    """A dataset whose data were confirmed in January."""
    extras = {"frequency": frequency, "review_date": "2026-01-31T10:20:30Z"}
    result: dict[str, Any] = factories.Dataset(
        extras=[{"key": key, "value": value} for key, value in extras.items()], **more
    )
    return result


def statement(dataset: dict[str, Any], predicate: URIRef) -> Any:
    """What the RDF of a dataset says; it says one thing at most."""
    text = tk.get_action("dcat_dataset_show")(
        {"ignore_auth": True}, {"id": dataset["id"], "format": "ttl"}
    )
    graph = Graph().parse(data=text, format="turtle")
    (about,) = graph.subjects(RDF.type, DCAT.Dataset)
    return graph.value(about, predicate, any=False)


@pytest.mark.parametrize(
    ("plugin", "configured", "expected"),
    [
        ("dcat", None, "euro_dcat_ap_3 freshness"),
        ("dcat", "", "euro_dcat_ap_3 freshness"),
        ("dcat", "euro_dcat_ap_2 my_profile", "euro_dcat_ap_2 my_profile freshness"),
        ("dcat", "freshness my_profile", "freshness my_profile"),
        ("structured_data", ["schemaorg"], ["schemaorg", "freshness"]),
        ("structured_data", "my_profile", ["my_profile", "freshness"]),
        ("croissant", None, ["croissant", "freshness"]),
    ],
)
def test_the_profile_comes_last(plugin: str, configured: Any, expected: Any) -> None:
    _, default = dcat.PROFILES[plugin]
    assert dcat.with_profile(configured, default) == expected


def test_a_harvested_dataset_without_dates(
    with_dcat: None, clean_db: Any, clean_index: Any
) -> None:
    queue.purge_queues()
    with FdpServer() as fdp:
        record = fdp.add_dataset(fdp.add_catalog())
        harvest = add_source(fdp.source_url)
        assert harvest.run().errors == []
        found = harvest.dataset(record, fdp)
        assert statement(found, DCTERMS.modified) is None, "the day of the harvest is no change"
        fdp.change(record, modified=datetime(2019, 1, 1, tzinfo=timezone.utc))
        harvest.run()
        modified = statement(found, DCTERMS.modified)
        assert modified.toPython() == datetime(2019, 1, 1, tzinfo=timezone.utc)
