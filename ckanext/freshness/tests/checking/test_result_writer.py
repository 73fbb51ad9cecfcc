"""Writing of results: their effects, odd texts, and resources that change meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ckanext.freshness.checking import check_rows
from ckanext.freshness.checking.decisions import Attempt, CheckResult, KnownContent, Outcome
from ckanext.freshness.tests.checking.rows import HASH, finding
from ckanext.freshness.tests.checking.stored import values
from ckanext.freshness.tests.checking.tables import (
    AFTER,
    BEFORE,
    DAY,
    HOUR,
    LATER,
    NOW,
    TYPES,
    known,
    one_resource,
    sql,
    start,
    write,
)
from ckanext.freshness.web.errors import FailureReason

pytestmark = pytest.mark.usefixtures("tables")


FOUND = {"failures": 0, "failing_since": None}
FAILING = {"failures": 2, "failing_since": (NOW - DAY).replace(tzinfo=None)}


@pytest.mark.parametrize(
    ("outcome", "more", "expected"),
    [
        (Outcome.NOT_MODIFIED, {}, FOUND | {"hashed_at": BEFORE, "undetermined": None}),
        (Outcome.HEADER, {}, FOUND | {"hashed_at": BEFORE, "undetermined": None}),
        (Outcome.SAME_HASH, {}, FOUND | {"hashed_at": AFTER, "undetermined": None}),
        (Outcome.FIRST_HASH, {}, FOUND | {"hashed_at": AFTER, "undetermined": None}),
        (Outcome.REPEAT_HASH, {}, FOUND | {"hashed_at": AFTER, "undetermined": None}),
        (
            Outcome.CHANGED,
            {"changed_at": LATER},
            FOUND | {"changed_at": AFTER, "undetermined": None},
        ),
        (Outcome.API, {}, FOUND | {"hashed_at": AFTER, "undetermined": "api"}),
        (Outcome.PAGE, {}, FOUND | {"hashed_at": AFTER, "undetermined": "page"}),
        (Outcome.UNCONFIRMED, {}, FOUND | {"hashed_at": BEFORE}),
        (Outcome.CANNOT_TELL, {}, FAILING | {"hashed_at": BEFORE, "undetermined": "blocked"}),
        (Outcome.ERROR, {}, FAILING | {"failures": 3, "undetermined": "api"}),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else "",
)
def test_what_an_outcome_changes(
    outcome: Outcome, more: dict[str, Any], expected: dict[str, Any]
) -> None:
    one_resource()
    write(finding(Outcome.API))
    sql(
        "UPDATE freshness_check SET failures = 2, failing_since = :since",
        since=FAILING["failing_since"],
    )
    assert write(finding(outcome, LATER, **more), start=LATER - HOUR)
    row = known()
    assert {key: row[key] for key in expected} == expected
    assert (row["checked_at"], row["tried_at"]) == (AFTER - HOUR, AFTER)
    was_found = row["failures"] == 0
    assert row["succeeded_at"] == (AFTER if was_found else BEFORE)


def test_a_check_that_could_not_tell_moves_neither_end_of_the_failures() -> None:
    one_resource()
    for hour in range(3):
        write(finding(Outcome.ERROR, NOW + hour * HOUR))
    write(finding(Outcome.CANNOT_TELL, LATER))
    failures = {"failing_since": BEFORE, "failed_at": BEFORE + 2 * HOUR}
    assert known("failing_since, failed_at, tried_at") == {**failures, "tried_at": AFTER}
    write(finding(Outcome.SAME_HASH))
    assert known("failing_since, failed_at") == {"failing_since": None, "failed_at": None}


def test_where_a_file_has_moved_is_known_from_the_last_success() -> None:
    one_resource()
    for outcome, moved_to, expected in (
        (Outcome.SAME_HASH, "https://new.example/a.csv", "https://new.example/a.csv"),
        (Outcome.ERROR, "https://other.example/a.csv", "https://new.example/a.csv"),
        (Outcome.CANNOT_TELL, None, "https://new.example/a.csv"),
        (Outcome.SAME_HASH, None, None),
    ):
        write(finding(outcome, moved_to=moved_to))
        assert known()["moved_to"] == expected


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=values(KnownContent))
def test_all_that_is_known_of_a_file_is_read_back(a_resource: None, content: KnownContent) -> None:
    assert write(finding(known=content))
    assert start().known == content
    parts = {"hash": content.hash, "promised": content.promised, "found": content.found}
    assert known("hash, promised, found") == parts


@pytest.fixture
def a_resource(tables: None) -> None:
    one_resource()


def test_what_was_never_asked_is_asked_by_the_next_run() -> None:
    one_resource()
    unasked = set()
    for reason in FailureReason:
        sql("UPDATE freshness_check SET checked_at = NULL")
        write(finding(Outcome.ERROR, reason=reason.value), start=NOW)
        if known("checked_at") == {"checked_at": None}:
            unasked.add(reason)
    assert unasked == {
        *(FailureReason.HOST_DEFERRED, FailureReason.HOST_SILENT),
        *(FailureReason.NO_ROUTE, FailureReason.PROXY, FailureReason.OUT_OF_SOCKETS),
        FailureReason.NO_ROOM,
    }


def test_the_last_five_attempts_are_kept() -> None:
    one_resource()
    for number in range(7):
        attempt = Attempt(NOW + number * HOUR, Outcome.SAME_HASH, 200 + number)
        write(finding(attempt=attempt))
    attempts = known("attempts")["attempts"]
    assert [one["status"] for one in attempts] == [206, 205, 204, 203, 202]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('"é"', '"é"'),
        ('"a\0b"', '"a\ufffdb"'),
        ("\ud800", "?"),
        ("\\u0000 \\ ' \" :x %s", "\\u0000 \\ ' \" :x %s"),
    ],
)
def test_whatever_a_server_sends_can_be_kept(sent: str, kept: str) -> None:
    one_resource()
    attempt = Attempt(NOW, Outcome.SAME_HASH, 200, None, sent, 0, 0.0, sent, sent, sent)
    write(finding(known=KnownContent(sent, sent, HASH), attempt=attempt))
    content = start().known
    assert (content.etag, content.last_modified) == (kept, kept)
    assert known("attempts")["attempts"][0]["words"] == kept


def test_a_finding_about_another_url_tells_nothing() -> None:
    one_resource()
    sql("UPDATE resource SET url = 'http://other.example.org/'")
    assert write(finding()) == []
    check_rows.sync(NOW, TYPES)
    assert write(finding()) == []
    assert known("checked_at, hash") == {"checked_at": None, "hash": None}


def test_a_finding_about_what_is_gone_tells_nothing() -> None:
    one_resource()
    sql("UPDATE resource SET state = 'deleted'")
    assert write(finding()) == []
    sql("DELETE FROM freshness_check")
    assert write(finding()) == []
    assert write() == []


# What checks teach of changes.

LEARNED = "seen_changes, watched_days, change_seen_at"


def checked(days: int, outcome: Outcome, **more: Any) -> CheckResult:
    """A check some days after the first, which knows what is stored."""
    at = NOW + days * DAY
    return finding(outcome, at, resource=start(at), **more)


def test_observations_are_stored_with_their_result() -> None:
    one_resource()
    write(finding(), start=NOW)
    write(checked(10, Outcome.SAME_HASH))
    assert known(LEARNED) == {
        "seen_changes": 0,
        "watched_days": 10,
        "change_seen_at": None,
    }
    # Nobody knows whether the file has changed.
    for outcome in (Outcome.ERROR, Outcome.CANNOT_TELL, Outcome.UNCONFIRMED):
        write(checked(11, outcome))
    assert known("watched_days") == {"watched_days": 10}
    at = NOW + 20 * DAY
    write(checked(20, Outcome.CHANGED, changed_at=at), start=at)
    found = known(LEARNED)
    # Half of the days since the last check that found the file, eleven days after the first.
    assert (found["seen_changes"], found["watched_days"]) == (1, 10 + 9 / 2)
    assert found["change_seen_at"] == at.replace(tzinfo=None)


def test_a_server_hides_changes_until_its_validators_tell_one() -> None:
    one_resource()
    write(finding(), start=NOW)
    found = []
    for days, hides in enumerate((None, True, None, False), start=1):
        outcome = Outcome.SAME_HASH if hides is None else Outcome.CHANGED
        write(checked(days, outcome, hides_changes=hides))
        found.append(known("hides_changes")["hides_changes"])
    assert found == [False, True, True, False]
