"""Crawls of index files, with correct and faulty answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from ckanext.freshness.harvesting.ckan.api import JsonClient
from ckanext.freshness.harvesting.record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    guid_of,
)
from ckanext.freshness.harvesting.source_client import SourceClient, SourceHosts
from ckanext.freshness.harvesting.source_type import CrawlEnd
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts
from ckanext.freshness_iati import source_type
from ckanext.freshness_iati.source_type import IndexCrawl
from ckanext.freshness_iati.tests.servers.registry import (
    DATASETS_MINIMAL,
    REPORTING_ORGS,
    RegistryServer,
)
from ckanext.freshness_iati.tests.servers.registry_model import sample

LIMITS = Limits(connect=20, read=20, total=30, attempts=1, max_bytes=1_000_000)


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(sample(3, 12)) as running:
        yield running


def index_crawl(url: str, **options: Any) -> IndexCrawl:
    client, known = options.pop("client", None), CurrentRecords(options.pop("known", ()))
    values = {"sink": lambda crawled, containers: None, "salt": "", "max_records": 10_000}
    return IndexCrawl(client, url, known, **{**values, **options})


class Crawler:
    """One crawl of index files, and its records."""

    def __init__(self, server: RegistryServer, limits: Limits = LIMITS, **options: Any) -> None:
        self.url = server.url
        self.crawled: list[CrawledRecord] = []
        self.crawl: CrawlEnd = asyncio.run(self._run(limits, options))

    async def _run(self, limits: Limits, options: dict[str, Any]) -> CrawlEnd:
        settings = ClientSettings("test", limits=limits, guard=Guard(["127.0.0.0/8"]))
        hosts = Hosts(HostPolicy(8, 10_000))
        async with Client(settings, hosts) as client:
            asking = JsonClient(SourceClient(client, hosts, 8, SourceHosts(self.url)))
            return await index_crawl(self.url, client=asking, sink=self._take, **options).run()

    def _take(self, crawled: CrawledRecord, containers: Containers) -> None:
        self.crawled.append(crawled)

    def read(self, *, catalogs: bool) -> list[str]:
        datasets = (crawled.contents for crawled in self.crawled)
        records = self.crawl.organizations.values() if catalogs else filter(None, datasets)
        return sorted(record.fields["registry_id"] for record in records)

    @property
    def errors(self) -> str:
        errors = [*self.crawl.errors, *(one.error for one in self.crawled if one.error)]
        return "\n".join(map(str, errors))


def test_all_of_a_registry_is_read(server: RegistryServer) -> None:
    found = Crawler(server)
    assert not found.errors and not found.crawl.containers.unreadable
    assert found.read(catalogs=True) == sorted(server.registry.organisations)
    assert found.read(catalogs=False) == sorted(server.registry.datasets)
    urls = {crawled.seen.url for crawled in found.crawled}
    assert found.crawl.containers.listed == urls and len(urls) == 12


def test_a_retired_registry_says_what_to_do(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "https://bulk-data.iatistandard.org" not in Crawler(server).errors
    monkeypatch.setattr(source_type, "RETIRED_HOSTS", {urlsplit(server.url).hostname})
    assert "https://bulk-data.iatistandard.org" in Crawler(server).errors


# Unusable answers

ANSWERS: list[tuple[str, Callable[[], faults.Fault], str]] = [
    ("HTML", faults.html, "a web page or another file"),
    ("nothing", faults.empty, "an empty file"),
    ("half of the JSON", lambda: faults.Cut(keep=0.5), "syntax error: JSON: "),
    ("null", lambda: faults.Body(b"null"), ""),
    ("no list", lambda: faults.Body(b'{"datasets": "x", "reporting_orgs": 7}'), "has no list"),
    ("deep", lambda: faults.Body(b"[" * 200_000), "syntax error: JSON: "),
]


@pytest.mark.parametrize(("case", "fault", "words"), ANSWERS, ids=[row[0] for row in ANSWERS])
@pytest.mark.parametrize("target", [REPORTING_ORGS, DATASETS_MINIMAL])
def test_an_answer_that_is_none_is_an_error_and_no_absence(
    server: RegistryServer, target: str, case: str, fault: Callable[[], faults.Fault], words: str
) -> None:
    server.faults[lambda request: target in request.target] = fault()
    found = Crawler(server)
    unreadable = found.crawl.containers.unreadable
    assert len(unreadable) == 1 and target in next(iter(unreadable)) and words in found.errors
    if target == DATASETS_MINIMAL:
        assert len(found.read(catalogs=True)) == 3
    else:
        # Datasets of unknown organisations are errors, and none counts as deleted.
        assert not found.read(catalogs=False)
        assert found.errors.count("its organisation is not in the registry's listing") == 12


def test_json_that_would_fill_the_memory_is_not_parsed(server: RegistryServer) -> None:
    """Three megabytes of empty lists are refused: fifty would take more than a gigabyte."""
    body = b"[" + b"[]," * 1_000_000 + b"[]]"
    server.faults[lambda request: True] = faults.Body(body)
    found = Crawler(server, replace(LIMITS, max_bytes=2**22))
    assert found.errors.count("answered with JSON of more than 2,000,000 values") == 2


def of_organisation(url: str) -> KnownRecord:
    """Return a current dataset of an organisation."""
    dataset = f"{url}/dataset"
    return KnownRecord(dataset, guid_of(dataset, url), url)


def test_known_organisations_keep_their_datasets_when_their_listing_fails(
    server: RegistryServer,
) -> None:
    crawl = index_crawl(server.url)
    urls = [crawl.organisation_url(one) for one in server.registry.organisations]
    server.faults[lambda request: REPORTING_ORGS in request.target] = faults.Status(code=500)
    found = Crawler(server, known=[of_organisation(url) for url in urls])
    assert len(found.read(catalogs=False)) == 12


# Odd records


Spoil = Callable[[dict[str, Any]], Any]
WITHOUT_ID: list[Any] = [{"id": None}, {"id": "None"}, {"id": True}, None, []]


def replaced(name: str, value: Any) -> Spoil:
    """Return a function that replaces a field of a record."""
    return lambda record: {**record, name: value}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("reporting_org_id", "unknown", "not in the registry's listing"),
        ("source_url", "None", "no URL of a file"),
        ("source_url", "http://[bad/x", "malformed IPv6 address"),
    ],
)
def test_a_dataset_that_lacks_something_protects_itself_and_costs_no_other(
    server: RegistryServer, name: str, value: Any, words: str
) -> None:
    bad = sorted(server.registry.datasets)[5]
    server.spoil[bad] = replaced(name, value)
    found = Crawler(server)
    assert not found.crawl.containers.unreadable and words in found.errors
    assert len(found.read(catalogs=False)) == 11
    (crawled,) = [one for one in found.crawled if one.error]
    assert crawled.seen.outcome is ReadOutcome.MALFORMED and crawled.seen.listed_in
    assert bad in crawled.seen.url


def test_an_organisation_without_a_name_protects_itself(server: RegistryServer) -> None:
    bad = sorted(server.registry.organisations)[0]
    server.spoil[bad] = replaced("short_name", "None")
    found = Crawler(server)
    assert "no name" in found.errors and len(found.read(catalogs=True)) == 2
    assert not found.crawl.containers.unreadable
    # Of a known one the datasets are harvested.
    url = index_crawl(server.url).organisation_url(bad)
    known = Crawler(server, known=[of_organisation(url)])
    assert url in known.crawl.containers.catalogs - found.crawl.containers.catalogs
    assert len(known.read(catalogs=False)) == 12


@pytest.mark.parametrize("junk", WITHOUT_ID)
@pytest.mark.parametrize("of_a_dataset", [True, False])
def test_a_record_without_an_id_could_be_any_and_lets_nothing_go(
    server: RegistryServer, junk: Any, of_a_dataset: bool
) -> None:
    known = server.registry.datasets if of_a_dataset else server.registry.organisations
    server.spoil[sorted(known)[1]] = lambda record: (
        {**record, **junk} if isinstance(junk, dict) else junk
    )
    found = Crawler(server)
    assert found.crawl.containers.unreadable and "no id" in found.errors
    assert len(found.read(catalogs=not of_a_dataset)) == len(known) - 1


def test_what_is_published_of_a_source_has_no_password() -> None:
    given = "https://someone:hunter2@example.org:8443/x"
    crawl = index_crawl(given)
    assert crawl.organisation_url("1").startswith("https://example.org:8443/x/")
    for url in (crawl.datasets_url, crawl.organisations_url):
        assert url.startswith(f"{given}/")
