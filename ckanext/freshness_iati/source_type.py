"""The source type ``iati_registry``: reporting organisations and their datasets. A dataset is one file.

A registry is the index files of a Bulk Data Service: organisations, then datasets, each handed on at once.
Organisations take the part of a FAIR Data Point's catalogs: a dataset's guid names its organisation's URL.

Registries write null, the text "None" and worse for a missing value. A record that lacks a required value is an
error of its own. A record without an id could be any, so that its list counts as unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ckanext.freshness.harvesting import legal_values
from ckanext.freshness.harvesting.ckan.api import (
    JsonClient,
    id_of,
    quoted,
    text_of,
    too_many,
    without_user,
)
from ckanext.freshness.harvesting.messages import about
from ckanext.freshness.harvesting.record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    ReadOutcome,
    Record,
    SeenRecord,
    Sink,
)
from ckanext.freshness.harvesting.source_client import SourceClient, UnreadableDocument
from ckanext.freshness.harvesting.source_config import ConfigError, SourceConfig
from ckanext.freshness.harvesting.source_type import (
    CrawlEnd,
    CrawlInput,
    SourceType,
    content_hash,
    editor_may,
    salt_of,
)
from ckanext.freshness.translation import N_
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.urls import parse_url

SOURCE_TYPE = "iati_registry"

MAPPING_VERSION = 1
"""Raise it when the mapping makes another record of the same entry: all are then read again."""

RETIRED_HOSTS = frozenset({"iatiregistry.org", "www.iatiregistry.org"})
"""Hosts of IATI's own CKAN, which was switched off in January 2026."""

_RETIRED = (
    "IATI has retired the CKAN of its registry, so this source gets no more changes. Create a source for "
    "https://bulk-data.iatistandard.org and look at its preview. The datasets of this source stay."
)


# Records

FORMAT = "IATI-XML"
"""Format of every dataset's resource, as in IATI's own registry."""

REGISTRY_ID = "registry_id"
"""Extra of organizations and datasets: the registry's id."""
REGISTRY_NAME = "registry_name"
"""Extra of organizations and datasets: the registry's short name. CKAN's name may need a mark to be unique."""

_READ_FIELDS = ("id", "short_name", "human_readable_name")
"""Fields of an organisation that have another name here. All other fields keep theirs."""


def _link(value: Any) -> str | None:
    text = text_of(value)
    return None if text is None or legal_values.is_active_url(text) else text


def organisation_record(raw: Mapping[str, Any], url: str) -> Record:
    """Return the record of a reporting organisation.

    :param raw: its JSON object, which has an id
    :param url: the registry's URL of it
    :raises ValueError: it has no name. The text is for people.
    """
    name = text_of(raw.get("short_name"))
    if name is None:
        raise ValueError("the registry gives the organisation no name")
    fields = {
        "title": text_of(raw.get("human_readable_name")) or name,
        "description": text_of(raw.get("description")),
        "image_url": _link(raw.get("image_url")),
        "uri": url,
        REGISTRY_ID: id_of(raw),
        REGISTRY_NAME: name,
    }
    for key, value in raw.items():
        if key not in _READ_FIELDS:
            fields.setdefault(legal_values.clean(key), text_of(value))
    return Record(_present(fields), name=name)


def dataset_record(raw: Mapping[str, Any], url: str) -> Record:
    """Return the record of a dataset. Most other fields of an index are results of the service's own checks.

    :param raw: its JSON object, which has an id
    :param url: the registry's URL of it
    :raises ValueError: it lacks something, or its file has no web URL. The text is for people.
    """
    name, file_url = text_of(raw.get("short_name")), text_of(raw.get("source_url"))
    for words, value in (
        ("name", name),
        ("organisation", text_of(raw.get("reporting_org_id"))),
        ("URL of a file", file_url),
    ):
        if value is None:
            raise ValueError(f"the registry gives the dataset no {words}")
    try:
        parse_url(str(file_url))
    except FetchError as error:
        raise ValueError(f"the URL of its file {error.words}") from error
    fields = {
        "title": name,
        "license": text_of(raw.get("licence_id")),
        "uri": url,
        REGISTRY_ID: id_of(raw),
        REGISTRY_NAME: name,
    }
    resource = {"uri": url, "url": file_url, "name": name, "format": FORMAT}
    return Record(_present(fields), [resource], name=name)


def _present(fields: Mapping[str, str | None]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}


# Index files

ORGANISATIONS, DATASETS = "reporting-orgs", "datasets-minimal"
INDEX_NAMES = frozenset({ORGANISATIONS, DATASETS, "datasets-full"})
"""Names of index files, with or without ``.json``."""


