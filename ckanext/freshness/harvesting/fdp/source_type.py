"""The source type ``fdp``: FAIR Data Points."""

from __future__ import annotations

import contextlib
from datetime import datetime

from ...aging.messages import N_
from ..rdf.source_type import RDF_KEYS, RdfSourceType, mapper_of, rdf_salt
from ..record import CurrentRecords, Sink
from ..source_client import SourceClient
from ..source_config import Source, boolean
from ..source_type import CrawlEnd, SourceMemory

OWN_KEYS = {"harvest_catalogs": boolean, **RDF_KEYS}


class FdpSourceType(RdfSourceType):
    """FAIR Data Points: documents of RDF, one for each record."""

    name = "fdp"
    title = "FAIR Data Point"
    description = N_("Harvests the datasets of a FAIR Data Point, or of one catalog of it")
    own_keys = OWN_KEYS
    adopts = ("fair_data_point_harvester", "dcat_rdf")

    async def read(
        self,
        opened: SourceClient,
        source: Source,
        known: CurrentRecords,
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        from ..rdf.parsing import RdfParser
        from .crawl import Crawl
        from .reader import CrawlOptions, FdpReader

        config = source.config
        options = CrawlOptions(
            mapper=mapper_of(config),
            now=now,
            harvests_catalogs=bool(config.own.get("harvest_catalogs")),
            max_records=config.max_records,
            concurrency=opened.concurrency,
            max_deletions=config.max_deletions,
        )
        with contextlib.closing(RdfParser()) as parser:
            reader = FdpReader(opened.client, opened.reach, memory, parser, salt=rdf_salt(config))
            return await Crawl(reader, source.url, options, known, sink).run()


FAIR_DATA_POINT = FdpSourceType()
