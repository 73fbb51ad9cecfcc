"""One crawl of a registry: its organisations, then their datasets, each handed on as it is read.

The organisations stand where a FAIR Data Point has catalogs: a dataset's guid names its organisation's
URL. What is deleted is the strategy's business.
"""

from __future__ import annotations

import hashlib

from ...harvesting.record_identity import CurrentRecords
from ...harvesting.sightings import Sighting, Sink
from ...harvesting.strategy import Containers, ReadOutcome, SeenRecord
from ...harvesting.survey import CrawlEnd
from .registries import Registry, RegistryEntry, UnreadableListing


class RegistryCrawl:
    """One crawl of one source. Not to be run twice."""

    def __init__(
        self, registry: Registry, source_url: str, known: CurrentRecords, sink: Sink, *, salt: str
    ) -> None:
        """
        :param known: the current records of the source.
        :param salt: part of every hash: whatever a package depends on besides the record.
        """
        self._registry = registry
        self._known = known
        self._sink = sink
        self._salt = salt
        self._containers = Containers(root=source_url)
        self._errors: list[str] = []
        self._met: set[str] = set()

    async def run(self) -> CrawlEnd:
        """Crawl.

        :raises Exception: whatever the sink raises; the crawl then ends at once.
        """
        registry, unread = self._registry, self._containers.unreadable
        for read, take in (
            (registry.organisations, self._organisation),
            (registry.datasets, self._dataset),
        ):
            try:
                await read(take)
            except UnreadableListing as failure:
                unread[failure.url] = failure.words
                self._errors.append(str(failure))
        if len(unread) > 1:
            unread[self._containers.root] = "none of its listings could be read"
        return CrawlEnd(self._containers, self._errors)

    def _organisation(self, entry: RegistryEntry) -> None:
        url = self._registry.organisation_url(entry.id)
        if self._is_new(url):
            # One that cannot be understood may have datasets that can.
            if entry.record is not None or self._known.at(url) is not None:
                self._containers.catalogs.add(url)
            self._hand_on(entry, url, self._registry.organisations_url, is_catalog=True)

    def _dataset(self, entry: RegistryEntry) -> None:
        url = self._registry.dataset_url(entry.id)
        if not self._is_new(url):
            return
        owner = self._registry.organisations_url
        if entry.organisation_id is not None:
            owner = self._registry.organisation_url(entry.organisation_id)
            if owner not in self._containers.catalogs and self._known.at(owner) is None:
                entry = RegistryEntry(
                    entry.id,
                    None,
                    entry.organisation_id,
                    entry.error or "its organisation is none that the registry lists",
                )
        self._hand_on(entry, url, owner, is_catalog=False)

    def _is_new(self, url: str) -> bool:
        if url in self._met:
            return False
        self._met.add(url)
        self._containers.listed.add(url)
        return True

    def _hand_on(self, entry: RegistryEntry, url: str, container: str, *, is_catalog: bool) -> None:
        record = entry.record
        if record is None:
            seen = SeenRecord(url, ReadOutcome.MALFORMED, (container,), is_catalog=is_catalog)
            sighting = Sighting(seen, error=f"{url}: {entry.error}")
        else:
            digest = hashlib.sha256(f"{self._salt} {record.digest()}".encode()).hexdigest()
            seen = SeenRecord(
                url, ReadOutcome.PRESENT, (container,), content_hash=digest, is_catalog=is_catalog
            )
            sighting = Sighting(seen, record, fingerprint=digest)
        self._sink(sighting, self._containers)
