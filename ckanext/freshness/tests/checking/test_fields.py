"""What a check writes into a resource's own fields, and what it leaves."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.checking import fields
from ckanext.freshness.checking.decisions import KnownContent, Outcome
from ckanext.freshness.tests.checking.rows import finding

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
OLD, NEW = "2026-01-01T00:00:00", "2026-02-01T00:00:00"
ALL = fields.FIELDS


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, {}),
        ({"modified": NOW}, {"last_modified": "2026-11-21T02:00:00"}),
        (
            {"modified": NOW, "changed_at": NOW + timedelta(seconds=5.5)},
            {"last_modified": "2026-11-21T02:00:05"},
        ),
        ({"size": 0}, {"size": 0}),
        ({"mimetype": "text/csv"}, {"mimetype": "text/csv"}),
        ({"mimetype": "application/octet-stream"}, {}),
        ({"known": KnownContent(hash="sha256:a")}, {"hash": "sha256:a"}),
        ({"known": KnownContent(hash="sha256:a", outdated=True)}, {}),
        ({"outcome": Outcome.PAGE, "size": 5, "mimetype": "text/html"}, {}),
    ],
)
def test_what_a_visit_says(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    assert fields.found(finding(**{"known": KnownContent(), **facts})) == expected


@pytest.mark.parametrize(
    ("name", "has", "wrote", "said", "written"),
    [
        ("size", None, {}, 5, True),
        ("size", 5, {}, 5, False),
        ("mimetype", None, {}, "text/csv", True),
        ("mimetype", "text/html", {}, "text/csv", False),
        ("mimetype", "text/html", {"mimetype": "text/html"}, "text/csv", True),
        ("mimetype", "text/xml", {"mimetype": "text/html"}, "text/csv", False),
        ("last_modified", OLD, {}, NEW, True),
        ("last_modified", NEW, {}, OLD, False),
        ("last_modified", NEW, {"last_modified": NEW}, OLD, True),
        ("last_modified", NEW, {"last_modified": OLD, "old_last_modified": NEW}, OLD, False),
        ("hash", None, {}, "sha256:a", True),
        ("hash", "md5 of theirs", {}, "sha256:a", False),
        ("hash", "sha256:b", {"hash": "sha256:b"}, "sha256:a", True),
    ],
)
def test_only_what_is_empty_or_wrong_is_written(
    name: str, has: Any, wrote: dict[str, Any], said: Any, written: bool
) -> None:
    stored = {} if has is None else {name: has}
    expected = {name: said} if written else {}
    assert fields.after_check(stored, wrote, {name: said}, ALL) == expected
    others = set(ALL) - {name}
    assert fields.after_check(stored, wrote, {name: said}, others) == {}


@pytest.mark.parametrize(
    ("has", "wrote", "expected"),
    [
        ({}, {}, {}),
        ({}, {"size": 5, "hash": "h"}, {"size": 5, "hash": "h"}),
        ({"last_modified": OLD}, {"last_modified": NEW}, {"last_modified": NEW}),
        ({}, {"old_last_modified": OLD, "old_hash": "h"}, {}),
    ],
)
def test_what_others_emptied_is_written_again(
    has: dict[str, Any], wrote: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert fields.again(has, wrote, ALL) == expected
    assert fields.again(has, wrote, set()) == {}


def test_empty_fields_are_left_out() -> None:
    assert fields.stored(None, None, "", "") == {}
    assert fields.stored(datetime(2026, 1, 1), 0, "a/b", "h") == {
        "last_modified": OLD,
        "size": 0,
        "mimetype": "a/b",
        "hash": "h",
    }
