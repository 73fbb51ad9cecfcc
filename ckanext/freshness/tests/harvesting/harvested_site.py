"""A site after harvests of which one had an error, one could not be read and one holds deletions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from ckan.lib import jobs
from ckan.tests import factories
from rq import SimpleWorker
from rq.timeouts import TimerDeathPenalty

from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesting import preview as previews
from ckanext.freshness.tests.harvesting.conftest import Harvest, Job, add_source
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import queue

KEPT = 3
ALL = 12


@dataclass(frozen=True)
class HarvestedSite:
    """The sources of a site, and who may edit them.

    :ivar ocean: a source with three jobs: all well, one record malformed, nine of twelve records gone. Its
        preview was made before its second job
    :ivar away: a source that does not answer, with a preview and a job
    :ivar jobs: the jobs of ``ocean``
    :ivar titles: those of its records; the first was changed, the second is malformed, the last three stay
    """

    editor: dict[str, Any]
    stranger: dict[str, Any]
    ocean: Harvest
    away: Harvest
    jobs: list[Job]
    titles: list[str]


def make_harvested_site() -> HarvestedSite:
    """Harvest a FAIR Data Point that is in trouble more and more."""
    queue.purge_queues()
    editor, stranger = factories.UserWithToken(), factories.UserWithToken()
    members = [{"name": editor["name"], "capacity": "editor"}]
    owner = factories.Organization(users=members)["id"]
    titles = [f"Tide table <{number}>" for number in range(ALL)]
    with FdpServer() as fdp, pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
        catalog = fdp.add_catalog(title="Hydrography")
        records = [fdp.add_dataset(catalog, title=title, keyword=["sea"]) for title in titles]
        ocean = add_source(fdp.source_url, owner_org=owner)
        runs = [ocean.run()]
        fdp.change(records[0], title="Tides of the north", keyword=["sea", "tides"])
        fdp.break_turtle(records[1])
        fdp.add_dataset(catalog, title="Wave heights")
        preview(ocean)
        runs.append(ocean.run())
        for record in records[: ALL - KEPT]:
            fdp.remove(record)
        runs.append(ocean.run())
        away = add_source("http://127.0.0.1:9/", owner_org=owner)
        preview(away)
        away.run()
    return HarvestedSite(editor, stranger, ocean, away, runs, titles)


def preview(harvest: Harvest) -> None:
    """Ask for a preview and make it."""
    previews.start(harvest.source["id"], "A source", "somebody", utc_now())
    work()


def work() -> None:
    """Run the waiting background jobs in this process, in any thread."""
    default = jobs.get_queue()
    _Worker([default], connection=default.connection).work(burst=True)


class _Worker(SimpleWorker):
    """A worker that needs no signals, which only the main thread gets."""

    death_penalty_class = TimerDeathPenalty

    def _install_signal_handlers(self) -> None:
        pass
