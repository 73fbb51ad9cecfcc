"""An error at any place of a harvest: people see it, the consumers go on, and the next job does the rest."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import (
    holds,
    known_records,
    object_states,
    sources,
    strategy,
    survey,
)
from ckanext.freshness.harvesting.fdp.crawl import Crawl
from ckanext.freshness.harvesting.object_writer import ObjectWriter
from ckanext.freshness.harvesting.packages import ckan_actions, layout, merge
from ckanext.freshness.harvesting.packages.writer import PackageWriter
from ckanext.freshness.harvesting.rdf.reader import DocumentReader
from ckanext.freshness.harvesting.source_memory import SourceMemory
from ckanext.freshness.status import indexing
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.test_away import cron, recover, stored_ids
from ckanext.freshness.tests.harvesting.throwing import Unforeseen, throwing
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record

ROUNDS = 10
"""After so many errors, a job in which nothing fails shows what they have left undone."""
SECRET = "s3cret-token"

TOLD = ("gather_errors", "object_errors", "source_warnings", "warnings")

ACTIVE_URLS = """
SELECT e.value FROM harvest_object o JOIN harvest_object_extra e ON e.harvest_object_id = o.id
JOIN package p ON p.id = o.package_id WHERE o.current AND e.key = 'dataset_url' AND p.state = 'active'"""


@dataclass
class Site:
    """A harvested source. Each round changes a record, brings one and takes one away.

    :ivar late: the URLs of records that came since all was as it should be
    """

    fdp: FdpServer
    harvest: Harvest
    app: Any
    admin: dict[str, str]
    changing: Iterator[Record]
    leaving: list[Record]
    late: dict[str, Record] = field(default_factory=dict)
    rounds: int = 0

    def next_round(self) -> str:
        """Let a record change, one appear and one disappear. Return the id of a new job."""
        self.rounds += 1
        self.fdp.change(next(self.changing), title=f"Edition {self.rounds}")
        self.fdp.remove(self.leaving.pop(0))
        title = f"Late {self.rounds}"
        new = self.fdp.add_dataset(self.fdp.catalogs[0], title=title, distributions=0)
        self.late[self.fdp.iri_of(new)] = new
        return self.harvest.start()

    def consume(self) -> None:
        """Do what the consumers do."""
        self.harvest.gather()
        self.harvest.fetch()

    def finish(self) -> None:
        """Do what cron and the consumers do until nothing is left to do."""
        cron()
        self.harvest.fetch_all()

    def page(self, job_id: str) -> str:
        """Return the text of a job's page."""
        url = f"/harvest/{self.harvest.source['name']}/job/{job_id}"
        page = self.app.get(url, headers=self.admin).body
        assert SECRET not in page
        return BeautifulSoup(page, "html.parser").get_text()

    def assert_told(self, job_id: str, *, must: bool = True) -> None:
        """Check that a job has ended, that its report tells of its error, and that nothing is lost.

        It may say nothing if it has done everything all the same, by another way.
        """
        model.Session.remove()
        assert call_action("harvest_job_show", id=job_id)["status"] == "Finished"
        report = call_action("harvest_job_report", id=job_id)
        if must and not any(report[kind] for kind in TOLD):
            self.assert_complete()
        assert SECRET not in str(report)
        left = {self.fdp.iri_of(one) for one in self.fdp.datasets} - self.late.keys()
        assert left <= {url for (url,) in model.Session.execute(sa.text(ACTIVE_URLS))}

    def assert_complete(self) -> None:
        """Check that the portal has what the source has, once, in the database and in Solr."""
        expected = {self.fdp.iri_of(one): one.label for one in self.fdp.datasets}
        found = {url: one["title"] for url, one in self.harvest.datasets().items()}
        assert found == expected
        assert sorted(stored_ids().values()) == sorted(expected.values())
        assert len(self.harvest.current()) == len(expected)

    def recover(self) -> None:
        """Check that the next job, in which nothing fails, does all that is left to do."""
        assert self.harvest.run().errors == []
        self.assert_complete()
        self.leaving += self.late.values()
        self.late.clear()


