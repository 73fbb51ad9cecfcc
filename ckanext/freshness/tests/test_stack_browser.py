"""How ``./dev test`` finds a browser for the tests that need one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import browser
    from stack.layout import Layout

DOWNLOADS = """#!/bin/sh
echo "$@" >> "$PLAYWRIGHT_BROWSERS_PATH/asked"
folder="$PLAYWRIGHT_BROWSERS_PATH/chromium_headless_shell-1/chrome-headless-shell-linux64"
mkdir -p "$folder" && touch "$folder/chrome-headless-shell"
"""
FAILS = """#!/bin/sh
echo "$@" >> "$PLAYWRIGHT_BROWSERS_PATH/asked"
echo "no route to host" && exit 1
"""


@pytest.mark.parametrize(
    ("arguments", "asked_for"),
    [
        ([], True),
        (["-q", "--no-cov"], True),
        (["-k", "facet"], True),
        (["ckanext/freshness/tests"], True),
        (["ckanext/freshness/tests/browser/test_facet.py::test_one"], True),
        (["ckanext/freshness/tests/web", "ckanext/freshness/tests/browser"], True),
        (["ckanext/freshness/tests/web"], False),
        (["ckanext/freshness/tests/test_docs.py", "-x"], False),
    ],
)
def test_when_a_browser_is_needed(arguments: list[str], asked_for: bool) -> None:
    assert browser.are_asked_for(arguments, ROOT) is asked_for


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a browser, and with a folder for programs that comes first."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setattr(browser, "NAMES", ("chromium-of-this-test",))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_the_machines_own_browser(machine: Path, tmp_path: Path) -> None:
    own = program(machine, "chromium-of-this-test", "#!/bin/sh\n")
    found = browser.ensure_browser(Layout(tmp_path), machine, None)
    assert found == {"FRESHNESS_TEST_BROWSER": str(own)}
    assert browser.ensure_browser(Layout(tmp_path), machine, "/opt/mine") == {
        "FRESHNESS_TEST_BROWSER": "/opt/mine"
    }


def test_a_browser_is_downloaded_once(machine: Path, tmp_path: Path) -> None:
    program(machine, "python", DOWNLOADS)
    for _ in range(2):
        found = browser.ensure_browser(Layout(tmp_path), machine, None)
        assert found["FRESHNESS_TEST_BROWSER"].endswith("chrome-headless-shell")
    folder = Layout(tmp_path).cache / "browsers"
    assert (folder / "asked").read_text() == "-m playwright install --only-shell chromium\n"


def test_a_download_that_fails_is_told_and_not_repeated_the_same_day(
    machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program(machine, "python", FAILS)
    layout = Layout(tmp_path)
    for _ in range(2):
        assert browser.ensure_browser(layout, machine, None) == {}
        told = capsys.readouterr().err
        assert "The tests in ckanext/freshness/tests/browser are skipped." in told
    folder = layout.cache / "browsers"
    assert len((folder / "asked").read_text().splitlines()) == 1
    assert "no route to host" in (layout.dev / "logs" / "browser.log").read_text()

    long_ago = time.time() - browser.RETRY - 1
    os.utime(folder / "failed", (long_ago, long_ago))
    program(machine, "python", DOWNLOADS)
    assert browser.ensure_browser(layout, machine, None)