class IndexCrawl:
    """One crawl of index files, ``reporting-orgs`` and ``datasets-minimal``. Run it once.

    :ivar organisations_url: URL of the list of organisations
    :ivar datasets_url: URL of the list of datasets
    """

    def __init__(
        self,
        client: JsonClient,
        source_url: str,
        known: CurrentRecords,
        sink: Sink,
        *,
        salt: str,
        max_records: int,
    ) -> None:
        """
        :param source_url: URL of a file, or of the folder
        :param known: current records of the source
        :param salt: part of every content hash: if it changes, every package is written again
        :param max_records: a list with more records counts as unreadable
        """
        self._client = client
        self._sink = sink
        self._salt = salt
        self._max_records = max_records
        self._end = CrawlEnd(Containers(root=source_url))
        self._containers = self._end.containers
        # Datasets of an organisation whose own entry is invalid, or whose list fails, can be read.
        self._containers.catalogs.update(
            one.catalog_url for one in known if one.catalog_url is not None
        )
        parts = urlsplit(source_url)
        path = parts.path.rstrip("/")
        folder, _, last = path.rpartition("/")
        is_file = last.removesuffix(".json") in INDEX_NAMES
        place = parts._replace(path=folder if is_file else path, query="", fragment="")
        suffix = ".json" if is_file and last.endswith(".json") else ""
        self.organisations_url = f"{place.geturl()}/{ORGANISATIONS}{suffix}"
        self.datasets_url = f"{place.geturl()}/{DATASETS}{suffix}"
        # A record has no page of its own: a query makes the URL unique, and servers ignore it.
        public = place._replace(netloc=without_user(parts.netloc)).geturl()
        self._record_url = f"{public}/{{}}{suffix}?id={{}}".format

    async def run(self) -> CrawlEnd:
        """Read both lists; an exception of the sink ends the crawl."""
        end, unreadable = self._end, self._containers.unreadable
        for url, name, take in (
            (self.organisations_url, "reporting_orgs", self._take_organisation),
            (self.datasets_url, "datasets", self._take_dataset),
        ):
            try:
                await self._read(url, name, take)
            except UnreadableDocument as error:
                unreadable[error.url] = str(error.reason)
                end.errors.append(error.message)
        if len(unreadable) > 1:
            unreadable[self._containers.root] = "none of its listings could be read"
        if urlsplit(self._containers.root).hostname in RETIRED_HOSTS:
            end.errors.append(about(self._containers.root, _RETIRED))
        return end

    async def _read(self, url: str, name: str, take: Callable[[dict[str, Any]], None]) -> None:
        index = await self._client.json(url)
        rows = index.get(name) if isinstance(index, dict) else index
        if not isinstance(rows, list):
            raise UnreadableDocument(url, f'has no list of "{name}"')
        without_id = 0
        for raw in rows[: self._max_records]:
            if id_of(raw) is None:
                without_id += 1
            else:
                take(raw)
        if len(rows) > self._max_records:
            raise too_many(url, self._max_records)
        if without_id:
            raise UnreadableDocument(url, f"{without_id} of its records have no id")

    def organisation_url(self, registry_id: str) -> str:
        """Return the registry's URL of an organisation, always the same for an id."""
        return self._record_url(ORGANISATIONS, quoted(registry_id))

    def _take_organisation(self, raw: dict[str, Any]) -> None:
        url = self.organisation_url(str(id_of(raw)))
        try:
            self._end.organizations.setdefault(url, organisation_record(raw, url))
        except ValueError as refused:
            self._end.errors.append(about(url, str(refused)))
        else:
            self._containers.catalogs.add(url)

    def _take_dataset(self, raw: dict[str, Any]) -> None:
        """Hand on a dataset, unless the list has it twice."""
        url = self._record_url(DATASETS, quoted(str(id_of(raw))))
        if url in self._containers.listed:
            return
        self._containers.listed.add(url)
        owner = self.organisations_url
        if (organisation_id := text_of(raw.get("reporting_org_id"))) is not None:
            owner = self.organisation_url(organisation_id)
        record = error = digest = None
        try:
            if organisation_id is not None and owner not in self._containers.catalogs:
                raise ValueError("its organisation is not in the registry's listing")
            record = dataset_record(raw, url)
            digest = content_hash(self._salt, record)
        except ValueError as refused:
            error = about(url, str(refused))
        outcome = ReadOutcome.PRESENT if error is None else ReadOutcome.MALFORMED
        seen = SeenRecord(url, outcome, (owner,), content_hash=digest)
        self._sink(CrawledRecord(seen, record, error=error), self._containers)


# The source type


class IatiSourceType(SourceType):
    """Registries of IATI, with their reporting organisations."""

    name = SOURCE_TYPE
    title = N_("IATI registry")
    description = N_("Harvests the reporting organisations and the datasets of an IATI registry")
    min_records = 1

    def check(self, config: SourceConfig) -> None:
        """Check that the editor may create organizations."""
        if not editor_may("organization_create"):
            raise ConfigError(
                "a registry makes organizations: only who may create organizations may have such a source"
            )

    def has_organizations(self, config: SourceConfig) -> bool:
        """Return True: every reporting organisation becomes an organization."""
        return True

    async def read(self, opened: SourceClient, given: CrawlInput, sink: Sink) -> CrawlEnd:
        source = given.source
        crawl = IndexCrawl(
            JsonClient(opened),
            source.url,
            given.known,
            sink,
            salt=salt_of(source.config, MAPPING_VERSION),
            max_records=source.config.max_records,
        )
        return await crawl.run()


IATI_REGISTRY = IatiSourceType()
