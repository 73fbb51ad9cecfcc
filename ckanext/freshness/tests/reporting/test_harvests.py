"""Harvests in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.reporting import harvests

URL = "https://fdp.example.org/dataset/1"

pytestmark = pytest.mark.usefixtures("with_request_context")


@pytest.mark.parametrize(
    "code",
    [
        {"code": "of another version", "values": {}},
        {"code": "deletions held", "values": {"number": 9}},
        {"code": "answered", "values": {"status": "unknown"}},
        {"code": "no answer", "values": {"failure": "of another version"}},
        {"code": 1, "values": None},
        None,
    ],
)
def test_messages_of_other_versions_are_shown_as_they_are(code: Any) -> None:
    stored = {"message": f"{URL}: it answers 410", "message_code": code}
    assert harvests.error(**stored) == harvests.PlainError("It answers 410", stored["message"])
    assert harvests.reason("it answers 410", code) == "it answers 410"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"field": "title", "before": "A", "after": "B"}, "Title: “B” (was “A”)"),
        ({"field": "license", "after": "CC0"}, "License: “CC0” (was not given)"),
        ({"field": "tags", "added": ["a", "b"]}, "Keywords: “a”, “b” added"),
        (
            {"field": "title", "before": "A", "after": "B", "language": "de"},
            "Title (de): “B” (was “A”)",
        ),
        (
            {"field": "format", "resource": "Table", "before": "CSV", "after": "XLSX"},
            "Format of “Table”: “XLSX” (was “CSV”)",
        ),
        ({"field": "has_version", "after": "2"}, "Has version: “2” (was not given)"),
    ],
)
def test_changes_are_readable(change: dict[str, object], text: str) -> None:
    nothing: dict[str, object] = {"resource": None, "language": None, "added": [], "removed": []}
    assert harvests.change({**nothing, "before": None, "after": None, **change}) == text
