"""A record costs its own entry alone: imports that do not end, that fail, and that are too large."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter import harvest as adapter
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.harvesting import stages
from ckanext.freshness.harvesting.packages.writer import MOST_PARTS
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.harvesting.conftest import TITLES, Harvest, add_source, stored
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.harvesting.test_killed import PATIENCE, in_a_thread, waits_for_a_lock
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest.model import HarvestObject

pytestmark = pytest.mark.usefixtures("clean_site")


def sleep(seconds: float) -> None:
    """Run one statement for some time."""
    model.Session.execute(sa.text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


def work_on() -> None:
    """Run statements without end."""
    for _ in itertools.count():
        sleep(0.02)


def remove_the_session() -> None:
    """As plugins do."""
    model.Session.remove()
    work_on()


def test_an_import_that_does_not_end(
    stumbling: StumblingPlugin, fdp: FdpServer, harvest: Harvest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an error of its record, whether that is new, changed or deleted; the others are imported."""
    harvest.configure(delete_unlisted=True)
    stumbling.during["Dataset 1"] = remove_the_session
    # Imports that end take a tenth of a second, and ten times as much on a busy machine.
    monkeypatch.setattr(adapter, "RECORD_TIME", timedelta(seconds=6))
    first = harvest.run()
    ended(first.errors)
    assert (first.stats["added"], first.stats["errored"]) == (2, 1)
    assert harvest.run().stats["added"] == 1

    for record in fdp.datasets:
        fdp.change(record, description="Changed")
    stumbling.during["Dataset 0"] = lambda: sleep(600)
    second = harvest.run()
    ended(second.errors)
    assert (second.stats["updated"], second.stats["errored"]) == (2, 1)
    assert harvest.run().stats["updated"] == 1

    fdp.unlist(fdp.datasets[2], fdp.catalogs[0])
    stumbling.during["Dataset 2"] = work_on
    third = harvest.two_jobs()
    ended(third.errors)
    assert third.stats["deleted"] == 0
    assert harvest.run().stats["deleted"] == 1
    assert len(harvest.current()) == len(harvest.datasets()) == 2


def ended(errors: list[str]) -> None:
    (error,) = errors
    assert error.startswith("Its import was ended after ")


@pytest.mark.parametrize("in_queue", [True, False], ids=["consumers", "harvest_here"])
def test_a_page_that_takes_too_long(
    harvest: Harvest, monkeypatch: pytest.MonkeyPatch, in_queue: bool
) -> None:
    """It ends early, and the next messages import the others."""
    monkeypatch.setattr(adapter, "PAGE_TIME", timedelta(0))
    pages = list[Any]()
    monkeypatch.setattr(stages, "_confirm", pages.append)
    job_id = harvest.start()
    if in_queue:
        harvest.gather()
        harvest.fetch()
    else:
        harvest_here(harvest.source["id"])
    assert [len(marks) for marks in pages] == [1, 1, 1]
    job = harvest.finish(job_id)
    assert (job.stats["added"], job.errors) == (3, [])


@pytest.fixture
def portals(stumbling: StumblingPlugin) -> Any:
    """Two portals with changed datasets, and their sources."""
    with PortalServer(3) as one, PortalServer() as two:
        for title in TITLES:
            two.add(f"other-{title[-1]}")
        sources = [add_source(server.url, source_type="ckan_portal") for server in (one, two)]
        for server, source in zip((one, two), sources, strict=True):
            assert source.run().stats["added"] == 3
            for dataset_id in server.datasets:
                server.change(dataset_id, frequency="daily")
        yield sources


def ends(work: Callable[[], object]) -> bool:
    """Return whether the work of another process ends meanwhile."""
    thread = in_a_thread(work)
    thread.join(60)
    return not thread.is_alive()


def test_nothing_waits_for_a_long_import(
    portals: list[Harvest], stumbling: StumblingPlugin
) -> None:
    """Neither the jobs of other sources nor refreshes. No consumer takes over what is being imported."""
    one, two = portals
    done, everything = list[bool](), list[threading.Thread]()

    def meanwhile() -> None:
        # It may wait for this dataset, but must not let others wait.
        everything.append(in_a_thread(lambda: refresh(datetime.now(timezone.utc), everything=True)))
        until(waits_for_a_lock)
        done.extend(
            map(
                ends,
                (
                    lambda: call_action("harvest_jobs_run"),
                    two.start,
                    two.gather,
                    two.fetch,
                    lambda: call_action("harvest_jobs_run"),
                    lambda: refresh(datetime.now(timezone.utc)),
                ),
            )
        )

    last = max(one.current(), key=lambda current: current[1])[1]
    stumbling.during[stored(last)["title"]] = meanwhile
    harvest_here(one.source["id"])
    everything[0].join(PATIENCE)
    assert done == [True] * 6
    objects = model.Session.query(HarvestObject).filter_by(harvest_source_id=one.source["id"])
    assert {(each.report_status, each.retry_times) for each in objects if each.current} == {
        ("updated", 1)
    }


def test_warnings_stay_if_the_next_record_fails(stumbling: StumblingPlugin, fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    for title in TITLES:
        fdp.add_dataset(catalog, title=title, keyword=["?"])
    stumbling.writes.update(TITLES)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["errored"] == 3
    stumbling.writes.update(TITLES[1:])
    job = harvest.run()
    assert (job.stats["added"], job.stats["errored"]) == (1, 2)
    assert len(job.warnings) == 1


LINK = {"name": "r", "url": "https://example.org/1"}
PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "fields": lambda count: {"extras": [{"key": f"k{n}", "value": "v"} for n in range(count)]},
    "tags": lambda count: {"tags": [{"name": f"tag-{n}"} for n in range(count)]},
    "resources": lambda count: {"resources": [LINK] * count},
    "fields of resources": lambda count: {"resources": [LINK | {f"k{n}": n for n in range(count)}]},
}


@pytest.mark.parametrize(("kind", "most"), MOST_PARTS.items())
def test_too_many_parts(kind: str, most: int) -> None:
    """They cost their dataset only: the job ends, and the other datasets are imported."""
    with PortalServer(3) as portal:
        harvest = add_source(portal.url, source_type="ckan_portal")
        first, second, third = portal.datasets
        portal.change(first, **PARTS[kind](most + 1))
        job = harvest.run()
        assert (job.stats["added"], job.stats["errored"]) == (2, 1)
        assert f"{kind}, and at most {most} of a dataset are harvested" in job.errors[0]
        portal.change(first, **PARTS[kind](2))
        portal.change(second, **PARTS[kind](2 * most))
        job = harvest.run()
        assert (job.stats["added"], job.stats["updated"], job.stats["errored"]) == (1, 0, 1)
        assert {package_id for _, package_id in harvest.current()} == {first, second, third}
