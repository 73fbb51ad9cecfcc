"""Solr, Redis or PostgreSQL goes away for a while: errors, then recovery without manual repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime, timedelta, timezone
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.lib.search import common as search
from ckan.lib.search.common import make_connection
from ckan.tests.helpers import call_action, changed_config
from redis.exceptions import ConnectionError as RedisAway

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.harvesting.conftest import TITLES, Harvest, Job, Published
from ckanext.freshness.tests.processes import until_locks_are_free
from ckanext.freshness.tests.servers.faults import Hold, Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.tcp import TcpProxy
from ckanext.harvest import queue
from ckanext.harvest.utils import fetch_consumer, gather_consumer

pytestmark = pytest.mark.usefixtures("clean_site")


@contextmanager
def before(option: str) -> Iterator[tuple[TcpProxy, str]]:
    """Start a proxy in front of a service, and return the service's URL through it."""
    url = urlsplit(tk.config[option])
    assert url.hostname
    with TcpProxy(url.hostname, url.port or 5432) as proxy:
        user = url.netloc.rpartition("@")[0]
        yield proxy, url._replace(netloc=f"{user}@{proxy.address}".lstrip("@")).geturl()


@pytest.fixture
def solr() -> Iterator[TcpProxy]:
    with before("solr_url") as (proxy, url), changed_config("solr_url", url):
        settings = getattr(search, "SolrSettings", None)  # CKAN 2.11 reads the option only once
        direct = settings.get() if settings else ()
        if settings:
            settings.init(url, *direct[1:])
        yield proxy
        if settings:
            settings.init(*direct)


def age_messages() -> None:
    """Make the messages that consumers took and did not finish three hours older."""
    redis = queue.get_connection()
    for prefix in (queue.get_gather_routing_key(), queue.get_fetch_routing_key()):
        for key in redis.keys(prefix + ":*"):
            redis.set(key, str(datetime.now() - timedelta(hours=3, microseconds=1)))


def cron() -> None:
    model.Session.remove()
    call_action("harvest_jobs_run")


def recover(harvest: Harvest, job_id: str) -> Any:
    """Do what happens on a site by itself: time passes, cron runs, and supervisors restart consumers."""
    until_locks_are_free()
    age_messages()
    cron()
    harvest.gather()
    harvest.fetch_all()
    return harvest.finish(job_id)


def stored_ids() -> dict[str, str]:
    """Return the titles of all active datasets in the database, by id."""
    model.Session.remove()
    query = model.Session.query(model.Package.id, model.Package.title)
    return dict(map(tuple, query.filter_by(type="dataset", state="active")))


def assert_each_is_there_once(harvest: Harvest, titles: list[str]) -> dict[str, str]:
    """Check that each dataset exists once in the database and in Solr and is current. Return titles by id."""
    stored = stored_ids()
    assert sorted(stored.values()) == sorted(titles)
    found = make_connection().search("+dataset_type:dataset +state:active", rows=1000).docs
    assert {one["id"]: one["title"] for one in found} == stored
    assert len(found) == len(stored)
    assert {package_id for _, package_id in harvest.current()} == set(stored)
    assert len(harvest.current()) == len(titles)
    return stored


# Solr


def assert_solr_is_blamed(job: Job) -> None:
    assert job.errors
    assert all("Solr" in error or "SearchIndexError" in error for error in job.errors)


def test_solr_is_away_while_datasets_are_changed_and_deleted(
    fdp: FdpServer, harvest: Harvest, solr: TcpProxy
) -> None:
    harvest.run()
    known = stored_ids()
    for record in fdp.datasets:
        fdp.change(record, title=f"{record.label} anew")
    fdp.remove(fdp.datasets[0])
    job_id = harvest.start()
    harvest.gather()
    solr.away()
    harvest.fetch()
    assert stored_ids().keys() == known.keys()
    solr.open()
    job = harvest.finish(job_id)
    assert_solr_is_blamed(job)
    assert job.stats["errored"] == len(TITLES)

    again = harvest.run()
    assert (again.errors, again.stats["deleted"]) == ([], 1)
    found = assert_each_is_there_once(harvest, [f"{title} anew" for title in TITLES[1:]])
    assert found.keys() < known.keys()


