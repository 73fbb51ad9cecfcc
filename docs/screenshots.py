"""Takes pictures of every page of a served demo: three widths, all languages, each kind of reader.

Serve the demo with ``./dev demo``, then, in another terminal::

    ./dev run python docs/screenshots.py /tmp/pictures

Everything goes into the given folder. ``--docs`` also renews the pictures of the documentation. Pages come from
``ckanext/freshness/tests/browser/site_pages.py``, so that the tests look at the same ones.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from ckanext.freshness.tests.browser.site_pages import (
    READERS,
    SITE_PAGES,
    SitePage,
    chromium_program,
)
from demo import datasets
from demo.site import ADMIN, EDITOR, ORG_ADMIN

WIDTHS = (1440, 768, 375)
LANGUAGES = ("en", "de", "fr", "es")
USERS = {"anonymous": None, "editor": EDITOR, "admin": ORG_ADMIN, "sysadmin": ADMIN}

DOCS = Path(__file__).parent / "images"
CHOSEN = {
    "dashboard": ("dashboard", "sysadmin"),
    "worklist": ("worklist", "editor"),
    "dataset": ("dataset", "editor"),
    "run": ("runs", "sysadmin"),
    "iati": ("iati", "anonymous"),
    "held": ("source-held", "sysadmin"),
    "search": ("search", "anonymous"),
}
"""The pictures of the documentation: page and reader, by the name of the file."""
DOCS_WIDTH, DOCS_HEIGHT = 1100, 1000
MOST_BYTES, MOST_BYTES_IN_ALL = 150_000, 1_000_000


def main() -> int:
    """Return the exit code: 0 if every page answered, and the chosen pictures are small enough."""
    options = _options()
    state = json.loads(Path(os.environ["CKAN_INI"]).with_suffix(".json").read_text())
    url = options.url or f"http://127.0.0.1:{state['site_port']}"
    failures: list[str] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=chromium_program(), args=["--no-proxy-server", "--no-sandbox"]
        )
        with visit(browser, url, ADMIN, state["password"], DOCS_WIDTH) as page:
            ids = found_on(page)
        for reader, user in USERS.items():
            for width in WIDTHS:
                with visit(browser, url, user, state["password"], width) as page:
                    for shown in SITE_PAGES:
                        failures += take(page, shown, reader, width, ids, options)
        if options.docs:
            failures += renew_docs(browser, url, state["password"], ids)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def take(
    page: Page,
    shown: SitePage,
    reader: str,
    width: int,
    ids: Mapping[str, str],
    options: argparse.Namespace,
) -> Iterator[str]:
    """Take the pictures of a page in each language; yield what went wrong."""
    if reader not in shown.readers or (options.only and shown.name not in options.only):
        return
    for language in LANGUAGES:
        prefix = "" if language == "en" else f"/{language}"
        answer = page.goto(prefix + shown.path.format(**ids))
        if answer is None or answer.status >= 400:
            yield f"{shown.path} answered {answer and answer.status} to {reader}"
            continue
        folder = options.folder / f"{reader}-{language}-{width}"
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{shown.name}.png", full_page=True)


def renew_docs(browser: Browser, url: str, password: str, ids: Mapping[str, str]) -> Iterator[str]:
    """Take the chosen pictures; yield which of them are too large."""
    paths = {page.name: page.path for page in SITE_PAGES}
    total = 0
    for name, (page_name, reader) in CHOSEN.items():
        with visit(browser, url, USERS[reader], password, DOCS_WIDTH) as page:
            page.goto(paths[page_name].format(**ids))
            file = DOCS / f"{name}.png"
            page.screenshot(
                path=file,
                clip={"x": 0, "y": 0, "width": DOCS_WIDTH, "height": DOCS_HEIGHT},
                full_page=True,
            )
        size = file.stat().st_size
        total += size
        if size > MOST_BYTES:
            yield f"{file} has {size:,} bytes, more than {MOST_BYTES:,}"
    if total > MOST_BYTES_IN_ALL:
        yield f"The pictures have {total:,} bytes, more than {MOST_BYTES_IN_ALL:,}"


@contextmanager
def visit(
    browser: Browser, url: str, user: str | None, password: str, width: int
) -> Iterator[Page]:
    """Open the demo in a window of its own, logged in if there is a user."""
    context = browser.new_context(
        base_url=url, viewport={"width": width, "height": 900}, locale="en", reduced_motion="reduce"
    )
    page = context.new_page()
    if user is not None:
        page.goto("/user/login")
        page.fill("input[name=login]", user)
        page.fill("input[name=password]", password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda there: "/user/login" not in there)
    yield page
    context.close()


def found_on(page: Page) -> dict[str, str]:
    """Return what the paths of pages name, as the demo has it."""
    broken = _rows(page, "/freshness/links.json?state=broken")[0]
    return {
        "organization": datasets.ORGANIZATION,
        "dataset": broken["name"],
        "gone": datasets.CLINICS,
        "resource": broken["resource_id"],
        "harvested": _call(page, "package_search", fq="harvest_source_id:*", rows="1")["results"][
            0
        ]["name"],
        "source": "demo-region",
        "hold": _call(page, "freshness_harvest_hold_show", id="demo-region")["list_id"],
        "iati_source": "demo-iati-registry",
        "job": _call(page, "harvest_source_show", id="demo-gone")["status"]["last_job"]["id"],
        "job_source": "demo-gone",
    }


def _rows(page: Page, path: str) -> Any:
    return json.loads(page.request.get(path).body())


def _call(page: Page, action: str, **arguments: str | float | bool) -> Any:
    answer = page.request.get(f"/api/action/{action}", params=arguments)
    return json.loads(answer.body())["result"]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="docs/screenshots.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "only", nargs="*", help=f"names of pages: {', '.join(p.name for p in SITE_PAGES)}"
    )
    parser.add_argument("--url", help="of the demo, if that is served elsewhere")
    parser.add_argument("--docs", action="store_true", help=f"also renew {DOCS}")
    return parser.parse_args()


if __name__ == "__main__":
    assert set(USERS) == set(READERS)
    sys.exit(main())
