"""Delivery over a real mail server: recipients, no duplicates, and failures that delay no other mail."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers
from click.testing import CliRunner

from ckanext.freshness.ckan_adapter.database import disconnect
from ckanext.freshness.ckan_adapter.locks import is_held, locked
from ckanext.freshness.cli import freshness
from ckanext.freshness.mails import delivery, outbox, rules
from ckanext.freshness.mails.delivery import DeliveryState, MailReport
from ckanext.freshness.mails.kinds import MailKind
from ckanext.freshness.mails.rules import MailOutcome
from ckanext.freshness.runs import night_parts
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.mails.conftest import DELINQUENT, OVERDUE, Make, Notify, age, later
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.smtp import DrippingHost, MailHost
from ckanext.freshness.tests.status.test_refresh import forked

ANN, BOB, CARL = "ann@example.org", "bob@example.org", "carl@example.org"


def outcomes() -> dict[tuple[str, str], str]:
    """Return the outcomes of mails other than copies, by kind and address."""
    statement = "SELECT kind, address, outcome FROM freshness_mail WHERE kind <> 'copy'"
    rows = model.Session.execute(sa.text(statement)).all()
    model.Session.rollback()
    return {(row.kind, row.address): row.outcome for row in rows}


def sent(report: MailReport) -> list[str]:
    return sorted(one.address for one in report.mails if one.outcome is MailOutcome.SENT)


def test_what_the_first_run_finds_is_no_news(make: Make, notify: Notify, mails_on: None) -> None:
    make("old", maintainer_email=ANN)
    model.Session.execute(sa.text("DELETE FROM freshness_dataset"))
    model.Session.execute(sa.text("DELETE FROM freshness_transition"))
    model.Session.commit()
    with MailHost() as host, helpers.changed_config("smtp.server", f"127.0.0.1:{host.port}"):
        refresh(later(OVERDUE), everything=True)
        assert notify().state is DeliveryState.BEGUN
        assert notify() == MailReport(DeliveryState.DONE)
        refresh(later(OVERDUE + 1), everything=True)
        assert notify(OVERDUE + 1) == MailReport(DeliveryState.DONE)
        assert host.mails == []


def test_the_first_notify_sends_nothing_and_what_comes_then_is_sent(
    make: Make, notify: Notify, mails_on: None
) -> None:
    make("early", maintainer_email=ANN)
    make("late", "30", maintainer_email=ANN)
    age(OVERDUE)
    with MailHost() as host, helpers.changed_config("smtp.server", f"127.0.0.1:{host.port}"):
        assert notify().state is DeliveryState.BEGUN
        assert notify() == MailReport(DeliveryState.DONE)
        assert host.connections == 0
        age(45)
        notify(45)
        (mail,) = host.to(ANN)
        assert "/dataset/edit/late" in mail.part("plain")
        assert "early" not in mail.part("plain")


def test_one_mail_for_each_crossing(make: Make, notify: Notify, host: MailHost) -> None:
    make("weekly", maintainer_email=ANN, title="Rain")
    age(OVERDUE - 2)
    assert notify(OVERDUE - 2) == MailReport(DeliveryState.DONE)
    age(OVERDUE)
    assert sent(notify()) == [ANN]
    assert notify() == MailReport(DeliveryState.DONE)
    assert notify(OVERDUE + 3) == MailReport(DeliveryState.DONE)
    (mail,) = host.mails
    assert mail.to == (ANN,)
    assert outcomes() == {("overdue", ANN): "sent"}


def test_what_the_mail_says(make: Make, notify: Notify, host: MailHost) -> None:
    organization = factories.Organization(title="The Weather Office")
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
        assert "These datasets need an update:" in words
        assert "The Weather Office" in words and "every week" in words.lower()
        for name in ("rain", "snow"):
            assert f"http://test.ckan.net/dataset/edit/{name}" in words
            assert f"http://test.ckan.net/dataset/{name}/freshness" in words
        assert words.index("Rain") < words.index("Snow")
        assert stop.strip("<>") in words
        assert "Overdue" in words
    assert "\n* Rain (The Weather Office)\n  Last updated: " in mail.part("plain")


def test_who_is_told(make: Make, notify: Notify, host: MailHost) -> None:
    admin = factories.User(email="admin@example.org")
    editor = factories.User(email="editor@example.org")
    people = [
        {"name": admin["name"], "capacity": "admin"},
        {"name": editor["name"], "capacity": "editor"},
    ]
    owner = factories.Organization(users=people)["id"]
    empty = factories.Organization()["id"]
    model.Session.execute(
        sa.text("DELETE FROM member WHERE group_id = :id AND table_name = 'user'"), {"id": empty}
    )
    model.Session.commit()
    make("maintained", maintainer_email=f"{ANN}, {BOB}", author_email=CARL, owner_org=owner)
    make("authored", maintainer_email="nobody", author_email=CARL, owner_org=owner)
    make("owned", owner_org=owner)
    make("nobodys", owner_org=empty)
    make("unowned")
    age(OVERDUE)
    report = notify()
    told = {mail.to[0]: mail.part("plain") for mail in host.mails}
    names = ("maintained", "authored", "owned", "nobodys", "unowned")
    found = {to: [name for name in names if f"edit/{name}" in told[to]] for to in told}
    assert found == {
        ANN: ["maintained"],
        BOB: ["maintained"],
        CARL: ["authored"],
        "admin@example.org": ["owned"],
    }
    assert report.settled == {MailOutcome.NOBODY: 2}
    assert notify() == MailReport(DeliveryState.DONE)


def test_odd_names_and_contacts(make: Make, notify: Notify, host: MailHost) -> None:
    evil = "Rain\r\nBcc: victim@example.org\n\n<b onclick=x>&amp;</b>"
    make("markup", maintainer_email=f"{ANN}\r\nBcc: victim@example.org, {BOB}", title=evil)
    make("long", maintainer_email=BOB, title="x" * 10_000, maintainer="y" * 10_000)
    age(OVERDUE)
    notify()
    (mail,) = host.mails
    assert mail.to == (BOB,)
    assert mail.message["Bcc"] is None
    assert "\n* Rain Bcc: victim@example.org <b onclick=x>&amp;</b>\n" in mail.part("plain")
    assert "&lt;b onclick=x&gt;&amp;amp;&lt;/b&gt;" in mail.part("html")
    assert "<b " not in mail.part("html")
    assert "x" * 199 + "…" in mail.part("plain")
    assert len(mail.raw) < 10_000


def test_a_long_digest_says_how_many_more(
    make: Make, notify: Notify, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ckanext.freshness.mails.messages.MOST_ROWS", 2)
    for number in range(4):
        make(f"a-{number}", maintainer_email=ANN)
    age(OVERDUE)
    notify()
    (mail,) = host.mails
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        assert words.count("/dataset/edit/") == 2
        assert "And 2 more." in words
    assert mail.message["Subject"] == "CKAN: 4 datasets need an update"
    assert set(outcomes().values()) == {"sent"}


def test_sysadmins_are_told_what_is_delinquent(make: Make, notify: Notify, host: MailHost) -> None:
    make("rain", maintainer_email=ANN, maintainer="Ann Bee", title="Rain")
    age(OVERDUE)
    notify()
    age(DELINQUENT)
    assert sent(notify(DELINQUENT)) == ["root@example.org"]
    (mail,) = host.to("root@example.org")
    assert mail.message["Subject"] == "CKAN: 1 dataset whose provider should be contacted"
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        assert "Ann Bee" in words and ANN in words and "/dataset/rain" in words
        assert "Long overdue" in words
    assert len(host.to(ANN)) == 1
    assert notify(DELINQUENT + 2) == MailReport(DeliveryState.DONE)


def test_operators_instead_of_sysadmins(make: Make, notify: Notify, host: MailHost) -> None:
    make("rain")
    age(DELINQUENT)
    with helpers.changed_config("ckanext.freshness.notify.operators", [BOB, f"Carl <{CARL}>"]):
        assert sent(notify(DELINQUENT)) == [BOB, CARL]


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
    report = notify()
    assert (report.mails, host.mails) == ([], [])
    assert report.settled == {MailOutcome.FRESH_AGAIN: 1, MailOutcome.GONE: 1}


def test_within_the_cool_down_it_waits(
    make: Make, notify: Notify, host: MailHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    make("rain", maintainer_email=ANN)
    age(OVERDUE)
    notify(OVERDUE)
    make("snow", "10", maintainer_email=f"{ANN}, {BOB}")
    refresh(later(17))
    age(30)
    monkeypatch.setattr(rules, "COOLDOWN", timedelta(days=20))
    report = notify(30)
    assert (sent(report), report.waiting) == ([BOB, "root@example.org"], 1)
    assert len(host.to(ANN)) == 1
    assert sent(notify(40)) == [ANN]
    assert "/dataset/edit/snow" in host.to(ANN)[1].part("plain")
    assert len(host.to(BOB)) == 1


def test_dry_run(make: Make, notify: Notify, host: MailHost) -> None:
    make("rain", maintainer_email=ANN, title="Rain")
    age(OVERDUE)
    report = notify(dry_run=True)
    assert [(one.address, one.about) for one in report.mails] == [
        (ANN, {MailKind.NOT_FRESH: ["Rain (rain)"]})
    ]
    assert (host.connections, outcomes()) == (0, {})
    assert sent(notify()) == [ANN]


def test_the_command(make: Make, host: MailHost) -> None:
    make("rain", maintainer_email=ANN, title="Rain")
    model.Session.execute(
        sa.text(
            "INSERT INTO freshness_transition (package_id, from_status, to_status, changed_at, cause)"
            " SELECT package_id, 'due', 'overdue', now(), 'time' FROM freshness_dataset"
        )
    )
    model.Session.execute(
        sa.text(
            "UPDATE freshness_dataset SET due = '2020-01-01', overdue = '2020-01-02', status = 'overdue'"
        )
    )
    model.Session.commit()
    done = CliRunner().invoke(freshness, ["notify", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert (
        f"{ANN}: 1 dataset to update\n  Rain (rain)\n1 mail would be sent\nNothing was sent."
        in done.output
    )
    done = CliRunner().invoke(freshness, ["notify", "--dry-run", "--json"])
    assert json.loads(done.output)["mails"] == [
        {
            "address": ANN,
            "about": {"overdue": ["Rain (rain)"]},
            "outcome": None,
            "error": None,
        }
    ]
    assert host.connections == 0
    host.refused[ANN] = 550
    done = CliRunner().invoke(freshness, ["notify"])
    assert done.exit_code == 1
    assert f"{ANN}: 1 dataset to update; not sent, the next notify tries again: " in done.output
    assert "no such person here" in done.output
    host.refused.clear()
    done = CliRunner().invoke(freshness, ["notify", "--json"])
    assert (done.exit_code, json.loads(done.output)["mails"][0]["outcome"]) == (0, "sent")
    with locked(delivery.LOCK):
        done = CliRunner().invoke(freshness, ["notify"])
    assert done.exit_code == 1 and "Another notify is running" in done.output
    done = CliRunner().invoke(freshness, ["notify"])
    assert (done.exit_code, done.output) == (0, "0 mails sent\n")


@pytest.mark.parametrize("key", ["smtp.server", "smtp.mail_from"])
def test_dry_run_says_that_no_mails_can_be_sent(make: Make, host: MailHost, key: str) -> None:
    make("rain", maintainer_email=ANN)
    with helpers.changed_config(key, ""):
        real = CliRunner().invoke(freshness, ["notify"])
        dry = CliRunner().invoke(freshness, ["notify", "--dry-run"])
        as_json = CliRunner().invoke(freshness, ["notify", "--dry-run", "--json"])
        with helpers.changed_config("ckanext.freshness.notify.enabled", False):
            off = CliRunner().invoke(freshness, ["notify", "--dry-run"])
    assert real.exit_code == 1 and f"{key} is not set" in real.output
    assert dry.exit_code == 0
    warning = real.output.replace("Error: ", "Warning: ")
    assert warning in dry.output
    # This is before mails are switched on.
    assert warning in off.output
    assert json.loads(as_json.output)["problem"] == real.output.removeprefix("Error: ").strip()


def test_mails_are_off_until_they_are_switched_on(
    make: Make, notify: Notify, host: MailHost
) -> None:
    make("rain", maintainer_email=ANN)
    with helpers.changed_config("ckanext.freshness.notify.enabled", False):
        assert notify() == MailReport(DeliveryState.OFF)
        age(OVERDUE)
        assert notify(dry_run=True) == MailReport(DeliveryState.OFF)
        told = night_parts.mails(later(OVERDUE))
        assert told.complete and "Mails are off" in told.words
        done = CliRunner().invoke(freshness, ["notify"])
        assert done.exit_code == 0 and "Mails are off" in done.output
    # Changes while mails were off cause none.
    assert notify() == MailReport(DeliveryState.BEGUN)
    assert notify() == MailReport(DeliveryState.DONE)
    assert host.connections == 0


def test_mails_are_a_part_of_the_night(make: Make, host: MailHost) -> None:
    assert night_parts.PARTS[-1].name == "notify"
    told = night_parts.PARTS[-1].work(later())
    assert (told.complete, told.words) == (True, "0 mails sent")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("smtp.server", "", "smtp.server is not set"),
        ("smtp.mail_from", None, "smtp.mail_from is not"),
    ],
)
def test_a_site_that_cannot_send(host: MailHost, key: str, value: str | None, words: str) -> None:
    with helpers.changed_config(key, value):
        done = CliRunner().invoke(freshness, ["notify"])
        assert done.exit_code == 1 and words in done.output
        told = night_parts.mails(later())
        assert not told.complete and words in told.words


@contextmanager
def waiting_for(seconds: float) -> Iterator[None]:
    """Set the time limit for a mail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "TIMEOUT", seconds)
        yield


