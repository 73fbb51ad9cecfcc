"""Commands that run cycles, the nightly part, and the figures for Prometheus."""

from __future__ import annotations

from typing import Any

import pytest
from ckan import model
from ckan.cli.cli import ckan
from ckan.tests import factories

from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.processes import disconnect, end_connections
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.tcp import TcpProxy
from ckanext.freshness_iati.cycle import check_dataset, update_all
from ckanext.freshness_iati.report import GAUGES
from ckanext.harvest import model as harvest_model

from .cycles import Site
from .test_cycle import datasets

pytestmark = pytest.mark.usefixtures("kept_db")


@pytest.fixture
def own(site: Site) -> Site:
    """A site whose only active source is a registry."""
    for source in model.Session.query(harvest_model.HarvestSource):
        source.active = source.id == site.source_id
    model.Session.query(CheckRun).filter_by(kind="iati").delete()
    model.Session.commit()
    return site


def test_update_does_a_whole_cycle(own: Site, cli: Any) -> None:
    done = cli.invoke(ckan, ["iati", "update", own.source_id])
    assert not done.exit_code, done.output
    assert "3 datasets, 3 new, 0 no longer registered; 3 checked, 3 downloaded" in done.output
    assert [own.bytes_of(one) for one in datasets(own)] == [one.contents() for one in datasets(own)]


@pytest.fixture
def no_redis(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a Redis URL at which no server listens."""
    with TcpProxy("127.0.0.1", 1) as gone:
        monkeypatch.setitem(ckan_config, "ckan.redis.url", f"redis://{gone.address}/0")


def jobs(site: Site) -> list[Any]:
    model.Session.expire_all()
    job = harvest_model.HarvestJob
    return list(model.Session.query(job).filter_by(source_id=site.source_id))


@pytest.mark.usefixtures("no_redis")
def test_a_night_needs_no_redis(own: Site, caplog: pytest.LogCaptureFixture) -> None:
    told = update_all(harvest_here)
    assert told.complete, told.words
    assert [own.bytes_of(one) for one in datasets(own)] == [one.contents() for one in datasets(own)]
    (job,) = jobs(own)
    assert job.status == "Finished" and job.finished and not job.gather_errors
    assert "the harvest queues were left as they are" in caplog.text


def test_a_dataset_is_checked_without_the_registry(own: Site) -> None:
    own.update()
    first, second, _ = datasets(own)
    for one in (first, second):
        one.edition += 1
    own.server.reset()
    check_dataset(own.row(first).package_id)
    assert [one.path for one in own.server.requests if not one.path.startswith("/files/")] == []
    assert own.bytes_of(first) == first.contents()
    assert own.bytes_of(second) != second.contents()


def test_the_checker_leaves_the_cycles_files_alone(own: Site, cli: Any) -> None:
    own.update()
    own.server.reset()
    name = model.Package.get(own.row(datasets(own)[0]).package_id).name
    assert "Checked 0 resources" in cli.invoke(ckan, ["freshness", "check", name]).output
    assert not cli.invoke(ckan, ["freshness", "check"]).exit_code
    assert not own.asked(datasets(own)[0])


def test_the_database_is_lost(own: Site, cli: Any) -> None:
    # As by a restart.
    is_file = lambda request: request.path.startswith("/files/")  # noqa: E731
    own.server.faults[is_file] = faults.Meanwhile(act=end_connections, times=1)
    try:
        done = cli.invoke(ckan, ["iati", "update", own.source_id])
    finally:
        disconnect()
    *_, told = [line for line in done.output.splitlines() if line and not line.startswith("20")]
    assert done.exit_code == 1 and told.startswith("Error: The database "), done.output
    assert "next run goes on" in told
    assert own.update().figures["checked"] == 3
    assert [own.bytes_of(one) for one in datasets(own)] == [one.contents() for one in datasets(own)]


def test_figures_for_prometheus(own: Site, app: Any) -> None:
    own.update()
    bad = datasets(own)[0]
    bad.status = 404
    own.later(hours=1).update()
    # A check of one file is no cycle.
    check_dataset(own.row(datasets(own)[1]).package_id)
    model.Session.remove()
    token = factories.SysadminWithToken()["token"]
    text = app.get("/freshness/metrics", headers={"Authorization": token}).body
    lines = dict(one.rsplit(" ", 1) for one in text.splitlines() if one and one[0] != "#")
    # The only source has no label, as in the Bulk Data Service.
    figures = {name: float(lines[name]) for name in GAUGES}
    assert figures["total_number_of_datasets"] == 3
    assert figures["datasets_head_request_non_200"] == 1
    assert figures["datasets_downloads_non_200"] == 0
