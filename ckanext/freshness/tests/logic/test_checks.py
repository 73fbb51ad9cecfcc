"""Whole runs of the checker over a real file host, each at a given moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.lib import search
from ckan.tests import factories

from ckanext.freshness.checking import runs
from ckanext.freshness.ckan_adapter import model, package_extras
from ckanext.freshness.logic import checks
from ckanext.freshness.logic.checks import Done, Scope
from ckanext.freshness.logic.refresh import refresh
from ckanext.freshness.tests.servers.file_host import FILES, FileHost, HostedFile

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index", "impatient")

DAY = timedelta(days=1)
START = datetime.now(timezone.utc).replace(microsecond=0)
"""When the datasets are made, by CKAN's own clock."""

WHAT = {file.path: file for file in FILES}


@pytest.fixture
def impatient(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback may be visited, and nothing is waited for."""
    for key, value in {
        "ckanext.freshness.allowed_networks": ["127.0.0.0/8"],
        "ckanext.freshness.check.confirm_after": "0.01",
        "ckanext.freshness.check.requests_per_second": "10000",
        "ckanext.freshness.check.retry_delays": ["0.01"],
    }.items():
        monkeypatch.setitem(ckan_config, key, value)


@pytest.fixture
def host() -> Iterator[FileHost]:
    # Its newest file is a day old when it is visited.
    with FileHost(now=START + 10 * DAY) as server:
        yield server


Make = Callable[..., dict[str, Any]]


@pytest.fixture
def make(host: FileHost) -> Make:
    """A weekly dataset with a resource for each of some files."""

    def dataset(*files: HostedFile, **more: Any) -> dict[str, Any]:
        resources = [
            {"url": host.url_of(file), "name": file.title, "format": file.format} for file in files
        ]
        extras = [{"key": "frequency", "value": "7"}]
        return factories.Dataset(**{"resources": resources, "extras": extras, **more})

    return dataset


def run(after: timedelta, scope: Scope | None = None, workers: int = 1) -> Done:
    """A run so long after the start, and the refresh after it, as every night."""
    _, done = checks.check(scope or Scope(), lambda: START + after, workers=workers)
    refresh(START + after)
    model.Session.remove()
    return done


def stored(dataset: dict[str, Any]) -> dict[str, str]:
    """The extras as they are in the database."""
    model.Session.remove()
    return package_extras(model.Package.get(dataset["id"]))


def found(query: str) -> set[str]:
    """The names of the datasets that Solr finds."""
    answer = search.query_for(model.Package).run({"q": query, "fl": "name", "rows": 100})
    return {one if isinstance(one, str) else one["name"] for one in answer["results"]}


def test_what_two_nights_find(host: FileHost, make: Make) -> None:
    datasets = {path: make(file) for path, file in WHAT.items()}
    assert stored(datasets["/stocks.csv"])["freshness"] == "fresh"

    first = run(10 * DAY)
    # Its own dates say nothing newer than ten days, but a server's header does.
    assert first.counting.resources() == {
        "firstrun,error": 2,
        "firstrun,cannot tell": 1,
        "first hash": 5,
        "http header,first hash": 1,
    } or first.counting.resources()
    assert first.counting.visits == len(WHAT)
    assert stored(datasets["/bulletin.csv"])["freshness"] == "fresh"
    assert stored(datasets["/bulletin.csv"])["freshness_evidence"] == "http header"
    assert stored(datasets["/stocks.csv"])["freshness"] == "due"
    assert found("freshness:fresh") == {datasets["/bulletin.csv"]["name"]}

    host.publish()
    second = run(11 * DAY)
    stocks = stored(datasets["/stocks.csv"])
    assert (stocks["freshness"], stocks["freshness_evidence"]) == ("fresh", "hash")
    assert stocks["freshness_last_modified"] == (START + 11 * DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert stored(datasets["/boundaries.csv"])["freshness"] == "due"
    print(first.counting.resources(), second.counting.resources(), second.counting.datasets())
    assert runs.held_shards() == frozenset()
