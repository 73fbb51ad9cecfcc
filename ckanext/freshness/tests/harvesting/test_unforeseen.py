"""An error at any place of a harvest: people see it, the consumers go on, and the next job does the rest.

The list of places is made by a harvest in which nothing fails: every function of this extension that runs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import survey
from ckanext.freshness.harvesting.fdp.crawl import Crawl
from ckanext.freshness.harvesting.packages.writer import PackageWriter
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.test_away import cron, recover, stored_ids
from ckanext.freshness.tests.harvesting.throwing import Unforeseen, recording, throwing
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.harvest import queue

pytestmark = pytest.mark.usefixtures("clean_site")

PARTS = 8
"""The places are dealt out to so many tests."""

CALLED_BY_OTHERS = (
    *("harvesters:_Harvester.", "ckan_adapter.harvest:_", "harvesting.stages:gather"),
    *("harvesting.stages:fetch", "harvesting.stages:import_"),
    *(
        "logic.hooks:",
        "harvesting.object_states:resume",
        "ckan_adapter.packages:reindex_source",
    ),
)
"""Functions around whose first lines there is nothing of ours: ckanext-harvest, SQLAlchemy, asyncio or the last
line of an import call them."""

EACH_FUNCTION = (
    *("ckan_adapter.harvest", "ckan_adapter.database", "ckan_adapter.packages"),
    *("harvesting.source_memory", "harvesting.job_report", "harvesting.fdp.crawl"),
    *("harvesting.fdp.source_type", "harvesting.holds"),
    *("harvesting.known_records", "harvesting.object_states"),
    *(
        "harvesting.object_writer",
        "harvesting.packages.writer",
        "harvesting.packages.ckan_actions",
    ),
    *("harvesting.source_client", "harvesting.sources", "harvesting.stages", "harvesting.survey"),
)
"""Modules that use the network, the database or the queues, or call what does. Of every other module, one
function stands for all: only their callers decide what an error means."""

ROUNDS = 30
SECRET = "s3cret-token"

ACTIVE_URLS = """
SELECT e.value FROM harvest_object o JOIN harvest_object_extra e ON e.harvest_object_id = o.id
JOIN package p ON p.id = o.package_id WHERE o.current AND e.key = 'dataset_url' AND p.state = 'active'"""


@dataclass
class Site:
    """A source whose records wait for their rounds."""

    fdp: FdpServer
    harvest: Harvest
    changing: list[Record]
    leaving: list[Record]
    app: Any
    admin: dict[str, str]
    late: set[str] = field(default_factory=set)

    def next_round(self) -> None:
        """Let a record change, one appear and one disappear."""
        changed = self.changing.pop()
        self.fdp.change(changed, title=f"{changed.label} anew")
        self.fdp.remove(self.leaving.pop())
        new = self.fdp.add_dataset(self.fdp.catalogs[0], title=f"Late {len(self.changing)}")
        self.late.add(self.fdp.iri_of(new))

    def consume(self) -> None:
        """Do what the consumers do."""
        self.harvest.gather()
        self.harvest.fetch()

    def finish(self) -> None:
        """Do what cron and the consumers do until nothing is left to do."""
        for _ in range(3):
            cron()
            if not queue.get_connection().llen(queue.get_fetch_routing_key()):
                break
            self.harvest.fetch()

    def page(self, job_id: str) -> BeautifulSoup:
        """Return the page of a job."""
        url = f"/harvest/{self.harvest.source['name']}/job/{job_id}"
        return BeautifulSoup(self.app.get(url, headers=self.admin).body, "html.parser")

    def assert_told(self, job_id: str, error: str | None) -> None:
        """Check that a job has ended, that its page tells of its error, and that nothing is lost.

        It may say nothing if it has done everything all the same, by another way.
        """
        model.Session.remove()
        assert call_action("harvest_job_show", id=job_id)["status"] == "Finished"
        page = self.page(job_id)
        if error is not None:
            told = page.select("#record-errors, #source-errors, #source-warnings, #warnings")
            if not (told or error in page.get_text()):
                self.assert_complete()
        assert SECRET not in str(page)
        left = {self.fdp.iri_of(one) for one in self.fdp.datasets} - self.late
        assert left <= {url for (url,) in model.Session.execute(sa.text(ACTIVE_URLS))}

    def assert_complete(self) -> None:
        """Check that the portal has what the source has, once, in the database and in Solr."""
        expected = {self.fdp.iri_of(one): one.label for one in self.fdp.datasets}
        found = {url: one["title"] for url, one in self.harvest.datasets().items()}
        assert found == expected
        assert sorted(stored_ids().values()) == sorted(expected.values())
        assert len(self.harvest.current()) == len(expected)


@pytest.fixture
def make_site(fdp: FdpServer, app: Any) -> Any:
    def make(rounds: int) -> Site:
        catalog = fdp.add_catalog()
        changing, leaving = (
            [
                fdp.add_dataset(catalog, title=f"{kind} {number}", distributions=0)
                for number in range(rounds)
            ]
            for kind in ("Changing", "Leaving")
        )
        for number in range(10):
            fdp.add_dataset(catalog, title=f"Staying {number}", distributions=0)
        harvest = add_source(fdp.source_url)
        assert harvest.run().stats["added"] == 2 * rounds + 10
        admin = {"Authorization": factories.SysadminWithToken()["token"]}
        return Site(fdp, harvest, changing, leaving, app, admin)

    return make


def places(site: Site) -> dict[str, FunctionType]:
    """Return the places of a harvest in which nothing fails."""
    site.next_round()
    site.harvest.start()
    with recording() as functions:
        site.consume()
        site.finish()
    found: dict[str, FunctionType] = {}
    for place in sorted(functions):
        module = place.partition(":")[0]
        is_new = module in EACH_FUNCTION or not any(one.startswith(f"{module}:") for one in found)
        if is_new and not place.startswith(CALLED_BY_OTHERS):
            found[place] = functions[place]
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_an_error_at_any_place(make_site: Any, part: int) -> None:
    """Each place has its own records, so that the last job shows what any of the errors has left undone."""
    site = make_site(ROUNDS)
    functions = places(site)
    todo = sorted(functions)[part::PARTS]
    assert 1 < len(todo) < ROUNDS
    for place in todo:
        print(f"An error in {place}")
        site.next_round()
        job_id = site.harvest.start()
        with throwing(Unforeseen(SECRET), functions[place]) as thrown:
            site.consume()
            in_consumers = bool(thrown)
            site.finish()
        site.assert_told(job_id, "Unforeseen" if in_consumers else None)
    assert site.harvest.run().errors == []
    site.assert_complete()


KINDS = [
    *(
        MemoryError(),
        RecursionError(),
        ValueError(SECRET),
        UnicodeEncodeError("ascii", SECRET, 0, 1, ""),
    ),
    *(sa.exc.ProgrammingError(SECRET, {}, Exception(SECRET)), sa.exc.InvalidRequestError(SECRET)),
    *(asyncio.CancelledError(), KeyError(SECRET), StopIteration(SECRET), GeneratorExit()),
]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", [survey.survey, PackageWriter.write])
def test_every_kind_of_error(make_site: Any, place: Any, error: BaseException) -> None:
    a_job_with(make_site, place, error)


@pytest.mark.parametrize("place", [Crawl._assemble, PackageWriter.__init__])
def test_work_that_is_cancelled(make_site: Any, place: Any) -> None:
    """In a crawl, the record that was not read is not taken for one that the source has no more."""
    a_job_with(make_site, place, asyncio.CancelledError())


def a_job_with(make_site: Any, place: Any, error: BaseException) -> None:
    site = make_site(3)
    site.next_round()
    job_id = site.harvest.start()
    with throwing(error, place) as thrown:
        site.consume()
    site.finish()
    assert thrown
    site.assert_told(job_id, type(error).__name__)
    assert site.harvest.run().errors == []
    site.assert_complete()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(1)], ids=["interrupted", "exits"]
)
def test_a_gather_consumer_that_is_stopped(make_site: Any, error: BaseException) -> None:
    """It ends, as it should. The job says so."""
    site = make_site(3)
    site.next_round()
    job_id = site.harvest.start()
    with throwing(error, survey.survey), pytest.raises(type(error)):
        site.consume()
    model.Session.remove()
    site.finish()
    site.assert_told(job_id, type(error).__name__)
    assert "stopped while it read the source" in site.page(job_id).get_text()
    assert site.harvest.run().errors == []
    site.assert_complete()


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(1)], ids=["interrupted", "exits"]
)
def test_a_fetch_consumer_that_is_stopped(make_site: Any, error: BaseException) -> None:
    """It ends, as it should. Its message is sent again, and the job has no error."""
    site = make_site(3)
    site.next_round()
    job_id = site.harvest.start()
    site.harvest.gather()
    with throwing(error, PackageWriter.write), pytest.raises(type(error)):
        site.harvest.fetch()
    job = recover(site.harvest, job_id)
    assert job.errors == []
    site.assert_complete()


def test_a_user_who_does_not_exist(make_site: Any) -> None:
    """The option is read in each import. Nothing is written, and each record says why."""
    site = make_site(3)
    site.next_round()
    job_id = site.harvest.start()
    with changed_config("ckanext.harvest.user_name", "harvestr"):
        site.consume()
    site.finish()
    site.assert_told(job_id, "names no user: harvestr. Create this user")
    assert site.harvest.run().errors == []
    site.assert_complete()
