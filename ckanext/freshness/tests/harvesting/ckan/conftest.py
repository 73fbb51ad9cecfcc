"""A portal, and crawls of it without a site."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

import pytest

from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.ckan.api import CkanApi
from ckanext.freshness.harvesting.ckan.crawl import crawl
from ckanext.freshness.harvesting.ckan.mapping import MappingOptions
from ckanext.freshness.harvesting.record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Record,
    guid_of,
)
from ckanext.freshness.harvesting.source_client import SourceClient, SourceHosts
from ckanext.freshness.harvesting.source_config import Source, SourceConfig
from ckanext.freshness.harvesting.source_memory import SourceMemory
from ckanext.freshness.harvesting.source_type import CrawlEnd, CrawlInput
from ckanext.freshness.harvesting.strategy import AbsentRecord, Decisions, deletions
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings, Limits
from ckanext.freshness.web.hosts import HostPolicy, Hosts

LIMITS = Limits(connect=20, read=20, total=30, attempts=1, max_bytes=5_000_000)
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)


@pytest.fixture
def portal() -> Iterator[PortalServer]:
    """Twelve datasets."""
    with PortalServer(12) as server:
        yield server


class Crawled:
    """One crawl of a portal, and what it means for the records that were current."""

    def __init__(
        self,
        portal: PortalServer,
        before: Crawled | None = None,
        *,
        max_records: int = 10_000,
        known: Iterable[KnownRecord] = (),
        limits: Limits = LIMITS,
        own_datasets: Collection[str] = (),
        language: str = "en",
        organizations: bool = False,
        max_deletions: int | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        self.portal = portal
        self.known = CurrentRecords(
            [*(before.records() if before else ()), *known],
            own_datasets=frozenset(own_datasets).intersection,
        )
        self.max_records = max_records
        self.limits = limits
        self.mapping = MappingOptions(portal.url, language, organizations)
        self.config = SourceConfig(max_deletions=max_deletions, own=own or {})
        self.crawled: list[CrawledRecord] = []
        self.end: CrawlEnd = asyncio.run(self._run())

    async def _run(self) -> CrawlEnd:
        settings = ClientSettings("test", limits=self.limits, guard=Guard(["127.0.0.0/8"]))
        hosts, url = Hosts(HostPolicy(8, 10_000)), self.portal.url
        async with Client(settings, hosts) as client:
            opened = SourceClient(client, hosts, 8, SourceHosts(url))
            api = CkanApi(opened, url, self.max_records)
            source = Source("id", url, "ckan_portal", "A portal", self.config)
            given = CrawlInput(source, self.known, SourceMemory("id", read_only=True), NOW)
            return await crawl(api, given, "salt", self.mapping, self._take)

    def _take(self, crawled: CrawledRecord, containers: Containers) -> None:
        self.crawled.append(crawled)

    def records(self) -> list[KnownRecord]:
        """Return what the next job knows: all that was read, as a job keeps it."""
        found = []
        for one in self.crawled:
            seen = one.seen
            if seen.outcome is ReadOutcome.PRESENT and seen.listed_in:
                container = None if seen.is_catalog else seen.listed_in[0]
                found.append(
                    KnownRecord(
                        seen.url,
                        guid_of(seen.url, container),
                        container,
                        seen.content_hash,
                        "object",
                        "package",
                        memory=one.memory,
                    )
                )
        return found

    def contents(self) -> dict[str, Record]:
        """Return the datasets whose contents were read, by id."""
        return {
            one.seen.url.rpartition("/")[2]: one.contents
            for one in self.crawled
            if one.contents and not one.seen.is_catalog
        }

    def names(self) -> list[str]:
        """Return the names of the datasets whose contents were read."""
        return sorted(str(one.name) for one in self.contents().values())

    def deleted(self) -> list[str]:
        """Return the URLs of the records that this crawl lets go, brake or not."""
        return sorted(one.known.url for one in self._absent() if not one.needs_approval)

    def held(self) -> list[str]:
        """Return the URLs of the records that an editor has to decide about, brake or not."""
        return sorted(one.known.url for one in self._absent() if one.needs_approval)

    def _absent(self) -> list[AbsentRecord]:
        listed = self.end.containers.listed
        seen = {}
        for one in self.crawled:
            before = self.known.of(one.seen.url, listed)
            seen[before.url if before else one.seen.url] = one.seen
        found = deletions(
            self.known,
            seen,
            self.end.containers,
            Decisions(),
            now=NOW,
            limits=BrakeLimits(1.0, 10_000),
        )
        held = found.brake.held if found.brake else ()
        return [one for one in (*found.delete, *held) if one.delete]

    @property
    def errors(self) -> str:
        """Return all messages."""
        errors = [*self.end.errors, *(one.error for one in self.crawled if one.error)]
        return "\n".join(map(str, errors))
