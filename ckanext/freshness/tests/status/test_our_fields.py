"""Values under our names are ours, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from ckan.cli.cli import ckan
from ckan.lib import search

from ckanext.freshness.ckan_adapter.core import NAMES, model
from ckanext.freshness.ckan_adapter.packages import write_extras
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
    return made


def test_a_refresh_overwrites_what_a_dataset_had(
    act: Act, cli: Any, app: Any, unjudged: dict[str, Any]
) -> None:
    # Solr takes the document, although "on Sunday" is no date.
    search.rebuild(unjudged["id"])
    assert search.show(unjudged["id"])["name"] == unjudged["name"]
    page = app.get(f"/dataset/{unjudged['name']}", status=200).body
    assert 'class="fr-badge"' not in page
    done = cli.invoke(ckan, ["freshness", "refresh"])
    assert done.exit_code == 0, done.output
    assert (stored(unjudged["id"])["freshness"], stored(unjudged["id"])["frequency"]) == (
        "fresh",
        "7",
    )
    assert not set(RIPE.values()) & set(stored(unjudged["id"]).values())


def test_an_edit_overwrites_it_too(act: Act, unjudged: dict[str, Any]) -> None:
    sent = [{"key": key, "value": value} for key, value in {**RIPE, "frequency": "7"}.items()]
    act("package_patch", id=unjudged["id"], notes="An edit", extras=sent)
    assert stored(unjudged["id"])["freshness"] == "fresh"


def test_copies_of_another_portals_values_are_judged_here(act: Act) -> None:
    """Harvesters of CKAN sites copy all extras."""
    there = {
        "freshness": "delinquent",
        "freshness_due": "2020-01-09T03:04:05Z",
        "freshness_frequency": "7",
    }
    made = new(act, extras={"frequency": "7", **there})
    assert stored(made["id"])["freshness"] == "fresh"
