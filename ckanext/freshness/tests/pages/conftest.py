"""Fixtures of the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import time_machine
from bs4 import BeautifulSoup
from ckan.tests import factories

Read = Callable[..., BeautifulSoup]


@pytest.fixture(autouse=True, scope="module")
def clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """Begin a module's tests at its constant ``NOW``: a run may import the module an hour before."""
    now = getattr(request.module, "NOW", None)
    with time_machine.travel(now) if now else nullcontext():
        yield


@pytest.fixture
def clean_site(clean_db: Any, clean_index: Any) -> None:
    """An empty site."""


@pytest.fixture
def sysadmin(clean_site: None) -> dict[str, Any]:
    """A sysadmin with an API token."""
    return dict(factories.SysadminWithToken())


@pytest.fixture
def read(app: Any, request: pytest.FixtureRequest) -> Read:
    """A function that requests a page, anonymously or with a user's token.

    The site is empty unless the test asks for ``kept_db`` or the module's ``world``.
    """
    if "kept_db" not in request.fixturenames:
        request.getfixturevalue("clean_site")

    def read(path: str, user: dict[str, Any] | None = None, status: int = 200) -> BeautifulSoup:
        headers = {"Authorization": user["token"]} if user else {}
        answer = app.get(path, headers=headers, status=status)
        return BeautifulSoup(answer.body, "html.parser")

    return read
