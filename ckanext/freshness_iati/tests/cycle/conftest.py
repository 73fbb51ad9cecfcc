"""Fixtures for copies and cycles."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from ckanext.freshness_iati.tests.servers.registry_model import Registry

from .cycles import Site


@pytest.fixture
def store_folder(tmp_path: Path, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store's folder in this test."""
    folder = tmp_path / "copies"
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.location", str(folder))
    return folder


@pytest.fixture
def site(
    request: pytest.FixtureRequest, kept_db: None, store_folder: Path, impatient_checks: None
) -> Iterator[Site]:
    """A site with a registry of two organisations with three datasets, before its first cycle."""
    registry, mark = Registry(), f"{zlib.crc32(request.node.nodeid.encode()):08x}"
    first = registry.add_organisation(f"first_{mark}")
    second = registry.add_organisation(f"second_{mark}")
    registry.add_dataset(first, "org", filetype="organisation")
    registry.add_dataset(first, "act")
    registry.add_dataset(second, "act")
    with RegistryServer(registry) as server:
        yield Site.of(server)
