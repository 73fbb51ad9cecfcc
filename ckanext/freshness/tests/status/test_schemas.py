"""Freshness on sites whose schema, by ckanext-scheming, has fields for what it reads and writes."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from ckan.tests import factories, helpers

from ckanext.freshness.ckan_adapter.core import IS_2_12
from ckanext.freshness.doctor import fields_of_the_site
from ckanext.freshness.doctor.findings import Severity
from ckanext.freshness.tests.datasets import Act, new, stored
from ckanext.freshness.tests.status.measuring import activities

SCHEMA = {
    "scheming_version": 2,
    "dataset_type": "dataset",
    "about": "A schema with a field of its own for the frequency, and one called as one of ours.",
    "dataset_fields": [
        {"field_name": "title", "preset": "title"},
        {"field_name": "name", "preset": "dataset_slug"},
        {"field_name": "frequency", "label": "Frequency"},
        {"field_name": "review_date", "label": "Reviewed", "preset": "date"},
        {
            "field_name": "freshness",
            "label": "Of fruit",
            "preset": "select",
            "required": True,
            "choices": [{"value": "ripe", "label": "Ripe"}, {"value": "green", "label": "Green"}],
        },
    ],
    "resource_fields": [{"field_name": "url", "preset": "resource_url_upload"}],
}


@pytest.fixture
def act(
    request: pytest.FixtureRequest,
    ckan_config: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Act:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    names = ckan_config["ckan.plugins"]
    names = names if isinstance(names, list) else names.split()
    # Before ours, as on sites that had it first: their validators run first, too.
    monkeypatch.setitem(ckan_config, "ckan.plugins", " ".join(["scheming_datasets", *names]))
    monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", f"file://{file}")
    monkeypatch.setitem(ckan_config, "scheming.presets", "ckanext.scheming:presets.json")
    request.getfixturevalue("clean_db")
    request.getfixturevalue("clean_index")
    sysadmin = factories.Sysadmin()["name"]

    def call(action: str, **data: Any) -> Any:
        return helpers.call_action(action, {"user": sysadmin, "ignore_auth": False}, **data)

    return call


def make_apples(act: Act) -> Any:
    return new(act, title="Apples", frequency="weekly", freshness="ripe")


def test_a_schema_that_declares_fields_of_the_same_names(act: Act) -> None:
    made = make_apples(act)
    assert made["freshness"] == "ripe", "the field is the site's"
    found = stored(made["id"])
    assert (found["freshness"], found["freshness_frequency"]) == ("ripe", "7")
    assert act("freshness_show", id=made["id"])["status"] == "fresh"

    had = activities(made["id"])
    shown = act("package_show", id=made["id"])
    again = act("package_update", **shown)
    assert (again["freshness"], activities(made["id"])) == ("ripe", had + _moves_always())
    assert act("package_patch", id=made["id"], freshness="green")["freshness"] == "green"
    confirmed = act("freshness_confirm", id=made["id"])
    assert confirmed["status"] == "fresh"
    assert "review" in {one["evidence"] for one in confirmed["pieces"]}
    found = stored(made["id"])
    assert found["freshness"] == "green"
    assert found["freshness_frequency"] == "7"


def test_the_doctor_warns_if_the_schema_has_the_field_of_the_status(act: Act) -> None:
    (found,) = fields_of_the_site(datetime.now(timezone.utc))
    assert found.severity is Severity.WARNING
    assert "declares freshness" in found.text and "field_prefix" in found.advice


def _moves_always() -> int:
    """CKAN 2.11 has an activity for each update."""
    return 0 if IS_2_12 else 1
