"""A site's own values under our names stay as they are; the doctor names them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.cli.cli import ckan
from ckan.lib import search

from ckanext.freshness.ckan_adapter.core import IS_2_12, NAMES, model
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.status.frequencies import custom_fields
from ckanext.freshness.status.refresh import RefreshCounts, refresh
from ckanext.freshness.tests.datasets import Act, new, one_extra, stored

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

RIPE = {"freshness": "ripe", "freshness_due": "on Sunday", "freshness_frequency": "often"}


@pytest.fixture
def unjudged(act: Act) -> dict[str, Any]:
    """A dataset with fields of its own from before this extension was enabled."""
    made = new(act, **one_extra("frequency", "7"))
    write_extras({made["id"]: RIPE}, NAMES.extras)
    for table in ("dataset", "evidence", "resource", "transition"):
        model.Session.execute(sa.text(f"DELETE FROM freshness_{table}"))
    model.Session.commit()
    model.Session.remove()
    search.rebuild(made["id"])
    return made


@pytest.mark.parametrize(
    "own", [RIPE, {"freshness_due": "on Sunday"}, {"freshness": "fresh"}], ids=str
)
@pytest.mark.parametrize("everything", [(), ("--all",)], ids=str)
def test_they_stay_and_the_doctor_names_them(
    act: Act, cli: Any, app: Any, unjudged: dict[str, Any], own: dict[str, str], everything: Any
) -> None:
    package_id = unjudged["id"]
    write_extras({package_id: own}, NAMES.extras)
    model.Session.commit()
    done = cli.invoke(ckan, ["freshness", "refresh", *everything])
    assert done.exit_code == 0, done.output
    assert stored(package_id) == {"frequency": "7", **own}
    assert refresh(datetime.now(timezone.utc)) == RefreshCounts()
    key, value = next(iter(own.items()))
    done = cli.invoke(ckan, ["freshness", "doctor"])
    assert "1 dataset has extras of their own with names" in done.output
    assert f"{key} = {value!r} in {package_id}" in done.output
    search.rebuild(package_id)
    search.commit()
    found = act("package_search", fq=f'{key}:"{value}"')
    assert found["count"] == 1, "saved searches continue to work"
    page = app.get(f"/dataset/{unjudged['name']}", status=200).body
    assert 'class="fr-badge"' not in page and value in page


def test_edits_keep_them_until_they_are_renamed(act: Act, unjudged: dict[str, Any]) -> None:
    package_id = unjudged["id"]
    act("package_patch", id=package_id, notes="An edit")
    assert stored(package_id) == {"frequency": "7", **RIPE}
    form = act("package_show", id=package_id)
    assert {one["key"] for one in custom_fields(form, ())} == {"frequency", *RIPE}
    sent = [{"key": key, "value": value} for key, value in {**RIPE, "freshness": "green"}.items()]
    act("package_patch", id=package_id, extras=sent)
    assert stored(package_id) == {**RIPE, "freshness": "green"}
    created = new(act, extras={"frequency": "7", "freshness": "green"})
    assert stored(created["id"]) == {"frequency": "7", "freshness": "green"}
    for one in (package_id, created["id"]):
        act("package_patch", id=one, extras=[{"key": "frequency", "value": "7"}])
        assert stored(one)["freshness"] == "fresh"
        act("package_patch", id=one, extras=sent)
        assert stored(one)["freshness"] != "green", "it is judged"


def test_a_dataset_without_extras_is_judged(act: Act, unjudged: dict[str, Any]) -> None:
    write_extras({unjudged["id"]: {}}, [*NAMES.extras, "frequency"])
    if IS_2_12:
        model.Session.execute(sa.text("UPDATE package SET extras = NULL"))
    model.Session.commit()
    assert refresh(datetime.now(timezone.utc)).changed == 1


def test_copies_of_another_portals_values_are_judged_here(act: Act) -> None:
    """Harvesters of CKAN sites copy all extras."""
    there = {
        "freshness": "delinquent",
        "freshness_due": "2020-01-09T03:04:05Z",
        "freshness_frequency": "7",
    }
    made = new(act, extras={"frequency": "7", **there})
    assert stored(made["id"])["freshness"] == "fresh"
