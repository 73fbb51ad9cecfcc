"""Resources of unreadable distributions: messages, the resources that stay, and their ids."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.record import Refusal
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source, sysadmin
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site")


def a_day_passes() -> None:
    """Make everything that a job keeps about distributions a day older."""
    extra = harvest_model.HarvestObjectExtra
    for row in model.Session.query(extra).filter_by(key="memory"):
        remembered = json.loads(row.value)
        for uri, text in remembered["refusals"].items():
            refusal = Refusal.parse(text)
            since, first = (one - timedelta(hours=24) for one in (refusal.since, refusal.first))
            remembered["refusals"][uri] = str(Refusal(refusal.kind, since, first))
        row.value = json.dumps(remembered)
    model.Session.commit()


def child(dataset: Record, number: int) -> Record:
    found = dataset.listing(Kind.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


def ids(harvest: Harvest, fdp: FdpServer, dataset: Record) -> dict[str, str]:
    """Return the ids of a dataset's resources by name."""
    return {one["name"]: one["id"] for one in harvest.dataset(dataset, fdp)["resources"]}


def quiet(job: Job) -> bool:
    return job.errors == [] and not job.warnings


def test_a_resource_that_goes_and_comes_back(fdp: FdpServer, app: Any) -> None:
    dataset = fdp.add_dataset(fdp.add_catalog(), distributions=2)
    harvest = add_source(fdp.source_url)
    assert quiet(harvest.run())
    before = ids(harvest, fdp, dataset)
    failing, other = child(dataset, 0), child(dataset, 1)
    fdp.withdraw(failing)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert job.stats["not modified"] == 1
        ((url, (warning,)),) = job.warnings.items()
        assert url == fdp.iri_of(dataset)
        assert warning.startswith(
            f"distribution {fdp.url_of(failing)}: The server refuses access (403); its resource st"
        )
        assert ids(harvest, fdp, dataset) == before
    page = app.get(
        f"/harvest/{harvest.source['name']}/job/{job.id}",
        headers={"Authorization": factories.APIToken(user=sysadmin())["token"]},
    )
    assert "Warnings" in page.body
    assert f"distribution {fdp.url_of(failing)}: The server refuses access (403)" in page.body

    a_day_passes()
    job = harvest.run()
    assert (job.stats["updated"], len(job.warnings)) == (1, 1)
    assert ids(harvest, fdp, dataset) == {"File 2": before["File 2"]}
    fdp.add_distribution(dataset, title="More")  # CKAN forgets the removed one's row with this
    job = harvest.run()
    assert (quiet(job), job.drafts) == (True, 1)
    assert model.Resource.get(before["File 1"]) is None

    fdp.publish(failing)
    fdp.change(other, title="File 2, too")
    assert quiet(harvest.run())
    after = ids(harvest, fdp, dataset)
    assert after.pop("More") not in before.values()
    assert after == {"File 1": before["File 1"], "File 2, too": before["File 2"]}
    assert harvest.run().stats["not modified"] == 1
