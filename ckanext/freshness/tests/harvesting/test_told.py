"""What jobs, previews and their pages tell, and that it stays, whatever comes later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import locked
from ckanext.freshness.harvesting.holds import source_lock
from ckanext.freshness.harvesting.job_report import nothing_found
from ckanext.freshness.harvesting.object_writer import ObjectWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source, sysadmin
from ckanext.freshness.tests.harvesting.harvested_site import preview as make_preview
from ckanext.freshness.tests.harvesting.test_killed import PATIENCE, in_a_thread, written_by
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Hold, Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, State

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis", "one_attempt")


@pytest.fixture
def read(app: Any) -> Callable[[str], str]:
    """Read the text of a page as a sysadmin."""
    admin = {"Authorization": factories.SysadminWithToken()["token"]}

    def get(url: str) -> str:
        page = app.get(url, headers=admin).body
        return " ".join(BeautifulSoup(page, "html.parser").get_text(" ").split())

    return get


def page_of(job_id: str, harvest: Harvest) -> str:
    return f"/harvest/{harvest.source['name']}/job/{job_id}"


def warnings(job: Job) -> list[str]:
    report = call_action("harvest_job_report", id=job.id)
    return [warning["message"] for warning in report["source_warnings"]]


# Sources from which nothing can be harvested


def an_empty_catalog(fdp: FdpServer) -> None:
    fdp.add_catalog()


def a_dataset_without_url(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    text = f"<{fdp.iri_of(catalog)}> a dcat:Catalog ; dcat:dataset [ a dcat:Dataset ] ."
    prefix = "@prefix dcat: <http://www.w3.org/ns/dcat#> ."
    fdp.files[catalog.path] = Answer.text(f"{prefix} {text}", "text/turtle")


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (a_dataset_without_url, "1 x catalog, 1 x dcat:Dataset without a URL"),
        (an_empty_catalog, "1 x catalog"),
    ],
)
def test_a_new_source_without_anything(
    fdp: FdpServer, happens: Callable[[FdpServer], None], words: str
) -> None:
    happens(fdp)
    harvest = add_source(fdp.source_url)
    (error,) = harvest.run().errors
    assert error.startswith("The source lists no dataset that can be harvested. ")
    assert error.endswith(words)

    # This is no fault any more when the source has been harvested.
    fdp.files.clear()
    fdp.add_dataset(fdp.catalogs[0])
    assert harvest.run().errors == []
    assert nothing_found(harvest.preview().survey) is None


# Records that another source has harvested


@pytest.fixture
def twice(fdp: FdpServer) -> tuple[Harvest, Harvest]:
    """A harvested source, and a second one whose catalog has two of its three datasets."""
    first, second = fdp.add_catalog(), fdp.add_catalog()
    fdp.add_dataset(first)
    for _ in range(2):
        fdp.add_dataset(second)
    one = add_source(fdp.source_url)
    one.run()
    fdp.add_dataset(second)
    return one, add_source(fdp.url_of(second))


def test_records_that_are_here_already(
    fdp: FdpServer, twice: tuple[Harvest, Harvest], read: Callable[[str], str], cli: Any
) -> None:
    one, other = twice
    said = other.preview().as_dict()
    make_preview(other)
    result = cli.invoke(ckan, ["freshness", "preview", other.source["name"]])
    first, second = other.run(), other.run()
    for (words,) in (warnings(first), [each["message"] for each in said["source_warnings"]]):
        assert words.startswith(
            "2 new datasets are already on this portal, from the source “A source”"
        )
        assert f": the other source is {one.source['name']}, an example is " in words
    assert warnings(first)[0] in result.output
    for page in (page_of(first.id, other), f"/harvest/{other.source['name']}/preview"):
        assert "2 new datasets are already on this portal, from the source “A source”" in read(page)
    assert warnings(second) == []
    assert first.errors == []
    assert first.stats["added"] == 3


# Records that would be deleted


SENTENCES = {
    "Answers": ("present", "its web address still answers"),
    "Fails": ("failed", "Its web address gives no usable answer at the moment"),
    "Gone": ("gone", "The source says that it is gone"),
}


def test_each_deletion_says_whether_its_url_still_answers(
    fdp: FdpServer, read: Callable[[str], str], cli: Any
) -> None:
    """In previews, and in the held list: 3 of 4 datasets would be deleted."""
    catalog = fdp.add_catalog()
    for title in (*SENTENCES, "Stays"):
        fdp.add_dataset(catalog, title=title, distributions=0)
    harvest = add_source(fdp.source_url)
    harvest.run()
    answers, fails, gone, _ = fdp.datasets
    for record in (answers, fails):
        fdp.unlist(record, catalog)
    fdp.faults[fails.path] = Status(500)
    fdp.remove(gone)

    said = {entry.title: entry.own_url for entry in harvest.preview().held}
    make_preview(harvest)
    harvest.run()
    hold = harvest.hold()
    held = {one["title"]: one["own_url"] for one in hold["held"]}
    assert said == held == {title: answer for title, (answer, _) in SENTENCES.items()}
    for page in ("preview", "held", f"held/delete?list_id={hold['list_id']}"):
        text = read(f"/harvest/{harvest.source['name']}/{page}")
        assert all(sentence in text for _, sentence in SENTENCES.values()), page
    for command in ("preview", "release"):
        output = cli.invoke(ckan, ["freshness", command, harvest.source["name"]], input="n").output
        lines = {line.strip().partition(" (")[0]: line for line in output.splitlines()}
        assert all(sentence in lines[title] for title, (_, sentence) in SENTENCES.items()), command


# Jobs that go on


def test_a_job_says_what_it_waits_for(fdp: FdpServer, read: Callable[[str], str]) -> None:
    fdp.add_dataset(fdp.add_catalog(), distributions=0)
    harvest = add_source(fdp.source_url)
    job_id = harvest.start()
    page = page_of(job_id, harvest)
    idle = "Ask the operator of this portal to call"
    model.Session.execute(
        sa.text("UPDATE harvest_job SET gather_started = now() AT TIME ZONE 'utc'")
    )
    model.Session.commit()
    with locked(source_lock(harvest.source["id"])):
        text = read(page)
    assert "The source is being read" in text and idle not in text

    harvest.gather()
    age = "UPDATE {} SET {column} = {column} - interval '21 minutes'"
    for table, column in (("harvest_job", "gather_finished"), ("harvest_object", "gathered")):
        model.Session.execute(sa.text(age.format(table, column=column)))
    model.Session.commit()
    text = read(page)
    assert "1 record is still to be imported" in text and idle in text


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


# Reports of jobs that are over


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
    assert "No dataset was changed. The next job tries again." in page
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
