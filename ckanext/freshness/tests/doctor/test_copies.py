"""The doctor's checks of mails and the store of copies, with their advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories
from ckan.tests.helpers import changed_config

from ckanext.freshness import doctor
from ckanext.freshness.copies.store import Store
from ckanext.freshness.doctor.findings import Severity, SiteFinding
from ckanext.freshness.model import Copy
from ckanext.freshness.tests.doctor.conftest import findings
from ckanext.freshness.tests.mails.conftest import sends_to
from ckanext.freshness.tests.pages.datasets import keep_copy
from ckanext.freshness.tests.servers.smtp import MailHost

pytestmark = pytest.mark.usefixtures("kept_db")

LOCATION = "ckanext.freshness.copies.location"


def problems(check: Callable[[datetime], Iterable[SiteFinding]]) -> list[SiteFinding]:
    return [one for one in findings(check) if one.severity is Severity.PROBLEM]


# Mails


@pytest.fixture
def mails_on() -> Iterator[MailHost]:
    operators = {"ckanext__freshness__notify__operators": ["root@example.org"]}
    with MailHost() as host, sends_to(host.port, **operators):
        yield host


def test_mails_that_cannot_be_sent(mails_on: MailHost) -> None:
    assert problems(doctor.address_and_mails) == []
    with changed_config("smtp.server", ""):
        (one,) = problems(doctor.address_and_mails)
    assert "smtp.server is not set" in one.text and one.advice.startswith("Set it in the site's")
    mails_on.stop()
    (one,) = problems(doctor.address_and_mails)
    assert f"does not answer: 127.0.0.1:{mails_on.port}: " in one.text


def test_mails_that_nobody_gets(mails_on: MailHost) -> None:
    with changed_config("ckanext.freshness.notify.operators", []):
        model.Session.query(model.User).update({"sysadmin": False})
        model.Session.commit()
        (one,) = problems(doctor.address_and_mails)
        assert "no sysadmin has an address" in one.text
        factories.Sysadmin(email="root@example.org")
        assert problems(doctor.address_and_mails) == []


# The store


@pytest.fixture
def copies_of_all(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.all", True)


@pytest.mark.parametrize("where", ["taken", "taken/below"])
def test_a_store_that_cannot_be_written(copies_of_all: None, tmp_path: Path, where: str) -> None:
    (tmp_path / "taken").write_text("a file")
    with changed_config(LOCATION, str(tmp_path / where)):
        (one,) = findings(doctor.links)
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
            keep_copy(f"r{number}", "p", datetime(2026, 1, number + 1), key=key, size=1)
        yield folder
    model.Session.query(Copy).delete()
    model.Session.commit()


def test_copies_that_are_not_where_they_were(shelved: Path) -> None:
    assert findings(doctor.links) == []
    (shelved / "resources.d" / "0").unlink()
    assert findings(doctor.links) == []
    (shelved / "resources.d" / "7").unlink()
    (one,) = findings(doctor.links)
    assert one.text == f"1 of the 20 newest copies missing from {shelved}"
    shelved.rename(shelved.with_name("away"))
    (one,) = findings(doctor.links)
    assert (one.severity, one.text) == (
        Severity.PROBLEM,
        f"20 of the 20 newest copies missing from {shelved}",
    )
    assert "is mounted" in one.advice
