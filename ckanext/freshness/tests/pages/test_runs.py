"""The page of runs: the last night with its errors, and the nights before in each of their states."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import rows_of, text_of
from ckanext.freshness.tests.reporting.test_hdx_layout import FIRST, FREQUENCIES

NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
HOUR = timedelta(hours=1)

FOUND = {
    **{"same hash": 3400, "firstrun,not modified": 18, "hash": 200, "filestore,http header": 14},
    **{"cannot tell": 173, "error": 78, "nothing": 5000, "internal-nothing": 7},
}
SUMS = {
    **{"bytes": 1_800_000_000, "put_off": 29, "newly_broken": 3, "repaired": 5},
    "hosts": 7212,
}


def make_world() -> dict[str, Any]:
    """Make users and runs in every state, those of one night among them."""
    night = NOW - 10 * HOUR
    runs = [
        run(
            "old",
            night - 100 * HOUR,
            1,
            resources=FIRST,
            datasets={"0: Fresh, Updated hash": 9},
            frequencies=FREQUENCIES,
        ),
        run("killed", night - 50 * HOUR, None, checked=1200),
        run("failed", night - 24 * HOUR, 0.5, error="DatabaseLostError: the database was lost"),
        run(
            *("night", night, 0.8),
            checked=3883,
            resources=FOUND,
            datasets={"0: Fresh, Updated http header,hash": 163, "0: Fresh, Updated nothing": 900},
            hosts={"*": SUMS},
            options={"package_ids": None, "host": None, "everything": False},
        ),
        run("cycle", night + HOUR, 0.3, kind="other", options={"source": "s"}),
        run(
            *("part", night + 2 * HOUR, 0),
            kind="nightly",
            error="report: Solr is away",
            options={"part": "report"},
        ),
        run("asked", NOW - HOUR, 0.1, checked=40, options={"package_ids": ["some"]}),
        run("host", NOW - HOUR / 2, 0, checked=0, options={"host": "files.example.org"}),
    ]
    model.Session.add_all(runs)
    model.Session.commit()
    return {"sysadmin": factories.SysadminWithToken(), "user": factories.UserWithToken()}


def run(id: str, started: datetime, hours: float | None, **columns: Any) -> CheckRun:
    """Return the row of a run, by default a check of all links that took some hours."""
    ended = None if hours is None else started + hours * HOUR
    usual = {"kind": "check", "options": {}, "version": "1.0"}
    return CheckRun(id=id, started_at=started, ended_at=ended, **{**usual, **columns})


def words(page: Any, selector: str = ".fr") -> str:
    """Return the text of the selected elements."""
    return " ".join(text_of(one) for one in page.select(selector))


def test_the_list_says_how_each_night_ended(world: Any, read: Read, get: Get) -> None:
    page = read("/freshness/runs", "sysadmin")
    lines = page.select("section[aria-labelledby=run-nights] .fr-list > li")
    assert [words(line, ".fr-main").strip() for line in lines] == [
        "Nightly run Finished in 48 minutes 3,883 links checked, 78 failed",
        "Nightly run Failed after 30 minutes DatabaseLostError: the database was lost",
        "Nightly run Interrupted 1,200 links checked",
        "Nightly run Finished in 1 hour",
    ]
    rows = rows_of(get("/freshness/runs.csv", "sysadmin"))
    assert [(row["id"], row["state"], row["checks"], row["errors"]) for row in rows] == [
        ("night", "finished", "3883", "78"),
        ("failed", "failed", "", "0"),
        ("killed", "interrupted", "1200", "0"),
        ("old", "finished", "", "169"),
    ]
    assert json.loads(get("/freshness/runs.json", "sysadmin").body)[0]["id"] == "night"


def test_the_last_night_in_short(world: Any, read: Read) -> None:
    page = read("/freshness/runs", "sysadmin")
    note = words(page, ".fr-note")
    assert "Finished in 48 minutes" in note and "3,883 links checked." in note
    assert "29 links wait for servers that didn't answer, and come first in the next run." in note
    assert "1 other part of this night has a problem" in note
    for card in (
        "Files changed 214 in 163 datasets",
        "Newly broken 3",
        "Repaired 5",
        "1.6 GiB from 7,212 servers",
    ):
        assert card in words(page, ".fr-cards"), card
    assert "Solr is away" in words(page, "section[aria-labelledby=run-part]")
    # What succeeded is not named, and what somebody asked for is no part of the night.
    for other in ("night", "cycle", "asked", "host"):
        assert page.select_one(f"section[aria-labelledby=run-{other}]") is None
    assert not page.select("[hx-get]")


@pytest.mark.parametrize(
    ("who", "refusal"),
    [(None, "Log in to see runs"), ("user", "Only sysadmins can see runs")],
)
def test_a_refusal_says_what_to_do(world: Any, read: Read, who: str | None, refusal: str) -> None:
    for path in ("runs", "runs.csv", "runs.json"):
        assert refusal in words(read(f"/freshness/{path}", who, status=403), "body"), path
    read("/freshness/metrics", who, status=403)
