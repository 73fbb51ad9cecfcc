"""The datasets of a real FAIR Data Point, mapped field by field."""

from __future__ import annotations

import json
from pathlib import Path

from rdflib import Graph, URIRef

from ckanext.freshness.harvesting.rdf.mapping import map_dataset
from ckanext.freshness.harvesting.record import Record

BASE = "https://fdp.example.org"
RECORDING = json.loads(
    (Path(__file__).parents[2] / "data" / "fdp_recording.json")
    .read_text(encoding="utf-8")
    .replace("{base}", BASE)
)

COHORT_A = f"{BASE}/dataset/5bf39611-e763-4e62-8e87-9ad25b1179ff"


def document(url: str) -> str:
    return str(RECORDING["responses"][url]["body"])


def merged(dataset: str) -> Graph:
    """Merge a dataset's document with those of its distributions, as the crawl does."""
    graph = Graph().parse(data=document(dataset), format="turtle")
    for distribution in RECORDING["distributions"]:
        if (None, None, URIRef(distribution)) in graph:
            graph.parse(data=document(distribution), format="turtle")
    return graph


def mapped(dataset: str) -> Record:
    return map_dataset(merged(dataset), URIRef(dataset))


def test_all_datasets_are_mapped_without_a_warning() -> None:
    records = [mapped(dataset) for dataset in RECORDING["datasets"]]
    assert len(records) == 14
    assert [record.warnings for record in records] == [[]] * 14
    assert len({record.digest() for record in records}) == 14


def test_what_the_server_changes_by_itself_changes_no_hash() -> None:
    text = document(COHORT_A)
    changed = (
        text.replace("2026-11-21T02:48:0", "2027-01-01T00:00:0")
        .replace("445c0a70d1e214e545b261559e2842f4", "00000000000000000000000000000000")
        .replace("2f08228e-1789-40f8-84cd-28e3288c3604", "99999999-1789-40f8-84cd-28e3288c3604")
    )
    assert changed != text
    before = map_dataset(Graph().parse(data=text, format="turtle"), URIRef(COHORT_A))
    after = map_dataset(Graph().parse(data=changed, format="turtle"), URIRef(COHORT_A))
    assert after.digest() == before.digest()
