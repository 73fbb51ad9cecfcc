"""The source type ``iati_registry``: its configuration, and one crawl of a registry.

A crawl reads organisations, then datasets, and hands on each record at once. Organisations take the part of a
FAIR Data Point's catalogs: a dataset's guid names its organisation's URL. The strategy decides what is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit

from ..aging.messages import N_
from ..harvesting.ckan.api import JsonClient
from ..harvesting.messages import HarvestMessage, MessageCode
from ..harvesting.record import Containers, CurrentRecords, ReadOutcome, SeenRecord, Sighting, Sink
from ..harvesting.source_client import UnreadableDocument, source_client
from ..harvesting.source_config import ConfigError, SourceConfig, one_of
from ..harvesting.source_memory import SourceMemory
from ..harvesting.source_type import CrawlEnd, Source, SourceType, content_hash, editor_may, salt_of
from ..web.event_loop import run
from .registries import (
    FIELD_KEYS,
    INDEX_NAMES,
    CkanRegistry,
    IndexFiles,
    Registry,
    RegistryEntry,
)

SOURCE_TYPE = "iati_registry"

MAPPING_VERSION = 1
"""Raise it if mapping or layout make another package of the same record: every package is written again."""

CKAN, BULK_DATA_SERVICE = "ckan", "bulk-data-service"

KINDS: Mapping[str, Callable[[JsonClient, str, int], Registry]] = {
    CKAN: CkanRegistry,
    BULK_DATA_SERVICE: IndexFiles,
}
"""Registries by the value of the configuration's key ``registry``."""

RETIRED_HOSTS = frozenset({"iatiregistry.org", "www.iatiregistry.org"})
"""Hosts of IATI's own CKAN, which was switched off in January 2026."""

RETIRED = HarvestMessage(
    "IATI has retired the CKAN of its registry, so that a source with this URL gets no more changes. Its "
    "datasets stay. Create a source with the URL of IATI's Bulk Data Service, "
    "https://bulk-data.iatistandard.org, and look at its preview",
    MessageCode.RETIRED_REGISTRY,
)


OWN_KEYS = {"registry": one_of(KINDS)}


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
    config = source.config
    async with source_client(source) as opened:
        registry_client = JsonClient(opened.client, opened.reach)
        kind = KINDS[kind_of(source.url, config.own.get("registry"))]
        registry = kind(registry_client, source.url, config.max_records)
        salt = salt_of(config, MAPPING_VERSION)
        crawl_end = await RegistryCrawl(registry, source.url, known, sink, salt=salt).run()
    if crawl_end.errors and is_retired(source.url):
        crawl_end.errors.insert(0, RETIRED)
    crawl_end.requests = opened.requests
    return crawl_end


class RegistryCrawl:
    """One crawl of one source. Run it once."""

    def __init__(
        self, registry: Registry, source_url: str, known: CurrentRecords, sink: Sink, *, salt: str
    ) -> None:
        """
        :param known: current records of the source
        :param salt: part of every content hash: if it changes, every package is written again
        """
        self._registry = registry
        self._known = known
        self._sink = sink
        self._salt = salt
        self._containers = Containers(root=source_url)
        self._errors: list[str] = []

    async def run(self) -> CrawlEnd:
        """Read both listings; an exception of the sink ends the crawl."""
        registry, unreadable = self._registry, self._containers.unreadable
        for read, sink in (
            (registry.organisations, self._take_organisation),
            (registry.datasets, self._take_dataset),
        ):
            try:
                await read(sink)
            except UnreadableDocument as error:
                unreadable[error.url] = error.reason
                self._errors.append(error.message)
        if len(unreadable) > 1:
            unreadable[self._containers.root] = "none of its listings could be read"
        return CrawlEnd(self._containers, self._errors)

    def _take_organisation(self, entry: RegistryEntry) -> None:
        url = self._registry.organisation_url(entry.id)
        if not self._is_new(url):
            return
        # The datasets of a known organisation can be read although its own entry is invalid.
        if entry.record is not None or self._known.at(url) is not None:
            self._containers.catalogs.add(url)
        self._hand_on(entry, url, self._registry.organisations_url, is_catalog=True)

    def _take_dataset(self, entry: RegistryEntry) -> None:
        url = self._registry.dataset_url(entry.id)
        if not self._is_new(url):
            return
        owner = self._registry.organisations_url
        if entry.organisation_id is not None:
            owner = self._registry.organisation_url(entry.organisation_id)
            if owner not in self._containers.catalogs and self._known.at(owner) is None:
                error = entry.error or "its organisation is not in the registry's listing"
                entry = replace(entry, record=None, error=error)
        self._hand_on(entry, url, owner, is_catalog=False)

    def _is_new(self, url: str) -> bool:
        if url in self._containers.listed:
            return False
        self._containers.listed.add(url)
        return True

    def _hand_on(self, entry: RegistryEntry, url: str, container: str, *, is_catalog: bool) -> None:
        record = entry.record
        if record is None:
            seen = SeenRecord(url, ReadOutcome.MALFORMED, (container,), is_catalog=is_catalog)
            sighting = Sighting(seen, error=f"{url}: {entry.error}")
        else:
            digest = content_hash(self._salt, record)
            seen = SeenRecord(
                url, ReadOutcome.PRESENT, (container,), content_hash=digest, is_catalog=is_catalog
            )
            sighting = Sighting(seen, record)
        self._sink(sighting, self._containers)
