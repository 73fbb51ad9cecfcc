"""Records laid out for ckanext-scheming schemas: those that ckanext-dcat ships, and others."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
import yaml

from ckanext.freshness.harvesting.packages.layout import CatalogSite, package_dict
from ckanext.freshness.harvesting.record import LaidOutRecord, Record


def shipped(name: str) -> dict[str, Any]:
    """Return a schema as ckanext-dcat ships it, with presets not expanded."""
    text = files("ckanext.dcat.schemas").joinpath(name).read_text("utf-8")
    schema: dict[str, Any] = yaml.safe_load(text)
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


def _expanded(preset: str, validators: str, **more: Any) -> list[dict[str, Any]]:
    """Return a field as it is written, and as the schema action shows it."""
    return [
        {"field_name": "f", "preset": preset, **more},
        {"field_name": "f", "preset": preset, "validators": validators, **more},
        {"field_name": "f", "validators": validators, **more},
    ]


CHOICES = [{"value": "a"}, {"value": "b"}]
KINDS: dict[str, list[dict[str, Any]]] = {
    "text": [{"field_name": "f"}, {"field_name": "f", "validators": "ignore_missing unicode_safe"}],
    "list": _expanded("multiple_text", "ignore_missing scheming_multiple_text"),
    "choice": _expanded("select", "scheming_required scheming_choices", choices=CHOICES),
    "choices": _expanded("multiple_checkbox", "scheming_multiple_choice", choices=CHOICES),
    "date": _expanded("date", "scheming_required isodate convert_to_json_if_date"),
    "dcat_date": [{"field_name": "f", "validators": "ignore_missing dcat_date"}],
    "object": _expanded("json_object", "scheming_required scheming_valid_json_object"),
    "tags": _expanded("tag_string_autocomplete", "ignore_missing tag_string_convert"),
    "series": [{"field_name": "f", "preset": "dataset_series_in_series"}],
    "fluent": _expanded("fluent_text", "fluent_text"),
    "nested": [
        {
            "field_name": "f",
            "repeating_subfields": [{"field_name": "name"}, {"field_name": "email"}],
        }
    ],
}


@pytest.mark.parametrize(
    ("kind", "value", "stored", "warns"),
    [
        ("text", "t", "t", False),
        ("text", ["t"], "t", False),
        ("text", '["t"]', '["t"]', False),
        ("text", ["t", "u"], '["t", "u"]', False),
        ("text", [{"b": 1, "a": 2}], '[{"a": 2, "b": 1}]', False),
        ("list", ["t", ""], ["t"], False),
        ("list", [{"a": "b"}], ['{"a": "b"}'], False),
        ("list", '["t", "u"]', ["t", "u"], False),
        ("list", "[t", ["[t"], False),
        ("choice", "a", "a", False),
        ("choices", ["a", "b"], ["a", "b"], False),
        ("choices", ["a", "c"], ["a"], True),
        ("date", "2024-05-06", "2024-05-06", False),
        ("date", "2024-05-06T07:08:09+02:00", "2024-05-06T05:08:09", False),
        ("dcat_date", "soon", None, True),
        ("object", {"a": 1}, '{"a": 1}', False),
        ("tags", ["b", "a"], None, True),
        ("tags", ["genes", "CNS/Brain"], "CNS Brain, genes", True),
        ("series", ["https://a.nl/1"], None, True),
        ("fluent", "t", {"en": "t"}, False),
        ("nested", [{"name": "n", "other": "o"}, {"other": "o"}], [{"name": "n"}], True),
        ("nested", ["n"], [{"name": "n"}], False),
        ("nested", '[{"name": "n"}]', [{"name": "n"}], False),
    ],
)
def test_kinds_of_fields(kind: str, value: Any, stored: Any, warns: bool) -> None:
    for field in KINDS[kind]:
        result = laid({"f": value}, schema_of(field), resources=[{"f": value}])
        assert result.package.get("f") == stored, field
        assert result.package["resources"][0].get("f") == stored, field
        assert bool(result.warnings) == warns, field
        assert result.package["extras"] == []


def test_a_required_description_that_the_source_lacks() -> None:
    for name in ("dcat_ap_full.yaml", "health_dcat_ap_multilingual.yaml"):
        result = laid({"notes": ""}, shipped(name))
        assert result.package["notes"] == "T"
        assert result.warnings[0].startswith("notes: the site's schema requires them")
