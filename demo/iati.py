"""The demo's registry of IATI's: a source of it, and one update cycle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from demo.children import Children, address_of
from stack import ports
from stack.errors import StackError

SOURCE = "demo-iati-registry"
SOURCE_TYPE = "iati_registry"
ORGANISATIONS, DATASETS = 3, 12


def start_registry(children: Children, port: object) -> tuple[str, int]:
    """Start the registry, on the port of last time if that is free; its URL and port."""
    port = ports.choose(port if isinstance(port, int) else None)
    module = "ckanext.freshness.tests.servers.registry"
    options = [f"--port={port}", f"--organisations={ORGANISATIONS}", f"--datasets={DATASETS}"]
    child = children.start("IATI registry", [sys.executable, "-m", module, *options])
    return address_of(child), port


def ensure_source(
    sources: Sequence[Any], url: str, organization: str, ckan: Callable[..., None]
) -> None:
    """The source of the registry, made anew if its port is another one.

    :param sources: those that the site has, with names and URLs.
    :param ckan: runs a ckan command.
    """
    for source in sources:
        if source.name != SOURCE:
            continue
        if source.url.rstrip("/") == url.rstrip("/"):
            return
        ckan("harvester", "source", "clear", SOURCE)
        ckan("harvester", "source", "remove", SOURCE)
    try:
        title = "Demo IATI registry"
        ckan("harvester", "source", "create", SOURCE, url, SOURCE_TYPE, title, "true", organization)
    except StackError:
        # ckanext-harvest 1.6.3 on CKAN 2.12 makes the source, then fails to print its status.
        pass


def update() -> Mapping[str, Any]:
    """One cycle; what it counted.

    :raises StackError: not all was done
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
    """What a cycle did, in words."""
    return (
        f"\nOne cycle over {found['total_number_of_datasets']} IATI datasets:"
        f" {found['downloaded']} downloaded, {found['datasets_with_download']} with a copy\n"
        f"    {site_url}/iati/iati-data.zip, {site_url}/iati/datasets-full.json"
    )
