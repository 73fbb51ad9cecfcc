"""The pages of runs: their list, and what one of them says of each state that a run can be in."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import locked
from ckanext.freshness.model import CheckRun, FreshnessTransition
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.reporting.test_metrics import FIRST, FREQUENCIES, NUMBERS

NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
HOUR = timedelta(hours=1)

FOUND = {
    **{"same hash": 3400, "firstrun,not modified": 18, "hash": 200, "filestore,http header": 14},
    **{"cannot tell": 173, "error": 78, "nothing": 5000, "internal-nothing": 7},
}
HOSTS = {
    "*": {
        **{**NUMBERS, "bytes": 1_800_000_000, "put_off": 29, "newly_broken": 3, "repaired": 5},
        **{"hosts": 7212, "in_trouble": 5000},
        **{"check: due": 3000, "check: change expected": 883},
    },
    "gone.example.org": {**NUMBERS, "checks": 64, "errors": 18, "reason": "404"},
    "slow.example.org": {**NUMBERS, "checks": 0, "errors": 0, "put_off": 29},
    "walled.example.org": {**NUMBERS, "checks": 173, "errors": 0, "blocked": 173},
    "fine.example.org": {**NUMBERS, "checks": 3000, "errors": 0, "blocked": 2},
    **{
        f"bad-{number:03}.example.org": {
            **NUMBERS,
            "checks": 2,
            "errors": 1,
            "reason": "new reason",
        }
        for number in range(496)
    },
}
CYCLE = {
    **{
        "total_number_of_datasets": 1153,
        "datasets_with_download": 1131,
        "changed": 31,
        "failed": 0,
    },
    **{"datasets_unregistered": 2, "datasets_expired": 4, "zipper_run_duration": 120.0},
}


def make_world() -> dict[str, Any]:
    """Make users and runs in every state, those of one night among them."""
    dataset = factories.Dataset(name="wells", title="Wells")
    night = NOW - 10 * HOUR
    for after, count in (("due", 1), ("fresh", 2)):
        for _ in range(count):
            model.Session.add(
                FreshnessTransition(
                    package_id=dataset["id"],
                    from_status="overdue",
                    to_status=after,
                    changed_at=night + HOUR,
                    cause="time",
                )
            )
    counts = {"frequencies": FREQUENCIES, "hosts": {"*": NUMBERS, "old.example.org": NUMBERS}}
    runs = [
        run(
            "old",
            night - 100 * HOUR,
            1,
            resources=FIRST,
            datasets={"0: Fresh, Updated hash": 9},
            **counts,
        ),
        run("killed", night - 50 * HOUR, None, checked=1200),
        run("failed", night - 24 * HOUR, 0.5, error="DatabaseLostError: the database was lost"),
        run(
            *("night", night, 0.8),
            checked=3883,
            resources=FOUND,
            datasets={"0: Fresh, Updated http header,hash": 163, "0: Fresh, Updated nothing": 900},
            hosts=HOSTS,
            options={"package_ids": None, "host": None, "everything": False},
        ),
        run(
            "cycle",
            night + HOUR,
            0.3,
            kind="iati",
            datasets=CYCLE,
            options={"source": "s", "harvest": True},
        ),
        run(
            "part",
            night + 2 * HOUR,
            0,
            kind="nightly",
            error="report: Solr is away",
            options={"part": "report"},
        ),
        run("file", night + HOUR / 2, 0.1, kind="iati", options={"source": "s", "harvest": False}),
        run("going", NOW - HOUR, None, checked=40, options={"package_ids": [dataset["id"]]}),
        run("nothing", NOW - HOUR / 2, 0, checked=0, options={"host": "files.example.org"}),
        run("other", NOW - HOUR / 4, 0, kind="learned", options={"policy": "learned"}),
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
    return " ".join(text(one) for one in page.select(selector))


def text(element: Any) -> str:
    return " ".join(" ".join(element.stripped_strings).split())


def test_the_list_says_how_each_run_ended(world: Any, read: Read) -> None:
    page = read("/freshness/runs", "sysadmin")
    assert [words(line, ".fr-main").strip() for line in page.select(".fr-list > li")] == [
        "Run Finished in 1 second",
        "Check of files.example.org Finished in 1 second",
        "Check of 1 dataset Interrupted 40 links checked",
        "Daily figures of the nightly run Failed after 1 second report: Solr is away",
        "IATI cycle Finished in 18 minutes",
        "Check of IATI files Finished in 6 minutes",
        "Nightly run Finished in 48 minutes 3,883 links checked, 78 failed",
        "Nightly run Failed after 30 minutes DatabaseLostError: the database was lost",
        "Nightly run Interrupted 1,200 links checked",
        "Nightly run Finished in 1 hour",
    ]
    chips = words(page, ".fr-filters")
    assert chips == "All 10 Checks of links 4 IATI 2 Checks on request 2 Failed or unfinished 4"
    found = read("/freshness/runs?only=asked", "sysadmin")
    assert [words(line, ".fr-main a") for line in found.select(".fr-list > li")] == [
        "Check of files.example.org",
        "Check of 1 dataset",
    ]
    refused = read("/freshness/runs?only=none", "sysadmin", status=400)
    allowed = "“only” in the address of this page: must be one of nights, iati, asked, problems"
    assert allowed in words(refused, "body")


def test_a_night_in_short(world: Any, read: Read) -> None:
    page = read("/freshness/run/night", "sysadmin")
    night = f"{NOW - 10 * HOUR:%-d %b, %H:%M}"
    assert words(page, "h1") == f"Nightly run, {night}"
    note = words(page, ".fr-note")
    assert "Finished in 48 minutes" in note and "3,883 links checked." in note
    assert "29 links wait for servers that didn't answer, and come first in the next run." in note
    assert "1 other part of this night has a problem" in note
    assert words(page, ".fr-cards").split(" 214 ")[0] == "Files changed"
    assert [text(one) for one in page.select("section:has(> #run-why) li")] == [
        "The dataset is due for an update 3,000 of 3,883",
        "Expected to have changed 883 of 3,883",
    ]
    for card in (
        "214 in 163 datasets",
        "Newly broken 3",
        "Repaired 5",
        "1.8 GB from 7,212 servers",
    ):
        assert card in words(page, ".fr-cards"), card
    bars = [
        words(bar, ".fr-main, .fr-side")
        for bar in page.select("section:has(> #run-found) .fr-rank > li")
    ]
    assert bars == [
        "Not changed 3,418 of 3,883",
        "Changed 214 of 3,883",
        "Couldn't be checked 173 of 3,883",
        "Failed 78 of 3,883",
    ]
    # Not all 18 links failed for the reason that is the commonest.
    server = next(one for one in page.select(".fr-list > li") if "gone.example.org" in text(one))
    assert (
        text(server)
        == "gone.example.org Most often: The file is gone (404 Not Found). 18 of 64 links"
    )
    changes = page.select_one("section[aria-labelledby=run-changes]")
    assert changes is not None
    assert words(changes, "h2") == "3 datasets changed status"
    assert words(changes, "li").startswith(
        "Overdue to Up to date 2 datasets Overdue to Due 1 dataset"
    )
    cycle = words(page, "section[aria-labelledby=run-cycle]")
    assert (
        "Finished in 18 minutes The registry lists 1,153 datasets. 1,131 of them have a copy."
        in cycle
    )
    assert "31 files changed. 2 datasets were unregistered, and their copies were removed." in cycle
    assert "Solr is away" in words(page, "section[aria-labelledby=run-part]")
    # A check of single files is no part of the night.
    assert page.select_one("section[aria-labelledby=run-file]") is None
    assert not page.select("[hx-get]")


def test_a_run_that_goes_on_refreshes_its_page(world: Any, read: Read) -> None:
    with locked(run_records.lock("going")):
        page = read("/freshness/run/going", "sysadmin")
        (part,) = page.select("[hx-get]")
        assert part["hx-get"] == "/freshness/run/going" and "every 5s" in part["hx-trigger"]
        assert part["hx-select"] == f"#{part['id']}"
        note = words(page, ".fr-note")
        assert "Running for 1 hour" in note and "So far: 40 links checked." in note
        # Without JavaScript, there is a link.
        assert "Look again" in words(page, '.fr-note a[href="/freshness/run/going"]')
        assert read("/freshness/runs", "sysadmin").select("#freshness-runs[hx-get]")
        (part,) = read("/de/freshness/run/going", "sysadmin").select("[hx-get]")
        assert part["hx-get"] == "/de/freshness/run/going"
    page = read("/freshness/run/going", "sysadmin")
    assert not page.select("[hx-get]")
    assert words(page, ".fr-note h2") == "Interrupted"
    assert "the next run goes on from there" in words(page, ".fr-note")
    assert words(page, '.fr-note a[href="/dataset/wells/freshness"]') == "Wells"


@pytest.mark.parametrize(
    ("who", "refusal"),
    [(None, "Log in to see runs"), ("user", "Only sysadmins can see runs")],
)
def test_a_refusal_says_what_to_do(world: Any, read: Read, who: str | None, refusal: str) -> None:
    for path in ("/freshness/runs", "/freshness/run/night", "/freshness/run/night/servers"):
        page = read(path, who, status=403)
        assert refusal in words(page, "body"), path
    read("/freshness/run/none", "sysadmin", status=404)
