"""The source type ``fdp``: its configuration, and the crawl of a source.

CKAN's web workers import this module. It imports what harvests need only when a harvest begins: the HTTP
client and rdflib take 16 MB of memory.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk

from ... import settings
from ...web.event_loop import run
from ..record import CurrentRecords, Sink
from ..source_config import OPTION, ConfigError, ReadValue, SourceConfig, read_headers
from ..source_memory import SourceMemory
from ..sources import CrawlEnd, Source, check_config

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


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
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        return run(partial(_crawl, source, known, memory, sink, now))


FAIR_DATA_POINT = FdpSourceType()


def _check_profiles(config: SourceConfig) -> None:
    if not config.profiles:
        return
    from ..rdf import dcat_profiles

    try:
        dcat_profiles.check(config.profiles)
    except ValueError as error:
        raise ConfigError(str(error)) from error


async def _crawl(
    source: Source, known: CurrentRecords, memory: SourceMemory, sink: Sink, now: datetime
) -> CrawlEnd:
    from ...web.client import Client
    from ...web.hosts import Hosts
    from ..rdf import dcat_profiles
    from ..rdf.mapping import map_catalog, map_dataset
    from ..rdf.parsing import RdfParser
    from .crawl import Crawl
    from .reader import CrawlOptions

    config = source.config
    language = config.language
    policy = settings.harvest_policy(config)
    hosts = Hosts(policy)
    options = CrawlOptions(
        mapper=(
            partial(dcat_profiles.map_with_profiles, profiles=config.profiles, language=language)
            if config.profiles
            else partial(map_dataset, language=language)
        ),
        now=now,
        catalog_mapper=partial(map_catalog, language=language) if config.harvest_catalogs else None,
        salt=_salt(config),
        max_records=config.max_records,
        allowed_hosts=frozenset(config.allowed_hosts),
        headers=read_headers(
            config.headers, urlsplit(source.url).hostname or "", tk.config.get(OPTION)
        ),
        concurrency=policy.connections,
    )
    async with Client(settings.web(settings.harvest_limits(config)), hosts) as client:
        with contextlib.closing(RdfParser()) as parser:
            crawl = Crawl(client, source.url, options, known, memory, sink, parser)
            containers = await crawl.run()
    requests = sum(host.requests for host in hosts)
    return CrawlEnd(containers, crawl.errors, crawl.warnings, crawl.not_harvested, requests)


def _salt(config: SourceConfig) -> str:
    """Return a hash of the settings on which packages depend. If it changes, all records are read again."""
    settings_of_packages = (
        MAPPING_VERSION,
        config.language,
        config.profiles,
        config.default_tags,
        config.default_groups,
        config.keep_fields,
    )
    return hashlib.sha256(repr(settings_of_packages).encode()).hexdigest()
