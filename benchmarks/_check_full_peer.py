"""HDX's own state machine without network, run by the Python of its own environment: standard library and
hdx only.

Reads ``{"now": ..., "visits": ..., "datasets": [...]}`` from standard input, does a first run with all files
hashed, a month ago, and measures a second one as ``hdx.freshness.app`` of hdx-data-freshness 2.0.0 does it,
with what downloads would have given handed in. Its database is SQLite, as by default.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any


def main() -> None:
    """Print the CPU seconds of the second run, and the number of files it checked."""
    question = json.load(sys.stdin)
    logging.disable(logging.CRITICAL)
    with open(os.devnull, "w") as devnull, contextlib.redirect_stdout(devnull):
        answer = measure(question)
    json.dump(answer, sys.stdout)


def measure(question: dict[str, Any]) -> dict[str, float]:
    """Do both runs and return the figures of the second."""
    from hdx.api.configuration import Configuration
    from hdx.database import Database
    from hdx.freshness import app

    # Its tables are known, and made, from then on.
    from hdx.freshness.app import datafreshness  # noqa: F401

    Configuration._create(
        hdx_read_only=True,
        hdx_site="prod",
        user_agent="bench",
        project_config_yaml=str(Path(app.__file__).with_name("project_configuration.yml")),
    )
    now = datetime.fromisoformat(question["now"])
    changing = {one["id"] for one in question["datasets"] if one["changes"]}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "freshness.db")
        with Database(dialect="sqlite", database=path) as session:
            everything = 10**9
            _run(session, question, now - timedelta(days=31), everything, set())
            before, cpu = time.perf_counter(), time.process_time()
            visits = _run(session, question, now, question["visits"], changing)
            return {
                "cpu_seconds": time.process_time() - cpu,
                "seconds": time.perf_counter() - before,
                "visits": visits,
            }


def _run(
    session: Any, question: dict[str, Any], now: datetime, to_hash: int, changing: set[str]
) -> int:
    """Do the same as ``__main__``, with the given catalogue and downloads."""
    from hdx.freshness.app.datafreshness import DataFreshness

    datasets = [_dataset(one) for one in question["datasets"]]
    freshness = DataFreshness(session=session, datasets=datasets, now=now)
    freshness.no_urls_to_check = to_hash
    freshness.spread_datasets()
    freshness.add_new_run()
    datasets_to_check, resources = freshness.process_datasets()
    results, again = {}, {}
    for url, resource_id, kind, _what in resources:
        changes = resource_id.partition("/")[0] in changing
        found = (url, kind, None, None, f"hash of {resource_id} {changes}", None)
        results[resource_id] = again[resource_id] = found
    results, again = freshness.check_urls(resources, "bench", results, again)
    found_of = freshness.process_results(results, again)
    freshness.update_dataset_latest_of_modifieds(datasets_to_check, found_of)
    freshness.output_counts()
    return len(resources)


def _dataset(one: dict[str, Any]) -> Any:
    from hdx.data.dataset import Dataset

    organization = {"id": "organization", "name": "organization", "title": "Organization"}
    dataset = Dataset(
        {
            "id": one["id"],
            "organization": organization,
            "name": one["id"],
            "title": one["id"],
            "private": False,
            "maintainer": "someone",
            "dataset_date": "[2020-01-01T00:00:00 TO 2020-12-31T23:59:59]",
            "data_update_frequency": str(one["frequency"]),
            "last_modified": one["modified"],
            "metadata_modified": one["modified"],
            "groups": [{"name": "world"}],
        }
    )
    for number, url in enumerate(one["urls"]):
        dataset.get_resources().append(
            {
                "id": f"{one['id']}/{number}",
                "name": f"Part {number}",
                "format": "CSV",
                "url": url,
                "metadata_modified": one["modified"],
                "last_modified": one["modified"],
            }
        )
    return dataset


if __name__ == "__main__":
    main()
