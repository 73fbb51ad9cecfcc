"""What people come for: each journey from the page where it begins to its end, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.rdf import parsing
from ckanext.freshness.mails import digests
from ckanext.freshness.tests.browser.conftest import Hand, settle
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.harvesting.fdp.parsed import InProcessParser
from ckanext.freshness.tests.harvesting.harvested_site import work
from ckanext.freshness.tests.mails.conftest import OVERDUE, age, later, sends_to
from ckanext.freshness.tests.mails.test_new_facts import change
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.faults import Status as Answers
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.freshness.tests.web.support import FileServer
from ckanext.harvest import queue

pytestmark = pytest.mark.usefixtures("clean_db", "clean_index", "clean_queues", "impatient_checks")


def elsewhere(do: Callable[..., Any], *args: Any) -> Any:
    """Do something in a thread of its own, because no asyncio loop can start beside Playwright's."""

    def done() -> Any:
        try:
            return do(*args)
        finally:
            model.Session.remove()

    model.Session.remove()
    with ThreadPoolExecutor(1) as other:
        return other.submit(done).result()


class Visitor(Hand):
    """Somebody who clicks and reads."""

    def log_in(self, user: dict[str, Any]) -> None:
        self.tab.context.set_extra_http_headers({"Authorization": user["token"]})

    def reads(self, *words: str) -> None:
        """Wait until the page shows some words."""
        for each in words:
            self.tab.get_by_text(each).first.wait_for()

    def reads_nothing_of(self, words: str) -> None:
        """Check that the page, which has been loaded, does not show some words."""
        settle(self.tab)
        assert self.tab.get_by_text(words).count() == 0, words


@pytest.fixture
def hand(page: Any) -> Visitor:
    return Visitor(page)


@pytest.fixture
def fdp(monkeypatch: pytest.MonkeyPatch) -> Iterator[FdpServer]:
    """A FAIR Data Point with four datasets."""
    queue.purge_queues()
    monkeypatch.setattr(parsing, "RdfParser", InProcessParser)
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())
    with FdpServer() as server:
        catalog = server.add_catalog()
        for number in range(4):
            server.add_dataset(catalog, title=f"Tide table {number}")
        yield server


def editor_of(name: str, capacity: str = "editor") -> dict[str, Any]:
    """Create an organization with one member."""
    user: dict[str, Any] = factories.UserWithToken()
    factories.Organization(name=name, users=[{"name": user["name"], "capacity": capacity}])
    return user


def harvest_what_was_asked(source_id: str) -> None:
    """Do what consumers and cron do with the job that somebody starts."""
    jobs: list[str] = []

    def is_asked() -> bool:
        model.Session.remove()
        all_jobs = call_action("harvest_job_list", source_id=source_id)
        jobs.extend(one["id"] for one in all_jobs if one["status"] != "Finished")
        return bool(jobs)

    until(is_asked)
    source = Harvest({"id": source_id})
    source.gather()
    source.fetch()
    source.finish(jobs[0])


