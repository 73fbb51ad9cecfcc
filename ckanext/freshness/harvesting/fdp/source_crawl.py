"""The crawl of a source of type ``fdp``, as its configuration says."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk

from ... import settings
from ...web.client import Client
from ...web.hosts import Hosts
from ..document_memory import DocumentMemory
from ..rdf import dcat_profiles
from ..rdf.mapping import map_catalog, map_dataset
from ..rdf.parsing import RdfParser
from ..rdf.record_graph import Mapper
from ..record import CurrentRecords, Sink
from ..source_config import OPTION, SourceConfig, read_headers
from ..sources import CrawlEnd, Source
from .crawl import Crawl
from .listing import CrawlOptions

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


async def crawl_source(
    source: Source, known: CurrentRecords, memory: DocumentMemory, sink: Sink, now: datetime
) -> CrawlEnd:
    """Crawl a source and hand its records to ``sink``; ``known`` and ``memory`` are of the last job."""
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
        requests_per_second=policy.per_second,
    )
    async with Client(web, hosts) as client:
        with contextlib.closing(RdfParser()) as parser:
            crawl = Crawl(client, source.url, options, known, memory, sink, parser)
            containers = await crawl.run()
    requests = sum(host.requests for host in hosts)
    return CrawlEnd(containers, crawl.errors, crawl.warnings, crawl.not_harvested, requests)


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
