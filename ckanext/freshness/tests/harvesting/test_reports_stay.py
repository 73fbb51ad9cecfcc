"""What a job has reported stays, whatever later jobs, editors and other sources do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.object_writer import ObjectWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, sysadmin
from ckanext.freshness.tests.harvesting.harvested_site import preview as make_preview
from ckanext.freshness.tests.harvesting.test_killed import PATIENCE, in_a_thread, written_by
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.faults import Hold, Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis", "one_attempt")


@dataclass
class Site:
    """A source, and what its page and the API have said of each of its jobs."""

    harvest: Harvest
    app: Any
    admin: dict[str, str]
    told: dict[str, tuple[str, Any, Any]] = field(default_factory=dict)

    def text(self, path: str, part: str = "main") -> str:
        """Return the text of a page of the source, or of a part of it."""
        page = self.app.get(f"/harvest/{path}", headers=self.admin).body
        found = BeautifulSoup(page, "html.parser").select_one(part)
        assert found is not None, path
        return " ".join(found.get_text(" ").split())

    def report(self, job_id: str) -> tuple[str, Any, Any]:
        """Return the page of a job, its numbers and its report by the API."""
        page = self.text(f"{self.harvest.source['name']}/job/{job_id}", "#freshness-job")
        shown = call_action("harvest_job_show", id=job_id)
        return page, shown["stats"], call_action("harvest_job_report", id=job_id)

    def run(self) -> str:
        """Run a job, and return its page."""
        job = self.harvest.run()
        self.told[job.id] = self.report(job.id)
        return self.told[job.id][0]

    def assert_told(self) -> None:
        """Check that each job is told of as at its end."""
        for job_id, told in self.told.items():
            assert self.report(job_id) == told


@pytest.fixture
def site(fdp: FdpServer, app: Any) -> Site:
    catalog = fdp.add_catalog()
    for number in range(4):
        fdp.add_dataset(catalog, title=f"Dataset {number}", distributions=number % 2)
    admin = {"Authorization": factories.SysadminWithToken()["token"]}
    return Site(add_source(fdp.source_url), app, admin)


def test_reports_of_all_kinds_of_jobs_stay(fdp: FdpServer, site: Site) -> None:
    page = site.run()
    assert "Finished 4 new" in page and "New 4" in page

    first, *_ = fdp.datasets
    fdp.change(first, title="Another title")
    file, *_ = fdp.records(Kind.DISTRIBUTION)
    fdp.faults[file.path] = Status(503)
    page = site.run()
    assert "1 changed 3 unchanged" in page and "Warnings 1" in page

    broken = fdp.datasets[2]
    fdp.faults = {broken.path: Status(500)}
    page = site.run()
    assert "With errors 3 unchanged 1 with an error" in page

    fdp.faults = {fdp.catalogs[0].path: Status(503)}
    page = site.run()
    assert "Failed" in page

    records = fdp.datasets
    for record in records:
        fdp.remove(record)
    fdp.faults = {}
    page = site.run()
    assert "Deletions on hold 4 on hold" in page
    hold = site.harvest.hold()

    fdp.faults = {"/": Status(503)}
    page = site.run()
    assert "Failed" in page and "hold" not in page
    site.assert_told()
    assert site.harvest.hold() == hold, "the failed job could not tell"
    make_preview(site.harvest)
    name = site.harvest.source["name"]
    assert "Deletion on hold" not in site.text(f"{name}/preview", "#freshness-preview")

    fdp.faults = {}
    call_action("freshness_harvest_release", {"user": sysadmin()}, id=name, list_id=hold["list_id"])
    page = site.run()
    assert "4 deleted" in page and "Another title" in page
    site.assert_told()

    context = {"user": sysadmin()}
    for one in hold["held"]:
        call_action("dataset_purge", context, id=one["package_id"])
    fdp.add_dataset(fdp.catalogs[0], path=records[0].path, title="Back")
    assert "1 new" in site.run()
    site.assert_told()


def test_an_aborted_job_imports_nothing_later(site: Site) -> None:
    job_id = site.harvest.start()
    site.harvest.gather()
    call_action("harvest_job_abort", {"user": sysadmin()}, id=job_id)
    site.told[job_id] = site.report(job_id)
    assert "The job was aborted" in site.told[job_id][0]
    site.harvest.fetch()
    site.assert_told()
    assert site.harvest.datasets() == {}
    assert "4 new" in site.run()
    site.assert_told()


def test_a_job_that_is_aborted_while_it_reads_the_source(
    fdp: FdpServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what its gather has written nor what it finds later counts: the next job finds it again."""
    site.run()
    first, gone, *_ = fdp.datasets
    fdp.change(first, title="Another title")
    fdp.remove(gone)
    for title in ("Fifth", "Sixth"):
        fdp.add_dataset(fdp.catalogs[0], title=title)
    monkeypatch.setattr(ObjectWriter, "BATCH", 1)
    fault = fdp.faults[first.path] = Hold()
    job_id = site.harvest.start()
    consumer = in_a_thread(site.harvest.gather)
    until(lambda: written_by(job_id) == 1)
    call_action("harvest_job_abort", {"user": sysadmin()}, id=job_id)
    site.told[job_id] = site.report(job_id)
    fault.release()
    consumer.join(PATIENCE)
    model.Session.remove()
    call_action("harvest_jobs_run")
    site.harvest.fetch_all()
    site.assert_told()
    assert written_by(job_id) == 0
    page = site.run()
    assert "2 new 1 changed 1 deleted" in page, page
    site.assert_told()
