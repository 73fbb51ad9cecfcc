"""The source type ``iati_registry``: how the stages crawl a registry of IATI's."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import ckan.plugins.toolkit as tk
from flask import has_request_context

from ... import settings
from ...harvesting.document_memory import DocumentMemory
from ...harvesting.header_secrets import OPTION, read_headers
from ...harvesting.record_identity import CurrentRecords
from ...harvesting.sightings import Sink
from ...harvesting.source_config import ConfigError, SourceConfig
from ...harvesting.source_forms import check_config
from ...harvesting.survey import CrawlEnd, Source
from ...web.client import Client, run
from ...web.hosts import Hosts
from .crawl import RegistryCrawl
from .records import FIELD_KEYS
from .registries import Asker, Terms
from .registry_types import KINDS, kind_of

MAPPING_VERSION = 1
"""To be raised when mapping or layout make another package of the same record: all are written again."""

NO_KEYS = frozenset({"harvest_catalogs", "profiles", "language"})
"""Keys of a source's configuration that say nothing about a registry."""


@dataclass(frozen=True, slots=True)
class IatiRegistry:
    """Registries of IATI's, as :class:`~ckanext.freshness.harvesting.survey.SourceType`."""

    name: str = "iati_registry"
    min_records: int = 1
    adopts: tuple[str, ...] = ("iati_registry",)
    organizations: bool = True
    owned_keys: frozenset[str] = FIELD_KEYS

    def validate_config(self, text: str) -> str:
        """Check the configuration in a source's form; the text comes back as it is.

        :raises ConfigError: names every mistake, with the allowed values, or says who may have such a
            source.
        """
        check_config(text, without=NO_KEYS, more=_check_editor)
        return text

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: DocumentMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        return run(_crawl(source, known, sink))


IATI_REGISTRY = IatiRegistry()


def _check_editor(config: SourceConfig) -> None:
    if not has_request_context():
        return
    try:
        tk.check_access("organization_create", {"user": tk.current_user.name})
    except tk.NotAuthorized as error:
        raise ConfigError(
            "a registry makes organizations: only who may create organizations may have such a source"
        ) from error


async def _crawl(source: Source, known: CurrentRecords, sink: Sink) -> CrawlEnd:
    config = source.config
    policy = settings.harvest_policy(config)
    web = settings.web(settings.harvest_limits(config))
    hosts = Hosts(policy)
    headers = read_headers(
        config.headers, urlsplit(source.url).hostname or "", tk.config.get(OPTION)
    )
    async with Client(web, hosts) as client:
        asker = Asker(client, source.url, allowed_hosts=config.allowed_hosts, headers=headers)
        registry = KINDS[kind_of(source.url, config.registry)](
            asker, source.url, Terms(config.max_records)
        )
        crawled = await RegistryCrawl(registry, source.url, known, sink, salt=_salt(config)).run()
    crawled.requests = sum(host.statistics.requests for host in hosts)
    return crawled


def _salt(config: SourceConfig) -> str:
    """Whatever a package depends on besides its record: when it changes, all are written again."""
    settled = (MAPPING_VERSION, config.default_tags, config.default_groups, config.keep_fields)
    return hashlib.sha256(repr(settled).encode()).hexdigest()
