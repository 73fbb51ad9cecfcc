"""The source type ``fdp``: FAIR Data Points."""

from __future__ import annotations

import contextlib
from datetime import datetime
from functools import partial

from ...aging.messages import N_
from ...web.event_loop import run
from ..record import CurrentRecords, Sink
from ..source_client import source_client
from ..source_config import ConfigError, SourceConfig
from ..source_memory import SourceMemory
from ..source_type import CrawlEnd, Source, SourceType, salt_of

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


class FdpSourceType(SourceType):
    """FAIR Data Points: documents of RDF, one for each record."""

    name = "fdp"
    title = "FAIR Data Point"
    description = N_("Harvests the datasets of a FAIR Data Point, or of one catalog of it")
    adopts = ("fair_data_point_harvester", "dcat_rdf")

    @property
    def owned_keys(self) -> frozenset[str]:
        """The keys of packages that the mapping writes."""
        from ..rdf.mapping_tables import OWNED_KEYS

        return OWNED_KEYS

    def check(self, config: SourceConfig) -> None:
        """Check that the profiles are installed."""
        if not config.profiles:
            return
        from ..rdf import dcat_profiles

        try:
            dcat_profiles.check(config.profiles)
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        return run(partial(_crawl, source, known, memory, sink, now))


FAIR_DATA_POINT = FdpSourceType()


async def _crawl(
    source: Source, known: CurrentRecords, memory: SourceMemory, sink: Sink, now: datetime
) -> CrawlEnd:
    from ..rdf import dcat_profiles
    from ..rdf.mapping import map_catalog, map_dataset
    from ..rdf.parsing import RdfParser
    from .crawl import Crawl
    from .reader import CrawlOptions

    config = source.config
    language = config.language
    async with source_client(source) as opened:
        options = CrawlOptions(
            mapper=(
                partial(
                    dcat_profiles.map_with_profiles, profiles=config.profiles, language=language
                )
                if config.profiles
                else partial(map_dataset, language=language)
            ),
            now=now,
            catalog_mapper=(
                partial(map_catalog, language=language) if config.harvest_catalogs else None
            ),
            salt=salt_of(config, MAPPING_VERSION, language, config.profiles),
            max_records=config.max_records,
            allowed_hosts=frozenset(config.allowed_hosts),
            headers=opened.headers,
            concurrency=opened.concurrency,
        )
        with contextlib.closing(RdfParser()) as parser:
            crawl = Crawl(opened.client, source.url, options, known, memory, sink, parser)
            containers = await crawl.run()
        return CrawlEnd(
            containers, crawl.errors, crawl.warnings, crawl.not_harvested, opened.requests
        )