@pytest.mark.parametrize("answer", [False, True])
def test_an_approval_outlives_solr_being_away(
    fdp: FdpServer,
    harvest: Harvest,
    solr: TcpProxy,
    monkeypatch: pytest.MonkeyPatch,
    answer: bool,
) -> None:
    """It is used up by the deletion, not by the job that could not make it; answers of the records end it."""
    harvest.run()
    restore = fdp.snapshot()
    for record in fdp.datasets:
        fdp.remove(record)
    harvest.run()
    harvest.release()
    job_id = harvest.start()
    harvest.gather()
    solr.away()
    harvest.fetch()
    solr.open()
    assert_solr_is_blamed(harvest.finish(job_id))
    assert len(harvest.current()) == len(TITLES)

    if answer:
        monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
        restore()
        for record in fdp.datasets:
            fdp.unlist(record, fdp.catalogs[0])
        assert harvest.run().stats["deleted"] == 0
        assert {one["own_url"] for one in harvest.hold()["held"]} == {"present"}
        for record in fdp.datasets:
            fdp.faults[record.path] = Status(500)
        assert harvest.run().stats["deleted"] == 0
        harvest.release()
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], len(TITLES))
    assert harvest.hold() is None and stored_ids() == {}


# CKAN 2.11 sends the document of a new dataset twice.
@pytest.mark.parametrize(
    "words",
    [[b"<commit"], [b'"index_id"'] * 3],
    ids=["at the commit", "at a later dataset"],
)
def test_what_solr_did_not_take_is_indexed_by_the_next_refresh(
    fdp: FdpServer, harvest: Harvest, solr: TcpProxy, words: list[bytes]
) -> None:
    """Solr may lose what it was sent and has not committed. The source cannot be read any more."""
    job_id = harvest.start()
    harvest.gather()
    solr.leave_at(*words)
    harvest.fetch()
    solr.open()
    harvest.finish(job_id)
    fdp.faults[fdp.catalogs[0].path] = Status(503)
    make_connection().delete(q="+dataset_type:dataset", commit=True)
    # If Solr is away, CKAN writes no dataset.
    written = stored_ids()
    assert written and all(map(unindexed_since, written))
    refresh(datetime.now(timezone.utc))
    assert_each_is_there_once(harvest, list(written.values()))


def unindexed_since(package_id: str) -> Any:
    statement = sa.text("SELECT since FROM freshness_unindexed WHERE package_id = :id")
    return model.Session.execute(statement, {"id": package_id}).scalar()


# Redis


@pytest.fixture
def redis() -> Iterator[TcpProxy]:
    with before("ckan.redis.url") as (proxy, url), changed_config("ckan.redis.url", url):
        yield proxy


def test_redis_is_away_when_a_gather_publishes(harvest: Harvest, redis: TcpProxy) -> None:
    job_id = harvest.start()
    redis.leave_at(b"harvest_object_id")
    with pytest.raises(RedisAway):
        gather_consumer()
    redis.open()
    job = recover(harvest, job_id)
    assert job.errors == []
    assert job.stats["added"] == len(TITLES)
    assert_each_is_there_once(harvest, TITLES)


# PostgreSQL


@pytest.fixture
def postgresql() -> Iterator[TcpProxy]:
    engine = model.Session.get_bind()
    with before("sqlalchemy.url") as (proxy, url):
        model.init_model(sa.create_engine(url))
        yield proxy
        model.Session.remove()
        model.Session.get_bind().dispose()
        model.init_model(engine)


@pytest.mark.parametrize("away", [True, False], ids=["away", "cut"])
def test_postgresql_breaks_off_in_the_middle_of_a_crawl(
    published: Published, postgresql: TcpProxy, away: bool
) -> None:
    harvest, hold = published.harvest, Hold()
    published.server.faults[published.place] = hold
    job_id = harvest.start()

    def break_off() -> None:
        published.server.wait_for(published.place)
        (postgresql.away if away else postgresql.cut)()
        hold.release()

    other = Thread(target=break_off)
    other.start()
    with pytest.raises(sa.exc.DBAPIError) if away else nullcontext():
        harvest.gather()
    other.join()
    postgresql.open()
    job = recover(harvest, job_id)
    assert job.errors == []
    assert job.stats["added"] == len(TITLES)
    assert_each_is_there_once(harvest, TITLES)


@pytest.mark.parametrize(
    "words", [[b"Dataset 2"], [b"Dataset 2", b"COMMIT"]], ids=["at a write", "at the commit"]
)
def test_postgresql_is_away_in_an_import(
    harvest: Harvest, postgresql: TcpProxy, words: list[bytes]
) -> None:
    job_id = harvest.start()
    harvest.gather()
    postgresql.leave_at(*words)
    with pytest.raises(sa.exc.DBAPIError):
        fetch_consumer()
    postgresql.open()
    written = stored_ids()
    assert "Dataset 2" not in written.values()
    job = recover(harvest, job_id)
    assert job.errors == []
    found = assert_each_is_there_once(harvest, TITLES)
    assert found.keys() >= written.keys()
