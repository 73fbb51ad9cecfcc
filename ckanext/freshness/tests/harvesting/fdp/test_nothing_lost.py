"""Nothing that a real FAIR Data Point publishes is lost silently: the golden test."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import ckanext.dcat.schemas
from ckanext.freshness.harvesting.package_layout import CatalogSite, package_dict
from ckanext.freshness.tests.harvesting.fdp.fates import (
    LOST,
    MAPPED,
    NOISE,
    RECORDINGS,
    REPORTED,
    STRUCTURE,
    Recording,
)

recording = cache(lambda name: Recording(RECORDINGS[name]))

FULL: dict[str, Any] = yaml.safe_load(
    (Path(ckanext.dcat.schemas.__file__).parent / "dcat_ap_full.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("recording", {MAPPED: 255, STRUCTURE: 140, NOISE: 318}),
        ("edited", {MAPPED: 490, STRUCTURE: 218, NOISE: 576}),
        ("rich", {MAPPED: 848, REPORTED: 12, STRUCTURE: 339, NOISE: 548}),
    ],
)
def test_each_triple_is_mapped_or_reported_or_noise(name: str, expected: dict[str, int]) -> None:
    fates = recording(name).fates
    assert [(triple, why) for triple, (fate, why) in fates.items() if fate == LOST] == []
    assert all(why for fate, why in fates.values() if fate != MAPPED)
    counts = Counter(fate for fate, _ in fates.values())
    assert counts == expected
    # Pages contain only what the records' own documents contain.
    assert list(recording(name).repeated_in_pages()) == []


def test_properties_without_a_field_are_reported_with_an_example() -> None:
    unmapped: dict[str, str] = {}
    for record in recording("rich").records.values():
        unmapped |= record.unmapped
    assert unmapped == {
        "dcat:distribution/dct:license/dct:type": "http://purl.org/adms/licencetype/Attribution",
        "dct:accessRights/rdfs:label": "Vraag het loket",
        "dct:available": "2018-02-03T04:05:06",
        "dct:references": "https://example.org/ref/8",
        "dct:requires": "https://example.org/req/8",
        "dct:valid": "2030-01-01",
    }


@pytest.mark.parametrize("schema", [None, FULL])
@pytest.mark.parametrize("name", RECORDINGS)
def test_each_field_of_a_record_is_in_its_package(name: str, schema: dict[str, Any] | None) -> None:
    """With ckanext-dcat's schema, values are in its fields; without, in extras."""
    for record in recording(name).records.values():
        laid = package_dict(record, CatalogSite(schema=schema))
        extras = {extra["key"] for extra in laid.package["extras"]}
        fields = {field["field_name"] for field in (schema or {}).get("dataset_fields", ())}
        assert not extras & fields
        held = laid.package.keys() | extras
        for key in record.fields.keys() - held:
            value = record.fields[key]
            if key.endswith("_translated"):
                assert len([language for language in value if language]) < 2
            else:
                assert key == "license" and isinstance(value, list) and "licenses" in held
        told = json.dumps(laid.package, ensure_ascii=False) + "\n".join(laid.warnings)
        for resource, given in zip(laid.package["resources"], record.resources, strict=True):
            lost = {
                key for key in given.keys() - resource.keys() if not key.endswith("_translated")
            }
            assert not {key for key in lost if f": {key}" not in told}
