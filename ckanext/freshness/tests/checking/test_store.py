"""What is known of each URL: read for a run, written from what visits brought home, safe at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests.helpers import changed_config

from ckanext.freshness import settings
from ckanext.freshness.checking import recording, runs, store
from ckanext.freshness.checking.decide import Memory, Outcome
from ckanext.freshness.checking.findings import Attempt, Finding, Visit
from ckanext.freshness.checking.picking import Picked
from ckanext.freshness.checking.recording import EFFECTS
from ckanext.freshness.checking.selection import SHARDS, Row, Rules, Verdict, shard_of
from ckanext.freshness.checking.store import Synced
from ckanext.freshness.ckan_adapter import model, write_extras
from ckanext.freshness.model.moments import utc
from ckanext.freshness.web.errors import Reason

pytestmark = pytest.mark.usefixtures("tables")

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TYPES = {"dataset"}
URL = "http://files.example.org/a.csv"
HASH = "sha256:" + "a" * 64


@pytest.fixture
def tables(request: pytest.FixtureRequest, with_plugins: Any) -> None:
    """Empty tables; the database is made once for this module."""
    if not getattr(request.module, "is_made", False):
        request.getfixturevalue("clean_db")
        request.module.is_made = True  # type: ignore[attr-defined]
    model.Session.remove()
    own = [
        name
        for name in sa.inspect(model.Session.get_bind()).get_table_names()
        if name.startswith("freshness_") and not name.endswith("_alembic_version")
    ]
    sql(f"TRUNCATE package, {', '.join(own)} CASCADE")


def sql(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    result = model.Session.execute(sa.text(statement), values)
    rows = [tuple(row) for row in result.all()] if result.returns_rows else []
    model.Session.commit()
    return rows


def package(name: str = "p", **columns: Any) -> str:
    row = {
        "id": name,
        "name": name,
        "type": "dataset",
        "state": "active",
        "private": False,
    } | columns
    _insert("package", row)
    return name


def resource(name: str = "r", package_id: str = "p", url: str = URL, **columns: Any) -> str:
    row = {"id": name, "package_id": package_id, "url": url, "state": "active", "position": 0}
    _insert("resource", {"extras": "{}", "hash": ""} | row | columns)
    return name


def _insert(table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    sql(f"INSERT INTO {table} ({names}) VALUES ({values})", **row)


def judged(package_id: str = "p", frequency: int | None = 30, due: datetime | None = None) -> None:
    row = {"package_id": package_id, "status": "due", "frequency_days": frequency, "due": due}
    _insert("freshness_dataset", row)


def evidence(kind: str, at: datetime, resource_id: str = "r", package_id: str = "p") -> None:
    _insert(
        "freshness_evidence",
        {
            "package_id": package_id,
            "resource_id": resource_id,
            "evidence": kind,
            "happened_at": utc(at),
        },
    )


def known(columns: str = "*", resource_id: str = "r") -> dict[str, Any]:
    """The row of a resource."""
    row = model.Session.execute(
        sa.text(f"SELECT {columns} FROM freshness_check WHERE resource_id = :id"),
        {"id": resource_id},
    ).one()
    model.Session.commit()
    return dict(row._mapping)


def rows(**more: Any) -> list[Row]:
    return sorted(store.stream(NOW, settings.checks(), **more), key=lambda row: row.resource_id)


def visit(url: str = URL, memory: Memory | None = None, **more: Any) -> Visit:
    return Visit("r", "p", url, memory or Memory(), **more)


def finding(outcome: Outcome = Outcome.FIRST_HASH, at: datetime = NOW, **more: Any) -> Finding:
    reason = more.pop("reason", None)
    attempt = Attempt(at, "GET", outcome, 200, reason)
    memory = more.pop("memory", Memory('"e"', "Sat, 21 Nov 2026 01:00:00 GMT", HASH))
    return replace(Finding(visit(), "files.example.org", outcome, memory, attempt), **more)


def write(*findings: Finding, start: datetime = NOW) -> list[Finding]:
    written = recording.write(findings, start)
    model.Session.commit()
    return [one.finding for one in written]


def one_resource() -> None:
    package()
    resource()
    store.sync(NOW, TYPES)


# A row for each resource.


def test_each_active_resource_of_a_judged_type_has_a_row() -> None:
    packages: dict[str, dict[str, Any]] = {
        "p": {},
        "private": {"private": True},
        "draft": {"state": "draft"},
        "deleted": {"state": "deleted"},
        "other": {"type": "catalog"},
    }
    for name, columns in packages.items():
        package(name, **columns)
        resource(f"r-{name}", name)
    resource("r-deleted-too", state="deleted")
    assert store.sync(NOW, TYPES) == Synced(added=2, replaced=0, removed=0)
    found = sql(
        "SELECT resource_id, package_id, url, host, first_seen FROM freshness_check ORDER BY 1"
    )
    seen = NOW.replace(tzinfo=None)
    assert found == [
        ("r-p", "p", URL, "files.example.org", seen),
        ("r-private", "private", URL, "files.example.org", seen),
    ]
    assert store.sync(NOW + DAY, TYPES) == Synced(added=0, replaced=0, removed=0)
    sql("UPDATE package SET state = 'deleted' WHERE id = 'p'")
    assert store.sync(NOW, TYPES) == Synced(added=0, replaced=0, removed=1)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (URL, "files.example.org"),
        ("HTTPS://Bücher.Example:8443/a b", "xn--bcher-kva.example"),
        ("http://user:secret@0x7f.1/", "127.0.0.1"),
        ("data.csv", ""),
        ("", ""),
        ("ftp://example.org/a", ""),
        ("http://[", ""),
    ],
)
def test_hosts_are_normalised(url: str, host: str) -> None:
    package()
    resource(url=url)
    store.sync(NOW, TYPES)
    assert known("host")["host"] == host


def test_another_url_is_another_thing() -> None:
    one_resource()
    write(finding(Outcome.API, changed_at=NOW), finding(Outcome.ERROR, counts_as_failure=True))
    sql("""UPDATE freshness_check SET wrote = '{"size": 5, "hash": "h"}', seen_modified = now()""")
    sql("UPDATE resource SET url = 'https://other.example.org/'")
    assert store.sync(NOW + DAY, TYPES) == Synced(added=1, replaced=0, removed=0)
    package("new")
    resource("r-new", "new")
    store.sync(NOW, TYPES)
    anew, new = known(), known(resource_id="r-new")
    kept = {"resource_id", "package_id", "url", "host", "first_seen", "wrote", "seen_modified"}
    assert {key: value for key, value in anew.items() if key not in kept} == {
        key: value for key, value in new.items() if key not in kept
    }
    assert (anew["host"], anew["wrote"]) == ("other.example.org", {"old_hash": "h"})
    assert anew["first_seen"] == NOW.replace(tzinfo=None)


def test_a_resource_that_is_made_anew_with_the_same_url_keeps_what_is_known() -> None:
    one_resource()
    resource("twin")
    resource("different", url="http://files.example.org/b.csv")
    store.sync(NOW, TYPES)
    write(finding())
    sql("UPDATE resource SET state = 'deleted'")
    for name, url in {"new-1": URL, "new-2": URL, "new-3": URL, "new-4": "http://x.org/"}.items():
        resource(name, url=url)
    # Same URL, another dataset.
    package("p2")
    resource("elsewhere", "p2")
    assert store.sync(NOW + DAY, TYPES) == Synced(added=3, replaced=2, removed=1)
    hashes = sql("SELECT resource_id, hash FROM freshness_check ORDER BY 1")
    assert hashes == [
        ("elsewhere", None), ("new-1", HASH), ("new-2", None), ("new-3", None), ("new-4", None),
    ]  # fmt: skip


def test_a_resource_that_moved_to_another_dataset_goes_along() -> None:
    one_resource()
    package("p2")
    sql("UPDATE resource SET package_id = 'p2'")
    store.sync(NOW, TYPES)
    assert known("package_id") == {"package_id": "p2"}


def test_two_at_once_do_not_hinder_each_other() -> None:
    package()
    for number in range(200):
        resource(f"r-{number}")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3):
                store.sync(NOW, TYPES)
                store.remember_dates(TYPES)
        except BaseException as error:
            errors.append(error)
        finally:
            model.Session.remove()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []
    assert sql("SELECT count(*) FROM freshness_check") == [(200,)]


# What the rules see.


def test_rows_have_what_the_rules_need() -> None:
    one_resource()
    judged(frequency=7, due=datetime(2026, 12, 1))
    assert rows() == [
        Row(
            resource_id="r",
            package_id="p",
            url_type=None,
            host="files.example.org",
            assessed=True,
            frequency_days=7,
            due=datetime(2026, 12, 1),
            archived=False,
            requestable=False,
            visited_at=None,
            has_hash=False,
            hashed_at=None,
            tried_at=None,
            succeeded_at=None,
            failures=0,
            unconfirmed=False,
            is_new=True,
            is_touched=False,
        )
    ]
    write(finding(at=NOW + HOUR), start=NOW)
    at = (NOW + HOUR).replace(tzinfo=None)
    (row,) = store.stream(NOW + DAY, settings.checks())
    assert (row.visited_at, row.has_hash, row.is_new) == (NOW.replace(tzinfo=None), True, False)
    assert row.hashed_at == row.tried_at == row.succeeded_at == at


@pytest.mark.parametrize(
    ("extras", "archived", "requestable"),
    [
        ({}, False, False),
        ({"archived": "true"}, True, False),
        ({"archived": " True "}, True, False),
        ({"archived": "1", "is_requestdata_type": "yes"}, True, True),
        ({"archived": "false", "is_requestdata_type": "0"}, False, False),
        ({"archived": "", "other": "true"}, False, False),
    ],
)
def test_archived_and_requestable_datasets_are_told(
    extras: dict[str, str], archived: bool, requestable: bool
) -> None:
    one_resource()
    write_extras({"p": extras}, list(extras) or ["none"])
    model.Session.commit()
    (row,) = rows()
    assert (row.archived, row.requestable) == (archived, requestable)


def test_the_extras_that_tell_it_are_the_sites() -> None:
    one_resource()
    write_extras({"p": {"archived": "true", "old": "true"}}, ["archived", "old"])
    model.Session.commit()
    for keys, expected in {
        ("old",): True,
        ("closed", "old"): True,
        ("closed",): False,
        (): False,
    }.items():
        with changed_config("ckanext.freshness.check.archived_keys", list(keys)):
            assert [row.archived for row in rows()] == [expected]


def test_a_date_of_its_own_is_told_once() -> None:
    one_resource()
    assert [row.is_touched for row in rows()] == [False]
    sql("UPDATE resource SET last_modified = '2026-10-01'")
    assert [row.is_touched for row in rows()] == [True]
    assert store.remember_dates(TYPES) == 1
    assert [row.is_touched for row in rows()] == [False]
    assert store.remember_dates(TYPES) == 0
    # What the checker wrote is nobody's news.
    sql('UPDATE freshness_check SET wrote = \'{"last_modified": "2026-11-01T00:00:00"}\'')
    sql("UPDATE resource SET last_modified = '2026-11-01'")
    assert [row.is_touched for row in rows()] == [False]
    assert store.remember_dates(TYPES) == 0
    sql("UPDATE resource SET last_modified = '2026-11-02'")
    assert [row.is_touched for row in rows()] == [True]


def test_only_some_are_asked_for() -> None:
    for name, host in {"p": "one", "p2": "two"}.items():
        package(name)
        resource(f"r-{name}", name, f"http://{host}.example.org/")
    store.sync(NOW, TYPES)
    assert [row.resource_id for row in rows(package_ids=["p2"])] == ["r-p2"]
    assert [row.resource_id for row in rows(host="one.example.org")] == ["r-p"]
    assert rows(package_ids=[]) == []
    assert store.total() == 2
    shard = shard_of("one.example.org")
    assert shard != shard_of("two.example.org")
    assert store.total(rules=Rules(shards={shard})) == 1


def test_many_rows_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_ROWS", 3)
    monkeypatch.setattr(store, "_VISITS", 3)
    package()
    names = sorted(resource(f"r-{number}") for number in range(8))
    assert store.sync(NOW, TYPES).added == 8
    assert [row.resource_id for row in rows()] == names
    picked = [Picked(name, Verdict.VISIT_DUE, name == "r-5") for name in reversed(names)]
    found = list(store.visits(picked, NOW, settings.aging()))
    assert [one.resource_id for one in found] == names[::-1]
    assert [one.resource_id for one in found if one.hash_anyway] == ["r-5"]


def test_those_without_a_judgement_are_told() -> None:
    for name in ("p", "p2", "p3"):
        package(name)
    judged("p2")
    sql("UPDATE package SET state = 'deleted' WHERE id = 'p3'")
    assert store.unassessed(TYPES) == ["p"]


# What a visit starts from.


def start(now: datetime = NOW) -> Visit:
    (found,) = store.visits([Picked("r", Verdict.VISIT_DUE, False)], now, settings.aging())
    return found


def test_a_visit_starts_from_what_was_remembered() -> None:
    package()
    resource(format="CSV", mimetype="text/csv")
    store.sync(NOW, TYPES)
    judged(frequency=7)
    memory = Memory('W/"é"', "yesterday", HASH, ("sha256:b", "sha256:c"), outdated=True)
    write(finding(memory=memory))
    assert start() == Visit(
        "r", "p", URL, memory, None, NOW - 7 * DAY, False, "CSV", "text/csv", None
    )


@pytest.mark.parametrize(
    ("frequency", "days"), [(1, 1), (30, 30), (365, 365), (0, None), (-1, None), (None, None)]
)
def test_which_dates_would_make_it_fresh(frequency: int | None, days: int | None) -> None:
    one_resource()
    judged(frequency=frequency)
    assert start().fresh_after == (None if days is None else NOW - days * DAY)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ([], None),
        (["created"], "created"),
        (["created", "url"], "url"),
        (["upload", "created"], "created"),
        (["http header", "created", "hash"], "hash"),
        (["http header", "created", "metadata"], "http header"),
        # A resource of a source was created here when it was harvested: that says nothing.
        (["harvest", "created"], "harvest"),
        (["harvest", "http header", "url", "created"], "http header"),
    ],
)
def test_the_last_modification_that_is_known(kinds: list[str], expected: str | None) -> None:
    order = ["upload", "harvest", "created", "url", "http header", "hash", "metadata"]
    dates = {kind: NOW - (10 - place) * DAY for place, kind in enumerate(order)}
    one_resource()
    for kind in kinds:
        evidence(kind, dates[kind])
    evidence("review", NOW, resource_id="")
    evidence("hash", NOW, resource_id="another")
    assert start().known == (None if expected is None else dates[expected])


def test_what_is_gone_or_moved_is_not_visited() -> None:
    one_resource()
    picked = [Picked("r", Verdict.VISIT_DUE, False), Picked("gone", Verdict.VISIT_DUE, False)]
    assert len(list(store.visits(picked, NOW, settings.aging()))) == 1
    sql("UPDATE resource SET url = 'http://other.example.org/'")
    assert list(store.visits(picked, NOW, settings.aging())) == []


# What visits bring home.


def test_each_outcome_has_its_effect() -> None:
    assert EFFECTS.keys() == set(Outcome)


FOUND = {"failures": 0, "failing_since": None}
LATER = NOW + DAY
FAILING = {"failures": 2, "failing_since": (NOW - DAY).replace(tzinfo=None)}
BEFORE = NOW.replace(tzinfo=None)
AFTER = LATER.replace(tzinfo=None)


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
        (Outcome.UNCONFIRMED, {}, FOUND | {"hashed_at": BEFORE, "unconfirmed": True}),
        (Outcome.UNCONFIRMED, {"counts_as_failure": True}, {"failures": 3, "unconfirmed": True}),
        (Outcome.CANNOT_TELL, {}, FAILING | {"hashed_at": BEFORE, "undetermined": "blocked"}),
        (
            Outcome.ERROR,
            {"counts_as_failure": True},
            FAILING | {"failures": 3, "undetermined": "api"},
        ),
        (Outcome.ERROR, {}, FAILING | {"undetermined": "api"}),
    ],
    ids=lambda value: value.value if isinstance(value, Outcome) else "",
)
@pytest.mark.parametrize("unconfirmed", [False, True])
def test_what_an_outcome_changes(
    outcome: Outcome, more: dict[str, Any], expected: dict[str, Any], unconfirmed: bool
) -> None:
    one_resource()
    write(finding(Outcome.API))
    sql(
        "UPDATE freshness_check SET failures = 2, failing_since = :since",
        since=FAILING["failing_since"],
    )
    sql("UPDATE freshness_check SET unconfirmed = :unconfirmed", unconfirmed=unconfirmed)
    assert write(finding(outcome, LATER, **more), start=LATER - HOUR)
    row = known()
    assert {key: row[key] for key in expected} == expected
    assert (row["visited_at"], row["tried_at"]) == (AFTER - HOUR, AFTER)
    was_found = row["failures"] == 0
    assert row["succeeded_at"] == (AFTER if was_found else BEFORE)
    stays = outcome in (Outcome.ERROR, Outcome.CANNOT_TELL) and unconfirmed
    assert row["unconfirmed"] is (outcome is Outcome.UNCONFIRMED or stays)


def test_failures_are_counted_from_the_first() -> None:
    one_resource()
    for day in range(3):
        write(finding(Outcome.ERROR, NOW + day * DAY, counts_as_failure=True))
    assert known("failures, failing_since") == {"failures": 3, "failing_since": BEFORE}
    write(finding(Outcome.SAME_HASH))
    write(finding(Outcome.ERROR, LATER, counts_as_failure=True))
    assert known("failures, failing_since") == {"failures": 1, "failing_since": AFTER}


def test_memory_is_kept_as_the_finding_has_it() -> None:
    one_resource()
    memory = Memory('"2"', None, HASH, ("sha256:b", 'own:"{,\\} '), outdated=True)
    write(finding(memory=memory))
    assert start().memory == memory
    write(finding(memory=Memory()))
    assert start().memory == Memory()


@pytest.mark.parametrize("reason", Reason)
def test_what_was_never_asked_is_asked_by_the_next_run(reason: Reason) -> None:
    one_resource()
    write(finding(Outcome.ERROR, reason=reason.value), start=NOW)
    ours = {
        *(Reason.HOST_DEFERRED, Reason.HOST_SILENT),
        *(Reason.PROXY, Reason.OUT_OF_SOCKETS),
    }
    assert known("visited_at") == {"visited_at": None if reason in ours else BEFORE}


def test_a_visit_that_was_handed_on_has_found_nothing_yet() -> None:
    one_resource()
    write(finding())
    before = known()
    write(finding(Outcome.ERROR, LATER, handed_to="http://other.example.org/", memory=Memory()))
    assert known() == before | {"handed_to": "http://other.example.org/"}
    assert store.handed_on()
    # Whoever reads now does not take it for a resource of the other host, unless that is what it is for.
    (plain,), (handed,) = rows(), rows(handed=True)
    assert (plain.host, handed.host) == ("files.example.org", "other.example.org")
    picked = [Picked("r", Verdict.VISIT_DUE, False)]
    for one, start_at in ((False, None), (True, "http://other.example.org/")):
        (visit,) = store.visits(picked, NOW, settings.aging(), handed=one)
        assert visit.start_at == start_at
    write(finding(Outcome.SAME_HASH, LATER))
    assert known("handed_to") == {"handed_to": None}
    assert not store.handed_on()


def test_the_last_five_attempts_are_kept() -> None:
    one_resource()
    for number in range(7):
        attempt = Attempt(NOW + number * HOUR, "GET", Outcome.SAME_HASH, 200 + number)
        write(finding(attempt=attempt))
    attempts = known("attempts")["attempts"]
    assert [one["status"] for one in attempts] == [206, 205, 204, 203, 202]


def test_an_attempt_is_kept_with_all_that_it_was() -> None:
    one_resource()
    attempt = Attempt(
        at=NOW,
        method="GET",
        outcome=Outcome.ERROR,
        status=404,
        reason="format",
        words="is a page",
        received=5,
        seconds=0.12345,
        final_url="http://x.org/",
        etag='"e"',
        last_modified="then",
        modified=NOW - DAY,
    )
    write(finding(Outcome.ERROR, attempt=attempt))
    assert known("attempts")["attempts"] == [
        {
            "at": "2026-11-21T02:00:00Z",
            "method": "GET",
            "outcome": "error",
            "status": 404,
            "reason": "format",
            "words": "is a page",
            "received": 5,
            "seconds": 0.123,
            "final_url": "http://x.org/",
            "etag": '"e"',
            "last_modified": "then",
            "modified": "2026-11-20T02:00:00Z",
        }
    ]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('"é"', '"é"'),
        ('"\udce9"', '"\ufffd"'),
        ('"\udcc3\udca9"', '"é"'),
        ('"a\0b"', '"a\ufffdb"'),
        ('"\ud800"', '"?"'),
        ("\\u0000 \\ ' \" :x %s", "\\u0000 \\ ' \" :x %s"),
        ("a\tb\nc\rd \\t", "a\tb\nc\rd \\t"),
        ("\\N", "\\N"),
        ("\\.", "\\."),
        ("", ""),
    ],
)
def test_whatever_a_server_sends_can_be_kept(sent: str, kept: str) -> None:
    one_resource()
    attempt = Attempt(NOW, "GET", Outcome.SAME_HASH, 200, None, sent, 0, 0.0, sent, sent, sent)
    write(finding(memory=Memory(sent, sent, HASH), attempt=attempt))
    row = known()
    assert (row["etag"], row["last_modified"], row["attempts"][0]["words"]) == (kept, kept, kept)


def test_a_finding_about_another_url_tells_nothing() -> None:
    one_resource()
    sql("UPDATE resource SET url = 'http://other.example.org/'")
    assert write(finding()) == []
    store.sync(NOW, TYPES)
    assert write(finding()) == []
    assert known("visited_at, hash") == {"visited_at": None, "hash": None}


def test_a_finding_about_what_is_gone_tells_nothing() -> None:
    one_resource()
    sql("UPDATE resource SET state = 'deleted'")
    assert write(finding()) == []
    sql("DELETE FROM freshness_check")
    assert write(finding()) == []
    assert write() == []


def test_of_two_findings_about_one_resource_the_last_counts() -> None:
    one_resource()
    last = finding(Outcome.SAME_HASH, LATER)
    assert write(finding(), last) == [last]
    assert len(known("attempts")["attempts"]) == 1


def test_nothing_is_half_written() -> None:
    one_resource()
    recording.write([finding()], NOW)
    model.Session.rollback()
    assert known("visited_at, attempts") == {"visited_at": None, "attempts": []}


# Locks.


def test_a_shard_has_one_holder() -> None:
    assert runs.held_shards() == frozenset()
    with runs.shards({1, 2, 3}) as first:
        assert first.held == {1, 2, 3}
        with runs.shards() as second:
            assert second.held == set(range(SHARDS)) - {1, 2, 3}
            assert runs.held_shards() == set(range(SHARDS))
            second.check()
        assert runs.held_shards() == {1, 2, 3}
        # Going all over the table holds a lock, but no shard.
        store.wait_for_writers(model.Session)
        assert runs.held_shards() == {1, 2, 3}
        model.Session.commit()
    assert runs.held_shards() == frozenset()


def test_a_killed_run_holds_nothing() -> None:
    script = """
    import sys, time
    import sqlalchemy as sa
    engine = sa.create_engine(sys.argv[1])
    with engine.connect() as connection:
        connection.execute(sa.text(f"SELECT pg_advisory_lock({sys.argv[2]}, 7)"))
        print("held", flush=True)
        time.sleep(60)
    """
    url = model.Session.get_bind().url.render_as_string(hide_password=False)
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), url, str(runs.LOCKS)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with runs.shards({6, 7}) as mine:
            assert mine.held == {6}
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    # The server notices by itself, and soon.
    sql(
        "SELECT pg_advisory_lock(:class, 7), pg_advisory_unlock(:class, 7)", **{"class": runs.LOCKS}
    )
    with runs.shards({6, 7}) as mine:
        assert mine.held == {6, 7}


def test_lost_locks_are_noticed() -> None:
    with runs.shards({5}) as mine:
        sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks "
            "WHERE locktype = 'advisory' AND classid::bigint = :class AND objid = 5 "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            **{"class": runs.LOCKS},
        )
        with pytest.raises(runs.LocksLostError, match="The next run goes on"):
            mine.check()
        with pytest.raises(runs.LocksLostError):
            mine.check()
    with runs.shards({5}) as mine:
        assert mine.held == {5}


# Runs.


def test_a_run_is_written_down() -> None:
    run_id = runs.begin_run(NOW, {"everything": True})
    assert sql("SELECT id, kind, started_at, ended_at, options, resources FROM freshness_run") == [
        (run_id, "check", BEFORE, None, {"everything": True}, None)
    ]
    figures = runs.Figures(
        {"nothing": 3}, {"0: Fresh": 1}, {"live": 1}, {"x.org": {"visits": 2}}, 2
    )
    runs.end_run(run_id, LATER, figures)
    assert sql(
        "SELECT ended_at, resources, datasets, frequencies, hosts, visited, error FROM freshness_run"
    ) == [(AFTER, {"nothing": 3}, {"0: Fresh": 1}, {"live": 1}, {"x.org": {"visits": 2}}, 2, None)]
    runs.end_run(run_id, LATER, error="no database")
    assert sql("SELECT error FROM freshness_run") == [("no database",)]


def test_what_is_old_is_pruned() -> None:
    keep = {"keep_runs": 730 * DAY, "keep_transitions": 1826 * DAY}
    second = timedelta(seconds=1)
    for age in (730 * DAY - second, 730 * DAY, 730 * DAY + second):
        runs.begin_run(NOW - age, {})
    for age in (1826 * DAY - second, 1826 * DAY + second):
        sql(
            "INSERT INTO freshness_transition (package_id, to_status, changed_at, cause) "
            "VALUES ('p', 'fresh', :at, 'edit')",
            at=utc(NOW - age),
        )
    assert runs.prune(NOW, **keep) == runs.Pruned(runs=1, transitions=1)
    assert runs.prune(NOW, **keep) == runs.Pruned(runs=0, transitions=0)
