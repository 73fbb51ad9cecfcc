"""Fixtures of the shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories, helpers

Act = Callable[..., Any]


@pytest.fixture
def kept_db(request: pytest.FixtureRequest, with_plugins: Any) -> None:
    """A database that is emptied once for a module; its tests name what they make differently."""
    if not getattr(request.module, "is_empty", False):
        request.getfixturevalue("clean_db")
        request.getfixturevalue("clean_index")
        request.module.is_empty = True  # type: ignore[attr-defined]
    model.Session.remove()


@pytest.fixture
def act(kept_db: None) -> Act:
    """An action as a sysadmin's, or another user's."""
    sysadmin = factories.Sysadmin()["name"]

    def call(action: str, *, by: str = sysadmin, **data: Any) -> Any:
        return helpers.call_action(action, {"user": by, "ignore_auth": False}, **data)

    return call
