"""Modules that the plugins load in every web worker."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import ckanext.freshness.plugin, ckanext.freshness_iati.plugin
print(*sys.modules)
"""
HEAVY = {
    *("aiohttp", "fsspec", "prometheus_client", "pyoxigraph", "python_calamine", "rdflib", "yarl"),
    *("ckanext.freshness.checking.engine", "ckanext.freshness.runs.check_run"),
    *("ckanext.freshness.cli", "ckanext.freshness_iati.cycle"),
    *(
        f"ckanext.freshness.harvesting.{name}"
        for name in ("known_records", "preview", "stages", "strategy")
    ),
}
"""What only checks, harvests, commands and Prometheus need: some 25 MB of each worker."""


def test_web_workers_load_nothing_of_checks_harvests_and_commands() -> None:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ckanext.freshness_iati.source_type" in loaded
    assert loaded & HEAVY == set()