@pytest.fixture(scope="session")
def emptied() -> Iterator[Callable[[], FdpServer]]:
    """Return a function that empties a server and returns it. The site outlives this module, too."""
    with FdpServer() as server:
        empty = server.snapshot()

        def emptied_server() -> FdpServer:
            empty()
            return server

        yield emptied_server


@pytest.fixture
def site(
    emptied: Callable[[], FdpServer], kept_db: None, clean_queues: None, usual_site: Any, app: Any
) -> Site:
    """One site for all tests of a process. Each leaves it as it should be."""
    if usual_site.world is None:
        fdp = emptied()
        catalog = fdp.add_catalog()
        changing, leaving = (
            [
                fdp.add_dataset(catalog, title=f"{kind} {number}", distributions=0)
                for number in range(ROUNDS)
            ]
            for kind in ("Changing", "Leaving")
        )
        # Errors leave deletions undone, which the next job does at once.
        harvest = add_source(fdp.source_url, max_delete_fraction=1)
        assert harvest.run().stats["added"] == 2 * ROUNDS
        admin = {"Authorization": factories.SysadminWithToken()["token"]}
        usual_site.world = Site(fdp, harvest, app, admin, itertools.cycle(changing), leaving)
    made: Site = usual_site.world
    return made


PLACES: list[Any] = [
    *(
        sources.source_of,
        known_records.current_records,
        DocumentReader.outline,
        Crawl._assembled,
    ),
    *(SourceMemory.recall, SourceMemory.finish, survey.survey, strategy.deletions),
    *(holds.decisions_for_job, holds.set_hold, ObjectWriter.change, ObjectWriter.finish),
    *(ObjectWriter.release, object_states.load, PackageWriter.__init__, PackageWriter.write),
    *(layout.package_dict, merge.merge, ckan_actions.write, object_states.make_current),
    *(object_states.waiting, object_states.begin, indexing.mark, indexing.confirm),
]
"""Functions of each step of a harvest: what calls them decides what an error in them means."""


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__qualname__)
def test_an_error_at_any_place(site: Site, place: Any) -> None:
    """Each job has its own records, so that the next good job shows what the error has left undone."""
    job_id = site.next_round()
    with throwing(Unforeseen(SECRET), place) as thrown:
        site.consume()
        in_consumers = bool(thrown)
        site.finish()
    assert thrown
    site.assert_told(job_id, must=in_consumers)
    site.recover()


KINDS = [
    *(MemoryError(), GeneratorExit(), asyncio.CancelledError()),
    sa.exc.ProgrammingError(SECRET, {}, Exception(SECRET)),
]


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", [survey.survey, PackageWriter.write])
def test_every_kind_of_error(site: Site, place: Any, error: BaseException) -> None:
    a_job_with(site, place, error)


def a_job_with(site: Site, place: Any, error: BaseException) -> None:
    job_id = site.next_round()
    with throwing(error, place) as thrown:
        site.consume()
    site.finish()
    assert thrown
    site.assert_told(job_id)
    assert type(error).__name__ in site.page(job_id)
    site.recover()


ENDS = pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(1)], ids=["interrupted", "exits"]
)


@ENDS
def test_a_gather_consumer_that_is_stopped(site: Site, error: BaseException) -> None:
    """It ends, as it should. The job says so."""
    job_id = site.next_round()
    with throwing(error, survey.survey), pytest.raises(type(error)):
        site.consume()
    model.Session.remove()
    site.finish()
    site.assert_told(job_id)
    assert "stopped while it read" in site.page(job_id)
    site.recover()


@ENDS
def test_a_fetch_consumer_that_is_stopped(site: Site, error: BaseException) -> None:
    """It ends, as it should. Its message is sent again, and the job has no error."""
    job_id = site.next_round()
    site.harvest.gather()
    with throwing(error, PackageWriter.write), pytest.raises(type(error)):
        site.harvest.fetch()
    assert recover(site.harvest, job_id).errors == []
    site.assert_complete()
    site.recover()


def test_a_user_who_does_not_exist(site: Site) -> None:
    """The option is read in each import. Nothing is written, and each record says why."""
    job_id = site.next_round()
    with changed_config("ckanext.harvest.user_name", "harvestr"):
        site.consume()
    site.finish()
    site.assert_told(job_id)
    assert "names no user: harvestr. Create this user" in site.page(job_id)
    site.recover()
