"""Services, samples and analytics with documents of their own: read, and never lost by an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, extras
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")

FILE = "Everything as CSV"


def services(harvest: Harvest) -> list[dict[str, Any]]:
    """Return the access services of the only resource that names such a document."""
    (found,) = [
        resource["access_services"]
        for dataset in harvest.datasets().values()
        for resource in dataset["resources"]
        if resource["name"] == FILE
    ]
    read: list[dict[str, Any]] = json.loads(found)
    return read


TURTLE = {"Content-Type": "text/turtle"}
SAMPLE = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<> a dcat:Distribution ; dct:title "%s" ; dcat:downloadURL <https://files.example/sample.csv> .
"""


def test_samples_and_analytics_with_documents_of_their_own(
    fdp: FdpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
    fdp.files["/sample/1"] = Answer(200, (SAMPLE % "A sample").encode(), TURTLE)
    fdp.files["/analytics/1"] = Answer(200, (SAMPLE % "Analytics").encode(), TURTLE)
    fdp.files["/sample.csv"] = Answer(200, b"a,b\n1,2\n", {"Content-Type": "text/csv"})
    sample, csv, gone = (f"{fdp.url}/{path}" for path in ("sample/1", "sample.csv", "gone"))
    elsewhere = "https://files.example/sample.csv"
    dataset = fdp.add_dataset(
        fdp.add_catalog(),
        sample=[sample, csv, gone, elsewhere],
        analytics=f"{fdp.url}/analytics/1",
    )
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.errors == []
    (warnings,) = job.warnings.values()
    assert warnings == [f"distribution {gone}: it answers 404; only its URL is kept"]
    told = extras(harvest.dataset(dataset, fdp))
    assert json.loads(told["sample"]) == sorted([sample, csv, gone, elsewhere])
    assert json.loads(told["sample_distributions"]) == [
        {"uri": sample, "name": "A sample", "download_url": elsewhere}
    ]
    (analytics,) = json.loads(told["analytics_distributions"])
    assert analytics["name"] == "Analytics"
    assert fdp.count("/sample.csv") == 1

    assert harvest.run().stats["not modified"] == 1
    assert fdp.count("/sample.csv") == 1, "a file is not requested again"
    fdp.faults["/sample/1"] = Status(503)
    assert harvest.run().stats["not modified"] == 1
    del fdp.faults["/sample/1"]
    fdp.files["/sample/1"] = Answer(200, (SAMPLE % "Another sample").encode(), TURTLE)
    assert harvest.run().stats["updated"] == 1
    told = extras(harvest.dataset(dataset, fdp))
    (read,) = json.loads(told["sample_distributions"])
    assert read["name"] == "Another sample"


def test_a_sample_does_not_describe_its_dataset(fdp: FdpServer) -> None:
    """Its document may have a title of the dataset, perhaps a former one."""
    sample = f"{fdp.url}/sample/1"
    dataset = fdp.add_dataset(fdp.add_catalog(), sample=sample)
    harvest = add_source(fdp.source_url)
    url = fdp.url_of(dataset)
    parent = (
        f'<> dct:isPartOf <{url}> . <{url}> dct:title "A former title" ; dct:issued "2001-01-01" .'
    )
    fdp.files["/sample/1"] = Answer(200, (SAMPLE % "A sample" + parent).encode(), TURTLE)
    assert harvest.run().errors == []
    read = harvest.dataset(dataset, fdp)
    assert read["title"] != "A former title" and "issued" not in extras(read)
