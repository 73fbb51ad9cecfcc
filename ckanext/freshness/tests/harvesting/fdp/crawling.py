"""A site in memory: real crawls and the strategy, without CKAN."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.harvesting.fdp.containers import CrawlOptions
from ckanext.freshness.harvesting.fdp.crawl import Crawl
from ckanext.freshness.harvesting.fdp.mapping import map_catalog, map_dataset
from ckanext.freshness.harvesting.fdp.rdf import RdfParser
from ckanext.freshness.harvesting.record import (
    Containers,
    Contents,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sighting,
    guid_of,
)
from ckanext.freshness.harvesting.strategy import (
    HeldDeletions,
    RecordClass,
    catalog_of,
    classify,
    deletions,
)
from ckanext.freshness.tests.harvesting.fdp.parsed import InProcessParser
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(hours=24)
LIMITS = Limits(attempts=1, max_bytes=2**18)
IMPATIENT = dataclasses.replace(LIMITS, read=0.8, total=1.2)
"""For servers that hang."""


class Memory:
    """The memory of documents, in a dictionary.

    :ivar rows: digest and outline by URL
    :ivar recalled: URLs whose document was not parsed again
    """

    def __init__(self, packages: Mapping[str, Package]) -> None:
        self.packages = packages
        self.rows: dict[str, tuple[str, str]] = {}
        self.recalled: set[str] = set()

    def recall(self, url: str, digest: str) -> str | None:
        known, outline = self.rows.get(url, ("", ""))
        if known != digest:
            return None
        self.recalled.add(url)
        return outline

    def knows(self, url: str) -> bool:
        return url in self.rows

    def remember(self, url: str, digest: str, outline: str) -> None:
        self.rows[url] = digest, outline

    def resources_of(self, object_id: str) -> dict[str, dict[str, Any]]:
        return {one["uri"]: one for one in self.packages[object_id].content["resources"]}

    def finish(self, *, forget_others: bool) -> None:
        """Nothing is left to write."""


@dataclasses.dataclass(frozen=True)
class Package:
    """A dataset of the site."""

    id: int
    guid: str
    content: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.content["fields"]["title"])

    @property
    def resources(self) -> list[str]:
        return sorted(one["name"] for one in self.content["resources"])


@dataclasses.dataclass
class Job:
    """The result of a job."""

    containers: Containers
    container_errors: list[str]
    record_errors: dict[str, str] = dataclasses.field(default_factory=dict)
    kinds: dict[str, RecordClass] = dataclasses.field(default_factory=dict)
    """The class of each record that was read or deleted, by URL."""
    sightings: list[Sighting] = dataclasses.field(default_factory=list)
    brake: HeldDeletions | None = None
    requests: int = 0

    @property
    def warnings(self) -> list[str]:
        return sorted(one for sighting in self.sightings for one in sighting.warnings)

    @property
    def drafts(self) -> int:
        return sum(sighting.drafts for sighting in self.sightings)

    @property
    def errors(self) -> list[str]:
        return [*self.container_errors, *self.record_errors.values()]

    def of(self, kind: RecordClass) -> set[str]:
        """Return the URLs of one class."""
        return {url for url, found in self.kinds.items() if found is kind}


class Site:
    """The datasets of one source, kept as the strategy decides.

    :ivar packages: the datasets, by the record's URL
    :ivar make_parser: makes the parser of a crawl; documents that would crash a process need an RdfParser
    """

    def __init__(
        self,
        server: FdpServer,
        *,
        url: str = "",
        limits: Limits = LIMITS,
        make_parser: Callable[[], RdfParser] = InProcessParser,
        **options: Any,
    ) -> None:
        self.url = url or server.source_url
        self.limits = limits
        self.make_parser = make_parser
        self.options = options
        self.packages: dict[str, Package] = {}
        self.memory = Memory(self.packages)
        self.known: dict[str, KnownRecord] = {}
        self._ids = 0

    def copy(self) -> Site:
        """Return another site in the same state."""
        site = copy.copy(self)
        site.packages = dict(self.packages)
        site.known = dict(self.known)
        site.memory = Memory(site.packages)
        site.memory.rows = dict(self.memory.rows)
        return site

    def job(self, now: datetime = NOW) -> Job:
        """Run one harvest, from the crawl to the packages."""
        job, seen = run(self._crawl(now))
        for sighting in job.sightings:
            self._take(job, sighting)
        ending = deletions(self.known.values(), seen, job.containers, now=now)
        for verdict in ending.delete:
            job.record_errors.pop(verdict.known.url, None)  # no error: the record was withdrawn
            job.kinds[verdict.known.url] = RecordClass.DELETED
            del self.packages[verdict.known.url], self.known[verdict.known.url]
        for verdict in ending.keep:
            self.known[verdict.known.url] = dataclasses.replace(
                verdict.known, forbidden_since=verdict.forbidden_since
            )
        job.brake = ending.brake
        return job

    async def _crawl(self, now: datetime) -> tuple[Job, dict[str, SeenRecord]]:
        sightings: dict[str, Sighting] = {}
        settings = ClientSettings("tests/1", self.limits, Guard(("127.0.0.0/8",)))
        hosts = Hosts(HostPolicy(connections=8, per_second=100_000))
        options = CrawlOptions(**{"mapper": map_dataset, "now": now, **self.options})
        async with Client(settings, hosts) as client:
            with contextlib.closing(self.make_parser()) as parser:
                crawl = Crawl(
                    client,
                    self.url,
                    options,
                    CurrentRecords(self.known.values()),
                    self.memory,  # type: ignore[arg-type]
                    lambda sighting, _: sightings.update({sighting.seen.url: sighting}),
                    parser,
                )
                containers = await crawl.run()
        requests = sum(host.statistics.requests for host in hosts)
        job = Job(containers, crawl.errors, sightings=list(sightings.values()), requests=requests)
        return job, {url: sighting.seen for url, sighting in sightings.items()}

    def _take(self, job: Job, sighting: Sighting) -> None:
        seen = sighting.seen
        if seen.listed_in and seen.outcome is not ReadOutcome.PRESENT and sighting.error:
            job.record_errors[seen.url] = sighting.error
        if not seen.listed_in or seen.outcome is not ReadOutcome.PRESENT:
            return
        known = self.known.get(seen.url)
        catalog = None if seen.is_catalog else catalog_of(seen, known, job.containers)
        guid = guid_of(seen.url, catalog)
        kind = job.kinds[seen.url] = classify(guid, seen.content_hash, known)
        if kind is RecordClass.NEW:
            self._ids += 1
        if kind in (RecordClass.NEW, RecordClass.CHANGED):
            assert sighting.contents is not None
        package = self.packages.get(seen.url)
        content = (
            _plain(sighting.contents) if sighting.contents else package.content  # type: ignore[union-attr]
        )
        self.packages[seen.url] = Package(package.id if package else self._ids, guid, content)
        self.known[seen.url] = KnownRecord(
            url=seen.url,
            guid=guid,
            catalog_url=catalog,
            content_hash=seen.content_hash,
            fingerprint=sighting.fingerprint,
            object_id=seen.url,
            subject=sighting.subject,
            distributions=sighting.distributions,
            in_pages=sighting.in_pages,
        )

    def titles(self) -> set[str]:
        return {package.title for package in self.packages.values()}

    def ids(self) -> dict[str, int]:
        return {url: package.id for url, package in self.packages.items()}


def _plain(contents: Contents) -> dict[str, Any]:
    return dict(json.loads(contents.as_json()))


catalogs_too: Mapping[str, Any] = {"catalog_mapper": map_catalog}
"""Options of a source with ``harvest_catalogs``."""


def urls(server: FdpServer, *records: Record) -> set[str]:
    """Return the URLs of records in their documents."""
    return {server.iri_of(record) for record in records}


def unchanged(site: Site) -> Job:
    """Run a job and assert that it changes nothing."""
    before = dict(site.packages)
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.UNCHANGED) == set(job.kinds) == set(before)
    assert site.packages == before
    return job


def without_links(server: FdpServer) -> None:
    """Let a server send no Link header."""
    healthy = server.answer

    def answer(request: Request) -> Answer:
        found = healthy(request)
        headers = {key: value for key, value in found.headers.items() if key != "Link"}
        return Answer(found.status, found.body, headers)

    server.answer = answer  # type: ignore[method-assign]


with_and_without_pages = pytest.mark.parametrize("pages", [True, False], ids=["pages", "no pages"])
