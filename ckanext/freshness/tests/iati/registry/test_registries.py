"""Crawls of registries of both kinds, with correct and faulty answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ckanext.freshness.harvesting import source_config
from ckanext.freshness.harvesting.ckan.api import JsonClient
from ckanext.freshness.harvesting.record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Sighting,
    guid_of,
)
from ckanext.freshness.harvesting.source_client import SourceHosts
from ckanext.freshness.harvesting.source_type import CrawlEnd
from ckanext.freshness.iati.registries import CkanRegistry
from ckanext.freshness.iati.source_type import (
    KINDS,
    OWN_KEYS,
    RegistryCrawl,
    is_retired,
    kind_of,
)
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.registry import (
    DATASETS_MINIMAL,
    REPORTING_ORGS,
    RegistryServer,
)
from ckanext.freshness.tests.servers.registry_model import sample
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

LOOPBACK = "127.0.0.0/8"
LIMITS = Limits(connect=2, read=2, total=3, attempts=1, max_bytes=1_000_000)


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with RegistryServer(sample(3, 12)) as running:
        yield running


class Crawler:
    """One crawl of a registry, and its sightings."""

    def __init__(
        self,
        server: RegistryServer,
        kind: str = "ckan",
        *,
        known: tuple[KnownRecord, ...] = (),
        max_records: int = 10_000,
        limits: Limits = LIMITS,
    ) -> None:
        self.url = server.url if kind == "ckan" else server.index_url
        self.kind = kind
        self.known = CurrentRecords(known)
        self.max_records = max_records
        self.limits = limits
        self.sightings: list[Sighting] = []
        self.crawled: CrawlEnd = asyncio.run(self._run())

    async def _run(self) -> CrawlEnd:
        settings = ClientSettings("test", limits=self.limits, guard=Guard([LOOPBACK]))
        async with Client(settings, Hosts(HostPolicy(8, 10_000))) as client:
            registry = KINDS[self.kind](
                JsonClient(client, SourceHosts(self.url)), self.url, self.max_records
            )
            crawl = RegistryCrawl(registry, self.url, self.known, self._take, salt="")
            return await crawl.run()

    def _take(self, sighting: Sighting, containers: Containers) -> None:
        self.sightings.append(sighting)

    def read(self, *, catalogs: bool) -> list[str]:
        return sorted(
            sighting.contents.fields["registry_id"]
            for sighting in self.sightings
            if sighting.contents is not None and sighting.seen.is_catalog is catalogs
        )

    @property
    def errors(self) -> str:
        return "\n".join(
            [*self.crawled.errors, *(one.error for one in self.sightings if one.error)]
        )


BOTH = pytest.mark.parametrize("kind", list(KINDS))


@BOTH
def test_all_of_a_registry_is_read_organisations_first(server: RegistryServer, kind: str) -> None:
    found = Crawler(server, kind)
    assert not found.errors and not found.crawled.containers.unreadable
    assert found.read(catalogs=True) == sorted(server.registry.organisations)
    assert found.read(catalogs=False) == sorted(server.registry.datasets)
    order = [sighting.seen.is_catalog for sighting in found.sightings]
    assert order == [True] * 3 + [False] * 12
    urls = {sighting.seen.url for sighting in found.sightings}
    assert found.crawled.containers.listed == urls and len(urls) == 15


@BOTH
def test_an_unchanged_registry_has_the_same_hashes(server: RegistryServer, kind: str) -> None:
    def hashes() -> dict[str, str | None]:
        found = Crawler(server, kind).sightings
        return {sighting.seen.url: sighting.seen.content_hash for sighting in found}

    first = hashes()
    assert hashes() == first
    changed = next(iter(server.registry.datasets.values()))
    changed.title = "Another title" if kind == "ckan" else changed.title
    changed.url = "https://example.org/elsewhere.xml"
    after = hashes()
    assert sum(after[url] != first[url] for url in first) == 1


@pytest.mark.parametrize("rows_max", [2, 3, 4, 11, 12, 13, 1000])
@pytest.mark.parametrize("organisations_max", [2, 3, 25])
def test_pages_of_any_size_give_all(
    server: RegistryServer, rows_max: int, organisations_max: int
) -> None:
    server.rows_max, server.organisations_max = rows_max, organisations_max
    found = Crawler(server)
    assert not found.errors
    assert found.read(catalogs=True) == sorted(server.registry.organisations)
    assert found.read(catalogs=False) == sorted(server.registry.datasets)


def test_an_empty_registry_is_read_whole() -> None:
    with RegistryServer(sample(0, 0)) as server:
        for kind in KINDS:
            found = Crawler(server, kind)
            assert not found.errors and not found.sightings
            assert not found.crawled.containers.unreadable


# A registry that changes while it is read


def changes_once(server: RegistryServer, target: str, change: Callable[[], object]) -> None:
    done: list[bool] = []

    def before(request: Request) -> None:
        if target in request.target and not done:
            done.append(True)
            change()

    server.before = before


def test_a_dataset_removed_meanwhile_hides_no_other(server: RegistryServer) -> None:
    server.rows_max = 4
    ids = sorted(server.registry.datasets)
    first = server.registry.datasets[ids[0]]
    changes_once(server, "TO+", lambda: server.registry.remove(first))
    found = Crawler(server)
    assert not found.crawled.containers.unreadable
    # With plain offsets, the record that moved to the end of the first page would be skipped.
    assert set(found.read(catalogs=False)) >= set(ids[1:])


def test_a_registry_that_never_stands_still_is_not_read_whole(server: RegistryServer) -> None:
    server.rows_max = 4
    last = server.registry.datasets[max(server.registry.datasets)]

    def before(request: Request) -> None:
        # The last dataset comes and goes with each page.
        if "TO+" in request.target and server.registry.datasets.pop(last.id, None) is None:
            server.registry.datasets[last.id] = last

    server.before = before
    found = Crawler(server)
    assert found.crawled.containers.unreadable and "3 times" in found.errors
    assert found.read(catalogs=False)


# Inconsistent counts and pages


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({"claimed": 99}, "number of its records changes"),
        ({"claimed": 10**9}, "number of its records changes"),
        ({"claimed": 5}, "number of its records changes"),
        ({"claimed": 0}, "number of its records changes"),
        ({"claimed": -1}, "does not say how many datasets there are"),
        ({"claimed": "12"}, "does not say how many datasets there are"),
        ({"claimed": True}, "answered with no list of datasets"),
        ({"claimed": 4, "rows_max": 4}, "number of its records changes"),
        ({"ignores_sort": True}, "do not come in the order of their ids"),
        ({"ignores_offset": True, "rows_max": 5}, "its pages do not meet"),
        ({"rows_max": 1}, "says that it has 12 records, and its pages list 1"),
        ({"rows_max": 0}, "says that it has 12 records, and its pages list 0"),
    ],
    ids=str,
)
def test_a_listing_that_does_not_add_up_lets_nothing_go(
    server: RegistryServer, lie: dict[str, Any], words: str
) -> None:
    for name, value in lie.items():
        setattr(server, name, value)
    found = Crawler(server)
    assert words in found.errors
    assert any("package_search" in url for url in found.crawled.containers.unreadable)


def test_an_endless_listing_ends_at_max_records(server: RegistryServer) -> None:
    server.rows_max = 3
    found = Crawler(server, max_records=5)
    assert "more than max_records (5)" in found.errors
    assert 5 <= len(found.read(catalogs=False)) < 12
    found = Crawler(server, "bulk-data-service", max_records=5)
    assert "more than max_records (5)" in found.errors
    assert len(found.read(catalogs=False)) == 5


def test_too_many_organisations_are_no_fault_of_the_datasets() -> None:
    with RegistryServer(sample(12, 3)) as server:
        server.organisations_max = 3
        found = Crawler(server, max_records=5)
    (url,) = found.crawled.containers.unreadable
    assert "organization_list" in url


# Unusable answers

ANSWERS: list[tuple[str, Callable[[], faults.Fault], str]] = [
    ("500", lambda: faults.Status(code=500), "it answers 500"),
    ("404", lambda: faults.Status(code=404), "it answers 404"),
    ("HTML", faults.html, "a page for people"),
    ("HTML as JSON", lambda: faults.html("application/json"), "a page for people"),
    ("nothing", faults.empty, "empty body"),
    ("half of the JSON", lambda: faults.Cut(keep=0.5), "JSON that cannot be read"),
    ("broken off", lambda: faults.Truncate(keep=0.5), ""),
    ("reset", lambda: faults.Reset(), ""),
    ("no object", lambda: faults.Body(b"[]"), ""),
    ("null", lambda: faults.Body(b"null"), ""),
    ("a number", lambda: faults.Body(b"7"), ""),
    ("no success", lambda: faults.Body(b'{"success": false}'), ""),
    ("null as result", lambda: faults.Body(b'{"success": true, "result": null}'), ""),
    ("text as result", lambda: faults.Body(b'{"success": true, "result": "x"}'), ""),
    ("no lists", lambda: faults.Body(b'{"success": true, "result": {"count": 1}}'), ""),
    ("deep", lambda: faults.Body(b"[" * 200_000), "JSON that cannot be read"),
    ("not UTF-8", lambda: faults.Body(b'{"a": "\xff"}'), "JSON that cannot be read"),
    ("endless", lambda: faults.EndlessBody(chunk=b"[" * 50_000), "is larger than"),
]


@pytest.mark.parametrize(("case", "fault", "words"), ANSWERS, ids=[row[0] for row in ANSWERS])
@pytest.mark.parametrize(
    ("kind", "target", "is_of_datasets"),
    [
        ("ckan", "organization_list", False),
        ("ckan", "package_search", True),
        ("bulk-data-service", REPORTING_ORGS, False),
        ("bulk-data-service", DATASETS_MINIMAL, True),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_no_absence(
    server: RegistryServer,
    kind: str,
    target: str,
    is_of_datasets: bool,
    case: str,
    fault: Callable[[], faults.Fault],
    words: str,
) -> None:
    server.faults[lambda request: target in request.target] = fault()
    if case == "no object" and kind != "ckan":
        pytest.skip("index files are plain lists, so this answer is valid there")
    found = Crawler(server, kind)
    unreadable = found.crawled.containers.unreadable
    assert len(unreadable) == 1 and target in next(iter(unreadable)) and words in found.errors
    if is_of_datasets:
        assert len(found.read(catalogs=True)) == 3
    else:
        # Datasets of unknown organisations are errors, and none counts as deleted.
        assert not found.read(catalogs=False)
        assert found.errors.count("its organisation is not in the registry's listing") == 12


@BOTH
def test_json_that_would_fill_the_memory_is_not_parsed(server: RegistryServer, kind: str) -> None:
    """Three megabytes of empty lists are refused: fifty would take more than a gigabyte."""
    body = b"[" + b"[]," * 1_000_000 + b"[]]"
    server.faults[lambda request: True] = faults.Body(body)
    found = Crawler(server, kind, limits=replace(LIMITS, total=30, read=30, max_bytes=2**22))
    assert len(found.crawled.errors) == 2
    assert found.errors.count("answered with JSON of more than 2,000,000 values") == 2


def test_a_registry_that_does_not_answer_has_an_unreadable_root(server: RegistryServer) -> None:
    server.faults[lambda request: True] = faults.Status(code=503)
    found = Crawler(server)
    assert server.url in found.crawled.containers.unreadable


def test_known_organisations_keep_their_datasets_when_their_listing_fails(
    server: RegistryServer,
) -> None:
    urls = [f"{server.url}/organization/{one}" for one in server.registry.organisations]
    server.faults[lambda request: "organization_list" in request.target] = faults.Status(code=500)
    found = Crawler(server, known=tuple(KnownRecord(url, guid_of(url, None)) for url in urls))
    assert len(found.read(catalogs=False)) == 12


def test_it_goes_nowhere_else(server: RegistryServer) -> None:
    elsewhere = server.url_at("127.0.0.2")
    server.faults[lambda request: "127.0.0.2" not in request.host] = faults.Redirect(
        to=lambda request: f"{elsewhere}{request.target}"
    )
    found = Crawler(server)
    assert len(found.crawled.errors) == 2 and "its host is not allowed" in found.errors
    assert not [one for one in server.requests if "127.0.0.2" in one.host]


# Incomplete records

MISSING = (None, "None", "", "  ")


def without(*path: str | int, value: Any = None) -> Callable[[dict[str, Any]], Any]:
    """Return a function that replaces a field of a record."""

    def spoil(record: dict[str, Any]) -> Any:
        here: Any = record
        for key in path[:-1]:
            here = here[key]
        here[path[-1]] = value
        return record

    return spoil


def lacks(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda record: {key: value for key, value in record.items() if key != name}


DATASET_SPOILS = [
    *(("ckan", without("name", value=value), "no name") for value in MISSING),
    ("ckan", lacks("name"), "no name"),
    *(("ckan", without("organization", value=value), "no organisation") for value in MISSING),
    ("ckan", without("organization", "id"), "no organisation"),
    ("ckan", lacks("organization"), "no organisation"),
    *(("ckan", without("resources", value=value), "no URL of a file") for value in MISSING),
    ("ckan", without("resources", value=[]), "no URL of a file"),
    ("ckan", without("resources", value=[None]), "no URL of a file"),
    ("ckan", lacks("resources"), "no URL of a file"),
    *(("ckan", without("resources", 0, "url", value=one), "no URL of a file") for one in MISSING),
    ("ckan", without("resources", 0, "url", value="javascript:alert(1)"), "the URL of its file"),
    ("ckan", without("resources", 0, "url", value="file:///etc/passwd"), "the URL of its file"),
    *(("bulk-data-service", without("short_name", value=one), "no name") for one in MISSING),
    ("bulk-data-service", without("reporting_org_id"), "no organisation"),
    ("bulk-data-service", without("source_url", value="None"), "no URL of a file"),
]


@pytest.mark.parametrize(("kind", "spoil", "words"), DATASET_SPOILS)
def test_a_dataset_that_lacks_something_protects_itself_and_costs_no_other(
    server: RegistryServer, kind: str, spoil: Callable[[dict[str, Any]], Any], words: str
) -> None:
    bad = sorted(server.registry.datasets)[5]
    server.spoil[bad] = spoil
    found = Crawler(server, kind)
    assert not found.crawled.containers.unreadable and words in found.errors
    assert len(found.read(catalogs=False)) == 11
    (sighting,) = [one for one in found.sightings if one.error]
    assert sighting.seen.outcome is ReadOutcome.MALFORMED and sighting.seen.listed_in
    assert bad in sighting.seen.url


@BOTH
@pytest.mark.parametrize("value", [*MISSING, [], {}, True])
@pytest.mark.parametrize("of_a_dataset", [True, False])
def test_a_record_without_an_id_could_be_any_and_lets_nothing_go(
    server: RegistryServer, kind: str, value: Any, of_a_dataset: bool
) -> None:
    known = server.registry.datasets if of_a_dataset else server.registry.organisations
    server.spoil[sorted(known)[1]] = without("id", value=value)
    found = Crawler(server, kind)
    assert found.crawled.containers.unreadable and "no id" in found.errors
    assert len(found.read(catalogs=not of_a_dataset)) == len(known) - 1


@BOTH
@pytest.mark.parametrize("junk", [None, 7, "text", []])
def test_a_record_that_is_none_lets_nothing_go(
    server: RegistryServer, kind: str, junk: Any
) -> None:
    server.spoil[sorted(server.registry.datasets)[4]] = lambda record: junk
    found = Crawler(server, kind)
    assert found.crawled.containers.unreadable
    assert len(found.read(catalogs=False)) == 11


@BOTH
def test_an_organisation_without_a_name_protects_itself(server: RegistryServer, kind: str) -> None:
    bad = sorted(server.registry.organisations)[0]
    server.spoil[bad] = without("name" if kind == "ckan" else "short_name", value="None")
    found = Crawler(server, kind)
    assert "no name" in found.errors and len(found.read(catalogs=True)) == 2
    assert not found.crawled.containers.unreadable


ODD_NAMES = [
    "a/b",
    "..",
    "../../etc/passwd",
    "nul\x00nul",
    "n" * 300,
    "საქართველო",
    "A B",
    "\ud800",
]


@BOTH
@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_odd_names_are_read_as_they_are(server: RegistryServer, kind: str, name: str) -> None:
    odd = sorted(server.registry.datasets)[3]
    server.spoil[odd] = without("name" if kind == "ckan" else "short_name", value=name)
    found = Crawler(server, kind)
    assert len(found.read(catalogs=False)) == 12
    for sighting in found.sightings:
        if sighting.contents is not None:
            sighting.contents.as_json().encode()


@BOTH
@pytest.mark.parametrize("registry_id", ["a/b", "..", "nul\x00", "i" * 300, "é?#&", 17])
def test_odd_ids_make_urls_of_their_own(
    server: RegistryServer, kind: str, registry_id: Any
) -> None:
    odd = sorted(server.registry.datasets)[-1]
    server.ignores_sort = False
    server.spoil[odd] = without("id", value=registry_id)
    found = Crawler(server, kind)
    urls = [one.seen.url for one in found.sightings if not one.seen.is_catalog]
    assert len(set(urls)) == len(urls)
    assert all(url.isprintable() and " " not in url for url in urls)


@BOTH
def test_the_same_record_twice_is_one(server: RegistryServer, kind: str) -> None:
    first, second = sorted(server.registry.datasets)[:2]
    server.spoil[second] = without("id", value=first)
    found = Crawler(server, kind)
    urls = [one.seen.url for one in found.sightings if not one.seen.is_catalog]
    assert len(set(urls)) == len(urls)
    # CKAN never lists an id twice, so the list is inconsistent.
    assert bool(found.crawled.containers.unreadable) is (kind == "ckan")


# Kinds of registries


@pytest.mark.parametrize(
    ("url", "configured", "kind"),
    [
        ("https://iatiregistry.org", None, "ckan"),
        ("https://iatiregistry.org/api/3/action", None, "ckan"),
        ("https://bulk-data.iatistandard.org/", None, "bulk-data-service"),
        ("https://example.org/iati/datasets-minimal", None, "bulk-data-service"),
        ("https://example.org/iati/reporting-orgs.json", None, "bulk-data-service"),
        ("https://example.org/iati/datasets-full/", None, "bulk-data-service"),
        ("https://example.org/datasets", None, "ckan"),
        ("https://example.org/iati/datasets-minimal", "ckan", "ckan"),
        ("https://example.org", "bulk-data-service", "bulk-data-service"),
    ],
)
def test_the_kind_of_a_registry(url: str, configured: str | None, kind: str) -> None:
    assert kind_of(url, configured) == kind


def test_the_configuration_names_a_kind() -> None:
    for kind in KINDS:
        config, _ = source_config.parse(json.dumps({"registry": kind}), own_keys=OWN_KEYS)
        assert config.own == {"registry": kind}
    for wrong in ("CKAN", True, ["ckan"]):
        with pytest.raises(source_config.ConfigError) as refused:
            source_config.parse(json.dumps({"registry": wrong}), own_keys=OWN_KEYS)
        assert str(refused.value) == '"registry" must be "ckan" or "bulk-data-service"'


@pytest.mark.parametrize("path", ["", "/", "/api", "/api/3", "/api/3/", "/api/3/action/"])
def test_a_site_and_its_api_are_the_same_source(path: str) -> None:
    registry = CkanRegistry(None, f"https://example.org/x{path}", 100)  # type: ignore[arg-type]
    assert registry.dataset_url("a b/c") == "https://example.org/x/dataset/a%20b%2Fc"
    assert registry.datasets_url == "https://example.org/x/api/3/action/package_search"


@pytest.mark.parametrize(
    ("url", "datasets"),
    [
        ("https://example.org", "https://example.org/datasets-minimal"),
        ("https://example.org/iati/", "https://example.org/iati/datasets-minimal"),
        ("https://example.org/iati/reporting-orgs", "https://example.org/iati/datasets-minimal"),
        (
            "https://example.org/i/datasets-minimal.json",
            "https://example.org/i/datasets-minimal.json",
        ),
    ],
)
def test_the_index_files_stand_side_by_side(url: str, datasets: str) -> None:
    registry = KINDS["bulk-data-service"](None, url, 100)  # type: ignore[arg-type]
    assert registry.datasets_url == datasets
    assert registry.dataset_url("1") != registry.dataset_url("2")


@BOTH
def test_what_is_published_of_a_source_has_no_password(kind: str) -> None:
    given = "https://someone:hunter2@example.org:8443/x"
    registry = KINDS[kind](None, given, 100)  # type: ignore[arg-type]
    for url in (registry.dataset_url("1"), registry.organisation_url("1")):
        assert url.startswith("https://example.org:8443/x/")
    for url in (registry.datasets_url, registry.organisations_url):
        assert url.startswith(f"{given}/")


@pytest.mark.parametrize(
    ("url", "retired"),
    [
        ("https://iatiregistry.org", True),
        ("http://www.iatiregistry.org/api/3/action", True),
        ("https://bulk-data.iatistandard.org/", False),
        ("https://registry.example.org", False),
    ],
)
def test_the_retired_registry(url: str, retired: bool) -> None:
    assert is_retired(url) is retired
