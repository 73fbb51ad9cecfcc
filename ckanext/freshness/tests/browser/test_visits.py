"""The results of checks on a dataset's page, in a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness.ckan_adapter import model
from ckanext.freshness.runs import check_run
from ckanext.freshness.runs.check_run import CheckScope
from ckanext.freshness.tests.servers.file_host import FILES, FileHost

SCREENSHOTS = os.environ.get("FRESHNESS_SCREENSHOTS")
DAY = timedelta(days=1)
NOW = datetime.now(timezone.utc).replace(microsecond=0)


@pytest.fixture
def visited(clean_db: Any, clean_index: Any, impatient_checks: None) -> Iterator[str]:
    """Open the page of a dataset with all files of a host, after three nightly checks, the last just now."""
    with FileHost(now=NOW, address="127.0.0.2") as host:
        created = (NOW - 60 * DAY).replace(tzinfo=None).isoformat()
        links = [
            {
                "url": host.url_of(one),
                "name": one.title,
                "format": one.format,
                "created": created,
            }
            for one in FILES
        ]
        weekly = [{"key": "frequency", "value": "7"}]
        factories.Organization(name="relief", title="Relief Works", description="Data.")
        factories.Dataset(
            name="files",
            title="Files from the field",
            owner_org="relief",
            extras=weekly,
            resources=links,
        )
        for night in (2, 1, 0):
            check_run.check(CheckScope(everything=True), lambda at=NOW - night * DAY: at)  # type: ignore[misc]
            host.publish()
        model.Session.remove()
        yield "/dataset/files/freshness"


def test_the_table_fits_on_any_screen(page: Any, visited: str) -> None:
    for width in (1200, 360):
        page.set_viewport_size({"width": width, "height": 700})
        # CKAN's own pages are slightly wider than a small screen.
        page.goto("/dataset/files")
        usual = page.evaluate("document.documentElement.scrollWidth")
        assert usual < width + 20
        page.goto(visited)
        assert page.locator("#freshness-visits tbody tr").count() == len(FILES)
        assert page.evaluate("document.documentElement.scrollWidth") <= usual
    details = page.locator("#freshness-visits details").first
    assert not details.locator("ul").is_visible()
    details.locator("summary").click()
    assert details.locator("li").count() == 3
    assert details.locator("ul").is_visible()


@pytest.mark.skipif(
    not SCREENSHOTS, reason="pictures are taken where FRESHNESS_SCREENSHOTS names a folder"
)
def test_picture(page: Any, visited: str) -> None:
    page.set_viewport_size({"width": 1200, "height": 940})
    page.goto(visited)
    page.locator("#freshness-visits").wait_for()
    page.locator("#freshness-visits details").nth(1).locator("summary").click()
    page.evaluate("window.scrollTo(0, 0)")
    top = page.get_by_role("heading", name="What is at the URLs").bounding_box()
    table = page.locator("#freshness-visits").bounding_box()
    page.screenshot(
        path=Path(str(SCREENSHOTS), "checks.png"),
        full_page=True,
        clip={
            "x": table["x"] - 15,
            "y": top["y"] - 10,
            "width": table["width"] + 30,
            "height": table["y"] + table["height"] - top["y"] + 20,
        },
    )