def at_server(port: int, notify: Notify) -> MailReport:
    """Use another mail server."""
    with helpers.changed_config("smtp.server", f"127.0.0.1:{port}"):
        return notify()


def _of(report: MailReport, address: str) -> MailOutcome | None:
    (outcome,) = [one.outcome for one in report.mails if one.address == address]
    return outcome


class TestMailServer:
    """A faulty mail server delays no other mail and causes no duplicate."""

    @pytest.fixture(autouse=True)
    def three(self, make: Make, host: MailHost) -> None:
        for number, address in enumerate((ANN, BOB, CARL)):
            make(f"a-{number}", maintainer_email=address)
        age(OVERDUE)

    @pytest.mark.parametrize("code", [450, 550])
    def test_refuses_one(self, notify: Notify, host: MailHost, code: int) -> None:
        host.refused[ANN] = code
        report = notify()
        assert sent(report) == [BOB, CARL]
        assert not report.is_complete
        assert outcomes()["overdue", ANN] == "waiting"
        host.refused.clear()
        assert sent(notify()) == [ANN]
        assert [mail.to for mail in host.mails] == [(BOB,), (CARL,), (ANN,)]

    def test_keeps_the_connection(self, notify: Notify, host: MailHost) -> None:
        assert sent(notify()) == [ANN, BOB, CARL]
        assert (len(host.mails), host.connections) == (3, 1)

    @pytest.mark.parametrize("fault", ["closes it", "falls silent"])
    def test_does_not_keep_the_connection(self, notify: Notify, host: MailHost, fault: str) -> None:
        """As many servers do after some mails or some time; nothing is lost or sent twice."""
        if fault == "closes it":
            host.most = 1
        else:
            host.silent_at = "RSET"
        with waiting_for(1):
            assert sent(notify()) == [ANN, BOB, CARL]
        assert [mail.to for mail in host.mails] == [(ANN,), (BOB,), (CARL,)]
        assert host.connections == 3

    def test_refuses_one_for_ever(self, notify: Notify, host: MailHost) -> None:
        host.refused[ANN] = 550
        for _ in range(outbox.MOST_TRIES - 1):
            assert _of(notify(), ANN) is MailOutcome.WAITING
        assert _of(notify(), ANN) is MailOutcome.REFUSED
        assert notify() == MailReport(DeliveryState.DONE)
        assert outcomes()["overdue", ANN] == "refused"

    def test_is_away(self, notify: Notify, host: MailHost) -> None:
        host.stop()
        for _ in range(outbox.MOST_TRIES + 1):
            report = notify()
            assert sent(report) == []
            assert not report.is_complete
            assert set(outcomes().values()) == {"waiting"}
        with MailHost() as other, helpers.changed_config("smtp.server", f"127.0.0.1:{other.port}"):
            assert sent(notify()) == [ANN, BOB, CARL]
            assert len(other.mails) == 3

    @pytest.mark.parametrize(
        ("command", "outcome", "then"),
        [
            ("RCPT", MailOutcome.WAITING, [BOB, CARL]),
            # It may have accepted the mail.
            ("DATA", MailOutcome.UNKNOWN, [CARL]),
        ],
    )
    def test_dies_in_the_middle(
        self, notify: Notify, host: MailHost, command: str, outcome: MailOutcome, then: list[str]
    ) -> None:
        host.dies_at = (command, BOB)
        report = notify()
        assert sent(report) == [ANN]
        assert (_of(report, BOB), _of(report, CARL)) == (outcome, MailOutcome.WAITING)
        with MailHost() as other, helpers.changed_config("smtp.server", f"127.0.0.1:{other.port}"):
            assert sent(notify()) == then
            assert notify() == MailReport(DeliveryState.DONE)

    def test_is_away_for_many(self, notify: Notify, host: MailHost, make: Make) -> None:
        for number in range(3):
            make(f"b-{number}", maintainer_email=f"b{number}@example.org")
        age(OVERDUE + 1)
        host.stop()
        report = notify(OVERDUE + 1)
        assert (len(report.mails), report.left) == (3, 3)

    @pytest.mark.parametrize("command", ["EHLO", "MAIL", "RCPT"])
    def test_falls_silent_before_it_has_the_mail(
        self, notify: Notify, host: MailHost, command: str
    ) -> None:
        host.silent_at, host.silent_for = command, frozenset({ANN})
        if command != "RCPT":
            host.silent_for = None
        with waiting_for(2 if command == "RCPT" else 0.5):
            report = notify()
        assert sent(report) == ([BOB, CARL] if command == "RCPT" else [])
        assert _of(report, ANN) is MailOutcome.WAITING
        host.silent_at = None
        later_sent = sent(notify())
        assert later_sent == ([ANN] if command == "RCPT" else [ANN, BOB, CARL])
        assert sorted(mail.to for mail in host.mails) == [(ANN,), (BOB,), (CARL,)]

    def test_falls_silent_when_it_has_the_mail(self, notify: Notify, host: MailHost) -> None:
        host.silent_at, host.silent_for = "DATA", frozenset({ANN})
        with waiting_for(2):
            report = notify()
        assert sent(report) == [BOB, CARL]
        assert _of(report, ANN) is MailOutcome.UNKNOWN
        assert len(host.swallowed) == 1
        host.silent_at = None
        # It may have been sent, so it is not sent again.
        assert notify() == MailReport(DeliveryState.DONE)
        assert host.to(ANN) == []

    def test_does_not_even_greet(self, notify: Notify, host: MailHost) -> None:
        with socket.create_server(("127.0.0.1", 0)) as deaf, waiting_for(0.3):
            port = deaf.getsockname()[1]
            report = at_server(port, notify)
        assert {one.outcome for one in report.mails} == {MailOutcome.WAITING}
        assert sent(notify()) == [ANN, BOB, CARL]

    def test_greets_for_ever(self, notify: Notify, host: MailHost) -> None:
        """Each response but the last arrives in time."""
        with DrippingHost() as slow, waiting_for(0.3):
            report = at_server(slow.port, notify)
            assert {one.outcome for one in report.mails} == {MailOutcome.UNKNOWN}
            assert "not done after 0.3 seconds" in str(report.mails[0].error)
        assert notify() == MailReport(DeliveryState.DONE)

    def test_what_failed_is_tried_after_the_others(
        self, notify: Notify, host: MailHost, make: Make
    ) -> None:
        host.refused[ANN] = 450
        notify()
        make("snow", "10", maintainer_email="zoe@example.org")
        age(20)
        report = notify(20)
        assert [one.address for one in report.mails] == ["zoe@example.org", ANN]

    def test_a_process_that_dies_while_it_sends(self, notify: Notify, host: MailHost) -> None:
        host.silent_at, host.silent_for = "DATA", frozenset({ANN})

        def work() -> None:
            with waiting_for(60):
                notify()

        process = forked(work)
        while not host.swallowed:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        # PostgreSQL may notice a little later that its client is gone.
        until(lambda: not is_held(delivery.LOCK))
        disconnect()
        assert outcomes()["overdue", ANN] == "claimed"
        host.silent_at = None
        report = notify()
        assert (report.orphans, sent(report)) == ([ANN], [BOB, CARL])
        assert not report.is_complete
        assert notify() == MailReport(DeliveryState.DONE)
        assert sorted(mail.to for mail in host.mails) == [(BOB,), (CARL,)]
        assert outcomes()["overdue", ANN] == "unknown"

    def test_a_process_that_lost_its_lock_sends_nothing_again(
        self, notify: Notify, host: MailHost
    ) -> None:
        """If a connection breaks, the database releases its lock, and another notify begins."""
        host.silent_at, host.silent_for = "DATA", frozenset({ANN})

        def work() -> None:
            with waiting_for(3):
                notify()

        process = forked(work)
        while not host.swallowed:
            time.sleep(0.01)
        model.Session.execute(
            sa.text("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        )
        model.Session.rollback()
        # PostgreSQL keeps the lock until the ended process is gone.
        until(lambda: not is_held(delivery.LOCK))
        report = notify()
        assert (report.orphans, sent(report)) == ([ANN], [BOB, CARL])
        process.join()
        assert process.exitcode == 0
        assert sorted(mail.to for mail in host.mails) == [(BOB,), (CARL,)]
        assert outcomes()["overdue", BOB] == "sent"
