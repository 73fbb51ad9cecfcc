"""An editor says which of several columns of dates says up to when the data of a file reach."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient_checks")

START = datetime.now(timezone.utc).replace(microsecond=0)
REPORTED, REPAIRED = [None, "reported"], [None, "repaired"]
ROOT = "root"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


def put(server: FileServer, month: int, path: str = "/lamps.csv") -> None:
    """Replace the file of broken street lamps, which were reported until a month and repaired in January."""
    rows = "".join(f"2026-{month:02}-{day:02},2026-01-{day:02},{day}\n" for day in range(1, 29))
    text = f"reported,repaired,lamp\n{rows}".encode()
    server.files[path] = Answer(200, text, {"Content-Type": "text/csv"})


def check(day: int) -> None:
    scope = CheckScope(everything=True)
    check_run.check(scope, lambda: START + timedelta(days=day))
    model.Session.remove()


def until(name: str = "lamps") -> dict[str, Any]:
    model.Session.remove()
    return call_action("freshness_show", id=name)["data_until"]


def answer(resource: str, column: Any) -> None:
    given = {} if column is None else {"column": column}
    call_action("freshness_date_column", id="lamps", resource_id=resource, **given)


def edit(action: str, **values: Any) -> dict[str, Any]:
    done: dict[str, Any] = call_action(action, {"user": ROOT}, **values)
    return done


def make(server: FileServer, **more: Any) -> dict[str, Any]:
    factories.Sysadmin(name=ROOT)
    put(server, 3)
    link = {"url": f"{server.url}/lamps.csv", "name": "Lamps", "format": "CSV"}
    made: dict[str, Any] = factories.Dataset(name="lamps", resources=[link], **more)
    check(1)
    return made


def test_the_answer_counts_at_once_and_for_later_files(server: FileServer) -> None:
    (link,) = make(server)["resources"]
    before = until()
    assert (before["period"], before["reason"]) == (None, "several")
    (question,) = before["questions"]
    assert question == {
        "resource_id": link["id"],
        "columns": [
            {"column": REPORTED, "period": "2026-03-28"},
            {"column": REPAIRED, "period": "2026-01-28"},
        ],
        "answer": None,
    }
    for column, period in (
        (REPAIRED, "2026-01-28"),
        ([], None),
        (None, None),
        ('[null, "reported"]', "2026-03-28"),
    ):
        answer(link["id"], column)
        assert until()["period"] == period, column
    extras = {one["key"]: one["value"] for one in call_action("package_show", id="lamps")["extras"]}
    assert extras["freshness_data_until"] == "2026-03-28"
    for month in (4, 5):
        put(server, month)
        check(month)
    assert until()["period"] == "2026-05-28"
    changes = call_action("freshness_change_list", id="lamps")["changes"]
    assert [one["summary"]["data_until"] for one in changes if "hash" in one["evidence"]] == [
        ["2026-03-28", "2026-04-28"],
        ["2026-04-28", "2026-05-28"],
    ]
    # What was learned of one column says nothing of another.
    answer(link["id"], REPAIRED)
    changes = call_action("freshness_change_list", id="lamps")["changes"]
    assert not any("data_until" in (one["summary"] or {}) for one in changes)


def test_a_dataset_that_was_never_judged_keeps_the_answer(server: FileServer) -> None:
    (link,) = make(server)["resources"]
    for table in ("resource", "dataset", "evidence", "transition"):
        model.Session.execute(sa.text(f"DELETE FROM freshness_{table}"))
    model.Session.commit()
    answer(link["id"], REPORTED)
    assert until()["period"] == "2026-03-28"
    assert until()["questions"][0]["answer"] == REPORTED


def test_it_outlives_another_link_and_a_resource_made_anew(server: FileServer) -> None:
    (link,) = make(server)["resources"]
    answer(link["id"], REPORTED)
    put(server, 6, "/new.csv")
    edit("resource_patch", id=link["id"], url=f"{server.url}/new.csv")
    assert until()["period"] is None
    check(2)
    assert until()["period"] == "2026-06-28"
    anew = {"url": f"{server.url}/new.csv", "name": "Lamps", "format": "CSV"}
    (made,) = edit("package_patch", id="lamps", resources=[anew])["resources"]
    assert made["id"] != link["id"] and until()["period"] == "2026-06-28"
    # A file without this column: the question is asked again.
    text = server.files["/new.csv"].body.replace(b"reported,", b"seen,")
    server.files["/new.csv"] = Answer(200, text, {"Content-Type": "text/csv"})
    check(3)
    assert (until()["period"], until()["reason"]) == (None, "several")


def test_what_is_no_answer(server: FileServer) -> None:
    user = factories.User()
    (link,) = make(server, owner_org=factories.Organization()["id"])["resources"]
    for given, words in (
        ({"column": [None, "lamp"]}, "It found: repaired, reported"),
        ({"column": "reported"}, "Write the sheet and the name of a column as"),
        ({"column": [None, 7]}, "Write the sheet and the name of a column as"),
        ({"column": [None, "a\0"]}, "Write the sheet and the name of a column as"),
        ({"resource_id": "other", "column": []}, "no such resource"),
    ):
        with pytest.raises(tk.ValidationError, match=words):
            call_action(
                "freshness_date_column", **{"id": "lamps", "resource_id": link["id"], **given}
            )
    with pytest.raises(tk.NotAuthorized):
        context = {"user": user["name"], "ignore_auth": False}
        call_action("freshness_date_column", context, id="lamps", resource_id=link["id"])
    assert until()["questions"][0]["answer"] is None


@pytest.mark.parametrize("counts", [False, True])
def test_a_file_that_changes_without_newer_data(
    server: FileServer, monkeypatch: pytest.MonkeyPatch, ckan_config: Any, counts: bool
) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.data_dates_count", counts)
    (link,) = make(server, extras=[{"key": "frequency", "value": "7"}])["resources"]
    answer(link["id"], REPORTED)
    statuses = []
    for day, month in ((2, 4), (30, 4), (60, 5)):
        put(server, month)
        body = server.files["/lamps.csv"].body
        text = f"{body.decode()}2026-02-01,2026-01-01,{day}\n".encode()
        server.files["/lamps.csv"] = Answer(200, text, {"Content-Type": "text/csv"})
        check(day)
        statuses.append(package_extras(model.Package.get("lamps"))["freshness"])
    assert statuses == ["fresh", "delinquent" if counts else "fresh", "fresh"]
    shown = call_action("freshness_show", id="lamps")
    assert shown["data_until"]["changed_at"] == shown["last_modified"]
