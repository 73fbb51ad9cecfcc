"""A site's own fields under our names stay as they are; the doctor names them."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from ckan.cli.cli import ckan
from ckan.lib import search

from ckanext.freshness.ckan_adapter.core import NAMES, model
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.status import our_fields
from ckanext.freshness.tests import datasets
from ckanext.freshness.tests.datasets import Act, stored

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

RIPE = {"freshness": "ripe", "freshness_due": "on Sunday"}


def new(act: Act, **extras: str) -> str:
    return str(datasets.new(act, extras={"frequency": "7", **extras})["id"])


@pytest.fixture
def catalogue(act: Act) -> dict[str, str]:
    """A site as it is before the extension writes: one dataset has fields of its own, the other has none."""
    ids = {"ours": new(act), "own": new(act)}
    write_extras({ids["ours"]: {}, ids["own"]: RIPE}, NAMES.extras)
    for table in ("dataset", "evidence", "resource", "transition"):
        model.Session.execute(sa.text(f"DELETE FROM freshness_{table}"))
    model.Session.commit()
    model.Session.remove()
    search.rebuild(quiet=True)
    search.commit()
    return ids


def found(act: Act, fq: str) -> set[str]:
    return {one["id"] for one in act("package_search", fq=fq)["results"]}


@pytest.mark.parametrize("everything", [(), ("--all",)], ids=str)
def test_they_stay_and_their_datasets_have_no_status(
    act: Act, cli: Any, catalogue: dict[str, str], everything: tuple[str, ...]
) -> None:
    own, ours = catalogue["own"], catalogue["ours"]
    done = cli.invoke(ckan, ["freshness", "refresh", *everything])
    assert done.exit_code == 0
    assert f"freshness = 'ripe' in {own}" in done.output and "Rename these fields" in done.output
    done = cli.invoke(ckan, ["freshness", "doctor"])
    assert "1 dataset has fields of their own" in done.output
    assert f"freshness = 'ripe' in {own}" in done.output
    assert stored(own) == {"frequency": "7", **RIPE}
    assert stored(ours)["freshness"] == "fresh"
    for query in ("freshness:ripe", "extras_freshness:ripe"):
        assert found(act, query) == {own}, "saved searches continue to work"
    assert found(act, "freshness:fresh") == {ours}


def test_no_page_takes_them_for_ours(act: Act, app: Any, catalogue: dict[str, str]) -> None:
    own = act("package_show", id=catalogue["own"])
    write_extras({own["id"]: {"freshness": "fresh"}}, NAMES.extras)
    model.Session.commit()
    page = app.get(f"/dataset/{own['name']}", status=200).body
    assert 'class="fr-badge"' not in page
    act("package_patch", id=catalogue["ours"], notes="Judged")
    assert 'class="fr-badge"' in app.get(f"/dataset/{catalogue['ours']}").body


def test_renamed(act: Act, catalogue: dict[str, str]) -> None:
    own = catalogue["own"]
    extras = [{"key": "ripeness", "value": "ripe"}, {"key": "frequency", "value": "7"}]
    act("package_patch", id=own, extras=extras)
    assert stored(own)["freshness"] == "fresh" and stored(own)["ripeness"] == "ripe"
    assert our_fields.find() == []


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
    assert {one.package_id for one in our_fields.find()} == {own, created}


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
    assert our_fields.find() == []