@pytest.mark.parametrize("decision", ["delete", "keep"])
def test_a_manager_decides_about_held_deletions(
    hand: Visitor, fdp: FdpServer, decision: str
) -> None:
    manager = editor_of("coast", "admin")

    def hold() -> str:
        owner = call_action("organization_show", id="coast")["id"]
        source = add_source(fdp.source_url, owner_org=owner)
        source.run()
        for record in fdp.datasets[1:]:
            fdp.remove(record)
        source.run()
        return str(source.source["id"])

    source_id = elsewhere(hold)
    hand.log_in(manager)
    hand.tab.goto("/freshness")
    hand.click("link", "3 datasets would be deleted.*")
    hand.reads("Each of them: The source says that it is gone.", "Tide table 3")
    # The last line of the left column, too.
    lines = "[...document.querySelectorAll('.fr-two > li')].map(one => getComputedStyle(one).borderBottomWidth)"
    assert set(hand.tab.evaluate(lines)) == {"1px"}
    if decision == "delete":
        # With a second thought.
        for _ in range(2):
            hand.click("link", "Delete 3 datasets…")
            dialog = hand.tab.get_by_role("dialog", name="Delete 3 of 4 datasets?")
            hand.click("button", "Delete 3 datasets", dialog)
            hand.reads("The next job deletes 3 datasets")
            if hand.clicks == 3:
                hand.click("button", "Undo")
                hand.reads("We stopped that")
        hand.click("button", "Harvest now")
    else:
        hand.click("button", "Keep 3 datasets")
        hand.reads("3 datasets are kept")
        hand.click("button", "Harvest now")
    elsewhere(harvest_what_was_asked, source_id)
    # The next day.
    hand.tab.goto("/freshness")
    hand.reads_nothing_of("would be deleted")
    hand.reads_nothing_of("on hold")
    hand.click("link", "Sources")
    hand.tab.locator("tbody").get_by_text("Finished").first.wait_for()
    hand.tab.goto(f"/harvest/admin/{source_id}")
    hand.reads("3 deleted" if decision == "delete" else "Held deletions (3)")
    model.Session.rollback()
    assert call_action("package_search")["count"] == (1 if decision == "delete" else 4)


def test_an_editor_repairs_twelve_dead_links_with_six_clicks(hand: Visitor) -> None:
    editor = editor_of("relief")
    with FileServer(address="127.0.0.2") as server:
        server.faults[lambda request: request.path.startswith("/old/")] = Answers(404)
        # Nobody knows where the first one is.
        paths = ["alone", *(f"camp-{number}.csv" for number in range(12))]
        made = factories.Dataset(
            name="camps",
            owner_org="relief",
            resources=[{"name": path, "url": f"{server.url}/old/{path}"} for path in paths],
            extras=[{"key": "data_update_frequency", "value": "7"}],
        )
        for resource in made["resources"]:
            path = resource["name"]
            # The server has said of one file where it is now.
            moved = {"moved_to": f"{server.url}/new/{path}"} if path == "camp-0.csv" else {}
            host = "alone.example.org" if path == "alone" else "127.0.0.2"
            break_link({**made, "resources": [resource]}, host=host, **moved)
        model.Session.remove()
        hand.log_in(editor)
        hand.tab.goto("/")
        hand.click("link", r"My tasks \d+")
        hand.click("link", "Repair by server")
        hand.tab.locator("summary", has_text="127.0.0.2").click()
        hand.click("button", "Use the first suggestions for 12 links")
        hand.reads("12 links mended")
        hand.click("link", "My tasks", hand.tab.locator("[role=main] .fr"))
        assert hand.clicks + 1 <= 6
        hand.reads("1 task:")
        # A wrong repair comes back as soon as it is checked.
        hand.click("link", "Edit link")
        hand.reads("Update Resource")
        settle(hand.tab)
        hand.tab.locator("#field-resource-url").fill(f"{server.url}/old/wrong.csv")
        hand.click("button", "Update Resource")
        hand.tab.wait_for_url("**/dataset/camps/resource/*")
        hand.tab.goto("/freshness/mine")
        hand.reads("Your dataset needs nothing.")
        elsewhere(work)
        hand.tab.goto("/freshness/mine")
        hand.reads("1 task:", "6 checks in a row")


@pytest.fixture
def mails(hand: Visitor) -> Iterator[MailHost]:
    """The mail server of the site, whose mails have begun."""
    with MailHost() as host, sends_to(host.port):
        elsewhere(digests.notify_all, later)
        yield host


def link_in(mails: MailHost, address: str, words: str) -> str:
    """Return the path of a link in the only mail to an address, and forget the mail."""
    (mail,) = (mail for mail in mails.mails if mail.to == (address,))
    mails.mails.clear()
    (found,) = re.findall(rf"{words}: https?://[^/]+(/\S+)", mail.part("plain"))
    return str(found)


