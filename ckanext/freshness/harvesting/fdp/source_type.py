"""The source type ``fdp``: its configuration, and the crawl that the harvest stages call."""

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
from ...web.client import Client, run
from ...web.hosts import Hosts
from ..document_memory import DocumentMemory
from ..record import CurrentRecords, Sink
from ..source_config import ConfigError, ReadValue, SourceConfig
from ..source_requests import OPTION, read_headers
from ..sources import CrawlEnd, Source, check_config
from . import dcat_profiles
from .containers import CrawlOptions
from .crawl import Crawl
from .documents import Mapper
from .mapping import map_catalog, map_dataset
from .mapping_tables import OWNED_KEYS
from .rdf import RdfParser

MAPPING_VERSION = 2
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


@dataclass(frozen=True, slots=True)
class FdpSourceType:
    """The :class:`~ckanext.freshness.harvesting.sources.SourceType` of FAIR Data Points."""

    name: str = "fdp"
    min_records: int = 10
    adopts: tuple[str, ...] = ("fdp", "fair_data_point_harvester", "dcat_rdf")
    organizations: bool = False
    owned_keys: frozenset[str] = OWNED_KEYS
    own_keys: Mapping[str, ReadValue] = field(default_factory=dict)

    def validate_config(self, text: str) -> str:
        """Check a source's configuration and return it unchanged.

        :raises ConfigError: the message names every mistake and the allowed values.
        """
        check_config(text, own_keys=self.own_keys, more=_check_profiles)
        return text

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: DocumentMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        return run(_crawl(source, known, memory, sink, now))


FAIR_DATA_POINT = FdpSourceType()


async def _crawl(
    source: Source, known: CurrentRecords, memory: DocumentMemory, sink: Sink, now: datetime
) -> CrawlEnd:
    config = source.config
    policy = settings.harvest_policy(config)
    web = settings.web(settings.harvest_limits(config))
    hosts = Hosts(policy)
    options = CrawlOptions(
        mapper=_mapper(config),
        now=now,
        catalog_mapper=(
            partial(map_catalog, language=config.language) if config.harvest_catalogs else None
        ),
        salt=_salt(config),
        max_records=config.max_records,
        allowed_hosts=frozenset(config.allowed_hosts),
        headers=read_headers(
            config.headers, urlsplit(source.url).hostname or "", tk.config.get(OPTION)
        ),
        concurrency=policy.connections,
    )
    async with Client(web, hosts) as client:
        with contextlib.closing(RdfParser()) as parser:
            crawl = Crawl(client, source.url, options, known, memory, sink, parser)
            containers = await crawl.run()
    requests = sum(host.statistics.requests for host in hosts)
    return CrawlEnd(containers, crawl.errors, requests)


def _check_profiles(config: SourceConfig) -> None:
    if not config.profiles:
        return
    try:
        dcat_profiles.check(config.profiles)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _mapper(config: SourceConfig) -> Mapper:
    if config.profiles:
        return partial(
            dcat_profiles.map_with_profiles, profiles=config.profiles, language=config.language
        )
    return partial(map_dataset, language=config.language)


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
