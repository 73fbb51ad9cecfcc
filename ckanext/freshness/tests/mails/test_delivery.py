"""Delivery over a real mail server: recipients, no duplicates, and failures that delay no other mail."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
import time_machine
from ckan import model
from ckan.tests import factories, helpers
from click.testing import CliRunner

from ckanext.freshness import doctor
from ckanext.freshness.ckan_adapter.mailer import MailFailure
from ckanext.freshness.cli.site import freshness
from ckanext.freshness.mails import digests, news
from ckanext.freshness.mails.recipients import Person
from ckanext.freshness.mails.report import MailReport, NotifyState, mail_line
from ckanext.freshness.model import FreshnessTransition
from ckanext.freshness.runs import night
from ckanext.freshness.tests.mails.conftest import (
    OVERDUE,
    ROOT,
    Make,
    Notify,
    age,
    fail,
    later,
)
from ckanext.freshness.tests.processes import (
    WITH_LOCKS,
    disconnect,
    end_connections,
    until,
    until_locks_are_free,
)
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.freshness.tests.status.test_refresh import forked

ANN, BOB, CARL = "ann@example.org", "bob@example.org", "carl@example.org"


def rows() -> dict[tuple[str, str], str]:
    """Return what became of mails, by kind and address."""
    statement = "SELECT kind, address, sent_at, error FROM freshness_mail WHERE kind <> 'begun'"
    found = model.Session.execute(sa.text(statement)).all()
    model.Session.rollback()
    return {
        (row.kind, row.address): "waits"
        if row.sent_at is None
        else "sent"
        if row.error is None
        else "failed"
        for row in found
    }


def sent(report: MailReport) -> list[str]:
    return sorted(one.address for one in report.mails if one.failure is None)


def test_the_first_notify_sends_nothing_and_what_comes_then_is_sent(
    make: Make, notify: Notify, mails_on: None
) -> None:
    make("early", maintainer_email=ANN)
    make("late", "30", maintainer_email=ANN)
    failing, broken = (make(name, "0", maintainer_email=BOB) for name in ("failing", "broken"))
    age(OVERDUE)
    fail(failing["id"], times=2, span=4)
    fail(broken["id"], times=3, span=4)
    with MailHost() as host, helpers.changed_config("smtp.server", f"127.0.0.1:{host.port}"):
        assert notify().state is NotifyState.BEGUN
        assert notify() == MailReport(NotifyState.DONE)
        assert host.connections == 0
        age(45)
        fail(failing["id"], times=3, span=5)
        notify(45)
        assert "* late" in text(host, ANN) and "early" not in text(host, ANN)
        # It failed before, and is broken only now.
        assert "/dataset/failing/" in text(host, BOB) and "/dataset/broken/" not in text(host, BOB)


def test_what_the_mail_says(make: Make, notify: Notify, host: MailHost) -> None:
    admin = factories.User(email="admin@example.org")
    members = [{"name": admin["name"], "capacity": "admin"}]
    organization = factories.Organization(title="The Weather Office", users=members)
    make("rain", maintainer_email=ANN, title="Rain", owner_org=organization["id"])
    make("snow", maintainer_email=ANN, title="Snow")
    age(OVERDUE)
    notify()
    (mail,) = host.mails
    message = mail.message
    assert message["To"] == ANN
    assert message["Subject"] == "CKAN: 2 datasets need an update"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stop = message["List-Unsubscribe"]
    assert re.fullmatch(r"<http://test\.ckan\.net/freshness/mails/[0-9]+\.[\w-]{16}>", stop)
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        # Ann has no account.
        assert "/dataset/edit/" not in words
        for address in ("admin@example.org", ROOT):
            assert f"Send new data to: {address}" in words
        assert words.count("http://test.ckan.net/freshness/confirm/") == 2
        assert stop.strip("<>") in words
    assert "\n* Rain (The Weather Office): Overdue\n  Added: " in mail.part("plain")


def test_what_is_updated_before_the_mail_goes_needs_none(
    make: Make, notify: Notify, host: MailHost
) -> None:
    made = make("rain", maintainer_email=ANN)
    gone = make("snow", maintainer_email=ANN)
    age(OVERDUE)
    model.Session.execute(
        sa.text(
            "UPDATE freshness_dataset SET due = :at, overdue = :at, delinquent = :at"
            " WHERE package_id = :id"
        ),
        {"at": later(90).replace(tzinfo=None), "id": made["id"]},
    )
    model.Session.commit()
    user = helpers.call_action("get_site_user")["name"]
    helpers.call_action("package_delete", {"user": user}, id=gone["id"])
    assert (notify().mails, host.mails) == ([], [])


def test_people_with_and_without_an_account_confirm_by_the_link_of_their_mail(
    app: Any, make: Make, notify: Notify, host: MailHost
) -> None:
    editor = factories.User(email=ANN)
    owner = factories.Organization(users=[{"name": editor["name"], "capacity": "editor"}])["id"]
    make("rain", maintainer_email=ANN, owner_org=owner)
    make("snow", maintainer_email=BOB, owner_org=owner)
    age(OVERDUE)
    notify()
    for address, name, author in ((ANN, "rain", editor["fullname"]), (BOB, "snow", BOB)):
        words = text(host, address)
        assert ("/dataset/edit/" in words) is (address == ANN)
        (link,) = re.findall(r"Confirm still accurate: \S+(/freshness/confirm/\S+)", words)
        with time_machine.travel(later(OVERDUE)):
            assert "You confirmed" in app.post(link).body
        assert helpers.call_action("freshness_show", id=name)["confirmation"]["author"] == author


def text(host: MailHost, address: str) -> str:
    (mail,) = host.to(address)
    return mail.part("plain")


def test_mails_are_off_until_they_are_switched_on(
    make: Make, notify: Notify, host: MailHost
) -> None:
    make("rain", maintainer_email=ANN)
    with helpers.changed_config("ckanext.freshness.notify.enabled", False):
        assert notify() == MailReport(NotifyState.OFF)
        age(OVERDUE)
        report = notify(dry_run=True)
        (mail,) = report.mails
        assert not report.is_begun and mail.address == ANN and mail.planned is not None
        assert "rain: Overdue" in mail.planned.text and host.connections == 0
        told = night.mails(later(OVERDUE))
        assert told.complete and "Mails are off" in told.words
        done = CliRunner().invoke(freshness, ["notify"])
        assert done.exit_code == 0 and "Mails are off" in done.output
    # Changes while mails were off cause none.
    assert notify() == MailReport(NotifyState.BEGUN)
    assert notify() == MailReport(NotifyState.DONE)
    assert host.connections == 0


@contextmanager
def waiting_for(seconds: float) -> Iterator[None]:
    """Set the time limit for a mail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "TIMEOUT", seconds)
        yield


