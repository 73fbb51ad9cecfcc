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
from ckanext.freshness.harvesting.packages.layout import CatalogSite, package_dict
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
        ("types", {MAPPED: 1527, REPORTED: 20, STRUCTURE: 699, NOISE: 1556}),
        ("lost type", {MAPPED: 9, STRUCTURE: 28, NOISE: 16}),
        ("version 2", {MAPPED: 217, STRUCTURE: 158, NOISE: 34}),
    ],
)
def test_each_triple_is_mapped_or_reported_or_noise(name: str, expected: dict[str, int]) -> None:
    fates = recording(name).fates
    assert [(triple, why) for triple, (fate, why) in fates.items() if fate == LOST] == []
    assert all(why for fate, why in fates.values() if fate != MAPPED)
    counts = Counter(fate for fate, _ in fates.values())
    assert counts == expected


@pytest.mark.parametrize("name", ["recording", "edited", "rich", "version 2"])
def test_pages_contain_only_what_the_records_own_documents_contain(name: str) -> None:
    assert list(recording(name).repeated_in_pages()) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "rich",
            {
                "dcat:distribution/dct:license/dct:type": (
                    "http://purl.org/adms/licencetype/Attribution"
                ),
                "dct:accessRights/rdfs:label": "Vraag het loket",
                "dct:available": "2018-02-03T04:05:06",
                "dct:references": "https://example.org/ref/8",
                "dct:requires": "https://example.org/req/8",
                "dct:valid": "2030-01-01",
            },
        ),
        (
            "types",
            {
                "<http://example.org/ns#protocol>": "Protocol 7",
                "<http://example.org/ns#protocol>/<http://example.org/ns#step>": "step 1",
                "<http://example.org/ns#sampleSize>": "42",
                "<https://w3id.org/ejp-rd/vocabulary#vpConnection>": (
                    "https://w3id.org/ejp-rd/vocabulary#VPContentDiscovery"
                ),
                "dcat:contactPoint/vcard:role": "Data steward",
                "dcat:landingpage": "https://typo.example/",
                "dct:contributor/foaf:familyName": "Contrib",
                "dct:contributor/foaf:givenName": "Bob",
                "schema:keywords": "sk",
            },
        ),
        ("lost type", {"rdf:type": "https://w3id.org/ejp-rd/vocabulary#Biobank"}),
        ("version 2", {}),
    ],
)
def test_properties_without_a_field_are_reported_with_an_example(
    name: str, expected: dict[str, str]
) -> None:
    unmapped: dict[str, str] = {}
    for record in recording(name).records.values():
        unmapped |= record.unmapped
    assert unmapped == expected


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
