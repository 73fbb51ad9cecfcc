"""The browser of the tests: the machine's own Chromium, or one that Playwright downloads."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from stack.commands import clean_environment, quiet
from stack.errors import StackError
from stack.layout import Layout
from stack.locks import exclusive
from stack.progress import say, step

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""What Chromium and its like are called."""

TESTS = Path("ckanext", "freshness", "tests", "browser")
VARIABLE = "FRESHNESS_TEST_BROWSER"
"""Where the tests find the program."""

RETRY = 86400.0
"""Seconds after which a download that failed is tried again; until then no run waits for it."""

ADVICE = (
    "The tests in {tests} are skipped. They need Chromium: install it (on Debian and Ubuntu: "
    "apt install chromium), set {variable} to the program, or let this machine reach Playwright's "
    "download server."
)


def are_asked_for(arguments: Sequence[str], root: Path) -> bool:
    """Decide whether pytest runs tests that need a browser, by its arguments."""
    names = (one.partition("::")[0] for one in arguments if not one.startswith("-"))
    paths = [path for path in (Path(root, name) for name in names) if path.exists()]
    tests = root / TESTS
    return not paths or any(
        path == tests or tests in path.parents or path in tests.parents for path in paths
    )


def ensure_browser(layout: Layout, ckan_bin: Path, given: str | None) -> dict[str, str]:
    """Return the variables by which the tests find a browser. Without a browser, say so and return none.

    :param given: the program that somebody chose, if any.
    """
    found = given or next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return {VARIABLE: found}
    folder = layout.cache / "browsers"
    with exclusive(layout.cache / "browsers.lock", "it downloads a browser"):
        program = _downloaded(folder)
        if program is None and _is_worth_trying(folder):
            _download(folder, ckan_bin, layout.dev / "logs" / "browser.log")
            program = _downloaded(folder)
    if program is None:
        say(ADVICE.format(tests=TESTS, variable=VARIABLE))
        return {}
    return {VARIABLE: str(program)}


def _downloaded(folder: Path) -> Path | None:
    patterns = (
        "*/chrome-headless-shell-linux64/chrome-headless-shell",
        "*/chrome-linux/headless_shell",
    )
    programs = [one for pattern in patterns for one in folder.glob(pattern)]
    return max(programs, key=lambda one: one.stat().st_mtime, default=None)


def _is_worth_trying(folder: Path) -> bool:
    failed = folder / "failed"
    return not failed.exists() or time.time() - failed.stat().st_mtime > RETRY


def _download(folder: Path, ckan_bin: Path, log: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
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
        (folder / "failed").touch()
        say(f"Playwright could not download Chromium; {log} says why.")
    else:
        (folder / "failed").unlink(missing_ok=True)
