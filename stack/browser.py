"""The browser of the tests: the machine's own Chromium, or one that Playwright downloads."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from stack.commands import clean_environment, quiet
from stack.layout import Layout
from stack.messages import StackError, say, step
from stack.system import exclusive

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""What Chromium and its like are called."""

VARIABLE = "FRESHNESS_TEST_BROWSER"
"""Where the tests find the program; somebody may have set it."""

RETRY = 86400.0
"""Seconds after which a download that failed is tried again; until then no run waits for it."""

ADVICE = (
    "The tests in ckanext/freshness/tests/browser are skipped. They need Chromium: install it (on Debian and "
    f"Ubuntu: apt install chromium), set {VARIABLE} to the program, or let this machine reach Playwright's "
    "download server."
)


def variables(layout: Layout, ckan_bin: Path) -> dict[str, str]:
    """Return the variables by which the tests find a browser. Without a browser, say so and return none."""
    found = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)
    folder, failed = layout.cache / "browsers", layout.cache / "browsers" / "failed"
    folder.mkdir(parents=True, exist_ok=True)
    with exclusive(layout.cache / "browsers.lock", "it downloads a browser"):
        is_worth_trying = not failed.exists() or time.time() - failed.stat().st_mtime > RETRY
        if not found and not _downloaded(folder) and is_worth_trying:
            failed.touch()
            _download(folder, ckan_bin, layout.dev / "logs" / "browser.log")
    found = found or _downloaded(folder)
    if found is None:
        say(ADVICE)
    return {VARIABLE: found} if found else {}


def _downloaded(folder: Path) -> str | None:
    programs = [*folder.glob("*/*/chrome-headless-shell"), *folder.glob("*/*/headless_shell")]
    return str(max(programs, key=lambda one: one.stat().st_mtime)) if programs else None


def _download(folder: Path, ckan_bin: Path, log: Path) -> None:
    try:
        with step("Downloading a browser for the tests"):
            quiet(
                [ckan_bin / "python", "-m", "playwright", "install", "--only-shell", "chromium"],
                log,
                what="Downloading Chromium",
                advice="",
                environment=clean_environment(PLAYWRIGHT_BROWSERS_PATH=str(folder)),
            )
    except StackError:
        say(f"Playwright could not download Chromium; {log} says why.")
