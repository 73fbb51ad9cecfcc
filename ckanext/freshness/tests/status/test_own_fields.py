"""A site's own fields under our names stay as they are; a prefix makes place for ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.cli.cli import ckan
from ckan.lib import search

from ckanext.freshness.ckan_adapter.core import model, with_prefix
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.status import own_fields
from ckanext.freshness.status.refresh import RefreshCounts, refresh
from ckanext.freshness.tests import datasets
from ckanext.freshness.tests.datasets import Act, stored

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "usual_names")

RIPE = {"freshness": "ripe", "freshness_due": "on Sunday"}


@pytest.fixture
def usual_names(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins on a site without a prefix."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.field_prefix", "")


@pytest.fixture
def choose(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets options of the site."""

    def call(**options: Any) -> None:
        for key, value in options.items():
            monkeypatch.setitem(ckan_config, f"ckanext.freshness.{key}", value)

    return call


@pytest.fixture
def act() -> Act:
    from ckan.tests import factories, helpers

    sysadmin = factories.Sysadmin()["name"]

    def call(action: str, **data: Any) -> Any:
        return helpers.call_action(action, {"user": sysadmin, "ignore_auth": False}, **data)

    return call


def new(act: Act, **extras: str) -> str:
    return str(datasets.new(act, extras={"frequency": "7", **extras})["id"])


@pytest.fixture
def catalogue(act: Act) -> dict[str, str]:
    """A site as it is before the extension writes: one dataset has fields of its own, the other has none."""
    ids = {"ours": new(act), "own": new(act)}
    names = with_prefix().extras
    write_extras({ids["ours"]: {}, ids["own"]: RIPE}, names)
    for table in ("dataset", "evidence", "resource", "transition"):
        model.Session.execute(sa.text(f"DELETE FROM freshness_{table}"))
    model.Session.commit()
    model.Session.remove()
    search.rebuild(quiet=True)
    search.commit()
    return ids


def found(act: Act, fq: str) -> set[str]:
    return {one["id"] for one in act("package_search", fq=fq)["results"]}


def now() -> datetime:
    return datetime.now(timezone.utc)


def test_nothing_is_written_before_the_site_chooses(
    act: Act, cli: Any, catalogue: dict[str, str]
) -> None:
    own, ours = catalogue["own"], catalogue["ours"]
    done = cli.invoke(ckan, ["freshness", "refresh", "--all"])
    assert done.exit_code == 1
    assert "1 dataset has fields of their own" in done.output
    assert f"freshness = 'ripe' in {own}" in done.output
    assert "ckanext.freshness.field_prefix" in done.output
    done = cli.invoke(ckan, ["freshness", "refresh"])
    assert (done.exit_code, "were left alone" in done.output) == (0, True)
    done = cli.invoke(ckan, ["freshness", "doctor"])
    assert f"freshness = 'ripe' in {own}" in done.output
    assert "1 dataset has no freshness status in searches" in done.output, (
        "the other one waits for a choice"
    )
    assert stored(own) == {"frequency": "7", **RIPE}
    assert stored(ours) == {"frequency": "7"}
    for query in ("freshness:ripe", "extras_freshness:ripe"):
        assert found(act, query) == {own}, "saved searches continue to work"
    assert found(act, "*:*") == {own, ours}


def test_edits_keep_the_sites_own_fields(act: Act, catalogue: dict[str, str]) -> None:
    own = catalogue["own"]
    act("package_patch", id=own, notes="An edit")
    assert stored(own) == {"frequency": "7", **RIPE}
    shown = act("package_show", id=own)
    extras = [one for one in shown["extras"] if one["key"] != "freshness"]
    act("package_update", **{**shown, "extras": [*extras, {"key": "freshness", "value": "green"}]})
    assert stored(own) == {"frequency": "7", **RIPE, "freshness": "green"}
    assert found(act, "freshness:green") == {own}
    created = new(act, freshness="green")
    assert stored(created) == {"frequency": "7", "freshness": "green"}
    act("package_patch", id=catalogue["ours"], notes="An edit")
    assert stored(catalogue["ours"])["freshness"] == "fresh", "it has no such field"
    assert {one.package_id for one in own_fields.find()} == {own, created}


def test_kept_beside_ours(
    act: Act, cli: Any, catalogue: dict[str, str], choose: Callable[..., None]
) -> None:
    own, ours = catalogue["own"], catalogue["ours"]
    choose(field_prefix="hdx_")
    done = cli.invoke(ckan, ["freshness", "refresh", "--all"])
    assert done.exit_code == 0, done.output
    values = stored(own)
    assert {key: values[key] for key in RIPE} == RIPE
    assert values["hdx_freshness"] == stored(ours)["hdx_freshness"] == "fresh"
    assert "freshness" not in stored(ours)
    for query in ("freshness:ripe", "extras_freshness:ripe"):
        assert found(act, query) == {own}
    assert found(act, "hdx_freshness:fresh") == found(act, "hdx_freshness_group:up_to_date")
    assert found(act, "hdx_freshness:fresh AND hdx_freshness_due_date:[NOW TO *]") == {own, ours}
    act("package_patch", id=own, notes="An edit")
    assert {key: stored(own)[key] for key in values} == values
    act("package_patch", id=own, extras=[{"key": "freshness", "value": "green"}])
    assert stored(own)["freshness"] == "green", "an editor may change the site's own field"
    assert refresh(now()) == RefreshCounts()
    assert own_fields.find() == []
    for _ in own_fields.take_out(own_fields.find_written()):
        pass
    assert stored(own) == {"freshness": "green"}
    assert stored(ours) == {"frequency": "7"}


def test_a_prefix_that_is_chosen_later(
    act: Act, catalogue: dict[str, str], choose: Callable[..., None]
) -> None:
    """The next refresh moves the extras, back too."""
    own, ours = catalogue["own"], catalogue["ours"]
    act("package_patch", id=ours, notes="Judged before the site chooses")
    assert "freshness" in stored(ours)
    choose(field_prefix="hdx_")
    assert refresh(now()) == RefreshCounts(datasets=2, changed=2)
    assert set(with_prefix("hdx_").extras) & stored(ours).keys()
    assert "freshness" not in stored(ours)
    choose(field_prefix="")
    done = refresh(now())
    assert {one.package_id for one in done.own_fields} == {own}
    assert "hdx_freshness" in stored(ours), "all wait for the choice"


def test_values_of_another_portal_with_this_extension_are_ours(act: Act) -> None:
    """Harvesters of CKAN sites copy all extras; the copies are judged here."""
    there = {
        "freshness": "delinquent",
        "freshness_due": "2020-01-09T03:04:05Z",
        "freshness_overdue": "2020-01-10T03:04:05Z",
        "freshness_delinquent": "2020-01-11T03:04:05Z",
        "freshness_evidence": "upload",
        "freshness_frequency": "7",
        "freshness_last_modified": "2020-01-02T03:04:05Z",
    }
    made = new(act, **there)
    assert stored(made)["freshness"] == "fresh"
    assert own_fields.find() == []
