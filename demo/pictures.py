"""Takes the documentation's pictures of reports from a demo that runs.

``./dev run python -m demo.pictures URL PASSWORD docs/images``
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from demo.datasets import ORGANIZATION
from demo.site import ADMIN

WIDTH, HEIGHT = 1100, 900
TALLEST = 1700
"""Of a picture, in pixels: the tables go on for a while, and are not cut in the middle."""

_END = """most => Math.max(...[...document.querySelectorAll('.freshness-part')]
    .map(one => one.getBoundingClientRect().bottom + window.scrollY).filter(end => end <= most))"""


def main() -> int:
    """Take all of them."""
    options = _options()
    with sync_playwright() as started:
        program = os.environ.get("FRESHNESS_TEST_BROWSER") or options.browser
        browser = started.chromium.launch(executable_path=program, args=["--no-proxy-server"])
        page = browser.new_page(
            base_url=options.url, viewport={"width": WIDTH, "height": HEIGHT}, locale="en"
        )
        page.goto("/user/login")
        page.fill("input[name=login]", ADMIN)
        page.fill("input[name=password]", options.password)
        page.keyboard.press("Enter")
        page.wait_for_load_state("networkidle")
        for name, path in (
            ("dashboard", "/freshness"),
            ("organization", f"/freshness/organization/{ORGANIZATION}"),
            ("run", f"/freshness/run/{_newest_check(page)}"),
        ):
            answer = page.goto(path)
            assert answer is not None and answer.status == 200, path
            # CKAN's own head and foot say nothing here.
            box = page.locator(".freshness-report").bounding_box()
            assert box is not None, path
            box["height"] = page.evaluate(_END, box["y"] + TALLEST) - box["y"]
            page.screenshot(path=options.folder / f"{name}.png", full_page=True, clip=box)
        browser.close()
    return 0


def _newest_check(page: Page) -> str:
    answer = page.request.get("/freshness/runs.json")
    runs = [one for one in json.loads(answer.body()) if one["kind"] == "check"]
    return str(runs[0]["id"])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo.pictures", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("password", help="of the demo's admin, as the demo tells it")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--browser", default="/usr/bin/chromium")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
