"""The progress of checks: a bar on a terminal, a line every 30 seconds in logs."""

from __future__ import annotations

import io
import itertools
import sys
import time

import pytest

from ckanext.freshness import cli
from ckanext.freshness.cli import check_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_has_rate_errors_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    now = iter(range(100, 200, 2))
    monkeypatch.setattr(cli, "monotonic", lambda: float(next(now)))
    # The bar's own clock, for the time left.
    seconds = itertools.count(1000, 2)
    monkeypatch.setattr(time, "time", lambda: float(next(seconds)))
    with check_progress() as show:
        show((0, 0, 40))
        show((20, 3, 40))
        shown = terminal.getvalue()
    last = shown.split("\r")[-1]
    assert "20/40" in last
    assert "5/s, 3 errors" in last
    assert "00:00:" in last, "the time left"


def test_elsewhere_a_line_is_told_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 10.0, 31.0, 31.0, 40.0])
    monkeypatch.setattr(cli, "monotonic", lambda: next(now))
    with check_progress() as show:
        show((10, 0, 40))
        show((20, 3, 40))
        show((30, 3, 40))
    assert capsys.readouterr().err == "20 of 40 checks, 3 errors\n"
