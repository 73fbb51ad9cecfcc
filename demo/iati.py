"""The demo's IATI registry and one update cycle of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from demo.children import Children, address_of
from stack import ports
from stack.errors import StackError

SOURCE = "demo-iati-registry"
SOURCE_TYPE = "iati_registry"
CONFIG = {"default_frequency": "P3M"}
ORGANISATIONS, DATASETS = 3, 12
ADDRESS = "127.0.0.3"
"""Another host than the site, which does not check its own files."""


def start_registry(children: Children, port: object) -> tuple[str, int]:
    """Start the registry, on its previous port if that is free. Return its URL and port."""
    port = ports.choose(port if isinstance(port, int) else None)
    module = "ckanext.freshness.tests.servers.registry"
    options = [
        f"--address={ADDRESS}",
        f"--port={port}",
        f"--organisations={ORGANISATIONS}",
        f"--datasets={DATASETS}",
    ]
    child = children.start("IATI registry", [sys.executable, "-m", module, *options, "--demo"])
    return address_of(child), port


def update() -> Mapping[str, Any]:
    """Do one cycle, and return its counts.

    :raises StackError: the cycle was not complete
    """
    done = subprocess.run(
        ["ckan", "iati", "update", SOURCE, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines = [one for one in done.stdout.splitlines() if one.startswith("{")]
    if done.returncode or not lines:
        raise StackError(f"ckan iati update failed:\n{done.stdout[-3000:]}")
    found: Mapping[str, Any] = json.loads(lines[-1])
    return found


def summary(found: Mapping[str, Any], site_url: str) -> str:
    """Return the results of a cycle in words."""
    return (
        f"\nOne cycle over {found['total_number_of_datasets']} IATI datasets:"
        f" {found['downloaded']} downloaded, {found['datasets_with_download']} with a copy\n"
        f"    {site_url}/iati/iati-data.zip, {site_url}/iati/datasets-full.json"
    )
