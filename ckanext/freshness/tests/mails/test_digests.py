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
from ckanext.freshness.mails.digests import MailReport
from ckanext.freshness.model import FrequencySuggestion
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.mails.conftest import EVIL, OVERDUE, ROOT, fail, later, sends_to
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
    lost = factories.Organization(name="lost", title="Lost Office")["id"]
    model.Session.execute(sa.text("DELETE FROM member WHERE group_id = :id"), {"id": lost})

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
    dataset("empty", links=0, maintainer=ANN, owner_org=lost)
    dataset("nameless", maintainer="carl at example.org", owner_org=office)
    model.Session.commit()
    recipients.write(QUIET, {"broken"})
    recipients.write(ROOT, {"run"})
    quiet = dataset("calm", maintainer=QUIET)
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
        suggest(rain, 1)
        suggest(hidden, 30)
        suggest(quiet, 1)
        helpers.call_action("freshness_ignore", id=quiet, reason="It is right")
        stages["misfit"] = sent(host, OVERDUE + 4)
        stages["misfit, a week later"] = sent(host, OVERDUE + 11)
    return stages


def sent(host: MailHost, days: float) -> Stage:
    host.mails.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckanext.freshness.cli.site.utc_now", lambda: later(days))
        planned = CliRunner().invoke(freshness, ["notify", "--dry-run"])
    assert (planned.exit_code, host.mails) == (0, [])
    report = digests.notify_all(lambda: later(days))
    return Stage(planned.output, list(host.mails), report)


def suggest(package_id: str, days: int) -> None:
    """Let a weekly dataset change every so many days."""
    at = later().replace(tzinfo=None)
    model.Session.add(
        FrequencySuggestion(
            package_id=package_id,
            declared_days=7,
            suggested_days=days,
            factor=7.0,
            days=days,
            lowest_days=days,
            highest_days=days,
            at_least=False,
            changes=9,
            basis="files",
            changed_at=[at],
            counted_at=at,
        )
    )
    model.Session.commit()


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
    assert stage.addresses == [ADMIN, ANN, ROOT]
    for words in both(stage.to(ANN)):
        assert "Title of rain" in words and "hidden" not in words
        assert "The file is gone (404 Not Found). It has failed since" in words
        assert "Broken link" in words
        assert "/dataset/rain/resource/" in words and "/freshness/mine" not in words
    for words in both(stage.to(ADMIN)):
        assert "Title of hidden" in words and "rain" not in words
        assert "/freshness/mine?group=broken" in words.replace("&amp;", "&")


def test_operators_get_the_faults_of_the_site_in_one_mail(world: World) -> None:
    mail = world["broken"].to(ROOT)
    assert mail.message["Subject"] == (
        "Données: 2 maintainers or organizations without a valid address"
    )
    for words in both(mail):
        assert "Maintainer without a valid address: Ann Łee carl at example.org" in words
        assert "Lost Office" in words and "/organization/lost" in words
        assert "Title of empty" in words
        assert "Title of rain" not in words


def test_a_dry_run_tells_what_would_be_sent_to_whom(world: World) -> None:
    planned = world["broken"].planned
    heads = [line for line in planned.splitlines() if line and not line.startswith(" ")]
    assert heads == [
        f"{ADMIN}: 1 broken link",
        "Subject: Données: 1 broken link",
        f"{ANN}: 1 broken link",
        "Subject: Données: 1 broken link",
        f"{ROOT}: 2 maintainers or organizations without a valid address, 1 dataset without resources",
        "Subject: Données: 2 maintainers or organizations without a valid address",
        "3 mails would be sent",
        "Nothing was sent.",
    ]
    # No link in it works for others than the recipient.
    assert "/freshness/mails/preview" in planned
    for mail in world["broken"].mails:
        assert "/freshness/mails/preview" not in mail.part("plain")


def test_one_mail_a_day_and_broken_links_once_a_week(world: World) -> None:
    assert world["same day"].mails == []
    assert world["same day"].report.waiting > 0
    overdue = world["overdue"]
    assert overdue.addresses == [ADMIN, ANN, QUIET, ROOT]
    for words in both(overdue.to(ANN)):
        assert "needs an update" in words and "Broken link" not in words
    # The second broken link waits for the end of the week, and is mended before.
    assert world["next day"].mails == []
    assert world["next day"].report.waiting == 1
    assert world["mended"].mails == []


def test_a_link_that_breaks_again_is_news(world: World) -> None:
    assert world["broken again"].addresses == [ANN]
    for words in both(world["broken again"].to(ANN)):
        assert words.count("The file is gone") == 1


def test_frequencies_that_do_not_fit_go_to_the_people_who_may_see_them(world: World) -> None:
    stage = world["misfit"]
    assert stage.addresses == [ADMIN, ANN], "an ignored dataset causes no mail"
    for words in both(stage.to(ANN)):
        assert "Title of rain" in words and "hidden" not in words
        assert "Update frequency: Every week" in words
        assert "Observed: about every day (from 9 changes of the files)." in words
        assert "Every day" in words and "fits better." in words
        assert "/dataset/rain/freshness" in words
    for words in both(stage.to(ADMIN)):
        assert "Title of hidden" in words and "rain" not in words
        assert "/freshness/mine?group=misfit" in words.replace("&amp;", "&")
    # They are no news any more.
    assert world["misfit, a week later"].mails == []


def test_a_copy_of_the_overdue_list_names_who_was_asked(world: World) -> None:
    for words in both(world["overdue"].to(ROOT)):
        assert "Title of rain" in words and ANN in words
        assert "Title of hidden" in words and ADMIN in words
        assert "Overdue" in words


def test_a_kind_that_is_switched_off_is_not_sent(world: World) -> None:
    (mail,) = [mail for stage in world.values() for mail in stage.mails if mail.to == (QUIET,)]
    for words in both(mail):
        assert "Title of calm" in words and "The file is gone" not in words


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
