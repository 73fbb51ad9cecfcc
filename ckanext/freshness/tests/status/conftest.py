"""A harvest source, and a plugin that meddles with documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ckanext.freshness.tests.harvesting.conftest import (  # noqa: F401
    clean_queues,
    clean_site,
    fdp,
    install,
    stumbling,
)
from ckanext.freshness.tests.status.meddling import MeddlingPlugin
from ckanext.freshness.tests.usual_site import use_hooks_of


@pytest.fixture
def meddling(
    with_plugins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MeddlingPlugin]:
    install("meddling", MeddlingPlugin, tmp_path, monkeypatch)
    with use_hooks_of("meddling") as plugin:
        yield plugin
