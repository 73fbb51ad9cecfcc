"""Harvests in plain words."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.harvesting.messages import HarvestMessage, MessageCode
from ckanext.freshness.harvesting.record import Containers, KnownRecord, ReadOutcome, SeenRecord
from ckanext.freshness.harvesting.strategy import BrakeLimits, deletions
from ckanext.freshness.reporting import harvests
from ckanext.freshness.web.errors import FailureReason

URL = "https://fdp.example.org/dataset/1"
NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)

pytestmark = pytest.mark.usefixtures("with_request_context")


@pytest.mark.parametrize(
    ("code", "values", "text"),
    [
        (
            MessageCode.ANSWERED,
            {"status": 410},
            "It is no longer there (the server answers 410).",
        ),
        (MessageCode.ANSWERED, {"status": 403}, "The server refuses access (403)."),
        (MessageCode.ANSWERED, {"status": 503}, "The server has a fault (503)."),
        (MessageCode.ANSWERED, {"status": 418}, "The server does not return it (418)."),
        (
            MessageCode.NO_ANSWER,
            {"failure": "connect timeout"},
            "The server took too long to answer.",
        ),
        (
            MessageCode.MALFORMED_NEAR_LINE,
            {"line": 12},
            "Its metadata file has a syntax error near line 12.",
        ),
        (MessageCode.DELETIONS_HELD, {"count": 1}, "The deletion of one record was put on hold."),
        (MessageCode.DELETIONS_HELD, {"count": 9}, "The deletion of 9 records was put on hold."),
    ],
)
def test_errors_are_sentences_with_the_message_behind_them(
    code: MessageCode, values: dict[str, Any], text: str
) -> None:
    message = HarvestMessage(f"{URL}: said in English", code, **values)
    assert harvests.error(message) == harvests.PlainError(text, str(message))


def test_each_failure_has_a_sentence() -> None:
    for failure in FailureReason:
        message = HarvestMessage("failed", MessageCode.NO_ANSWER, failure=failure.value)
        assert harvests.sentence(message)


def test_only_the_details_of_an_unknown_error_name_its_url() -> None:
    message = f"{URL}: something odd"
    assert harvests.error(message) == harvests.PlainError("Something odd", message)
    assert harvests.error("Something: odd") == harvests.PlainError("Something: odd")


def test_each_reason_of_a_deletion_has_a_sentence() -> None:
    """The reasons that the strategy gives, whatever happens to a record."""
    catalog = "https://fdp.example.org/catalog/1"
    known = KnownRecord(URL, f"catalog={catalog};dataset={URL}", catalog)
    long_ago = KnownRecord(URL, known.guid, catalog, forbidden_since=NOW - timedelta(days=2))
    foreign = KnownRecord("x", "x", recognised=False)
    listed = SeenRecord(URL, ReadOutcome.FORBIDDEN, (catalog,))
    others = {f"{URL}{n}": SeenRecord(f"{URL}{n}", ReadOutcome.PRESENT, (catalog,)) for n in (1, 2)}
    cases: tuple[tuple[KnownRecord, SeenRecord | None, dict[str, str]], ...] = (
        (known, None, {}),
        (known, SeenRecord(URL, ReadOutcome.PRESENT), {}),
        (known, SeenRecord(URL, ReadOutcome.GONE), {}),
        (known, SeenRecord(URL, ReadOutcome.FAILED, (catalog,)), {}),
        (known, listed, {}),
        (long_ago, listed, {}),
        (known, None, {catalog: "it answers 503"}),
        (known, None, {"https://fdp.example.org/catalog/2": "it answers 503"}),
        (foreign, None, {}),
    )
    sentences = set()
    for record, seen, unreadable in cases:
        containers = Containers("https://fdp.example.org", {catalog}, unreadable)
        met = others | ({URL: seen} if seen else {})
        found = deletions([record], met, containers, now=NOW, limits=BrakeLimits())
        held = found.brake.held if found.brake else ()
        (absent,) = (*found.delete, *found.keep, *held)
        sentence = harvests.reason(absent.reason)
        assert sentence != absent.reason
        sentences.add(sentence)
    assert len(sentences) == len(cases)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"field": "title", "before": "A", "after": "B"}, "Title: “B” (was “A”)"),
        ({"field": "license", "after": "CC0"}, "License: “CC0” (was not given)"),
        ({"field": "license", "before": "CC0"}, "License: removed (was “CC0”)"),
        ({"field": "tags", "added": ["a", "b"]}, "Keywords: “a”, “b” added"),
        (
            {"field": "title", "before": "A", "after": "B", "language": "de"},
            "Title (de): “B” (was “A”)",
        ),
        ({"field": "contact"}, "Contact: details changed"),
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
