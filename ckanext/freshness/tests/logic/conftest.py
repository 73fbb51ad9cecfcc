"""Fixtures of the shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ckan.tests import factories, helpers

Act = Callable[..., Any]


@pytest.fixture
def act(kept_db: None) -> Act:
    """An action as a sysadmin's, or another user's."""
    sysadmin = factories.Sysadmin()["name"]

    def call(action: str, *, by: str = sysadmin, **data: Any) -> Any:
        return helpers.call_action(action, {"user": by, "ignore_auth": False}, **data)

    return call
