"""Freshness on sites whose schema, by ckanext-scheming, has fields for what it reads and writes."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import IS_2_12, NAMES, model
from ckanext.freshness.doctor.datasets import datasets
from ckanext.freshness.doctor.findings import Severity
from ckanext.freshness.model import DatasetFreshness
from ckanext.freshness.status.our_fields import find_written
from ckanext.freshness.status.refresh import refresh
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
            "choices": [{"value": "ripe", "label": "Ripe"}, {"value": "fresh", "label": "Fresh"}],
        },
    ],
    "resource_fields": [{"field_name": "url", "preset": "resource_url_upload"}],
}


@pytest.fixture(autouse=True)
def schema(ckan_config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the schema before the plugins are loaded."""
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(SCHEMA))
    names = ckan_config["ckan.plugins"]
    names = names if isinstance(names, list) else names.split()
    # Before ours, as on sites that had it first: their validators run first, too.
    monkeypatch.setitem(ckan_config, "ckan.plugins", " ".join(["scheming_datasets", *names]))
    monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", f"file://{file}")
    monkeypatch.setitem(ckan_config, "scheming.presets", "ckanext.scheming:presets.json")


def make_apples(act: Act) -> Any:
    return new(act, title="Apples", frequency="weekly", freshness="ripe")


def test_a_schema_that_declares_a_name_of_ours(act: Act) -> None:
    made = make_apples(act)
    assert made["freshness"] == "ripe", "the field is the site's"
    kept = {"freshness": "ripe", "frequency": "weekly"}
    assert {
        key: stored(made["id"]).get(key) for key in NAMES.extras if key in stored(made["id"])
    } == {"freshness": "ripe"}
    had = activities(made["id"])
    shown = act("package_show", id=made["id"])
    again = act("package_update", **shown)
    assert (again["freshness"], activities(made["id"])) == ("ripe", had + _moves_always())
    # A value of ours is the site's, too.
    choice = act("package_patch", id=made["id"], freshness="fresh")
    assert choice["freshness"] == "fresh"
    # The command would load the plugins of the ini file.
    refresh(datetime.now(timezone.utc), everything=True)
    assert {key: stored(made["id"])[key] for key in kept} == {**kept, "freshness": "fresh"}
    assert "freshness_frequency" not in stored(made["id"])
    assert model.Session.get(DatasetFreshness, made["id"]) is None
    assert made["id"] not in find_written(), "an uninstallation leaves it"


def test_the_doctor_names_the_schema(act: Act) -> None:
    (found,) = (
        one for one in datasets(datetime.now(timezone.utc)) if one.severity is Severity.PROBLEM
    )
    assert "type dataset declares freshness" in found.text
    assert "dataset_types" in found.advice


def _moves_always() -> int:
    """CKAN 2.11 has an activity for each update."""
    return 0 if IS_2_12 else 1
