"""The doctor about mails, the store of copies and IATI's cycles: each with what is to be done now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories
from ckan.tests.helpers import changed_config

from ckanext.freshness.ckan_adapter import harvest_model
from ckanext.freshness.doctor import Finding, Severity, copies, mails
from ckanext.freshness.doctor.examination import CHECKS
from ckanext.freshness.harvesting.locks import locked
from ckanext.freshness.logic.iati import cycle
from ckanext.freshness.model import CheckRun

pytestmark = pytest.mark.usefixtures("kept_db")

NOW = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)
LOCATION = "ckanext.freshness.copies.location"


def told(check: Callable[[datetime], Any]) -> list[Finding]:
    return list(check(NOW))


def test_all_of_it_is_looked_at() -> None:
    assert {mails.mails, copies.store, copies.cycles} <= {one.look for one in CHECKS}


# Mails


@pytest.fixture
def mails_on(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {
        "ckanext.freshness.notify.enabled": True,
        "ckanext.freshness.notify.operators": ["root@example.org"],
        "smtp.server": "127.0.0.1:25",
        "smtp.mail_from": "site@example.org",
    }.items():
        monkeypatch.setitem(ckan_config, key, value)


@pytest.mark.parametrize(
    ("key", "value", "what", "advice"),
    [
        ("smtp.server", "", "smtp.server is not set", "Set it in the site's ini file"),
        ("smtp.mail_from", None, "smtp.mail_from is not set", "Set it in the site's ini file"),
        (
            "ckanext.freshness.notify.operators",
            ["nobody"],
            "ckanext.freshness.notify.operators must be addresses",
            "Correct it",
        ),
    ],
)
def test_mails_that_cannot_be_sent(
    mails_on: None, key: str, value: Any, what: str, advice: str
) -> None:
    assert told(mails.mails) == []
    with changed_config(key, value):
        (one,) = told(mails.mails)
        assert one.severity is Severity.PROBLEM
        assert what in one.what and one.advice.startswith(advice)


def test_mails_that_nobody_gets(mails_on: None) -> None:
    with changed_config("ckanext.freshness.notify.operators", []):
        model.Session.query(model.User).update({"sysadmin": False})
        model.Session.commit()
        (one,) = told(mails.mails)
        assert "no sysadmin has an address" in one.what
        factories.Sysadmin(email="root@example.org")
        assert told(mails.mails) == []


def test_nothing_is_said_of_mails_that_are_off(mails_on: None) -> None:
    with (
        changed_config("ckanext.freshness.notify.enabled", False),
        changed_config("smtp.server", ""),
    ):
        assert told(mails.mails) == []


# The store


@pytest.fixture
def copies_of_all(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.all", True)


@pytest.mark.parametrize("where", ["taken", "taken/below"])
def test_a_store_that_cannot_be_written(copies_of_all: None, tmp_path: Path, where: str) -> None:
    (tmp_path / "taken").write_text("a file")
    with changed_config(LOCATION, str(tmp_path / where)):
        (one,) = told(copies.store)
    assert one.severity is Severity.PROBLEM
    assert one.what.startswith("No copies can be kept: ") and str(tmp_path / where) in one.what
    assert LOCATION in one.advice


def test_a_store_that_takes_nothing(copies_of_all: None, tmp_path: Path) -> None:
    with changed_config(LOCATION, str(tmp_path)):
        assert told(copies.store) == []
        # The byte that was written is gone.
        assert not [one for one in tmp_path.rglob("*") if one.is_file()]
        (tmp_path / ".staging").rmdir()
        (tmp_path / ".staging").write_text("no folder")
        (one,) = told(copies.store)
    assert "cannot take anything more" in one.what


def test_nothing_is_said_of_a_store_that_nobody_needs(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with changed_config(LOCATION, str(tmp_path / "taken")):
        assert told(copies.store) == []


# Cycles


@pytest.fixture
def source() -> Iterator[str]:
    """The id of a source of a registry."""
    package = factories.Dataset(name="iati-source")
    made = harvest_model.HarvestSource(
        id=package["id"], url="http://registry.example.org", type="iati_registry", active=True
    )
    model.Session.add(made)
    model.Session.query(CheckRun).delete()
    model.Session.commit()
    yield package["id"]
    model.Session.query(harvest_model.HarvestSource).filter_by(id=package["id"]).delete()
    model.Session.query(model.Package).filter_by(id=package["id"]).update({"name": package["id"]})
    model.Session.commit()


def add_cycle(source: str, hours: float, *, harvest: bool = True, **more: Any) -> None:
    """A cycle that began so many hours ago, and has ended at once unless said otherwise."""
    at = (NOW - timedelta(hours=hours)).replace(tzinfo=None)
    options = {"source": source, "strict": False, "harvest": harvest}
    values = {"ended_at": at, "options": options, "kind": "iati", "version": "1", **more}
    model.Session.add(CheckRun(id=f"cycle {hours}", started_at=at, **values))
    model.Session.commit()


def test_no_cycle_yet(source: str) -> None:
    add_cycle("another", 1)
    add_cycle(source, 2, harvest=False)
    (one,) = told(copies.cycles)
    assert (one.severity, one.what) == (
        Severity.NOTE,
        "No update cycle of the IATI source iati-source has been done yet",
    )
    assert one.advice.startswith("ckan iati update iati-source")


@pytest.mark.parametrize(("hours", "late"), [(1, False), (48, False), (48.1, True)])
def test_cycles_that_do_not_come(source: str, hours: float, late: bool) -> None:
    add_cycle(source, hours)
    found = told(copies.cycles)
    assert len(found) == late
    if late:
        assert found[0].severity is Severity.PROBLEM
        assert "was begun on 2026-03-01 11:54 UTC" in found[0].what
        assert found[0].advice.endswith("ckan iati update iati-source")


def test_a_cycle_that_failed(source: str) -> None:
    add_cycle(source, 3, error="long ago")
    assert "long ago" in told(copies.cycles)[0].what
    add_cycle(source, 2)
    assert told(copies.cycles) == []
    add_cycle(source, 1, error="the registry is away")
    (one,) = told(copies.cycles)
    assert "iati-source of 2026-03-03 11:00 UTC failed: the registry is away" in one.what
    assert one.advice.endswith("ckan iati update iati-source")


def test_a_cycle_that_was_killed(source: str) -> None:
    add_cycle(source, 1, ended_at=None)
    with locked(cycle.lock(source)):
        assert told(copies.cycles) == []
    (one,) = told(copies.cycles)
    assert "nobody works on it: it was killed" in one.what
    assert one.advice.endswith("ckan iati update iati-source")


def test_the_store_is_needed_for_cycles(source: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with changed_config(LOCATION, str(tmp_path / "taken")):
        assert len(told(copies.store)) == 1
