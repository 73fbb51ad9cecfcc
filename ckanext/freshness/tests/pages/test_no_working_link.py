"""A dataset whose links are all broken is called so wherever people read of it, whatever its dates say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from operator import sub
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc_now
from ckanext.freshness.mails import recipients
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import rows_of, text_of
from ckanext.freshness.tests.pages.test_badge import badges, values
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

DAY = timedelta(days=1)
UPLOAD = {"url": "here.csv", "url_type": "upload"}
DATASETS: dict[str, tuple[int, list[str | dict[str, str]], list[str]]] = {
    "one-gone": (1, ["gone"], ["No working link"]),
    "all-gone": (1, ["gone", "gone"], ["No working link"]),
    "late-and-gone": (30, ["gone"], ["No working link"]),
    "half-gone": (1, ["gone", "there"], ["Up to date", "Broken link"]),
    "upload": (1, ["gone", UPLOAD], ["Up to date", "Broken link"]),
    "walled": (1, ["walled"], ["Up to date"]),
    "there": (1, ["there"], ["Up to date"]),
    "late": (30, ["there"], ["Long overdue"]),
    "empty": (1, [], ["Freshness unknown"]),
}
"""Weekly datasets by name: the age of their data in days, their files, and their badges."""
GONE = {name for name, (_, _, shown) in DATASETS.items() if "No working link" in shown}


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.fixture
def editor(clean_site: None, impatient_checks: None, server: FileServer) -> dict[str, Any]:
    """An editor of the datasets, which were checked on four nights."""
    user = dict(factories.UserWithToken())
    factories.Organization(name="relief", users=[{"name": user["name"], "capacity": "editor"}])
    for name, (age, files, _) in DATASETS.items():
        day = (utc_now() - age * DAY).replace(tzinfo=None).isoformat()
        resources = [
            {"created": day, "last_modified": day, "format": "CSV"}
            | (file if isinstance(file, dict) else {"url": f"{server.url}/{name}-{number}-{file}"})
            for number, file in enumerate(files)
        ]
        extras = [{"key": "frequency", "value": "7"}]
        factories.Dataset(
            name=name, title=name, owner_org="relief", resources=resources, extras=extras
        )
        for number, file in enumerate(files):
            if file in ("gone", "walled"):
                status = 404 if file == "gone" else 403
                server.files[f"/{name}-{number}-{file}"] = Answer(status, b"Not here", {})
    for night in (3, 2, 1, 0):
        check_run.check(CheckScope(everything=True), partial(sub, utc_now(), night * DAY))
    refresh(utc_now())
    model.Session.remove()
    return user


def heading(page: Any) -> Any:
    """Return the heading of a dataset's page. CKAN 2.11 has the name in the sidebar first."""
    return page.select("h1")[-1]


def test_it_is_called_so_everywhere(
    get: Get, read: Read, editor: dict[str, Any], server: FileServer
) -> None:
    # CKAN's pages, and the facet, whose values find what they count.
    for name, (_, _, expected) in DATASETS.items():
        assert badges(heading(read(f"/dataset/{name}"))) == expected, name
        (item,) = read(f"/dataset/?q=name:{name}").select(".dataset-item")
        assert badges(item) == expected, name
    found = {label: (count, link) for label, count, link in values(read("/dataset/"))}
    assert {label: int(count) for label, (count, _) in found.items()} == {
        "Up to date": 4,
        "Need an update": 1,
        "Long overdue": 1,
        "No working link": len(GONE),
        "Freshness unknown": 1,
    }
    for label in ("Up to date", "No working link"):
        count, link = found[label]
        assert len(read(link).select(".dataset-item")) == int(count)

    # Our own page; the API has the status by dates.
    page = read("/dataset/one-gone/freshness", editor)
    words = text_of(page.select_one("section[aria-labelledby=freshness-status]"))
    assert words.startswith("No working link") and "Up to date" not in words
    shown = call_action("freshness_show", id="one-gone")
    assert shown["status"] == "fresh" and shown["broken_since"]
    extras = {
        one["key"]: one["value"] for one in call_action("package_show", id="one-gone")["extras"]
    }
    assert extras["freshness"] == "fresh"
    assert extras["freshness_broken_since"] == shown["broken_since"]
    assert "no working link" in get("/dataset/one-gone/freshness.svg").get_data(as_text=True)

    # Lists, their figures and their files.
    for status, names in {"no_working_link": GONE, "delinquent": {"late"}}.items():
        rows = rows_of(get(f"/freshness/datasets.csv?status={status}"))
        assert {row["name"] for row in rows} == names
    page = read("/freshness/datasets?status=no_working_link")
    assert badges(page.select_one("table")) == ["No working link"] * len(GONE)
    share = text_of(read("/freshness").select_one("#freshness-share"))
    assert share.startswith("50% of 8 datasets")

    # It is a task to update it, too, but not the first thing that its page says.
    rows = read("/freshness/mine?group=update", editor).select(".fr-task")
    shown = {text_of(one.select_one(".fr-title")): badges(one) for one in rows}
    assert shown == {"late": ["Long overdue"], "late-and-gone": ["No working link"]}
    facts = recipients.datasets([call_action("package_show", id="late-and-gone")["id"]], utc_now())
    assert [one.status for one in facts.values()] == ["no_working_link"]

    # The first link that works again ends it.
    server.files.pop("/all-gone-1-gone")
    check_run.check(
        CheckScope(package_ids=(call_action("package_show", id="all-gone")["id"],)), utc_now
    )
    assert badges(heading(read("/dataset/all-gone"))) == ["Up to date", "Broken link"]
    assert call_action("freshness_show", id="all-gone")["broken_since"] is None
