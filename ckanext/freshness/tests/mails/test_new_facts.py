"""Mails about held deletions, failed sources, lost rows, links that work again, and to followers."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.dates import utc_text
from ckanext.freshness.mails import digests, news, recipients
from ckanext.freshness.mails.report import MailReport, NotifyState
from ckanext.freshness.model import DatasetFreshness, FreshnessChange, HarvestHold
from ckanext.freshness.reporting import harvests, visibility
from ckanext.freshness.reporting.tables import TableRequest
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.mails.conftest import OVERDUE, ROOT, Make, Notify, age, fail, later
from ckanext.freshness.tests.processes import disconnect, until, until_locks_are_free
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.freshness.tests.status.test_refresh import forked
from ckanext.harvest.model import HarvestGatherError, HarvestJob, HarvestSource
from ckanext.harvest.tests import factories as harvest_factories

ANN, EDITOR, READER = "ann@example.org", "editor@example.org", "reader@example.org"


@pytest.fixture
def source(make: Make) -> dict[str, Any]:
    """A harvest source of an organization with an editor and a member."""
    users = [
        {"name": factories.User(email=EDITOR)["name"], "capacity": "editor"},
        {"name": factories.User(email="member@example.org")["name"], "capacity": "member"},
    ]
    organization = factories.Organization(users=users)
    return dict(
        harvest_factories.HarvestSource(
            owner_org=organization["id"], source_type="fdp", title="Harbour"
        )
    )


def job(source: dict[str, Any], days: float, *, fails: bool, message: str = "No answer") -> None:
    at = later(days).replace(tzinfo=None)
    found = HarvestJob(source=model.Session.get(HarvestSource, source["id"]))
    found.created, found.gather_started, found.gather_finished, found.finished = (at,) * 4
    found.status = "Finished"
    found.save()
    if fails:
        HarvestGatherError(message=message, job=found).save()
    model.Session.commit()


def change(made: dict[str, Any], rows: tuple[int, int], removed: tuple[str, ...] = ()) -> None:
    at = later().replace(tzinfo=None)
    table = {"name": None, "rows": list(rows), "removed": list(removed)}
    model.Session.add(
        FreshnessChange(
            id=f"{made['id']}{rows}{removed}",
            package_id=made["id"],
            resource_id=made["resources"][0]["id"],
            seen_at=at,
            changed_before=at,
            evidence="hash",
            summary={"tables": [table]},
        )
    )
    model.Session.commit()


def held(source: dict[str, Any]) -> None:
    """Let two deletions of a source be held."""
    hold = HarvestHold(
        source_id=source["id"],
        job_id="job",
        held_at=later().replace(tzinfo=None),
        reason="2 of 9 records would be deleted, more than at once (max_deletions)",
        held=[
            {"guid": guid, "url": guid, "package_id": None, "reason": "gone", "released": None}
            for guid in ("a", "b")
        ],
    )
    model.Session.add(hold)
    model.Session.commit()


def test_a_held_deletion_is_told_at_once_and_once(
    source: dict[str, Any], notify: Notify, host: MailHost
) -> None:
    for address in (EDITOR, ROOT):
        recipients.number_of(address)
        model.Session.execute(
            sa.text("UPDATE freshness_mail_person SET told_at = :at WHERE address = :address"),
            {"at": f'{{"overdue": "{later(-0.1).isoformat()}"}}', "address": address},
        )
    held(source)
    digests.notify_at_once(later)
    assert sorted(mail.to for mail in host.mails) == [(EDITOR,), (ROOT,)]
    for subtype in ("plain", "html"):
        words = host.to(EDITOR)[0].part(subtype)
        assert "Harbour" in words and "2 deletions wait for approval" in words
        assert f"/harvest/{source['name']}/held" in words
        assert "the datasets stay as they are" in words
        assert "max_deletions" not in words
    digests.notify_at_once(later)
    assert notify(0) == MailReport(NotifyState.DONE)
    assert len(host.mails) == 2


def test_kept_deletions_are_told_to_nobody(
    source: dict[str, Any], notify: Notify, host: MailHost
) -> None:
    held(source)
    decide(source, "freshness_harvest_keep")
    assert host.mails == []


def test_a_held_deletion_is_told_again_after_a_kill(
    source: dict[str, Any], make: Make, notify: Notify, host: MailHost
) -> None:
    held(source)
    fail(make("rain", maintainer_email=EDITOR)["id"], times=3, span=4)
    host.silent_at = "DATA"

    def work() -> None:
        notify(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "TIMEOUT", 60.0)
        process = forked(work)
        until(lambda: host.swallowed)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    until_locks_are_free()
    disconnect()
    host.silent_at = None
    notify(0.001)
    notify(0.01)
    assert sorted(mail.to for mail in host.mails) == [(EDITOR,), (ROOT,)]
    (mail,) = host.to(EDITOR)
    assert "2 deletions wait for approval" in mail.part("plain")
    # What else stood in the first mail may have arrived.
    assert "broken link" not in mail.part("plain")


def test_a_source_that_fails_is_told_weekly_until_it_works(
    source: dict[str, Any], notify: Notify, host: MailHost
) -> None:
    job(source, -3, fails=False)
    assert notify(-2.9) == MailReport(NotifyState.DONE)
    job(source, -2, fails=True)
    for days, mails in ((-1.9, 1), (-0.5, 1), (4.9, 1), (5.1, 2)):
        notify(days)
        assert len(host.to(EDITOR)) == mails, days
    job(source, 5.5, fails=True)
    notify(6.5)
    job(source, 6.6, fails=False)
    notify(7)
    notify(8)
    assert len(host.to(EDITOR)) == 3
    assert "can be read again" in host.to(EDITOR)[2].part("plain")


def test_a_hold_is_no_failure(source: dict[str, Any], notify: Notify, host: MailHost) -> None:
    job(source, -1, fails=False)
    held(source)
    job(source, 0, fails=True, message='{"code": "deletions held", "count": 1}')
    notify(0.1)
    (mail,) = host.to(EDITOR)
    assert "waits for approval" in mail.part("plain") and "fails" not in mail.part("plain")
    rows = list(harvests.sources(TableRequest(visibility.SITE, later())))
    assert [(row["state"], row["failing_since"]) for row in rows] == [("held", None)]
    # Pages and mails say the same of a job that fails.
    job(source, 0.2, fails=True)
    (row,) = harvests.sources(TableRequest(visibility.SITE, later()))
    (told,) = news.failed_sources(later(0.3))
    assert row["failing_since"] == utc_text(told.details["failing_since"])


def test_a_link_that_works_again_is_told_to_those_who_were_told(
    make: Make, notify: Notify, host: MailHost
) -> None:
    made = make("rain", maintainer_email=ANN)
    other = make("snow", maintainer_email=ANN)
    fail(made["id"], times=3, span=4)
    notify(0)
    for statement in (
        "UPDATE freshness_check SET failures = 0, failing_since = NULL, succeeded_at = tried_at",
        f"DELETE FROM freshness_check WHERE package_id = '{other['id']}'",
        # Who looks after the data since then was told nothing.
        f"UPDATE package SET maintainer_email = '{ANN}, {READER}'",
    ):
        model.Session.execute(sa.text(statement))
    model.Session.commit()
    notify(1)
    notify(2)
    (_, mail) = host.to(ANN)
    assert not host.to(READER)
    assert "Link works" in mail.part("plain") and "/dataset/rain/" in mail.part("plain")
    assert "snow" not in mail.part("plain")


def test_files_that_lost_contents(make: Make, notify: Notify, host: MailHost) -> None:
    change(make("half", maintainer_email=ANN), (100, 49))
    change(make("few", maintainer_email=EDITOR), (100, 50))
    change(make("column", maintainer_email=READER), (9, 9), ("district",))
    notify(0.1)
    notify(1)
    assert sorted(mail.to for mail in host.mails) == [(ANN,), (READER,)]


def test_files_that_change_without_newer_data_are_told_once(
    make: Make, notify: Notify, host: MailHost
) -> None:
    row = model.Session.get(DatasetFreshness, make("one", maintainer_email=ANN)["id"])
    row.last_modified = later().replace(tzinfo=None)
    row.data_stands_since, row.data_until = row.last_modified, "2026-03"
    model.Session.commit()
    for days in (0.1, 1, 2):
        notify(days)
    (mail,) = host.mails
    assert mail.to == (ANN,)
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        assert "but its data still end with March 2026." in words
        # By its dates it is: a mail that asks for newer data does not praise it, nor say that it looks old.
        assert "Up to date" not in words and "out of date" not in words


@pytest.mark.parametrize("follows", ["dataset", "organization", "group"])
def test_followers_are_told_of_what_they_may_see(
    make: Make, notify: Notify, host: MailHost, follows: str
) -> None:
    reader = factories.User(email=READER)["name"]
    organization = factories.Organization()
    group = factories.Group()
    groups = [{"name": group["name"]}]
    shown = make("rain", owner_org=organization["id"], groups=groups, title="Rain")
    hidden = make(
        "secret", owner_org=organization["id"], groups=groups, private=True, title="Secret"
    )
    if follows == "dataset":
        for made in (shown, hidden):
            model.Session.add(model.UserFollowingDataset(model.User.get(reader).id, made["id"]))
        model.Session.commit()
    else:
        followed = organization if follows == "organization" else group
        helpers.call_action("follow_group", {"user": reader}, id=followed["id"])
    for made in (shown, hidden):
        change(made, (10, 12))
    notify(0.1)
    (mail,) = host.to(READER)
    for subtype in ("plain", "html"):
        words = mail.part(subtype)
        assert "Rain" in words and "Secret" not in words
        assert "12 rows" in words and "you follow" in words
    age(OVERDUE)
    notify()
    assert "Overdue" in host.to(READER)[1].part("plain")


def test_followers_are_told_of_what_happens_from_then_on(
    make: Make, notify: Notify, host: MailHost
) -> None:
    rain, late = make("rain", title="Rain"), make("late", title="Late")
    other = act("resource_create", package_id=rain["id"], url="http://example.org/b.csv")
    age(OVERDUE)
    change(rain, (10, 12))
    follower = factories.User(email=READER)["name"]
    with freeze_time(later(OVERDUE + 1)):
        for dataset in (rain, late):
            helpers.call_action("follow_dataset", {"user": follower}, id=dataset["id"])
    notify(OVERDUE + 1.1)
    assert host.to(READER) == []
    with freeze_time(later(OVERDUE + 2)):
        change(rain, (12, 14))
        change({**rain, "resources": [other]}, (7, 9))
    notify(OVERDUE + 2.1)
    (mail,) = host.to(READER)
    assert "Rain" in mail.part("plain") and "Late" not in mail.part("plain")
    assert "2 files changed" in mail.part("plain") and "12 rows" not in mail.part("plain")


def act(action: str, user: str = "", **data: Any) -> Any:
    name = user or model.User.by_email(ROOT).name
    return helpers.call_action(action, {"user": name}, **data)


def decide(source: dict[str, Any], action: str) -> None:
    """Decide about the held deletions, with a look for mails that wait for no night."""
    shown = act("freshness_harvest_hold_show", id=source["id"])
    act(action, id=source["id"], list_id=shown["list_id"])
    digests.notify_at_once(later)


def test_what_is_done_and_undone_between_two_nights_is_no_news(
    make: Make, source: dict[str, Any], host: MailHost, notify: Notify
) -> None:
    """Everybody has been told of everything, so that no undo, and no second one, may tell it again."""
    made = make("tides", maintainer_email=ANN)
    package_id, resource_id = made["id"], made["resources"][0]["id"]
    reader = factories.User(email=READER)["name"]
    act("follow_dataset", reader, id=package_id)
    fail(package_id, day=OVERDUE - 1)
    with freeze_time(later(OVERDUE - 1)):
        change(made, (10, 2), ("depth",))
    job(source, OVERDUE - 1, fails=True)
    held(source)
    age(OVERDUE)
    notify(OVERDUE)
    everything = " ".join(mail.part("plain") for mail in host.mails)
    for words in ("an update", "broken link", "lost rows", "that you follow", "approval", "fails"):
        assert words in everything
    assert {mail.to[0] for mail in host.mails} == {ANN, READER, EDITOR, ROOT}
    host.mails.clear()

    def patch(**fields: Any) -> None:
        act("package_patch", id=package_id, **fields)

    def frequency(days: str) -> None:
        patch(extras=[{"key": "frequency", "value": days}])

    ignored = {"id": package_id, "resource_id": resource_id}
    url = made["resources"][0]["url"]
    edits: dict[str, list[Callable[[], Any]]] = {
        "confirm": [
            lambda: act("freshness_confirm", id=package_id),
            lambda: act("freshness_confirm", id=package_id, withdraw=True),
        ],
        "frequency": [lambda: frequency("365"), lambda: frequency("7")],
        "ignore the link": [
            lambda: act("freshness_ignore", **ignored, reason="soon"),
            lambda: act("freshness_ignore", **ignored, stop=True),
        ],
        "edit the link": [
            lambda: act("resource_patch", id=resource_id, url="http://example.org/b.csv"),
            lambda: act("resource_patch", id=resource_id, url=url),
        ],
        "approve deletions": [
            lambda: decide(source, "freshness_harvest_release"),
            lambda: decide(source, "freshness_harvest_take_back"),
        ],
    }
    for number, (name, (do, undo)) in enumerate(edits.items()):
        for times in (1, 2):
            at = OVERDUE + number / 10 + times / 30
            for step, edit in enumerate((do, undo) * times):
                with freeze_time(later(at + step / 500)):
                    edit()
            report = notify(at + 1 / 50)
            assert (report.mails, host.mails) == ([], []), (name, times)
