"""The source type ``fdp``: its configuration, and the crawl that the harvest stages call.

CKAN's web workers import this module. It imports what harvests need only when a harvest begins: the HTTP
client and rdflib take 16 MB of memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ...web.event_loop import run
from ..document_memory import DocumentMemory
from ..record import CurrentRecords, Sink
from ..source_config import ConfigError, ReadValue, SourceConfig
from ..sources import CrawlEnd, Source, check_config


@dataclass(frozen=True, slots=True)
class FdpSourceType:
    """The :class:`~ckanext.freshness.harvesting.sources.SourceType` of FAIR Data Points."""

    name: str = "fdp"
    min_records: int = 10
    adopts: tuple[str, ...] = ("fdp", "fair_data_point_harvester", "dcat_rdf")
    organizations: bool = False
    own_keys: Mapping[str, ReadValue] = field(default_factory=dict)

    @property
    def owned_keys(self) -> frozenset[str]:
        """The keys of packages that the mapping writes."""
        from ..rdf.mapping_tables import OWNED_KEYS

        return OWNED_KEYS

    def validate_config(self, text: str) -> str:
        """Check a source's configuration and return it unchanged.

        :raises ConfigError: the message names every mistake and the allowed values.
        """
        check_config(text, own_keys=self.own_keys, more=_check_profiles)
        return text

    def advice(self, url: str) -> str | None:
        return None

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: DocumentMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        from .source_crawl import crawl_source

        return run(crawl_source(source, known, memory, sink, now))


FAIR_DATA_POINT = FdpSourceType()


def _check_profiles(config: SourceConfig) -> None:
    if not config.profiles:
        return
    from ..rdf import dcat_profiles

    try:
        dcat_profiles.check(config.profiles)
    except ValueError as error:
        raise ConfigError(str(error)) from error
