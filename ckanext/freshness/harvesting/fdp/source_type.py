"""The source type ``fdp``: FAIR Data Points."""

from __future__ import annotations

import contextlib

from ...translation import N_
from ..rdf.source_type import RDF_KEYS, RdfSourceType, mapper_of, rdf_salt
from ..record import Sink
from ..source_client import SourceClient
from ..source_config import boolean
from ..source_type import CrawlEnd, CrawlInput

OWN_KEYS = {"harvest_catalogs": boolean, **RDF_KEYS}


class FdpSourceType(RdfSourceType):
    """FAIR Data Points: documents of RDF, one for each record."""

    name = "fdp"
    title = "FAIR Data Point"
    description = N_("Harvests the datasets of a FAIR Data Point, or of one catalog of it")
    own_keys = OWN_KEYS
    adopts = ("fair_data_point_harvester", "dcat_rdf")
    memory_form = r"\{"

    async def read(self, opened: SourceClient, given: CrawlInput, sink: Sink) -> CrawlEnd:
        from ..rdf.parsing import RdfParser
        from ..rdf.reader import DocumentReader
        from .crawl import Crawl

        config = given.source.config
        with contextlib.closing(RdfParser()) as parser:
            reader = DocumentReader(opened, given.memory, parser, salt=rdf_salt(config))
            return await Crawl(reader, mapper_of(config), given, sink).run()


FAIR_DATA_POINT = FdpSourceType()
