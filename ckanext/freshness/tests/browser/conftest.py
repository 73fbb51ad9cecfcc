"""A headless Chromium, and a site that it can visit."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ckan.lib import webassets_tools
from werkzeug.serving import make_server

from ckanext.freshness.tests.browser.site_pages import chromium_program

SETTLED = """() =>
    !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')
    && (!document.querySelector('[data-module]') || Object.keys(ckan.module.instances).length > 0)
"""
"""No part of the page is about to be renewed, and CKAN's modules work: they wait for its translations."""


# Not for the whole session, because no test can start an asyncio loop beside Playwright's.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser of this machine."""
    with started_chromium() as browser:
        yield browser


@contextmanager
def started_chromium() -> Iterator[Any]:
    """Start a browser of this thread's own; the test is skipped if there is none."""
    # Not when the tests are collected: each worker would wait a second for it.
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = chromium_program()
    if program is None:
        pytest.skip("no Chromium on this machine: install one, or set FRESHNESS_TEST_BROWSER to it")
    with playwright.sync_playwright() as started:
        try:
            browser = started.chromium.launch(
                executable_path=program,
                timeout=120_000,
                # The pages must not contact other servers.
                args=[
                    "--no-proxy-server",
                    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                ],
            )
        except playwright.Error as error:
            pytest.skip(f"{program} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture
def site(
    with_plugins: None, app: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of CKAN, served with the test's own database and index.

    The plugins are loaded before the address is an option that differs from test.ini's.
    """
    # Of two first requests at once, one fails to make the same folder.
    for bundle in webassets_tools.env:
        bundle.urls()
    server = make_server("127.0.0.1", 0, let_files_be_kept(app.app), threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setitem(ckan_config, "ckan.site_url", address)
    thread.start()
    yield address
    server.shutdown()
    thread.join()
    server.server_close()


def let_files_be_kept(app: Any) -> Any:
    """Let browsers keep styles, scripts and pictures.

    Each page has 22 of them. To serve them again takes longer than to make the page.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            if any(name == "ETag" for name, _ in headers):
                headers = [one for one in headers if one[0] != "Cache-Control"]
                headers.append(("Cache-Control", "max-age=3600"))
            return start_response(status, headers, *error)

        return app(environ, start)

    return answer


def settle(tab: Any) -> None:
    """Wait until a page's fields and buttons work: CKAN and htmx show them a moment before."""
    tab.wait_for_load_state()
    tab.wait_for_function(SETTLED)


class Hand:
    """A user's hand on the mouse, which counts its clicks."""

    def __init__(self, tab: Any, has_scripts: bool = True) -> None:
        self.tab = tab
        self.has_scripts = has_scripts
        self.clicks = 0

    def click(self, role: str, name: str, within: Any = None) -> None:
        """Click the first element of a role whose name matches, up to its end or to a colon.

        :param within: the part of the page; the whole page by default
        """
        self.clicks += 1
        words = re.compile(rf"^\s*{name}\s*(:|$)")
        target = (within or self.tab).get_by_role(role, name=words).first
        target.wait_for()
        if self.has_scripts:
            # A link that opens a dialog leads to a page as long as the scripts have not been loaded.
            settle(self.tab)
        target.click()


@pytest.fixture
def without_gravatar(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without pictures of another host."""
    monkeypatch.setitem(ckan_config, "ckan.gravatar_default", "disabled")


@pytest.fixture
def page(chromium: Any, site: str) -> Iterator[Any]:
    """A tab of the browser on that site. The test fails if a script in it fails."""
    with opened_tab(chromium, site) as tab:
        yield tab


@contextmanager
def opened_tab(browser: Any, site: str) -> Iterator[Any]:
    """Open a tab on a site, and check at its end that no script in it has failed."""
    context = browser.new_context(
        base_url=site, viewport={"width": 1200, "height": 900}, locale="en"
    )
    context.set_default_timeout(60_000)
    tab = context.new_page()
    failures: list[str] = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    yield tab
    context.close()
    assert failures == []
