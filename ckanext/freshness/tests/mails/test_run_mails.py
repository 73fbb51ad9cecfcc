"""Mails to operators about problems of runs, each sent once."""

from __future__ import annotations

import re

from ckan.tests import factories

from ckanext.freshness.interfaces import NightPart, PartReport
from ckanext.freshness.mails.report import MailReport, NotifyState
from ckanext.freshness.runs.night import nightly
from ckanext.freshness.tests.mails.conftest import ROOT, Notify, add_night, later
from ckanext.freshness.tests.servers.smtp import MailHost


def test_what_is_wrong_is_told_once(notify: Notify, host: MailHost) -> None:
    factories.Sysadmin(email=ROOT)
    add_night("one", 0)
    assert notify(0.5) == MailReport(NotifyState.DONE)
    add_night("two", 1, error="No luck\r\nBcc: x@y", ended_at=later(1.1).replace(tzinfo=None))
    add_night("three", 2, 0)
    add_night("four", 3, 5)
    report = notify(3.5)
    (planned,) = report.mails
    assert planned.address == ROOT
    assert {kind: len(titles) for kind, titles in planned.about.items()} == {"run": 3}
    (mail,) = host.mails
    assert mail.message["Subject"] == "CKAN: something is wrong with the nightly run"
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        assert "failed: No luck Bcc: x@y" in words
        assert "saw 0 datasets; the one before saw 10. That is 10 fewer (100%)." in words
        assert "saw 5 datasets; the one before saw 10. That is 5 fewer (50%)." in words
    assert notify(3.6) == MailReport(NotifyState.DONE)
    add_night("five", 4, 1)
    assert len(notify(4.5).mails) == 1
    report = notify(6)
    assert "No nightly check has run since" in report.mails[0].about["run"][0]
    assert notify(7) == MailReport(NotifyState.DONE)


def test_other_parts_of_a_night_are_told_of(notify: Notify, host: MailHost) -> None:
    factories.Sysadmin(email=ROOT)
    add_night("one", 0)
    parts = [NightPart("refresh", lambda now: PartReport("Solr is away", complete=False))]
    list(nightly(parts, lambda: later(0.1)))
    add_night("two", 0.3, error="no luck")
    assert len(notify(0.5).mails) == 1
    (mail,) = host.mails
    at = r"on \d{4}-\d\d-\d\d \d\d:\d\d UTC"
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        for sentence in (
            f"A part of the nightly work, which ended {at}, was not done in full: refresh: Solr is away",
            f"The check that ended {at} failed: no luck",
        ):
            assert re.search(sentence, " ".join(words.split())), sentence
    # It is no check, so it is neither the last check nor one without datasets.
    assert notify(0.6) == MailReport(NotifyState.DONE)
