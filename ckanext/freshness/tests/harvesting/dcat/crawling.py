"""A site in memory that harvests catalogues in RDF."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any

from ckanext.freshness.harvesting.dcat.crawl import CatalogueCrawl
from ckanext.freshness.harvesting.rdf.reader import DocumentReader
from ckanext.freshness.harvesting.rdf.source_type import CrawlOptions
from ckanext.freshness.harvesting.record import Containers, CurrentRecords, Sighting, Sink
from ckanext.freshness.harvesting.source_client import SourceHosts
from ckanext.freshness.harvesting.source_type import CrawlEnd
from ckanext.freshness.tests.harvesting.fdp.crawling import MAPPER, Job, Site
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import ClientSettings
from ckanext.freshness.web.hosts import HostPolicy, Hosts


class CatalogueSite(Site):
    """The datasets of one catalogue, harvested by real surveys into memory."""

    def __init__(self, server: Any, **options: Any) -> None:
        super().__init__(server, **options)
        self.most = 100_000
        self.allowed_hosts: list[str] = []

    async def _crawl(self, job: Job, known: CurrentRecords, sink: Sink, now: datetime) -> CrawlEnd:
        def keep(sighting: Sighting, containers: Containers) -> None:
            job.sightings[sighting.seen.url] = sighting
            sink(sighting, containers)

        settings = ClientSettings("tests/1", self.limits, Guard(("127.0.0.0/8",)))
        hosts = Hosts(HostPolicy(connections=self.connections, per_second=100_000))
        async with Client(settings, hosts) as client:
            with contextlib.closing(self.make_parser()) as parser:
                memory: Any = self.memory
                reach = SourceHosts(self.url, self.allowed_hosts)
                reader = DocumentReader(client, reach, memory, parser, salt="")
                options = CrawlOptions(MAPPER, now, max_records=self.most)
                end = await CatalogueCrawl(reader, self.url, options, known, keep).run()
        job.containers = end.containers
        return end