def _of(report: MailReport, address: str) -> MailFailure | None:
    (failure,) = [one.failure for one in report.mails if one.address == address]
    return failure


class TestMailServer:
    """A faulty mail server causes no duplicate, and costs at most the mail that it did not confirm."""

    @pytest.fixture(autouse=True)
    def three(self, make: Make, host: MailHost) -> None:
        for number, address in enumerate((ANN, BOB, CARL)):
            make(f"a-{number}", maintainer_email=address)
        age(OVERDUE)

    def test_refuses_one_for_now_and_one_for_ever(self, notify: Notify, host: MailHost) -> None:
        host.refused |= {ANN: 450, BOB: 550}
        report = notify()
        assert (sent(report), report.is_complete) == ([CARL], False)
        assert (_of(report, ANN), _of(report, BOB)) == (MailFailure.LATER, MailFailure.REFUSED)
        assert "not sent, the next notify tries again: " in mail_line(report.mails[0])
        assert (rows()["overdue", ANN], rows()["overdue", BOB]) == ("waits", "failed")
        host.refused.clear()
        assert sent(notify()) == [ANN]
        assert notify() == MailReport(NotifyState.DONE)

    def test_is_away(self, notify: Notify, host: MailHost) -> None:
        host.stop()
        for _ in range(3):
            report = notify()
            assert (sent(report), report.left) == ([], 2)
            assert not report.is_complete
            assert set(rows().values()) == {"waits"}
        with MailHost() as other, helpers.changed_config("smtp.server", f"127.0.0.1:{other.port}"):
            assert sent(notify()) == [ANN, BOB, CARL]
            assert len(other.mails) == 3

    def test_dies_in_the_middle(self, notify: Notify, host: MailHost) -> None:
        """It may have taken the mail."""
        host.dies_at = ("DATA", BOB)
        report = notify()
        assert sent(report) == [ANN]
        assert (_of(report, BOB), _of(report, CARL)) == (
            MailFailure.UNKNOWN,
            MailFailure.UNREACHABLE,
        )
        with MailHost() as other, helpers.changed_config("smtp.server", f"127.0.0.1:{other.port}"):
            assert sent(notify()) == [CARL]
            assert notify() == MailReport(NotifyState.DONE)

    def test_falls_silent_for_all(self, notify: Notify, host: MailHost, make: Make) -> None:
        for number in range(3):
            make(f"b-{number}", maintainer_email=f"b{number}@example.org")
        age(OVERDUE + 1)
        host.silent_at = "MAIL"
        with waiting_for(0.5):
            report = notify(OVERDUE + 1)
        assert (len(report.mails), report.left) == (3, 3)
        host.silent_at = None
        assert len(sent(notify(OVERDUE + 1))) == 3

    def test_a_process_that_dies_while_it_sends(self, notify: Notify, host: MailHost) -> None:
        host.silent_at, host.silent_for = "DATA", frozenset({ANN})

        def work() -> None:
            with waiting_for(60):
                notify()

        process = forked(work)
        until(lambda: host.swallowed)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        until_locks_are_free()
        disconnect()
        host.silent_at = None
        assert sent(notify()) == [BOB, CARL]
        # Nobody knows whether it arrived: it is not sent again, and the doctor names it.
        assert notify(OVERDUE + 1) == MailReport(NotifyState.DONE)
        assert sorted(mail.to for mail in host.mails) == [(BOB,), (CARL,)]
        (found,) = (
            one for one in doctor.address_and_mails(later(OVERDUE + 1)) if "may not" in one.text
        )
        assert f"1 address, for example {ANN}: notify was killed" in found.text

    def test_a_process_that_lost_its_lock_sends_nothing_again(
        self, notify: Notify, host: MailHost
    ) -> None:
        """If a connection breaks, the database releases its lock, and another notify begins."""
        host.silent_at, host.silent_for = "DATA", frozenset({ANN})

        def work() -> None:
            with waiting_for(2):
                notify()

        process = forked(work)
        until(lambda: host.swallowed)
        assert end_connections(WITH_LOCKS) == 1
        until_locks_are_free()
        assert sent(notify()) == [BOB, CARL]
        process.join()
        assert sorted(mail.to for mail in host.mails) == [(BOB,), (CARL,)]
        assert rows()["overdue", BOB] == "sent"


