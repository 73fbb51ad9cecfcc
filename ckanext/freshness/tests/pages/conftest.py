"""Fixtures of the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
import time_machine
from bs4 import BeautifulSoup
from ckan.tests import factories

Get = Callable[..., Any]
Read = Callable[..., Any]


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
def get(app: Any, request: pytest.FixtureRequest) -> Get:
    """A function that requests a page or a file, or posts data, as a user: anonymously, or with a token.

    A name stands for a user of the module's ``world``. If the module has none, or the test asks for
    ``clean_site``, the site is empty.
    """
    if not {"clean_site", "kept_db"} & {*request.fixturenames}:
        has_world = hasattr(request.module, "make_world")
        request.getfixturevalue("world" if has_world else "clean_site")

    def get(
        path: str, user: Any = None, status: int = 200, *, data: Any = None, htmx: bool = False
    ) -> Any:
        if isinstance(user, str):
            world = request.getfixturevalue("world")
            user = getattr(world, "people", world)[user]
        headers = {"Authorization": user["token"]} if user else {}
        headers |= {"HX-Request": "true"} if htmx else {}
        if data is None:
            return app.get(path, headers=headers, status=status)
        return app.post(path, headers=headers, data=data, status=status)

    return get


@pytest.fixture
def read(get: Get) -> Read:
    """A function that reads the page that ``get`` returns."""
    return lambda *args, **options: BeautifulSoup(get(*args, **options).body, "html.parser")
