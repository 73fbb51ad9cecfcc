"""The source type ``iati_registry``: its configuration, and the crawl of a registry of either kind."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

from ..aging.messages import N_
from ..harvesting.ckan.api import CkanApi, JsonClient, site_of
from ..harvesting.messages import HarvestMessage, MessageCode
from ..harvesting.record import CurrentRecords, Sink
from ..harvesting.source_client import source_client
from ..harvesting.source_config import ConfigError, SourceConfig, one_of
from ..harvesting.source_memory import SourceMemory
from ..harvesting.source_type import CrawlEnd, Source, SourceType, editor_may, salt_of
from ..web.event_loop import run
from .registries import FIELD_KEYS, INDEX_NAMES, IndexCrawl, ckan_dataset, ckan_organisation

SOURCE_TYPE = "iati_registry"

MAPPING_VERSION = 1
"""Raise it if mapping or layout make another package of the same record: every package is written again."""

CKAN, BULK_DATA_SERVICE = "ckan", "bulk-data-service"
"""Kinds of registries: values of the configuration's key ``registry``."""

RETIRED_HOSTS = frozenset({"iatiregistry.org", "www.iatiregistry.org"})
"""Hosts of IATI's own CKAN, which was switched off in January 2026."""

RETIRED = HarvestMessage(
    "IATI has retired the CKAN of its registry, so that a source with this URL gets no more changes. Its "
    "datasets stay. Create a source with the URL of IATI's Bulk Data Service, "
    "https://bulk-data.iatistandard.org, and look at its preview",
    MessageCode.RETIRED_REGISTRY,
)


OWN_KEYS = {"registry": one_of((CKAN, BULK_DATA_SERVICE))}


def is_retired(source_url: str) -> bool:
    """Return whether a source is at IATI's own CKAN, which is retired."""
    return (urlsplit(source_url).hostname or "") in RETIRED_HOSTS


def kind_of(source_url: str, configured: str | None) -> str:
    """Return the kind of a source's registry: the configured one, or the one its URL looks like.

    Index files have known names, and a Bulk Data Service is usually at a host named after it.
    """
    if configured is not None:
        return configured
    parts = urlsplit(source_url)
    filename = parts.path.rstrip("/").rpartition("/")[2].removesuffix(".json")
    is_index = filename in INDEX_NAMES or (parts.hostname or "").startswith("bulk-data")
    return BULK_DATA_SERVICE if is_index else CKAN


class IatiSourceType(SourceType):
    """Registries of IATI, with their reporting organisations."""

    name = SOURCE_TYPE
    title = N_("IATI registry")
    description = N_(
        "Harvests the reporting organisations and the datasets of a registry of IATI's"
    )
    min_records = 1
    owned_keys = FIELD_KEYS
    own_keys = OWN_KEYS

    def check(self, config: SourceConfig) -> None:
        """Check that the editor may create organizations."""
        if not editor_may("organization_create"):
            raise ConfigError(
                "a registry makes organizations: only who may create organizations may have such a source"
            )

    def has_organizations(self, config: SourceConfig) -> bool:
        """Return True: every reporting organisation becomes an organization."""
        return True

    def advice(self, url: str) -> str | None:
        """Return a warning about a registry that is retired."""
        return RETIRED if is_retired(url) else None

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        return run(partial(_crawl, source, known, sink))


IATI_REGISTRY = IatiSourceType()


async def _crawl(source: Source, known: CurrentRecords, sink: Sink) -> CrawlEnd:
    from ..harvesting.ckan.crawl import CrawlOptions, PortalCrawl

    url, config = source.url, source.config
    salt = salt_of(config, MAPPING_VERSION)
    async with source_client(source) as opened:
        client = JsonClient(opened.client, opened.reach)
        crawl: PortalCrawl | IndexCrawl
        if kind_of(url, config.own.get("registry")) == CKAN:
            site = site_of(url)
            options = CrawlOptions(
                salt,
                partial(ckan_dataset, site=site),
                partial(ckan_organisation, site=site),
                keeps_organizations=True,
                concurrency=opened.concurrency,
            )
            api = CkanApi(client, url, config.max_records)
            crawl = PortalCrawl(api, url, options, known, sink)
        else:
            most = config.max_records
            crawl = IndexCrawl(client, url, known, sink, salt=salt, max_records=most)
        end = await crawl.run()
        end.requests = opened.requests
    if end.errors and is_retired(url):
        end.errors.insert(0, RETIRED)
    return end