CROSSED: list[tuple[str | None, str, str, list[str]]] = [
    ("due", "overdue", "time", ["overdue"]),
    ("overdue", "delinquent", "time", ["delinquent"]),
    ("fresh", "due", "time", []),
    ("fresh", "overdue", "edit", ["overdue"]),
    ("due", "delinquent", "time", ["overdue", "delinquent"]),
    ("delinquent", "overdue", "edit", []),
    # A first status, and changes of options, cross no date.
    (None, "overdue", "recompute", []),
    ("fresh", "overdue", "recompute", []),
]
"""The statuses before and after a change, its cause, and the dates that are news."""


def test_dates_that_are_crossed(make: Make) -> None:
    made = make("rain")
    past, future = (later(days).replace(tzinfo=None) for days in (-1, 1))
    for before, after, cause, expected in CROSSED:
        age_of = {"fresh": 0, "due": 1, "overdue": 2, "delinquent": 3}[after]
        dates = [past if age_of > number else future for number in range(3)]
        for statement in (
            "DELETE FROM freshness_transition",
            "INSERT INTO freshness_transition (package_id, from_status, to_status, changed_at, cause)"
            " VALUES (:id, :before, :after, now(), :cause)",
            "UPDATE freshness_dataset SET due = :due, overdue = :overdue, delinquent = :delinquent",
        ):
            values = {"id": made["id"], "before": before, "after": after, "cause": cause}
            dated = dict(zip(("due", "overdue", "delinquent"), dates, strict=True))
            model.Session.execute(sa.text(statement), {**values, **dated})
        found = [one.about.partition(":")[0] for one in news.overdue(later())]
        assert found == expected, (before, after, cause)


def test_a_confirmation_that_is_withdrawn_crosses_no_date(make: Make) -> None:
    made = make("rain")
    past = later(-1).replace(tzinfo=None)
    model.Session.execute(
        sa.text("UPDATE freshness_dataset SET due = :past, overdue = :past, delinquent = :past"),
        {"past": past},
    )
    for first, expected in (("recompute", []), ("time", ["overdue", "delinquent"])):
        model.Session.execute(sa.text("DELETE FROM freshness_transition"))
        before = None if first == "recompute" else "due"
        for from_status, to_status, cause in (
            (before, "delinquent", first),
            ("delinquent", "fresh", "confirmation"),
            ("fresh", "delinquent", "withdrawal"),
        ):
            model.Session.add(
                FreshnessTransition(
                    package_id=made["id"],
                    from_status=from_status,
                    to_status=to_status,
                    changed_at=past,
                    cause=cause,
                )
            )
            model.Session.flush()
        found = [one.about.partition(":")[0] for one in news.overdue(later())]
        assert found == expected, first


def person(**hours: float) -> Person:
    """Return a person who had mails of some kinds so many hours ago."""
    now = later()
    return Person(ANN, told={kind: now - timedelta(hours=ago) for kind, ago in hours.items()})


@pytest.mark.parametrize(
    ("kind", "told", "expected"),
    [
        ("overdue", {}, False),
        ("overdue", {"overdue": 19}, True),
        ("overdue", {"overdue": 20}, False),
        # One mail a day, whatever its kinds.
        ("overdue", {"broken": 19}, True),
        # Some kinds are sent once a week, on the same night.
        ("broken", {"broken": 6 * 24}, True),
        ("broken", {"broken": 7 * 24 - 4}, False),
    ],
)
def test_who_waits(kind: str, told: dict[str, float], expected: bool) -> None:
    assert digests.waits(kind, person(**told), later()) is expected
