"""A pytest plugin that counts the files of this package that the code below some functions enters.

It makes the table of journeys in docs/design.rst::

    ./dev test PATH::TEST -n 0 -q -s -p ckanext.freshness.tests.journeys --journey harvesting/stages.py:gather
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_PACKAGE = f"{Path(__file__).parents[1]}/"


class Journey:
    """The files with functions that were called below the given ones, as paths inside the package."""

    def __init__(self, roots: list[str]) -> None:
        self._roots = frozenset(roots)
        self._inside = 0
        self.files: set[str] = set()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call or a return; see :func:`sys.setprofile`."""
        if event not in ("call", "return"):
            return
        path = frame.f_code.co_filename
        if not path.startswith(_PACKAGE):
            return
        name = path.removeprefix(_PACKAGE)
        if name.startswith("tests/"):
            return
        if f"{name}:{frame.f_code.co_name}" in self._roots:
            self._inside += 1 if event == "call" else -1
        # Class bodies and modules run when they are imported.
        if event == "call" and self._inside and not frame.f_code.co_name.startswith("<"):
            self.files.add(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--journey", action="append", default=[], help="file.py:function to begin at")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    journey = Journey(item.config.getoption("--journey"))
    threading.setprofile(journey.profile)
    sys.setprofile(journey.profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(f"\n{len(journey.files)} files: {' '.join(sorted(journey.files))}")
