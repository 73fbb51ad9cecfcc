"""Mails, pages and the doctor about cycles that failed."""

from __future__ import annotations

from ckan import model
from ckan.tests import factories

from ckanext.freshness import doctor
from ckanext.freshness.model import CheckRun
from ckanext.freshness.reporting import runs
from ckanext.freshness.tests.doctor.conftest import findings
from ckanext.freshness.tests.mails.conftest import ROOT, Notify, add_night, later
from ckanext.freshness.tests.servers.smtp import MailHost


def test_a_failed_cycle_is_named(notify: Notify, host: MailHost) -> None:
    factories.Sysadmin(email=ROOT)
    add_night("one", 0)
    add_night("cycle", 0.2, kind="iati", error="the registry is away")
    notify(0.5)
    (mail,) = host.mails
    for subtype in ("plain", "html"):
        words = " ".join(mail.part(subtype).split())
        assert "The update cycle of an IATI registry that ended on" in words
        assert "failed: the registry is away" in words
    (found,) = findings(doctor.nights, later(0.5))
    assert "failed: the registry is away" in found.text
    row = model.Session.get(CheckRun, "cycle")
    assert runs.line(row)["title"] == "IATI cycle"
