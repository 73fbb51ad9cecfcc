"""The differences between two versions of a record."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.harvesting.record import Record
from ckanext.freshness.harvesting.record_changes import FieldChange, changes, lost

A = {"uri": "https://x.example/a", "name": "Table", "format": "CSV"}


def record(**values: Any) -> Record:
    tags = values.pop("tags", [])
    resources = values.pop("resources", [])
    return Record(values, resources, tags)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"title": "A"}, {"title": "B"}, [FieldChange("title", before="A", after="B")]),
        ({"min_typical_age": 18}, {"min_typical_age": "18"}, []),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, []),
        (
            {"tags": ["a", "b"]},
            {"tags": ["b", "c"]},
            [FieldChange("tags", removed=("a",), added=("c",))],
        ),
        (
            {"contact": [{"email": "a@x.example", "name": "A"}]},
            {"contact": [{"email": "b@x.example", "name": "A"}]},
            [FieldChange("contact")],
        ),
        (
            {"title": "A", "title_translated": {"de": "A"}},
            {"title": "A", "title_translated": {"de": "B"}},
            [FieldChange("title", before="A", after="B", language="de")],
        ),
        (
            {"resources": [A]},
            {"resources": [{**A, "format": "XLSX", "modified": "2026-11-23"}]},
            [FieldChange("format", "Table", before="CSV", after="XLSX")],
        ),
        (
            {"resources": [A]},
            {"resources": [{"uri": "https://x.example/b", "name": "Map"}]},
            [FieldChange("resources", removed=("Table",), added=("Map",))],
        ),
        (
            {"resources": [A, {"uri": "https://x.example/b", "name": "Map"}]},
            {"resources": [{"uri": "https://x.example/b", "name": "Map"}, A]},
            [FieldChange("resources", before="Table, Map", after="Map, Table")],
        ),
    ],
)
def test_the_fields_that_differ(
    before: dict[str, Any], after: dict[str, Any], expected: list[FieldChange]
) -> None:
    assert changes(record(**before), record(**after)) == expected


@pytest.mark.parametrize(
    ("without", "left"),
    [
        ([], ["title", "resources", "format"]),
        (["title"], ["resources", "format"]),
        (["resources"], ["title"]),
        (["resources.format"], ["title", "resources"]),
    ],
)
def test_fields_that_a_site_keeps_are_left_out(without: list[str], left: list[str]) -> None:
    before = record(title="A", resources=[A])
    after = record(
        title="B", resources=[{**A, "format": "XLSX"}, {"uri": "https://x.example/b", "name": "B"}]
    )
    assert [change.field for change in changes(before, after, without=without)] == left


B = {"uri": "https://x.example/b", "name": "Map"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"title": "A"}, {"title": "B", "notes": "C"}, []),
        ({"title": "A"}, {}, ["title"]),
        ({"size": 0}, {}, ["size"]),
        ({"is_open": False}, {"is_open": True}, []),
        (
            {"title_translated": {"en": "A", "nl": "B"}},
            {"title_translated": {"en": "A"}},
            ["title_translated"],
        ),
        ({"conforms_to": ["a", "b"]}, {"conforms_to": ["a"]}, ["conforms_to"]),
        # Some fields have a text in place of a list with one.
        ({"license": ["a", "b"]}, {"license": "a"}, ["license"]),
        ({"license": "a"}, {"license": ["a", "b"]}, []),
        ({"contact": [{"name": "A", "email": "a"}]}, {"contact": [{"name": "A"}]}, ["contact"]),
        ({"contact": [{"name": "A"}]}, {"contact": [{"name": "A", "email": "a"}]}, []),
        ({"tags": ["a", "b"]}, {"tags": ["a"]}, ["tags"]),
        ({"resources": [A, B]}, {"resources": [B]}, ["resource Table"]),
        ({"resources": [A]}, {"resources": [B, {**A, "format": "XLSX"}]}, []),
        (
            {"resources": [A]},
            {"resources": [{**B, **A, "format": ""}]},
            ["format of resource Table"],
        ),
    ],
)
def test_what_a_version_lacks(
    before: dict[str, Any], after: dict[str, Any], expected: list[str]
) -> None:
    assert lost(record(**before), record(**after)) == expected
    assert lost(record(**before), record(**before)) == []
