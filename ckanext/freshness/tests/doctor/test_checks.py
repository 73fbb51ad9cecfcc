"""The doctor's checks of nightly runs, statuses and options: each problem comes with a command that helps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories

from ckanext.freshness import doctor
from ckanext.freshness.checking.run_records import lock
from ckanext.freshness.ckan_adapter.database import locked_if_free
from ckanext.freshness.doctor.findings import Severity, SiteFinding
from ckanext.freshness.model import CheckRun, DatasetFreshness, ResourceCheck, Unindexed
from ckanext.freshness.tests.doctor.conftest import NOW, findings
from ckanext.freshness.tests.pages.datasets import break_link

pytestmark = pytest.mark.usefixtures("kept_db")


@pytest.fixture(autouse=True)
def nothing(kept_db: None) -> None:
    for table in (CheckRun, DatasetFreshness, ResourceCheck, Unindexed):
        model.Session.query(table).delete()
    # Without their rows, datasets of other tests would have no status.
    model.Session.query(model.Package).update({"state": "deleted"})
    model.Session.commit()


def add_run(hours: float, **more: Any) -> None:
    """Add a run that began and ended the given number of hours ago, unless ``more`` says otherwise."""
    at = (NOW - timedelta(hours=hours)).replace(tzinfo=None)
    plain = {"package_ids": None, "host": None, "everything": False}
    values = {"ended_at": at, "options": plain, "kind": "check", "version": "1", **more}
    model.Session.add(CheckRun(id=str(hours), started_at=at, **values))
    model.Session.commit()


@pytest.mark.parametrize(("hours", "late"), [(1, False), (26, False), (26.01, True)])
def test_nobody_checks_any_more(hours: float, late: bool) -> None:
    add_run(hours)
    found = findings(doctor.nights)
    assert len(found) == late
    if late:
        assert found[0].severity is Severity.PROBLEM and "ckan freshness nightly" in found[0].advice
        assert "No nightly check has run since 2026-03-02 09:59 UTC" in found[0].text


def test_a_check_of_one_dataset_is_no_nightly_one() -> None:
    add_run(1, options={"package_ids": ["a"], "host": None, "everything": False})
    add_run(2, options={"package_ids": None, "host": "a.org", "everything": False})
    add_run(3, kind="other", options={"source": "a"})
    (one,) = findings(doctor.nights)
    assert one.severity is Severity.NOTE


def test_a_run_that_was_killed() -> None:
    add_run(1, ended_at=None)
    with locked_if_free(lock("1")):
        assert findings(doctor.nights) == []
    (one,) = findings(doctor.nights)
    assert "has not ended, and no process works on it" in one.text
    assert "ckan freshness nightly" in one.advice
    add_run(0.5)
    assert findings(doctor.nights) == []


def failed_parts() -> list[SiteFinding]:
    return [one for one in findings(doctor.nights) if "part of the nightly work" in one.text]


def test_parts_of_the_night_that_were_not_done() -> None:
    def add_part(name: str, hours: float) -> None:
        add_run(hours, kind="nightly", options={"part": name}, error=f"{name}: no reason")

    assert failed_parts() == []
    add_part("report", 50)
    assert len(failed_parts()) == 1
    add_run(26)
    assert failed_parts() == []
    add_part("report", 25.5)
    add_part("refresh", 24)
    assert {one.text.rpartition(" in full: ")[2] for one in failed_parts()} == {
        *("report: no reason", "refresh: no reason")
    }
    add_run(2)
    assert failed_parts() == []
    # The row of an incomplete check begins a moment before the check's own row and ends after it.
    at = (NOW - timedelta(hours=1)).replace(tzinfo=None)
    add_run(2.001, kind="nightly", options={"part": "check"}, error="check: left", ended_at=at)
    assert len(failed_parts()) == 1


def test_runs_that_were_repeated_with_success() -> None:
    def failed() -> set[str]:
        return {one.text.rpartition(": ")[2] for one in findings(doctor.nights)}

    add_run(5)
    add_run(4, options={"host": "a.org"}, error="another run is checking")
    add_run(3, kind="iati", options={"source": "a"}, error="a is away")
    add_run(2.5, kind="iati", options={"source": "b"}, error="b is away")
    add_run(2.4, kind="iati", options={"source": "b", "package_ids": ["c"]})
    assert failed() == {"a is away", "b is away"}
    add_run(2.2, kind="iati", options={"source": "a"}, ended_at=None)
    assert failed() == {"a is away", "b is away"}, "the repetition was killed"
    add_run(2, kind="iati", options={"source": "a"})
    assert failed() == {"b is away"}
    add_run(1)
    assert failed() == {"b is away"}, "a cycle by its own cron"


@pytest.mark.parametrize(
    ("minutes", "state", "late"),
    [(16, "active", True), (14, "active", False), (16, "deleted", False)],
)
def test_statuses_that_nobody_writes(minutes: int, state: str, late: bool) -> None:
    made = factories.Dataset(state=state)
    boundary = (NOW - timedelta(minutes=minutes)).replace(tzinfo=None)
    values = {"status": "fresh", "next_boundary": boundary}
    model.Session.merge(DatasetFreshness(package_id=made["id"], **values))
    model.Session.commit()
    found = [one for one in findings(doctor.nights) if "out of date" in one.text]
    assert len(found) == late
    if late:
        assert "statuses of 1 dataset are out of date" in found[0].text
        assert "ckan freshness refresh" in found[0].advice


def test_links_that_this_site_may_not_request() -> None:
    dataset = factories.Dataset(
        resources=[{"url": "http://10.0.0.7/a.csv"}, {"url": "http://a.org/b"}]
    )
    for resource, reason in zip(
        dataset["resources"], ("inside address", "name not found"), strict=True
    ):
        host = resource["url"].split("/")[2]
        break_link({**dataset, "resources": [resource]}, host=host, attempts=[{"reason": reason}])
    (one,) = findings(doctor.links)
    assert one.text == "1 link is never checked, because the address is inside a network: 10.0.0.7"
    assert "ckanext.freshness.allowed_networks" in one.advice
