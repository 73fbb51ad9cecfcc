"""What pages, feeds and mails say of the data: changes are news, what is added, harvested or edited is none."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.mails.conftest import Make, Notify
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.harvest import queue

READER = "reader@example.org"
LINK = "http://example.org/1"
STATED = "Modification date from the harvest source"
ATOM = "{http://www.w3.org/2005/Atom}"


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


OLD, NEW = day("2015-01-01"), day("2026-03-01")
RECORDS: dict[str, tuple[dict[str, Any], dict[str, Any], bool, str | None]] = {
    "unchanged": ({"modified": OLD}, {}, False, "2015-01-01"),
    "dct:modified moves": ({"modified": OLD}, {"modified": NEW}, True, "2026-03-01"),
    "dct:modified gets a time": (
        *({"modified": OLD}, {"modified": day("2015-01-01T10:20:30")}),
        *(False, "2015-01-01"),
    ),
    "dct:modified appears": ({}, {"modified": OLD}, False, "2015-01-01"),
    "another title": ({"modified": OLD}, {"title": "another title, again"}, False, "2015-01-01"),
    "another URL": ({"modified": OLD}, {"file": {"download_url": LINK[:-1]}}, False, "2015-01-01"),
    "a file's date moves": (
        *({"file": {"modified": OLD}}, {"file": {"modified": NEW}}),
        *(True, "2026-03-01"),
    ),
    "a new file": ({"modified": OLD}, {"new": {}}, False, "2015-01-01"),
    "a new file with a date": ({"modified": OLD}, {"new": {"modified": NEW}}, False, "2026-03-01"),
}
"""By title: fields of a dataset, what changes, whether that is news, and the day of the last change then."""


def publish(fdp: FdpServer) -> dict[str, Record]:
    catalog = fdp.add_catalog()
    made = {}
    for title, (before, *_) in RECORDS.items():
        fields = dict(before)
        file = {"download_url": LINK, **fields.pop("file", {})}
        made[title] = fdp.add_dataset(catalog, title=title, distributions=[file], **fields)
    return made


def edit(
    fdp: FdpServer, record: Record, *, file: Any = None, new: Any = None, **fields: Any
) -> None:
    if fields:
        fdp.change(record, **fields)
    if file:
        (distribution,) = record.listing(Kind.DISTRIBUTION)
        assert isinstance(distribution, Record)
        fdp.change(distribution, **file)
    if new is not None:
        fdp.add_distribution(record, download_url="http://example.org/2", **new)


def told(app: Any, evidence: str) -> set[str]:
    """Return the titles of the datasets in the feed of data changes, which must be those of the API."""
    feed = ElementTree.fromstring(app.get("/freshness/data.atom").body)
    titles = [entry.findtext(f"{ATOM}title", "") for entry in feed.findall(f"{ATOM}entry")]
    assert all(title.endswith(f": {evidence}") for title in titles), titles
    found = {title.rpartition(": ")[0] for title in titles}
    changes = call_action("freshness_change_list")["changes"]
    assert {change["title"] for change in changes} == found
    return found


def words(app: Any, dataset: dict[str, Any]) -> tuple[str | None, str]:
    """Return the day of a dataset's last change by the API, and the text of its page."""
    body = app.get(f"/dataset/{dataset['name']}/freshness").body
    text = " ".join(BeautifulSoup(body, "html.parser").get_text(" ").split())
    shown = call_action("freshness_show", id=dataset["id"])
    return (shown["last_modified"] or "")[:10] or None, text


@pytest.mark.usefixtures("make")
def test_only_what_the_source_states_is_news(notify: Notify, host: MailHost, app: Any) -> None:
    queue.purge_queues()
    with FdpServer() as fdp:
        records = publish(fdp)
        harvest = add_source(fdp.source_url)
        assert harvest.run().errors == []
        reader = factories.User(email=READER)["name"]
        for record in records.values():
            package_id = harvest.dataset(record, fdp)["id"]
            call_action("follow_dataset", {"user": reader}, id=package_id)
        assert harvest.run().stats["not modified"] == len(records)
        notify(1)
        assert (told(app, STATED), host.to(READER)) == (set(), [])

        for title, (_, change, *_) in RECORDS.items():
            edit(fdp, records[title], **change)
        harvest.run()
        notify(2)
        news = {title for title, (_, _, is_news, _) in RECORDS.items() if is_news}
        assert told(app, STATED) == news
        (mail,) = host.to(READER)
        for title, (_, _, is_news, last) in RECORDS.items():
            assert (f"* {title}" in mail.part("plain")) == is_news, title
            day_shown, text = words(app, harvest.dataset(records[title], fdp))
            assert day_shown == last, title
            assert ("Last changed" in text) == (last is not None), title
            assert "Added" not in text


EDITS: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing": ("package_patch", {}, "Added"),
    "another title": ("package_patch", {"notes": "Better words."}, "Added"),
    "another URL": ("resource_patch", {"url": "http://example.org/2"}, "Added"),
    "a name": ("resource_patch", {"name": "Table"}, "Added"),
    "an older date": ("resource_patch", {"last_modified": "2019-03-05T00:00:00"}, "Last changed"),
    "a new file": ("resource_create", {"url": "http://example.org/2"}, "Added"),
}
"""By title of a dataset made by hand: what an editor does, and what its page says of its date then."""


def test_what_is_added_or_edited_by_hand_is_no_change(
    make: Make, notify: Notify, host: MailHost, app: Any
) -> None:
    reader, root = factories.User(email=READER)["name"], factories.Sysadmin()["name"]
    # Updated as needed: no date makes them overdue.
    found = {title: make(f"d{number}", "-2", title=title) for number, title in enumerate(EDITS)}
    for dataset in found.values():
        call_action("follow_dataset", {"user": reader}, id=dataset["id"])
    for title, (action, fields, word) in EDITS.items():
        dataset = found[title]
        target = {
            "package_patch": {"id": dataset["id"]},
            "resource_patch": {"id": dataset["resources"][0]["id"]},
            "resource_create": {"package_id": dataset["id"]},
        }[action]
        call_action(action, {"user": root}, **target, **fields)
        _, text = words(app, dataset)
        others = {"Added", "Last changed"} - {word}
        assert word in text and not any(other in text for other in others), title
    notify(1)
    assert (told(app, ""), host.to(READER)) == (set(), [])
    dated = found["an older date"]["resources"][0]["id"]
    call_action("resource_patch", {"user": root}, id=dated, last_modified="2020-03-05T00:00:00")
    notify(2)
    assert told(app, "A file was uploaded, or dated by hand") == {"an older date"}
    (mail,) = host.to(READER)
    assert "* an older date" in mail.part("plain") and "Last changed: 5 Mar 2020" in mail.part(
        "plain"
    )