def test_a_reader_follows_a_dataset_and_unsubscribes(hand: Visitor, mails: MailHost) -> None:
    reader = factories.UserWithToken(email="reader@example.org")
    editor_of("relief")
    made = make_dataset(Status.OVERDUE, "wells", title="Wells", owner_org="relief")
    model.Session.remove()
    hand.log_in(reader)
    hand.tab.goto("/dataset/wells")
    # CKAN's button is neither a link nor a button to the keyboard.
    settle(hand.tab)
    hand.tab.get_by_text("Follow", exact=True).click()
    hand.reads("Unfollow")
    elsewhere(change, made, (10, 8))
    hand.tab.goto("/dataset/wells")
    hand.click("link", "Overdue")
    hand.reads("Added 15 days ago.")
    hand.tab.locator("summary", has_text="Data changes").click()
    hand.reads("8 rows (-2)")
    elsewhere(digests.notify_all, later)
    # No login is needed for the links in a mail.
    hand.tab.context.set_extra_http_headers({})
    hand.tab.goto(link_in(mails, "reader@example.org", "Choose your mails, or switch them off"))
    hand.tab.get_by_label("No mails").check()
    hand.click("button", "Save")
    hand.reads("reader@example.org gets no mails about freshness.")
    elsewhere(change, made, (8, 2))
    elsewhere(digests.notify_all, lambda: later(2))
    assert mails.mails == []


def test_a_maintainer_without_an_account_confirms_with_one_click(
    hand: Visitor, mails: MailHost
) -> None:
    sysadmin = factories.Sysadmin(email="root@example.org")
    call_action(
        "package_create",
        {"user": sysadmin["name"]},
        name="wells",
        title="Wells",
        maintainer_email="ann@example.org",
        resources=[{"url": "http://example.org/a.csv"}],
        extras=[{"key": "frequency", "value": "7"}],
    )
    model.Session.remove()

    def notify() -> None:
        age(OVERDUE)
        digests.notify_all(lambda: later(OVERDUE))

    elsewhere(notify)
    hand.tab.goto(link_in(mails, "ann@example.org", "Confirm still accurate"))
    hand.reads("Are the data of Wells still accurate?", "You confirm as ann@example.org.")
    hand.click("button", "Confirm still accurate")
    hand.reads("You confirmed that Wells is still accurate. Thank you.")
    hand.click("link", "See the dataset")
    hand.reads("Up to date")


def test_an_administrator_adds_the_first_source(hand: Visitor, fdp: FdpServer) -> None:
    hand.tab.goto("/freshness/sources")
    hand.reads_nothing_of("Add source")
    factories.Organization(name="coast", title="Coast")
    hand.log_in(factories.SysadminWithToken())
    hand.tab.goto("/freshness")
    hand.click("link", "Sources")
    hand.reads("There are no harvest sources.")
    hand.click("link", "Add source")
    hand.tab.wait_for_url("**/harvest/new")
    settle(hand.tab)
    hand.tab.fill("#field-url", fdp.source_url)
    hand.tab.locator("#field-title").press_sequentially("Tides")
    hand.tab.wait_for_function("document.querySelector('#field-name').value")
    hand.tab.get_by_label("FAIR Data Point").first.check()
    hand.tab.select_option("#field-frequency", "DAILY")
    hand.tab.select_option("#field-organizations", label="Coast")
    hand.click("button", "Save")
    hand.reads("This source has not been harvested yet")
    hand.click("button", "Preview")
    elsewhere(work)
    hand.reads("Tide table 3")
    hand.click("button", "Harvest now")
    model.Session.rollback()
    source_id = call_action("harvest_source_list")[0]["id"]
    elsewhere(harvest_what_was_asked, source_id)
    hand.tab.goto(f"/harvest/admin/{source_id}")
    hand.reads("4 new", "Next job within a few minutes")
