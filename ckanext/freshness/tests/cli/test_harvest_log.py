"""The log of ckanext-harvest, which commands on a terminal keep from between their lines."""

from __future__ import annotations

import contextlib
import logging
import os
import pty
import re
from pathlib import Path

import pytest
from ckan import model

from ckanext.freshness.cli.site import freshness
from ckanext.freshness.status import indexing

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")


def on_terminal(*arguments: str) -> str:
    """Return what a command shows on a terminal to which CKAN's extensions log."""
    ours, theirs = pty.openpty()
    log = logging.getLogger("ckanext")
    with os.fdopen(theirs, "w") as terminal, contextlib.redirect_stderr(terminal):
        handler = logging.StreamHandler(terminal)
        log.addHandler(handler)
        try:
            freshness.main(list(arguments), standalone_mode=False)
        finally:
            log.removeHandler(handler)
        print("the end", file=terminal)
    shown = b""
    # The kernel hands on what was written piece by piece.
    while b"the end" not in shown:
        shown += os.read(ours, 10_000)
    os.close(ours)
    return shown.decode()


def test_it_is_in_a_file_that_is_named() -> None:
    assert "log of ckanext-harvest" not in on_terminal("refresh")
    # While a source is made, its package is there before the source.
    source = model.Package(name="half-made", type="harvest")
    model.Session.add(source)
    model.Session.flush()
    indexing.mark([source.id])
    model.Session.commit()
    shown = on_terminal("refresh")
    assert "not found" not in shown
    named = re.search(r"The log of ckanext-harvest is in (\S+)", shown)
    assert named, shown
    path = Path(named[1])
    try:
        assert f"Harvest source not found for dataset {source.id}" in path.read_text()
    finally:
        path.unlink()
