"""Properties without a field of their own, as the preview and the job's report list them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.cli.sources import preview_lines
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, State
from ckanext.freshness.tests.servers.replay import FDP_RICH, ReplayServer

pytestmark = pytest.mark.usefixtures("clean_site")

UNMAPPED = {
    "dcat:distribution/dct:license/dct:type": "http://purl.org/adms/licencetype/Attribution",
    "dct:accessRights/rdfs:label": "Vraag het loket",
    "dct:available": "2018-02-03T04:05:06",
    "dct:references": "https://example.org/ref/8",
    "dct:requires": "https://example.org/req/8",
    "dct:valid": "2030-01-01",
}


@pytest.fixture
def rich() -> Iterator[ReplayServer]:
    with ReplayServer(FDP_RICH) as server:
        yield server


def test_what_of_a_source_has_no_field_is_told_by_preview_and_job(
    rich: ReplayServer, app: Any
) -> None:
    harvest = add_source(rich.url)
    expected = [
        {"name": name, "records": 1, "example": example} for name, example in UNMAPPED.items()
    ]
    before = harvest.preview()
    assert before.as_dict()["unmapped"] == expected
    assert 'No field for dct:valid: 1 record, for example "2030-01-01"' in preview_lines(before)

    first = harvest.run()
    report = call_action("harvest_job_report", id=first.id)
    assert report["unmapped"] == expected
    told = [
        message
        for one in harvest.objects(first).values()
        for message in json.loads(one.extras.get("warnings", "[]"))
    ]
    assert 'tags: "a/b" becomes "a b"' in told
    assert 'spatial_resolution_in_meters: "0.5" is kept; left out: "25.0"' in told
    assert any(one.startswith("license: the record names 3: ") for one in told)

    # Unchanged records are not parsed again, but still reported.
    second = harvest.run()
    assert second.stats["added"] == second.stats["updated"] == 0
    assert call_action("harvest_job_report", id=second.id)["unmapped"] == expected
    assert harvest.preview().as_dict()["unmapped"] == expected

    admin = {"Authorization": factories.SysadminWithToken()["token"]}
    page = app.get(f"/harvest/{harvest.source['name']}/job/{first.id}", headers=admin).body
    assert "dct:valid" in page


def test_drafts_and_what_becomes_no_dataset_are_told(fdp: FdpServer, app: Any) -> None:
    catalog = fdp.add_catalog()
    fdp.add_dataset(catalog, distributions=2)
    for number in range(2):
        fdp.withdraw(fdp.add_dataset(catalog, title=f"Draft {number}", distributions=0))
    file, _ = fdp.records(Kind.DISTRIBUTION)
    fdp.withdraw(file)
    drafts = sorted(fdp.url_of(one) for one in fdp.datasets if one.state is not State.PUBLISHED)
    biobank = fdp.add_biobank(catalog)
    harvest = add_source(fdp.source_url)
    first = harvest.run()
    assert (first.errors, first.stats["added"], first.drafts) == ([], 1, 3)
    report = call_action("harvest_job_report", id=first.id)
    assert report["not_harvested"] == [
        {
            "kind": "Biobank",
            "count": 1,
            "examples": [fdp.url_of(biobank)],
        },
        {"kind": "draft", "count": 2, "examples": drafts},
    ]
    admin = {"Authorization": factories.SysadminWithToken()["token"]}
    page = app.get(f"/harvest/{harvest.source['name']}/job/{first.id}", headers=admin).body
    assert "The source lists 3 datasets or files that nobody can read yet." in page
    assert "Biobank" in page
    second = harvest.run()
    assert (second.stats["not modified"], second.drafts) == (1, 3)
