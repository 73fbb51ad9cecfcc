"""Fixtures of copies and of the cycle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ckan import model


@pytest.fixture
def kept_db(request: pytest.FixtureRequest, with_plugins: Any) -> None:
    """A database that is emptied once for a module; its tests name what they make differently."""
    if not getattr(request.module, "is_empty", False):
        request.getfixturevalue("clean_db")
        request.getfixturevalue("clean_index")
        request.module.is_empty = True  # type: ignore[attr-defined]
    model.Session.remove()


@pytest.fixture
def store_folder(tmp_path: Path, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are kept in this test."""
    folder = tmp_path / "copies"
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.location", str(folder))
    return folder
