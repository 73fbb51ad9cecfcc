"""The doctor's checks of mails, the store of copies and IATI's cycles, with their advice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories
from ckan.tests.helpers import changed_config

from ckanext.freshness import doctor
from ckanext.freshness.copies.store import Store
from ckanext.freshness.doctor.findings import Severity
from ckanext.freshness.model import CheckRun, Copy
from ckanext.freshness.tests.doctor.conftest import NOW, findings
from ckanext.freshness.tests.mails.conftest import sends_to
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("kept_db")

LOCATION = "ckanext.freshness.copies.location"


# Mails


@pytest.fixture
def mails_on() -> Iterator[MailHost]:
    operators = {"ckanext__freshness__notify__operators": ["root@example.org"]}
    with MailHost() as host, sends_to(host.port, **operators):
        yield host


def test_mails_that_cannot_be_sent(mails_on: MailHost) -> None:
    assert findings(doctor.mails) == []
    with changed_config("smtp.server", ""):
        (one,) = findings(doctor.mails)
    assert one.severity is Severity.PROBLEM
    assert "smtp.server is not set" in one.text and one.advice.startswith("Set it in the site's")
    mails_on.stop()
    (one,) = findings(doctor.mails)
    assert one.severity is Severity.PROBLEM
    assert f"does not answer: 127.0.0.1:{mails_on.port}: " in one.text


def test_mails_that_nobody_gets(mails_on: MailHost) -> None:
    with changed_config("ckanext.freshness.notify.operators", []):
        model.Session.query(model.User).update({"sysadmin": False})
        model.Session.commit()
        (one,) = findings(doctor.mails)
        assert "no sysadmin has an address" in one.text
        factories.Sysadmin(email="root@example.org")
        assert findings(doctor.mails) == []


# The store


@pytest.fixture
def copies_of_all(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.all", True)


@pytest.mark.parametrize("where", ["taken", "taken/below"])
def test_a_store_that_cannot_be_written(copies_of_all: None, tmp_path: Path, where: str) -> None:
    (tmp_path / "taken").write_text("a file")
    with changed_config(LOCATION, str(tmp_path / where)):
        (one,) = findings(doctor.stored_copies)
    assert one.severity is Severity.PROBLEM
    assert one.text.startswith("No copies can be kept: ") and str(tmp_path / where) in one.text
    assert LOCATION in one.advice


@pytest.fixture
def shelved(tmp_path: Path) -> Iterator[Path]:
    """A directory with the copies of 21 resources, an old one first."""
    folder = tmp_path / "copies"
    with changed_config(LOCATION, str(folder)):
        place = Store(str(folder))
        for number in range(doctor.SAMPLE + 1):
            key = f"resources.d/{number}"
            place.write_bytes(key, b"a")
            model.Session.add(
                Copy(
                    resource_id=f"r{number}",
                    package_id="p",
                    key=key,
                    size=1,
                    sha256="",
                    filename="a",
                    source_url="",
                    stored_at=datetime(2026, 1, number + 1),
                    verified_at=datetime(2026, 1, number + 1),
                )
            )
        model.Session.commit()
        yield folder
    model.Session.query(Copy).delete()
    model.Session.commit()


def test_copies_that_are_not_where_they_were(shelved: Path) -> None:
    assert findings(doctor.stored_copies) == []
    (shelved / "resources.d" / "0").unlink()
    assert findings(doctor.stored_copies) == []
    (shelved / "resources.d" / "7").unlink()
    (one,) = findings(doctor.stored_copies)
    assert one.text == f"1 of the 20 newest copies missing from {shelved}"
    shelved.rename(shelved.with_name("away"))
    (one,) = findings(doctor.stored_copies)
    assert (one.severity, one.text) == (
        Severity.PROBLEM,
        f"20 of the 20 newest copies missing from {shelved}",
    )
    assert "is mounted" in one.advice and "ckan iati update" in one.advice


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
    """Add a cycle that began and ended the given number of hours ago, unless ``more`` says otherwise."""
    at = (NOW - timedelta(hours=hours)).replace(tzinfo=None)
    options = {"source": source, "strict": False, "harvest": harvest}
    values = {"ended_at": at, "options": options, "kind": "iati", "version": "1", **more}
    model.Session.add(CheckRun(id=f"cycle {hours}", started_at=at, **values))
    model.Session.commit()


@pytest.mark.parametrize(("hours", "late"), [(1, False), (48, False), (48.1, True)])
def test_cycles_that_do_not_come(source: str, hours: float, late: bool) -> None:
    add_cycle(source, hours)
    found = findings(doctor.harvests.iati_sources)
    assert len(found) == late
    if late:
        assert found[0].severity is Severity.PROBLEM
        assert "iati-source of 2026-03-01 11:54 UTC is the last one" in found[0].text
        assert found[0].advice.endswith("ckan iati update iati-source")


def test_a_cycle_that_failed(source: str) -> None:
    add_cycle(source, 3, error="long ago")
    assert "long ago" in findings(doctor.harvests.iati_sources)[0].text
    add_cycle(source, 2)
    assert findings(doctor.harvests.iati_sources) == []
    add_cycle(source, 1, error="the registry is away")
    (one,) = findings(doctor.harvests.iati_sources)
    assert "iati-source of 2026-03-03 11:00 UTC failed: the registry is away" in one.text
    assert one.advice.endswith("ckan iati update iati-source")
