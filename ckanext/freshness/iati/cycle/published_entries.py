"""The contents of a source's index files and bulk ZIPs, read from the database: public datasets only."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import sqlalchemy as sa

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...ckan_adapter.packages import ORGANIZATION_EXTRAS
from ...copies import store_keys
from ...dates import aware
from ...reporting import links
from ...web.urls import display_url
from ..files.archive import ArchiveMember
from ..files.index import DatasetEntry, DatasetOutline, OrganisationEntry, outline
from ..registry.records import REGISTRY_ID, REGISTRY_NAME
from .dataset_copies import copies_prefix
from .dataset_rows import PAGE

_ORGANISATION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "organisation_identifier": ("organisation_identifier", "publisher_iati_id", "iati_identifier"),
    "organisation_type": ("organisation_type", "publisher_organization_type"),
    "reporting_source_type": ("reporting_source_type", "publisher_source_type"),
    "hq_country": ("hq_country", "publisher_country"),
    "region": ("region", "publisher_region"),
    "website": ("website", "publisher_url"),
    "data_portal_url": ("data_portal_url", "publisher_data_portal"),
    "default_licence_id": ("default_licence_id", "license_id"),
    "exclusions_policy_url": ("exclusions_policy_url", "publisher_constraints"),
}
"""Fields of the index, and the extras they are read from: the first that is not empty."""


@dataclass(frozen=True, slots=True)
class PublishedEntries:
    """The public organisations and datasets of a source at one moment.

    :meth:`datasets` fills the attributes that describe datasets.

    :ivar digest: of :class:`SourceSummary`
    :ivar outlines: of all datasets
    :ivar resource_ids: of all datasets
    :ivar members: all stored copies, by path
    """

    digest: str
    organisations: Sequence[OrganisationEntry]
    _source_id: str
    _keys: Collection[str]
    outlines: list[DatasetOutline] = field(default_factory=list)
    resource_ids: list[str] = field(default_factory=list)
    members: dict[str, ArchiveMember] = field(default_factory=dict)
    _datasets_hash: hashlib._Hash = field(default_factory=hashlib.sha256)

    def datasets(self) -> Iterator[DatasetEntry]:
        """Read the datasets in the order of :func:`..files.index.order`. Call it once."""
        prefix, site = copies_prefix(self._source_id), links.site_url()
        values = {"source": self._source_id}
        copied = model.Session.execute(sa.text(_COPIED), values)
        # As for datasets below: a copy whose ZIP is lost does not count, so its path is free.
        taken = {
            key[len(prefix) :]
            for key, zip_key in copied
            if key in self._keys and zip_key in self._keys
        }
        options = {"yield_per": PAGE}
        for row in model.Session.execute(sa.text(_DATASETS), values, execution_options=options):
            # Without a hash the copy was not downloaded by a cycle, so there is nothing to say about it.
            has_copy = row.hash is not None and row.key in self._keys and row.zip_key in self._keys
            path = row.key[len(prefix) :] if has_copy else _free(row, taken)
            entry = _dataset(row, path, has_copy, site)
            yield entry
            if has_copy:
                self.members[path] = ArchiveMember(row.key, path, row.sha256)
            self.outlines.append(outline(entry))
            self.resource_ids.append(row.resource_id)
            self._add_to_fingerprint(entry, path)

    @property
    def fingerprint(self) -> str:
        """A hash that changes if the bulk ZIPs must be written again.

        It changes with the bytes and names of files, and with the metadata of datasets and organisations. A
        check or a download of the same bytes does not change it: the times in the ZIPs' index files are those
        of writing them.
        """
        fingerprint = self._datasets_hash.copy()
        for organisation in self.organisations:
            values = [getattr(organisation, each.name) for each in fields(organisation)]
            fingerprint.update(repr(values).encode("utf-8", "surrogatepass"))
        return fingerprint.hexdigest()

    def _add_to_fingerprint(self, entry: DatasetEntry, path: str) -> None:
        good = entry.good and (entry.good["hash"], entry.good["source_url"])
        ids = (entry.id, entry.short_name, entry.reporting_org_id, entry.reporting_org_short_name)
        member = self.members.get(path)
        sha256 = None if member is None else member.sha256
        values = (entry.licence_id, entry.source_url, entry.path, sha256, good)
        self._datasets_hash.update(repr((ids, values)).encode("utf-8", "surrogatepass"))


class SourceSummary(NamedTuple):
    """A source's state, compared to decide whether its published files are out of date.

    :ivar digest: changes with the metadata of datasets and with the results of checks, but not if a server only
        confirms a file
    :ivar differs: whether datasets became public or private since the last publication
    """

    digest: str
    differs: bool


def summary(source_id: str) -> SourceSummary:
    """Return the present summary of a source."""
    return SourceSummary(*model.Session.execute(sa.text(_SUMMARY), {"source": source_id}).one())


@contextmanager
def of_source(source_id: str, keys: Collection[str]) -> Iterator[PublishedEntries]:
    """Read the public organisations and datasets of a source in one transaction.

    :param keys: all keys in the store below :func:`.dataset_copies.copies_prefix`: only copies with one of
        these keys are named
    """
    model.Session.commit()
    model.Session.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
    try:
        rows = model.Session.execute(sa.text(_ORGANISATIONS), {"source": source_id})
        organisations = [_organisation(row) for row in rows]
        yield PublishedEntries(summary(source_id).digest, organisations, source_id, keys)
    except BaseException:
        model.Session.rollback()
        raise
    model.Session.commit()


def _free(row: Any, taken: set[str]) -> str:
    """Return an unused path for a dataset without a copy: several datasets may have one name."""
    path = store_keys.registry_key(row.organisation_name, row.dataset_name)
    if path in taken:
        path = store_keys.registry_key(
            row.organisation_name, f"{row.dataset_name} {row.resource_id}"
        )
    taken.add(path)
    return path


def _dataset(row: Any, path: str, has_copy: bool, site: str) -> DatasetEntry:
    good = None
    if has_copy:
        good = {
            "cached_dataset_xml_url": links.copy_url(row.package_id, row.resource_id, site),
            "cached_dataset_zip_url": links.copy_zip_url(row.package_id, row.resource_id, site),
            "content_length": row.content_length,
            "downloaded": aware(row.downloaded),
            "hash": row.hash,
            "hash_excluding_generated_timestamp": row.hash_excluding_generated_timestamp,
            "initial_contents": row.initial_contents,
            "server_header_etag": row.etag,
            "server_header_last_modified": row.last_modified,
            "source_url": display_url(row.source_url),
            "verified_on_server": aware(row.verified_on_server),
            "content_modified": aware(row.content_modified),
            "content_modified_excluding_generated_timestamp": aware(
                row.content_modified_excluding_generated_timestamp
            ),
        }
    return DatasetEntry(
        id=row.dataset_id,
        short_name=row.dataset_name,
        reporting_org_id=row.organisation_id,
        reporting_org_short_name=row.organisation_name,
        source_url=display_url(row.url or ""),
        licence_id=row.license_id or None,
        last_update_check=aware(row.last_update_check),
        good=good,
        head_attempt=row.head_attempt,
        get_attempt=row.get_attempt,
        attempts=row.attempts,
        path=path,
    )


def _organisation(row: Any) -> OrganisationEntry:
    extras = row.extras or {}
    values = {
        name: next((extras[key] for key in keys if extras.get(key)), None)
        for name, keys in _ORGANISATION_FIELDS.items()
    }
    return OrganisationEntry(
        id=extras.get(REGISTRY_ID) or row.id,
        short_name=extras.get(REGISTRY_NAME) or row.name,
        human_readable_name=row.title or None,
        description=row.description or None,
        **values,
    )


_PUBLIC = """
FROM freshness_iati i
JOIN package p ON p.id = i.package_id AND p.state = 'active' AND NOT p.private
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source"""
_COPIED = f"SELECT c.key, c.zip_key {_PUBLIC} AND i.hash IS NOT NULL AND c.key IS NOT NULL"
# "C" compares bytes, which in UTF-8 is the order of code points, as in Python.
_DATASETS = f"""
SELECT i.*, r.url, p.license_id, c.key, c.zip_key, c.sha256 {_PUBLIC}
ORDER BY i.organisation_name COLLATE "C", i.dataset_name COLLATE "C", i.dataset_id COLLATE "C",
    i.resource_id"""

# Organisations that the registry lists, and organisations that own listed datasets.
_ORGANISATIONS = f"""
SELECT g.id, g.name, g.title, g.description, {ORGANIZATION_EXTRAS} AS extras
FROM "group" g
WHERE g.state = 'active' AND g.id IN (
    {harvest.ORGANIZATIONS_OF_SOURCE}
    UNION
    SELECT p.owner_org FROM freshness_iati i JOIN package p ON p.id = i.package_id
    WHERE i.source_id = :source AND p.state = 'active'
)
ORDER BY g.id"""

_SUMMARY = """
SELECT md5(concat_ws('|', max(p.metadata_modified), max(g.title), count(*), max(i.downloaded),
        sum(i.failures), count(c.key))),
    coalesce(bool_or(i.published <> (p.state = 'active' AND NOT p.private)), false)
FROM freshness_iati i JOIN package p ON p.id = i.package_id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source"""
