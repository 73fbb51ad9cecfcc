"""The rows of checks: one for each resource, and how a run reads them."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from itertools import product
from typing import Any

import ckan.plugins.toolkit as tk
import pytest

from ckanext.freshness import settings
from ckanext.freshness.checking import check_rows
from ckanext.freshness.checking.decisions import KnownContent, Outcome, ResourceToCheck
from ckanext.freshness.checking.selection import (
    IS_BROKEN,
    is_broken,
)
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.dates import utc
from ckanext.freshness.reporting import links, report_tables
from ckanext.freshness.reporting.tables import TableRequest
from ckanext.freshness.reporting.visibility import SITE
from ckanext.freshness.status import made_anew
from ckanext.freshness.tests.checking.rows import HASH, URL, finding, visit
from ckanext.freshness.tests.checking.tables import (
    BEFORE,
    DAY,
    HOUR,
    NOW,
    TYPES,
    evidence,
    judged,
    known,
    one_resource,
    package,
    resource,
    rows,
    sql,
    start,
    write,
)

pytestmark = pytest.mark.usefixtures("tables")


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
    check_rows.sync(NOW, TYPES)
    found = sql(
        "SELECT resource_id, package_id, url, host, first_seen FROM freshness_check ORDER BY 1"
    )
    seen = NOW.replace(tzinfo=None)
    assert found == [
        ("r-p", "p", URL, "files.example.org", seen),
        ("r-private", "private", URL, "files.example.org", seen),
    ]
    sql("UPDATE package SET state = 'deleted' WHERE id = 'p'")
    check_rows.sync(NOW + DAY, TYPES)
    assert sql("SELECT resource_id, first_seen FROM freshness_check") == [("r-private", seen)]


def test_only_what_ckan_itself_holds_is_on_the_portal() -> None:
    package()
    for url_type in ("upload", "datastore", "tabledesigner", "", None):
        resource(
            f"r-{url_type}", url=f"{tk.config['ckan.site_url']}/no/such.csv", url_type=url_type
        )
    check_rows.sync(NOW, TYPES)
    held = {row.resource_id for row in rows() if row.is_internal}
    assert held == {"r-upload", "r-datastore", "r-tabledesigner"}


def test_another_url_is_another_thing() -> None:
    one_resource()
    write(finding(Outcome.API, changed_at=NOW), finding(Outcome.ERROR))
    sql("""UPDATE freshness_check SET wrote = '{"size": 5, "hash": "h"}', seen_modified = now()""")
    sql("UPDATE resource SET url = 'https://other.example.org/'")
    check_rows.sync(NOW + DAY, TYPES)
    package("new")
    resource("r-new", "new")
    check_rows.sync(NOW, TYPES)
    anew, new = known(), known(resource_id="r-new")
    kept = {
        *("resource_id", "package_id", "url", "host", "first_seen", "wrote", "seen_modified"),
        *("url_before", "known", "failures", "failing_since"),
    }
    assert {key: value for key, value in anew.items() if key not in kept} == {
        key: value for key, value in new.items() if key not in kept
    }
    assert (anew["host"], anew["wrote"]) == ("other.example.org", {"old_hash": "h"})
    assert anew["first_seen"] == NOW.replace(tzinfo=None)
    assert (anew["url_before"], new["url_before"]) == (URL, None)
    # The same file may have moved.
    assert (anew["hash"], anew["known"], new["known"]) == (None, {"earlier": [HASH]}, {})
    sql("UPDATE freshness_check SET package_id = 'new' WHERE resource_id = 'r'")
    check_rows.sync(NOW, TYPES)
    assert known()["url_before"] == URL


@pytest.mark.parametrize(
    ("outcome", "failures"),
    [(Outcome.ERROR, 4), (Outcome.CANNOT_TELL, 3), (Outcome.FIRST_HASH, 0)],
    ids=["fails", "cannot be told", "works"],
)
def test_a_link_is_mended_only_by_a_url_that_works(outcome: Outcome, failures: int) -> None:
    one_resource()
    for day in range(3):
        write(finding(Outcome.ERROR, NOW + day * DAY))
    other = "http://other.example.org/"
    sql("UPDATE resource SET url = :url", url=other)
    check_rows.sync(NOW + 3 * DAY, TYPES)
    # Nobody knows yet whether the new one works.
    assert state_of_link() == ("waiting", 0)
    result = finding(outcome, NOW + 3 * DAY)
    write(result._replace(resource=visit(other)))
    state = {0: "works", 3: "unchecked", 4: "broken"}[failures]
    assert state_of_link() == (state, failures if state == "broken" else 0)
    assert known("failures") == {"failures": failures}


def state_of_link() -> tuple[str, int]:
    """Return the state of the only link and its failures, which its page and the lists show alike."""
    of_page = links.of_resource("r")
    (of_list,) = report_tables.LINKS.read(TableRequest(SITE, NOW))
    assert of_page is not None
    shown = of_page["state"], of_page["failures"]
    assert (of_list["state"], of_list["failures"]) == shown
    broken = [row["resource_id"] for row in report_tables.BROKEN.read(TableRequest(SITE, NOW))]
    assert broken == ["r"] * (shown[0] == "broken")
    return shown


def test_a_resource_that_is_made_anew_with_the_same_url_keeps_what_is_known() -> None:
    """Each former resource is at most one new one, of the same dataset."""
    one_resource()
    resource("twin")
    resource("different", url="http://files.example.org/b.csv")
    check_rows.sync(NOW, TYPES)
    write(finding())
    sql(
        "INSERT INTO freshness_resource (resource_id, package_id, url) SELECT id, package_id, url FROM resource"
    )
    sql("UPDATE resource SET state = 'deleted'")
    for name, url in {"new-1": URL, "new-2": URL, "new-3": URL, "new-4": "http://x.org/"}.items():
        resource(name, url=url)
    # Same URL, another dataset.
    package("p2")
    resource("elsewhere", "p2")
    made_anew.follow(["p", "p2"])
    check_rows.sync(NOW + DAY, TYPES)
    hashes = sql("SELECT resource_id, hash FROM freshness_check ORDER BY 1")
    assert hashes == [
        ("elsewhere", None), ("new-1", HASH), ("new-2", None), ("new-3", None), ("new-4", None),
    ]  # fmt: skip


def test_a_resource_that_moved_to_another_dataset_goes_along() -> None:
    one_resource()
    package("p2")
    sql("UPDATE resource SET package_id = 'p2'")
    check_rows.sync(NOW, TYPES)
    assert known("package_id") == {"package_id": "p2"}


def test_two_at_once_do_not_hinder_each_other() -> None:
    package()
    for number in range(200):
        resource(f"r-{number}")
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3):
                check_rows.sync(NOW, TYPES)
                check_rows.remember_dates(TYPES)
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


def test_candidates_have_the_history_of_their_dataset() -> None:
    package()
    for name in ("r1", "r2", "failing", "upload"):
        resource(name)
    check_rows.sync(NOW, TYPES)
    judged()
    for number, name in enumerate(("r1", "r2", "failing"), start=1):
        sql(
            "UPDATE freshness_check SET seen_changes = :n, watched_days = 10 * :n, checked_at = :at, "
            "change_seen_at = :at, failures = :failures WHERE resource_id = :id",
            n=number,
            at=utc(NOW - number * DAY),
            failures=int(name == "failing"),
            id=name,
        )
    of_dataset = (2, utc(NOW - DAY), utc(NOW - DAY))
    found = {
        row.resource_id: (row.changes, row.days, row.turn)
        for row in rows(with_history=True)
        if (row.files, row.probed_at, row.change_seen_at) == of_dataset
    }
    assert found == {
        # The one that has waited longest comes first, those that fail or were never checked come last.
        "r2": (2, 20, 0),
        "r1": (1, 10, 1),
        "upload": (0, 0, 2),
        "failing": (3, 30, 3),
    }
    assert {row.files for row in rows()} == {1}


@pytest.mark.parametrize(
    ("extras", "archived", "requestable"),
    [
        ({}, False, False),
        ({"archived": "true"}, True, False),
        ({"archived": "1", "is_requestdata_type": "yes"}, True, True),
        ({"archived": "false", "is_requestdata_type": "0"}, False, False),
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


def test_a_date_of_its_own_is_told_once() -> None:
    one_resource()
    assert [row.is_touched for row in rows()] == [False]
    sql("UPDATE resource SET last_modified = '2026-10-01'")
    assert [row.is_touched for row in rows()] == [True]
    assert check_rows.remember_dates(TYPES) == 1
    assert [row.is_touched for row in rows()] == [False]
    assert check_rows.remember_dates(TYPES) == 0
    # What the checker wrote is nobody's news.
    sql('UPDATE freshness_check SET wrote = \'{"last_modified": "2026-11-01T00:00:00"}\'')
    sql("UPDATE resource SET last_modified = '2026-11-01'")
    assert [row.is_touched for row in rows()] == [False]
    assert check_rows.remember_dates(TYPES) == 0
    sql("UPDATE resource SET last_modified = '2026-11-02'")
    assert [row.is_touched for row in rows()] == [True]


def test_since_when_a_link_waits_for_its_file_is_told() -> None:
    one_resource()
    assert [row.waits_since for row in rows()] == [None]
    write(finding(Outcome.CANNOT_TELL, known=KnownContent(waits_since=NOW)))
    assert [(row.waits_since, row.unconfirmed) for row in rows()] == [(utc(NOW), False)]


def test_many_rows_come_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_rows, "_STREAM_BATCH", 3)
    monkeypatch.setattr(check_rows, "_CHECK_BATCH", 3)
    package()
    names = sorted(resource(f"r-{number}") for number in range(8))
    check_rows.sync(NOW, TYPES)
    assert check_rows.total() == 8
    assert [row.resource_id for row in rows()] == names
    found = list(check_rows.resources_to_check(names[::-1], {"r-5"}, NOW, settings.aging()))
    assert [one.resource_id for one in found] == names[::-1]
    assert [one.resource_id for one in found if one.hash_anyway] == ["r-5"]


def test_the_files_of_a_dataset_are_read_if_its_server_hid_a_change_of_one() -> None:
    for number in (1, 2):
        package(f"p{number}")
        for name in (f"r{number}", f"s{number}"):
            resource(name, package_id=f"p{number}")
    check_rows.sync(NOW, TYPES)
    sql("UPDATE freshness_check SET hides_changes = true WHERE resource_id = 's1'")
    found = check_rows.resources_to_check(["r1", "s1", "r2", "s2"], set(), NOW, settings.aging())
    assert [one.resource_id for one in found if one.hash_anyway] == ["r1", "s1"]


def test_those_without_a_judgement_are_told() -> None:
    for name in ("p", "p2", "p3"):
        package(name)
    judged("p2")
    sql("UPDATE package SET state = 'deleted' WHERE id = 'p3'")
    assert check_rows.unassessed(TYPES) == ["p"]


# What a check starts from.


def test_a_check_starts_from_what_was_remembered() -> None:
    package()
    resource(format="CSV", mimetype="text/csv")
    check_rows.sync(NOW, TYPES)
    judged(frequency=7)
    known = KnownContent('W/"é"', "yesterday", HASH, "cafe", ("sha256:b", "sha256:c"), True)
    write(finding(known=known))
    assert start() == ResourceToCheck(
        *("r", "p", URL, known, None, NOW - 7 * DAY, False, "CSV", "text/csv"),
        is_new=True,
    )


@pytest.mark.parametrize(
    ("access", "download", "is_one"),
    [
        (URL, None, True),
        (URL, "", True),
        (URL, URL, False),
        (f"{URL}?page", None, False),
        (None, None, False),
    ],
)
def test_a_url_for_access_alone_may_be_of_a_landing_page(
    access: str | None, download: str | None, is_one: bool
) -> None:
    package()
    resource(extras=json.dumps({"access_url": access, "download_url": download}))
    check_rows.sync(NOW, TYPES)
    assert start().may_be_landing_page is is_one


@pytest.mark.parametrize("name", ["mimetype", "old_mimetype"])
def test_a_media_type_that_a_check_wrote_promises_nothing(name: str) -> None:
    package()
    resource(format="CSV", mimetype="text/html")
    check_rows.sync(NOW, TYPES)
    assert start().mimetype == "text/html"
    statement = "UPDATE freshness_check SET wrote = jsonb_build_object(:name, :type)"
    sql(statement, name=name, type="text/html")
    assert (start().format, start().mimetype) == ("CSV", None)
    sql(statement, name=name, type="text/plain")
    assert start().mimetype == "text/html"


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
        (["http header", "created", "hash"], "hash"),
        # A resource of a source was created here when it was harvested: that says nothing.
        (["harvest", "created"], "harvest"),
        (["harvest", "http header", "url", "created"], "http header"),
    ],
)
def test_the_last_modification_that_is_known(kinds: list[str], expected: str | None) -> None:
    order = ["upload", "harvest", "created", "url", "http header", "hash"]
    dates = {kind: NOW - (10 - place) * DAY for place, kind in enumerate(order)}
    one_resource()
    for kind in kinds:
        evidence(kind, dates[kind])
    evidence("review", NOW, resource_id="")
    evidence("hash", NOW, resource_id="another")
    assert start().last_change == (None if expected is None else dates[expected])


def test_python_and_sql_agree_on_what_is_broken() -> None:
    moments = (None, BEFORE - DAY - timedelta(seconds=1), BEFORE - DAY, BEFORE - HOUR, BEFORE)
    table = list(product((0, 2, 3, 4), moments, moments))
    failures, failing_since, failed_at = zip(*table, strict=True)
    found = sql(
        f"""SELECT coalesce({IS_BROKEN}, false) FROM unnest(
            CAST(:numbers AS int[]), CAST(:since AS timestamp[]), CAST(:last AS timestamp[])
        ) WITH ORDINALITY c(failures, failing_since, failed_at, place) ORDER BY place""",
        **{"numbers": list(failures), "since": list(failing_since), "last": list(failed_at)},
    )
    expected = [is_broken(*row) for row in table]
    assert [broken for (broken,) in found] == expected
    assert {True, False} == set(expected)
