"""Digests over a real mail server: one mail a day with everything that concerns a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers
from click.testing import CliRunner

from ckanext.freshness.cli.site import freshness
from ckanext.freshness.mails import digests, recipients
from ckanext.freshness.mails.report import MailReport
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.mails.conftest import (
    DELINQUENT,
    EVIL,
    OVERDUE,
    ROOT,
    fail,
    later,
    sends_to,
)
from ckanext.freshness.tests.servers.smtp import MailHost, Received

ANN, ADMIN, QUIET = (f"{name}@example.org" for name in ("ann", "admin", "quiet"))
URL = "http://user:secret@example.org/a.csv?token=secret"


@dataclass
class Stage:
    """A night: the output of a dry run, then the mails and their report."""

    planned: str
    mails: list[Received]
    report: MailReport

    def to(self, address: str) -> Received:
        (found,) = [mail for mail in self.mails if mail.to == (address,)]
        return found

    @property
    def addresses(self) -> list[str]:
        return sorted(mail.to[0] for mail in self.mails)


def make_world() -> dict[str, Stage]:
    """Make a site with something of each kind, and send mails on several nights."""
    root = factories.Sysadmin(email=ROOT)["name"]
    admin = factories.User(email=ADMIN, fullname="Åsa Łęcka")
    users = [{"name": admin["name"], "capacity": "admin"}]
    office = factories.Organization(name="office", title=f"Météo{EVIL}", users=users)["id"]
    factories.Organization(name="other", users=users)

    def dataset(name: str, *, links: int = 1, maintainer: str | None = None, **fields: Any) -> str:
        made = helpers.call_action(
            "package_create",
            {"user": root},
            name=name,
            resources=[{"url": URL, "name": f"Tâble {number}{EVIL}"} for number in range(links)],
            extras=[{"key": "frequency", "value": "7"}],
            **{"title": f"Title of {name}", **fields},
        )
        model.Session.execute(
            sa.text(
                "UPDATE package SET maintainer_email = :m, maintainer = 'Ann Łee' WHERE id = :id"
            ),
            {"m": maintainer, "id": made["id"]},
        )
        return str(made["id"])

    rain = dataset("rain", links=2, maintainer=ANN, owner_org=office)
    hidden = dataset("hidden", maintainer=ANN, owner_org=office, private=True)
    model.Session.commit()
    recipients.write(QUIET, recipients.Choice.FOLLOWED)
    quiet = dataset("calm", maintainer=QUIET)
    reader = factories.User(email=QUIET)["name"]
    helpers.call_action("follow_dataset", {"user": reader}, id=rain)
    model.Session.commit()
    with MailHost() as host, sends_to(host.port, ckan__site_title="Données"):
        digests.notify_all(later)
        for package_id in (rain, hidden, quiet):
            fail(package_id, day=10)
        stages = {"broken": sent(host, 10)}
        fail(rain, position=1, day=10.4)
        stages["same day"] = sent(host, 10.5)
        refresh(later(OVERDUE))
        stages["overdue"] = sent(host, OVERDUE)
        stages["next day"] = sent(host, OVERDUE + 1)
        mend(rain)
        mend(hidden)
        stages["mended"] = sent(host, OVERDUE + 2)
        fail(rain, day=OVERDUE + 3)
        stages["broken again"] = sent(host, OVERDUE + 3)
        refresh(later(DELINQUENT))
        stages["delinquent"] = sent(host, DELINQUENT)
    return stages


def sent(host: MailHost, days: float) -> Stage:
    host.mails.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckanext.freshness.cli.site.utc_now", lambda: later(days))
        planned = CliRunner().invoke(freshness, ["notify", "--dry-run"])
    assert (planned.exit_code, host.mails) == (0, [])
    report = digests.notify_all(lambda: later(days))
    return Stage(planned.output, list(host.mails), report)


def mend(package_id: str) -> None:
    model.Session.execute(
        sa.text(
            "UPDATE freshness_check SET failures = 0, failing_since = NULL WHERE package_id = :id"
        ),
        {"id": package_id},
    )
    model.Session.commit()


World = dict[str, Stage]


def both(mail: Received) -> tuple[str, str]:
    return mail.part("plain"), mail.part("html")


def test_broken_links_go_to_the_people_who_may_see_them(world: World) -> None:
    stage = world["broken"]
    assert stage.addresses == [ADMIN, ANN]
    for words in both(stage.to(ANN)):
        assert "Title of rain" in words and "hidden" not in words
        assert "The file is gone (404 Not Found). It has failed since" in words
        assert "Broken link" in words
        assert "/dataset/rain/resource/" in words and "/freshness/mine" not in words
    for words in both(stage.to(ADMIN)):
        assert "Title of hidden" in words and "rain" not in words
        assert "/freshness/mine?group=broken" in words.replace("&amp;", "&")


def test_a_dry_run_tells_what_would_be_sent_to_whom(world: World) -> None:
    planned = world["broken"].planned
    heads = [line for line in planned.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        f"{ADMIN}: 1 broken link",
        "Subject: Données: 1 broken link",
        f"{ANN}: 1 broken link",
        "Subject: Données: 1 broken link",
        "2 mails would be sent",
        "Nothing was sent.",
    ]
    # No link in it works for others than the recipient.
    assert "/freshness/mails/preview" in planned
    for mail in world["broken"].mails:
        assert "/freshness/mails/preview" not in mail.part("plain")


def test_one_mail_a_day_and_broken_links_once_a_week(world: World) -> None:
    assert world["same day"].mails == []
    overdue = world["overdue"]
    assert overdue.addresses == [ADMIN, ANN, QUIET]
    for words in both(overdue.to(ANN)):
        assert "needs an update" in words and "Broken link" not in words
    # The second broken link waits for the end of the week, and is mended before.
    assert world["next day"].mails == []
    assert world["mended"].mails == []


def test_a_link_that_breaks_again_is_news(world: World) -> None:
    assert world["broken again"].addresses == [ANN]
    for words in both(world["broken again"].to(ANN)):
        assert words.count("The file is gone") == 1


def test_operators_are_told_whom_to_contact(world: World) -> None:
    stage = world["delinquent"]
    assert stage.addresses == [ROOT], "the others were told when it became overdue"
    assert stage.to(ROOT).message["Subject"] == "Données: 3 datasets need an update"
    for words in both(stage.to(ROOT)):
        assert "Title of rain" in words and "Title of hidden" in words
        assert f"Contact: Ann Łee, {ANN}" in words and "Long overdue" in words
        assert "/freshness/confirm/" not in words
        assert "you are an administrator of this portal" in words


def test_only_what_a_person_follows(world: World) -> None:
    (mail,) = [mail for stage in world.values() for mail in stage.mails if mail.to == (QUIET,)]
    for words in both(mail):
        assert "Title of rain" in words and "you follow these datasets" in words
        assert "Title of calm" not in words


def test_no_mail_has_foreign_headers_or_markup_or_secrets(world: World) -> None:
    for stage in world.values():
        for mail in stage.mails:
            assert mail.message["Bcc"] is None and len(mail.to) == 1
            assert "Données" in mail.message["From"]
            plain, html = both(mail)
            assert "\nBcc" not in plain and "<b " not in html
            assert "secret" not in plain + html


def test_nothing_is_lost_or_sent_twice(world: World) -> None:
    assert all(stage.report.is_complete for stage in world.values())
    rows = model.Session.execute(
        sa.text("SELECT address, sent_at, error FROM freshness_mail WHERE kind = 'broken'")
    ).all()
    # The faults that were mended are forgotten.
    assert sorted((row.address, row.sent_at is not None, row.error) for row in rows) == [
        ("", True, None),
        (ANN, True, None),
    ]
