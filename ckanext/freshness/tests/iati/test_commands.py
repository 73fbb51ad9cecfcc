"""The commands: a whole cycle, the files alone, every night; and what Prometheus is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ckan import model
from ckan.cli.cli import ckan
from ckan.tests import factories

from ckanext.freshness.ckan_adapter import harvest_model
from ckanext.freshness.harvesting.locks import locked
from ckanext.freshness.logic.iati.night import cycles
from ckanext.freshness.model import CheckRun
from ckanext.freshness.reporting import prometheus

from .cycles import Site
from .test_cycle import datasets

pytestmark = pytest.mark.usefixtures("kept_db")


@pytest.fixture
def own(site: Site) -> Site:
    """The only source of its type."""
    for source in model.Session.query(harvest_model.HarvestSource):
        source.active = source.id == site.source_id
    model.Session.query(CheckRun).filter_by(kind="iati").delete()
    model.Session.commit()
    return site


def as_json(output: str) -> dict[str, Any]:
    """The line of JSON among the log's."""
    found: dict[str, Any] = json.loads(
        next(one for one in output.splitlines() if one.startswith('{"run"'))
    )
    return found


def test_update_does_a_whole_cycle(own: Site, cli: Any) -> None:
    done = cli.invoke(ckan, ["iati", "update", own.source_id, "--json"])
    assert not done.exit_code, done.output
    told = as_json(done.output)
    assert (told["visited"], told["downloaded"], told["zips_made_anew"]) == (3, 3, True)
    assert [own.bytes_of(one) for one in datasets(own)] == [one.contents() for one in datasets(own)]


def test_update_ends_with_1_if_not_all_was_done(own: Site, cli: Any) -> None:
    own.update()
    own.server.registry.remove(*datasets(own))
    done = cli.invoke(ckan, ["iati", "update", own.source_id])
    assert done.exit_code == 1 and "3" in done.output and "stopped" in done.output


def test_only_sources_of_registries_have_cycles(own: Site, cli: Any) -> None:
    assert cli.invoke(ckan, ["iati", "update", "nobody"]).exit_code == 1
    with locked(f"iati {own.source_id}"):
        done = cli.invoke(ckan, ["iati", "update", own.source_id])
    assert done.exit_code == 1 and "under way" in done.output


def test_check_looks_at_files_without_the_registry(own: Site, cli: Any) -> None:
    own.update()
    first, second, _ = datasets(own)
    for one in (first, second):
        one.edition += 1
    own.server.reset()
    name = model.Package.get(own.row(first).package_id).name
    done = cli.invoke(ckan, ["freshness", "check", name, "--policy", "iati", "--json"])
    assert not done.exit_code, done.output
    assert as_json(done.output)["visited"] == 1
    assert not own.server.count("/api")
    assert own.bytes_of(first) == first.contents()
    assert own.bytes_of(second) != second.contents()
    wrong = cli.invoke(ckan, ["freshness", "check", "--policy", "iati", "--all"])
    assert wrong.exit_code == 2


def test_the_checker_leaves_the_cycles_files_alone(own: Site, cli: Any) -> None:
    own.update()
    own.server.reset()
    name = model.Package.get(own.row(datasets(own)[0]).package_id).name
    done = cli.invoke(ckan, ["freshness", "check", name])
    assert not done.exit_code and not own.asked(datasets(own)[0])


def test_every_night(own: Site) -> None:
    told = cycles(own.now)
    assert told.complete and "3 downloaded" in told.words
    own.server.registry.remove(*datasets(own)[:2])
    assert not cycles(own.now).complete


def test_figures_for_prometheus(own: Site, app: Any) -> None:
    own.update()
    bad = datasets(own)[0]
    bad.status = 404
    own.later(hours=1).update()
    token = factories.SysadminWithToken()["token"]
    text = app.get("/freshness/metrics", headers={"Authorization": token}).body
    lines = dict(one.rsplit(" ", 1) for one in text.splitlines() if one and one[0] != "#")
    assert set(prometheus.GAUGES) <= set(lines)
    assert float(lines["total_number_of_datasets"]) == 3
    assert float(lines["datasets_head_request_non_200"]) == 1
    assert float(lines["datasets_downloads_non_200"]) == 0
