"""The source type ``fdp``: FAIR Data Points."""

from __future__ import annotations

import contextlib
from datetime import datetime
from functools import partial

from ...aging.messages import N_
from ...web.event_loop import run
from ..rdf.source_type import RDF_KEYS, RdfSourceType, mapper_of, rdf_salt
from ..record import CurrentRecords, Sink
from ..source_client import source_client
from ..source_config import boolean
from ..source_type import CrawlEnd, Source, SourceMemory

OWN_KEYS = {"harvest_catalogs": boolean, **RDF_KEYS}


class FdpSourceType(RdfSourceType):
    """FAIR Data Points: documents of RDF, one for each record."""

    name = "fdp"
    title = "FAIR Data Point"
    description = N_("Harvests the datasets of a FAIR Data Point, or of one catalog of it")
    own_keys = OWN_KEYS
    adopts = ("fair_data_point_harvester", "dcat_rdf")

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        """Read the containers of a FAIR Data Point, then its records."""
        return run(lambda: _crawl(source, known, memory, sink, now))


FAIR_DATA_POINT = FdpSourceType()


async def _crawl(
    source: Source, known: CurrentRecords, memory: SourceMemory, sink: Sink, now: datetime
) -> CrawlEnd:
    from ..rdf.mapping import map_catalog
    from ..rdf.parsing import RdfParser
    from .crawl import Crawl
    from .reader import CrawlOptions, FdpReader

    config = source.config
    async with source_client(source) as opened:
        options = CrawlOptions(
            mapper=mapper_of(config),
            now=now,
            catalog_mapper=(
                partial(map_catalog, language=config.own.get("language"))
                if config.own.get("harvest_catalogs")
                else None
            ),
            max_records=config.max_records,
            concurrency=opened.concurrency,
        )
        with contextlib.closing(RdfParser()) as parser:
            reader = FdpReader(opened.client, opened.reach, memory, parser, salt=rdf_salt(config))
            end = await Crawl(reader, source.url, options, known, sink).run()
        end.requests = opened.requests
        return end
