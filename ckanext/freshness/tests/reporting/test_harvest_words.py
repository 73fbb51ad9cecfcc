"""Harvests in plain words."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.harvesting.record import Containers, KnownRecord, ReadOutcome, SeenRecord
from ckanext.freshness.harvesting.strategy import deletions
from ckanext.freshness.reporting import harvest_words

URL = "https://fdp.example.org/dataset/1"
NOW = datetime(2026, 11, 23, tzinfo=timezone.utc)

pytestmark = pytest.mark.usefixtures("with_request_context")


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (f"{URL}: it answers 410", "It is no longer there (the server answers 410)."),
        (f"{URL}: it answers 403", "The server refuses access (403)."),
        (f"{URL}: it answers 503 (tried 3 times)", "The server has a fault (503)."),
        (
            f"{URL}: the text/turtle is malformed near line 12: The prefix dct: has not been declared",
            "Its metadata file has a syntax error near line 12.",
        ),
        (
            f"{URL}: the answer is text/html, not RDF (text/turtle, application/rdf+xml)",
            "The server sent a web page or another file instead of metadata.",
        ),
        (
            "9 deletions are held: 9 of 12 records would be deleted, more than max_delete_fraction",
            "The deletion of 9 records was put on hold.",
        ),
    ],
)
def test_errors_are_sentences_with_the_message_behind_them(message: str, text: str) -> None:
    assert harvest_words.error(message) == harvest_words.PlainError(text, message)


def test_an_unknown_error_is_shown_without_its_url() -> None:
    assert harvest_words.error(f"{URL}: something odd") == harvest_words.PlainError("Something odd")
    assert harvest_words.error("Something: odd") == harvest_words.PlainError("Something: odd")


def test_each_reason_of_a_deletion_has_a_sentence() -> None:
    """The reasons that the strategy gives, whatever happens to a record."""
    catalog = "https://fdp.example.org/catalog/1"
    known = KnownRecord(URL, f"catalog={catalog};dataset={URL}", catalog, in_pages=True)
    long_ago = KnownRecord(URL, known.guid, catalog, forbidden_since=NOW - timedelta(days=2))
    foreign = KnownRecord("x", "x", recognised=False)
    listed = SeenRecord(URL, ReadOutcome.FORBIDDEN, (catalog,))
    others = {f"{URL}{n}": SeenRecord(f"{URL}{n}", ReadOutcome.PRESENT, (catalog,)) for n in (1, 2)}
    cases: tuple[tuple[KnownRecord, SeenRecord | None, dict[str, str]], ...] = (
        (known, None, {}),
        (known, SeenRecord(URL, ReadOutcome.GONE), {}),
        (known, SeenRecord(URL, ReadOutcome.FAILED, (catalog,)), {}),
        (known, listed, {}),
        (known, SeenRecord(URL, ReadOutcome.FORBIDDEN, (catalog,), left_out=True), {}),
        (long_ago, listed, {}),
        (known, None, {catalog: "it answers 503"}),
        (known, None, {"https://fdp.example.org/catalog/2": "it answers 503"}),
        (foreign, None, {}),
    )
    sentences = set()
    for record, seen, unreadable in cases:
        containers = Containers("https://fdp.example.org", {catalog}, unreadable)
        found = deletions([record], others | ({URL: seen} if seen else {}), containers, now=NOW)
        (absent,) = (*found.delete, *found.keep)
        sentence = harvest_words.reason(absent.reason)
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
    assert harvest_words.change({**nothing, "before": None, "after": None, **change}) == text
