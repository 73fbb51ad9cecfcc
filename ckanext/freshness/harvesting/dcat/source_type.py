"""The source type ``dcat_catalog``: catalogues that are published as RDF."""

from __future__ import annotations

import contextlib

from ...translation import N_
from ..rdf.source_type import RDF_KEYS, RdfSourceType, mapper_of, rdf_salt
from ..record import Sink
from ..source_client import SourceClient
from ..source_config import one_of
from ..source_type import CrawlEnd, CrawlInput

MEDIA_TYPES = {
    **dict.fromkeys(("turtle", "ttl", "text/turtle"), "text/turtle"),
    **dict.fromkeys(("xml", "rdf", "pretty-xml", "application/rdf+xml"), "application/rdf+xml"),
    **dict.fromkeys(("json-ld", "jsonld", "application/ld+json"), "application/ld+json"),
    **dict.fromkeys(("nt", "ntriples", "application/n-triples"), "application/n-triples"),
    **dict.fromkeys(("n3", "text/n3"), "text/n3"),
}
"""Values of ``rdf_format``, by which ckanext-dcat names formats, with their media types."""

OWN_KEYS = {**RDF_KEYS, "rdf_format": one_of(MEDIA_TYPES)}


class DcatSourceType(RdfSourceType):
    """Catalogues of DCAT: one document of RDF, or pages."""

    name = "dcat_catalog"
    title = N_("DCAT catalogue")
    description = N_("Harvests the datasets of a catalogue that is published as RDF")
    adopts = ("dcat_rdf",)
    memory_form = r"[0-9a-f]{64}( |$)"
    own_keys = OWN_KEYS
    max_bytes = 256 * 2**20
    """One document may have a whole catalogue."""

    async def read(self, opened: SourceClient, given: CrawlInput, sink: Sink) -> CrawlEnd:
        from ..rdf.parsing import ACCEPT, LARGE, LARGE_SIZE, RdfParser
        from ..rdf.reader import DocumentReader
        from .crawl import CatalogueCrawl

        config = given.source.config
        media_type = MEDIA_TYPES.get(config.own.get("rdf_format", ""))
        with contextlib.closing(RdfParser(LARGE, LARGE_SIZE)) as parser:
            reader = DocumentReader(
                opened,
                given.memory,
                parser,
                salt=rdf_salt(config),
                accept=", ".join(filter(None, [media_type, ACCEPT, "*/*;q=0.1"])),
                content_type=media_type,
            )
            return await CatalogueCrawl(reader, mapper_of(config), given, sink).run()


DCAT_CATALOG = DcatSourceType()
