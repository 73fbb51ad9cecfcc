"""A site in memory: real surveys, and imports that change dictionaries in place of the database."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any, ClassVar

from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.fdp.crawl import Crawl
from ckanext.freshness.harvesting.messages import Message
from ckanext.freshness.harvesting.rdf.mapping import ProfileMapper
from ckanext.freshness.harvesting.rdf.parsing import RdfParser
from ckanext.freshness.harvesting.rdf.reader import DocumentReader
from ckanext.freshness.harvesting.record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Sink,
)
from ckanext.freshness.harvesting.record import Record as Contents
from ckanext.freshness.harvesting.source_client import SourceClient, SourceHosts
from ckanext.freshness.harvesting.source_config import Source, SourceConfig
from ckanext.freshness.harvesting.source_type import CrawlEnd, CrawlInput
from ckanext.freshness.harvesting.strategy import (
    AbsentRecord,
    Decisions,
    HeldDeletions,
    RecordClass,
)
from ckanext.freshness.harvesting.survey import DRAFT, RecordChange, Survey, survey
from ckanext.freshness.tests.harvesting.fdp.parsed import InProcessParser
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts
from ckanext.freshness.web.urls import loose_spelling

MAPPER = ProfileMapper(("euro_dcat_ap_3",), "en")
NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(hours=24)
LIMITS = Limits(attempts=1, max_bytes=2**18)
IMPATIENT = dataclasses.replace(LIMITS, read=0.8, total=1.2)
"""For servers that hang."""
HURRIED = dataclasses.replace(LIMITS, read=0.1, total=0.2)
"""For servers that hang, in jobs that may miss healthy answers too."""


class Memory:
    """The memory of documents, in a dictionary.

    :ivar rows: digest and outline by URL
    :ivar recalled: URLs whose document was not parsed again
    """

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, Any]] = {}
        self.recalled: set[str] = set()
        self._visited: set[str] = set()

    def recall(self, url: str, digest: str) -> Any:
        self._visited.add(url)
        known, outline = self.rows.get(url, ("", None))
        if known != digest:
            return None
        self.recalled.add(url)
        return outline

    def expect(self, urls: Collection[str]) -> None:
        pass

    def knows(self, url: str) -> bool:
        return url in self.rows

    def remember(self, url: str, digest: str, outline: Any) -> None:
        self._visited.add(url)
        self.rows[url] = digest, outline

    def finish(self, *, forget_others: bool) -> None:
        if forget_others:
            self.rows = {url: row for url, row in self.rows.items() if url in self._visited}
        self._visited = set()


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
    """The result of a gather: a :class:`SurveyObserver` that keeps everything."""

    changes: dict[tuple[RecordClass, str], RecordChange] = dataclasses.field(default_factory=dict)
    record_errors: dict[str, str] = dataclasses.field(default_factory=dict)
    absent: list[AbsentRecord] = dataclasses.field(default_factory=list)
    crawled: dict[str, CrawledRecord] = dataclasses.field(default_factory=dict)
    """By URL, each record as it was met last."""
    containers: Containers = dataclasses.field(default_factory=lambda: Containers(""))
    survey: Survey = dataclasses.field(default_factory=Survey)

    def read(self, count: int, listed: int | None) -> None:
        pass

    def change(self, change: RecordChange) -> None:
        self.changes[change.kind, change.url] = change

    def failed(self, url: str, guid: str, error: Message) -> None:
        self.record_errors[url] = str(error)

    def kept(self, absent: AbsentRecord) -> None:
        self.absent.append(absent)

    @property
    def kinds(self) -> dict[str, RecordClass]:
        """The class of each record that was read or deleted, by URL."""
        return {url: kind for kind, url in self.changes}

    @property
    def brake(self) -> HeldDeletions | None:
        return self.survey.brake

    @property
    def container_errors(self) -> list[str]:
        return list(map(str, self.survey.crawl.errors))

    @property
    def warnings(self) -> list[str]:
        found = [one.crawled for one in self.changes.values() if one.crawled is not None]
        return sorted(one for crawled in found for one in crawled.warnings)

    @property
    def drafts(self) -> int:
        found = self.survey.crawl.not_harvested.get(DRAFT)
        return found.count if found else 0

    @property
    def errors(self) -> list[str]:
        return [*self.container_errors, *self.record_errors.values()]

    def of(self, kind: RecordClass) -> set[str]:
        """Return the URLs of one class."""
        return {url for found, url in self.changes if found is kind}


class Site:
    """The datasets of one source, harvested by real surveys into memory.

    :cvar crawl_type: the class of its crawls

    :ivar packages: the datasets, by the record's URL
    :ivar known: the current records, by URL
    :ivar held: whether each held deletion is released, by guid
    :ivar make_parser: makes the parser of a crawl; documents that would crash a process need an RdfParser
    """

    crawl_type: ClassVar[Any] = Crawl

    def __init__(
        self,
        server: Any,
        *,
        url: str = "",
        limits: Limits = LIMITS,
        make_parser: Callable[[], RdfParser] = InProcessParser,
        connections: int = 8,
        config: SourceConfig | None = None,
        brake: BrakeLimits | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url = url or server.source_url
        self.limits = limits
        self.make_parser = make_parser
        self.connections = connections
        self.config = config or SourceConfig()
        self.brake = brake or BrakeLimits()
        self.headers = headers
        self.packages: dict[str, Package] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        self.memory = Memory()
        self.known: dict[str, KnownRecord] = {}
        self.held: dict[str, bool] = {}
        self.answered: set[str] = set()
        self.own_urls: dict[str, ReadOutcome | None] = {}
        """By guid of a held record, what its own URL answered to the job that could tell."""
        self._earlier: dict[str, int] = {}
        """Ids of packages by every URL that a record of theirs has had."""

    def copy(self) -> Site:
        """Return another site in the same state."""
        site = copy.copy(self)
        for name in ("packages", "objects", "known", "held", "_earlier"):
            setattr(site, name, dict(getattr(self, name)))
        site.memory = Memory()
        site.memory.rows = dict(self.memory.rows)
        return site

    def job(self, now: datetime = NOW) -> Job:
        """Run one harvest, from the crawl to the packages."""
        job = self.gather(now)
        for change in self.to_import(job):
            self.import_(change, job)
        return job

    def two_jobs(self) -> Job:
        """Run two jobs a day apart, and return the second one.

        What the lists leave out, and cannot be asked for, is gone then.
        """
        self.job()
        return self.job(NOW + DAY)

    def gather(self, now: datetime = NOW) -> Job:
        """Run a survey, and note what the next one needs to know of current records."""
        job = Job()

        def crawl(given: CrawlInput, sink: Sink) -> CrawlEnd:
            return run(lambda: self._crawl(job, given, sink))

        source_type: Any = SimpleNamespace(has_organizations=lambda config: False, crawl=crawl)
        decisions = Decisions(
            released=[guid for guid, is_released in self.held.items() if is_released],
            held=[guid for guid, is_released in self.held.items() if not is_released],
            answered=[guid for guid in self.answered if not self.held[guid]],
            unanswered=[
                guid
                for guid, is_released in self.held.items()
                if is_released and self.own_urls[guid] is not ReadOutcome.PRESENT
            ],
        )
        current = CurrentRecords(self.known.values(), contents_of=self._contents_of)
        memory: Any = self.memory
        source = Source("source", self.url, "", "Source", self.config)
        given = CrawlInput(source, current, memory, now)
        job.survey = survey(source_type, given, decisions, job, limits=self.brake)
        for change in job.changes.values():
            if change.known and change.crawled:
                known = dataclasses.replace(change.known, refusal=None, absent_since=None)
                if change.kind is RecordClass.UNCHANGED:
                    known = dataclasses.replace(
                        known,
                        memory=change.crawled.memory,
                        incomplete_since=change.incomplete_since,
                    )
                self.known[known.url] = known
        for absent in (*job.absent, *(job.brake.verified if job.brake else ())):
            self.known[absent.known.url] = dataclasses.replace(
                absent.known,
                refusal=absent.refusal,
                absent_since=absent.absent_since,
                subject=absent.listed_as or absent.known.subject,
            )
        # A release is used up, unless this job could not tell whether the record is gone.
        released = {guid for guid, is_released in self.held.items() if is_released}
        self.held = {
            absent.known.guid: not absent.delete and absent.known.guid in released
            for absent in (job.brake.held if job.brake else ())
        }
        self.answered = set(job.brake.answered if job.brake else ())
        self.own_urls = {
            one.known.guid: one.own_url if one.delete else self.own_urls.get(one.known.guid)
            for one in (job.brake.held if job.brake else ())
        }
        self.memory.finish(forget_others=job.survey.crawl.is_whole)
        return job

    def _contents_of(self, known: KnownRecord) -> Contents:
        content = json.dumps(self.objects[known.object_id or ""])
        return Contents.from_json(content) or Contents()

    def release(self) -> None:
        """Approve all held deletions."""
        self.held = dict.fromkeys(self.held, True)

    def to_import(self, job: Job) -> list[RecordChange]:
        """Return the changes of a job that its imports make, in their order."""
        return [one for one in job.changes.values() if one.kind is not RecordClass.UNCHANGED]

    def import_(self, change: RecordChange, job: Job) -> None:
        """Import a record, or delete its package. As in the database, that fails without contents."""
        crawled = change.crawled
        if crawled is not None and crawled.contents is None:
            job.record_errors[change.url] = "the object holds no readable record"
            return
        package_id = self._package_of(change)
        for url, known in list(self.known.items()):
            if known.guid == change.guid or known.package_id == str(package_id):
                del self.known[url]
            if known.package_id == str(package_id):
                del self.packages[url]
        if crawled is None or crawled.contents is None:
            return
        object_id = str(len(self.objects))
        content = self.objects[object_id] = _plain(crawled.contents)
        for url in filter(None, (change.url, crawled.subject)):
            self._earlier[loose_spelling(url)] = package_id
        self.packages[change.url] = Package(package_id, change.guid, content)
        self.known[change.url] = KnownRecord(
            url=change.url,
            guid=change.guid,
            catalog_url=change.catalog_url,
            content_hash=crawled.seen.content_hash,
            object_id=object_id,
            package_id=str(package_id),
            subject=crawled.subject,
            memory=crawled.memory,
        )

    def _package_of(self, change: RecordChange) -> int:
        """Return the id of a record's package: its own, an earlier one that is free, or a new one."""
        if change.known is not None:
            return int(change.known.package_id or 0)
        taken = {package.id for package in self.packages.values()}
        subject = change.crawled.subject if change.crawled else None
        for url in filter(None, (change.url, subject)):
            earlier = self._earlier.get(loose_spelling(url))
            if earlier is not None and earlier not in taken:
                return earlier
        return max(self._earlier.values(), default=0) + 1

    async def _crawl(self, job: Job, given: CrawlInput, sink: Sink) -> CrawlEnd:
        def keep(crawled: CrawledRecord, containers: Containers) -> None:
            job.crawled[crawled.seen.url] = crawled
            sink(crawled, containers)

        settings = ClientSettings("tests/1", self.limits, Guard(("127.0.0.0/8",)))
        hosts = Hosts(HostPolicy(connections=self.connections, per_second=100_000))
        source_hosts = SourceHosts(self.url, self.config.allowed_hosts, self.headers)
        async with Client(settings, hosts) as client:
            opened = SourceClient(client, hosts, 8, source_hosts)
            with contextlib.closing(self.make_parser()) as parser:
                reader = DocumentReader(opened, given.memory, parser, salt="")
                end = await self.crawl_type(reader, MAPPER, given, keep).run()
        job.containers = end.containers
        return end

    def titles(self) -> set[str]:
        return {package.title for package in self.packages.values()}

    def ids(self) -> dict[str, int]:
        return {url: package.id for url, package in self.packages.items()}


def _plain(contents: Contents) -> dict[str, Any]:
    return dict(json.loads(contents.as_json()))


catalogs_too = SourceConfig(own={"harvest_catalogs": True})


def harvested(server: FdpServer, *counts: int) -> tuple[Site, list[Record], list[Record]]:
    """Harvest catalogs with so many datasets each, without page endpoints.

    :returns: the site, the catalogs, and all datasets
    """
    catalogs = [server.add_catalog() for _ in counts]
    datasets = [
        server.add_dataset(catalog)
        for catalog, count in zip(catalogs, counts, strict=True)
        for _ in range(count)
    ]
    site = Site(server)
    assert len(site.job().kinds) == len(datasets)
    return site, catalogs, datasets


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
