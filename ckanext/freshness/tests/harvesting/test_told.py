"""What jobs, previews and their pages tell."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import locked
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.dates import utc, utc_now
from ckanext.freshness.harvesting.job_report import nothing_found
from ckanext.freshness.reporting import harvests
from ckanext.freshness.tests.harvesting.conftest import TITLES, Harvest, Job, add_source
from ckanext.freshness.tests.harvesting.harvested_site import preview as make_preview
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, State
from ckanext.harvest.model import HarvestJob, HarvestObject

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
        (a_dataset_without_url, "1 x catalog, 1 x dcat:Dataset without URL"),
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


def test_the_first_errors_are_in_their_order(
    stumbling: StumblingPlugin, fdp: FdpServer, harvest: Harvest
) -> None:
    """However PostgreSQL joins the packages, here by their ids."""
    harvest.run()
    for record in fdp.datasets:
        fdp.change(record, description="Edited")
    stumbling.writes.update(TITLES)
    assert harvest.run().stats["errored"] == 3
    model.Session.execute(
        sa.text(
            "UPDATE harvest_object_error e SET created = now() - n * interval '1 second' FROM ("
            " SELECT o.id, row_number() OVER (ORDER BY o.package_id) AS n"
            " FROM harvest_object o) o WHERE o.id = e.harvest_object_id"
        )
    )
    titles = sa.text("SELECT title FROM package WHERE type = 'dataset' ORDER BY id DESC")
    expected = list(model.Session.execute(titles).scalars())
    model.Session.execute(
        sa.text("SET LOCAL enable_nestloop = off; SET LOCAL enable_hashjoin = off")
    )
    (job,) = harvests.jobs([harvest.source["id"]], 1, errors=3)
    assert [row["title"] for row in job.record_errors] == expected
    model.Session.rollback()


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


def test_urls_that_are_spelled_otherwise(twice: tuple[Harvest, Harvest]) -> None:
    respell = "UPDATE harvest_object_extra SET value = {} WHERE key IN ('dataset_url', 'subject')"
    value = "replace(value, 'http://', 'HTTPS://') || '/'"
    model.Session.execute(sa.text(respell.format(value)))
    ids = model.Session.execute(sa.text("SELECT id FROM package WHERE type = 'dataset'")).scalars()
    write_extras({package_id: {} for package_id in ids}, ["uri"])
    model.Session.commit()
    (warning,) = twice[1].preview().as_dict()["source_warnings"]
    assert warning["message_code"]["values"]["count"] == 2


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


def test_a_job_says_what_it_waits_for(
    fdp: FdpServer, read: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fdp.add_catalog()
    for _ in range(3):
        fdp.add_dataset(catalog, distributions=0)
    harvest = add_source(fdp.source_url)
    job_id = harvest.start()
    pages = (page_of(job_id, harvest), f"/harvest/admin/{harvest.source['name']}")
    idle = "Ask the operator of this portal to call"

    def told(words: str, *, after: timedelta) -> None:
        columns = ["gather_started", "gather_finished"]
        steps = ("fetch_started", "fetch_finished", "import_started", "import_finished")
        objects = ["gathered", *steps]
        for table, names in (("harvest_job", columns), ("harvest_object", objects)):
            sets = ", ".join(f"{name} = {name} - CAST(:age AS interval)" for name in names)
            model.Session.execute(sa.text(f"UPDATE {table} SET {sets}"), {"age": after})
        model.Session.commit()
        for page in pages:
            assert words in read(page)

    now = {"id": job_id}
    began = "UPDATE harvest_job SET gather_started = now() AT TIME ZONE 'utc' WHERE id = :id"
    model.Session.execute(sa.text(began), now)
    with locked(f"gather {job_id}"):
        told("The source is being read", after=timedelta(minutes=1))
        assert idle not in read(pages[0])
    told(idle, after=timedelta())

    harvest.gather()
    told("3 records are still to be imported", after=timedelta())
    assert idle not in read(pages[0])
    told(idle, after=timedelta(minutes=21))
    other = add_source(f"{fdp.source_url}/", language="en")
    importing = HarvestObject(job=HarvestJob.get(other.start()), import_started=utc(utc_now()))
    importing.save()
    assert idle not in read(pages[0]), "the consumer imports another source"
    importing.delete()
    model.Session.commit()

    harvest.fetch()
    told("All records are done", after=timedelta(minutes=19))
    assert idle not in read(pages[0])
    told(idle, after=timedelta(minutes=2))
    harvest.finish(job_id)
    assert idle not in read(pages[0])


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
