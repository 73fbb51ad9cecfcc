"""Records laid out for ckanext-scheming schemas: those that ckanext-dcat ships, and others."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from ckanext.freshness.harvesting.packages.layout import CatalogSite, package_dict
from ckanext.freshness.harvesting.record import LaidOutRecord, Record


def presets() -> dict[str, Any]:
    """Return the validators of presets by name."""
    found = json.loads(files("ckanext.scheming").joinpath("presets.json").read_text("utf-8"))
    of_dcat = yaml.safe_load(
        files("ckanext.dcat.schemas").joinpath("presets.yaml").read_text("utf-8")
    )
    of_fluent = json.loads(
        Path(__file__).parents[1].joinpath("multilingual_presets.json").read_text()
    )
    every = [*found["presets"], *of_dcat["presets"], *of_fluent["presets"]]
    return {one["preset_name"]: one["values"] for one in every}


def shipped(name: str) -> dict[str, Any]:
    """Return a schema as ckanext-dcat ships it, with presets expanded."""
    text = files("ckanext.dcat.schemas").joinpath(name).read_text("utf-8")
    schema: dict[str, Any] = yaml.safe_load(text)
    known = presets()

    def expand(fields: list[dict[str, Any]]) -> None:
        for field in fields:
            expand(field.get("repeating_subfields", []))
            field.update({**known.get(field.get("preset", ""), {}), **field})

    expand(schema["dataset_fields"])
    expand(schema["resource_fields"])
    return schema


def laid(fields: dict[str, Any], schema: dict[str, Any], **more: Any) -> LaidOutRecord:
    return package_dict(
        Record({"title": "T", "notes": "N", **fields}, **more), CatalogSite(schema=schema)
    )


def schema_of(*fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "form_languages": ["en", "nl"],
        "dataset_fields": list(fields),
        "resource_fields": list(fields),
    }


RICH: dict[str, Any] = {
    "uri": "https://fdp.example.org/dataset/1",
    "url": "https://example.org",
    "version": "1",
    "identifier": "id-1",
    "alternate_identifier": ["a-1", "a-2"],
    "issued": "2024-01-02T00:00:00Z",
    "frequency": "daily",
    "theme": ["t-1"],
    "provenance": "measured",
    "min_typical_age": 18,
    "trusted_data_holder": True,
    "health_theme": ["h-1"],
    "contact": [
        {"uri": "c", "name": "C", "name_translated": {"en": "C"}, "email": "c@d.nl", "url": "u"}
    ],
    "publisher": [{"name": "P", "unknown": "x"}, {"name": "Q"}],
    "temporal_coverage": [{"start": "2020", "end": "2021-12-31"}],
    "spatial_coverage": [{"text": "Utrecht", "geom": '{"type": "Point"}'}],
    "qualified_attribution": [{"agent": [{"name": "A", "odd": "x"}], "role": "r"}],
    "in_series": ["https://fdp.example.org/series/1"],
    "title_translated": {"en": "T", "nl": "S"},
}


@pytest.mark.parametrize("name", ["dcat_ap_full.yaml", "health_dcat_ap.yaml"])
def test_declared_keys_land_in_the_schemas_own_fields(name: str) -> None:
    schema = shipped(name)
    declared = {field["field_name"] for field in schema["dataset_fields"]}
    package = laid(RICH, schema).package
    extras = {extra["key"] for extra in package["extras"]}
    assert not declared & extras
    assert extras == set(RICH) - declared
    assert set(package) == (set(RICH) & declared) | {
        *("type", "title", "notes", "extras", "tags", "resources")
    }


MULTILINGUAL = {
    "title_translated": {"en": "T", "nl": "S"},
    "notes_translated": {"de": "D"},
    "population_coverage": ["Adults"],
    "population_coverage_translated": {"en": "Adults"},
    "publisher": [{"name": "P", "name_translated": {"": "P", "nl": "U"}}],
    "tags_translated": {"": ["CNS/Brain", "x"], "en": ["genomics"], "nl": ["genomica"]},
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("title", "T"),
        ("title_translated", {"en": "T", "nl": "S"}),
        # Required: without a text in every language of the forms, CKAN refuses the dataset.
        ("notes_translated", {"de": "D", "en": "N", "nl": "N"}),
        ("population_coverage", {"en": "Adults"}),
        ("publisher", [{"name": "P", "name_translated": {"en": "P", "nl": "U"}}]),
        ("tags_translated", {"en": ["CNS Brain", "genomics"], "nl": ["genomica"]}),
    ],
)
def test_translations(key: str, value: Any) -> None:
    package = laid(MULTILINGUAL, shipped("health_dcat_ap_multilingual.yaml")).package
    assert package[key] == value


def field(validators: str, **more: Any) -> dict[str, Any]:
    return {"field_name": "f", "validators": validators, **more}


CHOICES = [{"value": "a"}, {"value": "b"}]
KINDS: dict[str, dict[str, Any]] = {
    "unknown": {"field_name": "f"},
    "text": field("ignore_missing unicode_safe"),
    "list": field("ignore_missing scheming_multiple_text"),
    "choice": field("scheming_required scheming_choices", choices=CHOICES),
    "choices": field("scheming_multiple_choice", choices=CHOICES),
    "date": field("scheming_required isodate convert_to_json_if_date"),
    "dcat_date": field("ignore_missing dcat_date"),
    "object": field("scheming_required scheming_valid_json_object"),
    "fluent": field("fluent_text"),
    "nested": {
        "field_name": "f",
        "repeating_subfields": [{"field_name": "name"}, {"field_name": "email"}],
    },
}


@pytest.mark.parametrize(
    ("kind", "value", "stored", "warns"),
    [
        ("unknown", "t", "t", False),
        ("text", ["t"], "t", False),
        ("text", ["t", "u"], '["t", "u"]', False),
        ("text", [{"b": 1, "a": 2}], '[{"a": 2, "b": 1}]', False),
        ("list", ["t", ""], ["t"], False),
        ("list", '["t", "u"]', ["t", "u"], False),
        ("list", "[t", ["[t"], False),
        ("choice", "a", "a", False),
        ("choices", ["a", "c"], ["a"], True),
        ("date", "2024-05-06T07:08:09+02:00", "2024-05-06T05:08:09", False),
        ("dcat_date", "soon", None, True),
        ("object", {"a": 1}, '{"a": 1}', False),
        ("fluent", "t", {"en": "t"}, False),
        ("nested", [{"name": "n", "other": "o"}, {"other": "o"}], [{"name": "n"}], True),
        ("nested", ["n"], [{"name": "n"}], False),
        ("nested", '[{"name": "n"}]', [{"name": "n"}], False),
    ],
)
def test_kinds_of_fields(kind: str, value: Any, stored: Any, warns: bool) -> None:
    result = laid({"f": value}, schema_of(KINDS[kind]), resources=[{"f": value}])
    assert result.package.get("f") == stored
    assert result.package["resources"][0].get("f") == stored
    assert bool(result.warnings) == warns
    assert result.package["extras"] == []


def test_a_version_that_is_stated_twice() -> None:
    versions = ["1.0", "2.0"]
    of_list = {"dataset_fields": [{**KINDS["list"], "field_name": "version"}]}
    assert laid({"version": versions}, of_list).package["version"] == versions
    assert laid({"version": versions}, {}).package["version"] == json.dumps(versions)


def test_a_required_description_that_the_source_lacks() -> None:
    for name in ("dcat_ap_full.yaml", "health_dcat_ap_multilingual.yaml"):
        result = laid({"notes": ""}, shipped(name))
        assert result.package["notes"] == "T"
        assert result.warnings[0].startswith("notes: the site's schema requires them")
