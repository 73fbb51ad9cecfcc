"""What becomes no dataset, as the preview and the job's report list it."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, State

pytestmark = pytest.mark.usefixtures("clean_site")


def test_drafts_and_what_becomes_no_dataset_are_told(fdp: FdpServer, app: Any) -> None:
    catalog = fdp.add_catalog()
    fdp.add_dataset(catalog, distributions=2)
    for number in range(2):
        fdp.withdraw(fdp.add_dataset(catalog, title=f"Draft {number}", distributions=0))
    file, _ = fdp.records(Kind.DISTRIBUTION)
    fdp.withdraw(file)
    drafts = [one for one in (*fdp.datasets, file) if one.state is not State.PUBLISHED]
    biobank = fdp.add_biobank(catalog)
    harvest = add_source(fdp.source_url)
    first = harvest.run()
    assert (first.errors, first.stats["added"], first.drafts) == ([], 1, 3)
    report = call_action("harvest_job_report", id=first.id)
    assert report["not_harvested"] == [
        {"kind": "Biobank", "count": 1, "examples": [fdp.url_of(biobank)]},
        {"kind": "draft", "count": 3, "examples": sorted(map(fdp.url_of, drafts))},
    ]
    admin = {"Authorization": factories.SysadminWithToken()["token"]}
    page = app.get(f"/harvest/{harvest.source['name']}/job/{first.id}", headers=admin).body
    assert "Drafts, which nobody can read yet" in page and "Biobank" in page
    second = harvest.run()
    assert (second.stats["not modified"], second.drafts) == (1, 3)
