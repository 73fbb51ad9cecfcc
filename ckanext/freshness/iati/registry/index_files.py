"""The Bulk Data Service's index files as a registry: ``reporting-orgs`` and ``datasets-minimal``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from . import records
from .records import RegistryEntry, text_of
from .registries import EntrySink, RegistryClient, RegistryLimits, UnreadableListing, without_user

ORGANISATIONS, DATASETS = "reporting-orgs", "datasets-minimal"
NAMES = frozenset({ORGANISATIONS, DATASETS, "datasets-full"})
"""Names of index files, with or without ``.json``."""


class IndexFiles:
    """A registry that publishes index files, as :class:`.registries.Registry`."""

    def __init__(self, client: RegistryClient, source_url: str, limits: RegistryLimits) -> None:
        """
        :param source_url: URL of a file, or of the folder
        """
        self._client = client
        self._limits = limits
        parts = urlsplit(source_url)
        folder, _, last = parts.path.rstrip("/").rpartition("/")
        is_file = last.removesuffix(".json") in NAMES
        path = folder if is_file else parts.path.rstrip("/")
        self._folder = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        self._public_folder = urlunsplit((parts.scheme, without_user(parts.netloc), path, "", ""))
        self._suffix = ".json" if is_file and last.endswith(".json") else ""

    @property
    def organisations_url(self) -> str:
        return f"{self._folder}/{ORGANISATIONS}{self._suffix}"

    @property
    def datasets_url(self) -> str:
        return f"{self._folder}/{DATASETS}{self._suffix}"

    def organisation_url(self, registry_id: str) -> str:
        # An organisation has no page of its own: a query makes the URL unique, and servers ignore it.
        return f"{self._public_folder}/{ORGANISATIONS}{self._suffix}?id={_quoted(registry_id)}"

    def dataset_url(self, registry_id: str) -> str:
        return f"{self._public_folder}/{DATASETS}{self._suffix}?id={_quoted(registry_id)}"

    async def organisations(self, sink: EntrySink) -> None:
        names = ("reporting_orgs", "reporting_organisations", "organisations")
        await self._read(self.organisations_url, names, self._organisation, sink)

    async def datasets(self, sink: EntrySink) -> None:
        await self._read(self.datasets_url, ("datasets",), self._dataset, sink)

    def _organisation(self, raw: dict[str, Any]) -> RegistryEntry:
        title = text_of(raw.get("human_readable_name")) or raw.get("title")
        url = self.organisation_url(str(text_of(raw.get("id"))))
        name = text_of(raw.get("short_name")) or raw.get("name")
        return records.organisation(raw, url, name=name, title=title)

    def _dataset(self, raw: dict[str, Any]) -> RegistryEntry:
        # Most other fields are results of the service's own checks.
        return records.dataset(
            raw,
            self.dataset_url(str(text_of(raw.get("id")))),
            name=text_of(raw.get("short_name")) or raw.get("name"),
            title=raw.get("title"),
            organisation_id=raw.get("reporting_org_id"),
            file_url=raw.get("source_url"),
            license=text_of(raw.get("licence_id")) or raw.get("license_id"),
        )

    async def _read(
        self,
        url: str,
        names: tuple[str, ...],
        entry_of: Callable[[dict[str, Any]], RegistryEntry],
        sink: EntrySink,
    ) -> None:
        rows = await self._client.json(url)
        if isinstance(rows, dict):
            rows = next((rows[name] for name in names if name in rows), None)
        if isinstance(rows, dict):
            rows = list(rows.values())  # Older files have an object by name.
        if not isinstance(rows, list):
            raise UnreadableListing(url, f'has no list of "{names[0]}"')
        without_id = 0
        for raw in rows[: self._limits.max_records]:
            if isinstance(raw, dict) and text_of(raw.get("id")) is not None:
                sink(entry_of(raw))
            else:
                without_id += 1
        if len(rows) > self._limits.max_records:
            words = f"lists more than max_records ({self._limits.max_records})"
            raise UnreadableListing(url, words)
        if without_id:
            raise UnreadableListing(url, f"{without_id} of its {len(rows)} records have no id")


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
