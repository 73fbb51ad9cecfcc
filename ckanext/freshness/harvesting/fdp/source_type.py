"""The source type ``fdp``: FAIR Data Points."""

from __future__ import annotations

import contextlib
from datetime import datetime

from ...translation import N_
from ..rdf.source_type import RDF_KEYS, CrawlOptions, RdfSourceType, rdf_salt
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
    memory_form = r"\{"

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
        from ..rdf.reader import DocumentReader
        from .crawl import Crawl

        salt = rdf_salt(source.config)
        options = CrawlOptions.of(opened, source.config, now)
        with contextlib.closing(RdfParser()) as parser:
            reader = DocumentReader(opened.client, opened.reach, memory, parser, salt=salt)
            return await Crawl(reader, source.url, options, known, sink).run()


FAIR_DATA_POINT = FdpSourceType()
