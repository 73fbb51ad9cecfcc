"""What the index files and bulk ZIPs of a source say, read from the database: public datasets alone."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import sqlalchemy as sa

from ...ckan_adapter import ORGANIZATION_EXTRAS, model
from ...copies import store_keys
from ...dates import aware
from ...reporting import copy_urls
from ...web.urls import display_url
from ..files.archive import ArchiveMember
from ..files.index import DatasetEntry, DatasetOutline, OrganisationEntry, outline
from ..registry.records import REGISTRY_ID, REGISTRY_NAME
from .dataset_rows import PAGE
from .published_files import copies_prefix

_OF_ORGANISATIONS: Mapping[str, tuple[str, ...]] = {
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
"""Fields of the index, and the extras that they are in: by the first that has something."""


@dataclass(slots=True)
class PublishedEntries:
    """What is published. While :meth:`datasets` gives the datasets, the rest comes to be.

    :ivar said: another one than before when there is reason to publish anew
    :ivar outlines: of all datasets, public ones alone
    :ivar resource_ids: theirs
    :ivar members: the keys of the ZIPs of those with a copy in the store, by their path
    :ivar sha256: of these copies, by their path
    """

    said: str
    organisations: Sequence[OrganisationEntry]
    _source_id: str
    _there: Collection[str]
    outlines: list[DatasetOutline] = field(default_factory=list)
    resource_ids: list[str] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def datasets(self) -> Iterator[DatasetEntry]:
        """Read the datasets, once, in the order of :func:`..copies.index.order`."""
        prefix, site = copies_prefix(self._source_id), copy_urls.site_url()
        values = {"source": self._source_id}
        copied = model.Session.execute(sa.text(_COPIED), values)
        # As below: the path of one whose ZIP is lost is free, and its own.
        taken = {
            key[len(prefix) :]
            for key, zip_key in copied
            if key in self._there and zip_key in self._there
        }
        # Organisations and licences are few.
        same: dict[str, str] = {}
        options = {"yield_per": PAGE}
        for row in model.Session.execute(sa.text(_DATASETS), values, execution_options=options):
            # Of bytes that came from elsewhere, and that no cycle has downloaded yet, nothing is known.
            has_copy = (
                row.hash is not None and row.key in self._there and row.zip_key in self._there
            )
            path = row.key[len(prefix) :] if has_copy else _free(row, taken)
            entry = _dataset(row, path, has_copy, site, same)
            yield entry
            if has_copy:
                self.members[path] = row.zip_key
                self.sha256[path] = row.sha256
            self.outlines.append(outline(entry))
            self.resource_ids.append(row.resource_id)
            self._note(entry, path)

    def archived(self, before: Mapping[str, str]) -> list[ArchiveMember]:
        """The members of the bulk ZIPs.

        :param before: what those of now have, as :attr:`sha256`
        """
        return [
            ArchiveMember(zip_key, path, changed=before.get(path) != self.sha256[path])
            for path, zip_key in self.members.items()
        ]

    @property
    def fingerprint(self) -> str:
        """Another one when the bulk ZIPs have to be made anew: when a file in them is another one or has
        another name, or their metadata say something else of what is registered.

        That a server was asked is no reason, nor is that the same bytes were downloaded again: the times
        in their index files are those of when they were made.
        """
        digest = self._digest.copy()
        for each in self.organisations:
            said = [getattr(each, one.name) for one in fields(each)]
            digest.update(repr(said).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _note(self, one: DatasetEntry, path: str) -> None:
        good = one.good and (one.good["hash"], one.good["source_url"])
        known = (one.id, one.short_name, one.reporting_org_id, one.reporting_org_short_name)
        said = (one.licence_id, one.source_url, one.path, self.sha256.get(path), good)
        self._digest.update(repr((known, said)).encode("utf-8", "surrogatepass"))


class SourceSummary(NamedTuple):
    """What there is to say of a source's datasets, in short.

    :ivar digest: another one when people have said something else of them, or visits have; that a server
        has what it had moves nothing
    :ivar differs: whether others are public than were published
    """

    digest: str
    differs: bool


def said_of(source_id: str) -> SourceSummary:
    """What there is to say of a source's datasets now."""
    return SourceSummary(*model.Session.execute(sa.text(_SAID), {"source": source_id}).one())


@contextmanager
def of_source(source_id: str, there: Collection[str]) -> Iterator[PublishedEntries]:
    """What is to be published of a source now: what was public at one moment.

    :param there: the keys that the store has below :func:`.published.copies_prefix`: what is named
        exists.
    """
    model.Session.commit()
    model.Session.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
    try:
        rows = model.Session.execute(sa.text(_ORGANISATIONS), {"source": source_id})
        organisations = [_organisation(row) for row in rows]
        yield PublishedEntries(said_of(source_id).digest, organisations, source_id, there)
    except BaseException:
        model.Session.rollback()
        raise
    model.Session.commit()


def _free(row: Any, taken: set[str]) -> str:
    """A path for a dataset without a copy that no other has: several may have one name."""
    path = store_keys.iati_key(row.organisation_name, row.dataset_name)
    if path in taken:
        path = store_keys.iati_key(row.organisation_name, f"{row.dataset_name} {row.resource_id}")
    taken.add(path)
    return path


def _dataset(row: Any, path: str, has_copy: bool, site: str, same: dict[str, str]) -> DatasetEntry:
    good = None
    if has_copy:
        good = {
            "cached_dataset_xml_url": copy_urls.url(row.package_id, row.resource_id, site),
            "cached_dataset_zip_url": copy_urls.zip_url(row.package_id, row.resource_id, site),
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
        reporting_org_id=same.setdefault(row.organisation_id, row.organisation_id),
        reporting_org_short_name=same.setdefault(row.organisation_name, row.organisation_name),
        source_url=display_url(row.url or ""),
        licence_id=same.setdefault(row.license_id, row.license_id) if row.license_id else None,
        last_update_check=aware(row.last_update_check),
        good=good,
        head_attempt=row.head_attempt,
        get_attempt=row.get_attempt,
        attempts=row.attempts,
        path=path,
    )


def _organisation(row: Any) -> OrganisationEntry:
    extras = row.extras or {}
    found = {
        name: next((extras[key] for key in keys if extras.get(key)), None)
        for name, keys in _OF_ORGANISATIONS.items()
    }
    return OrganisationEntry(
        id=extras.get(REGISTRY_ID) or row.id,
        short_name=extras.get(REGISTRY_NAME) or row.name,
        human_readable_name=row.title or None,
        description=row.description or None,
        **found,
    )


_PUBLIC = """
FROM freshness_iati i
JOIN package p ON p.id = i.package_id AND p.state = 'active' AND NOT p.private
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source"""
_COPIED = f"SELECT c.key, c.zip_key {_PUBLIC} AND i.hash IS NOT NULL AND c.key IS NOT NULL"
# The order of bytes in UTF-8 is that of code points, whatever the database's language has for its own.
_DATASETS = f"""
SELECT i.*, r.url, p.license_id, c.key, c.zip_key, c.sha256 {_PUBLIC}
ORDER BY i.organisation_name COLLATE "C", i.dataset_name COLLATE "C", i.dataset_id COLLATE "C",
    i.resource_id"""

# Those that the registry lists, and those that own what it lists.
_ORGANISATIONS = f"""
SELECT g.id, g.name, g.title, g.description, {ORGANIZATION_EXTRAS} AS extras
FROM "group" g
WHERE g.state = 'active' AND g.id IN (
    SELECT e.value FROM harvest_object o
    JOIN harvest_object_extra e ON e.harvest_object_id = o.id AND e.key = 'organization_id'
    WHERE o.harvest_source_id = :source AND o.current
    UNION
    SELECT p.owner_org FROM freshness_iati i JOIN package p ON p.id = i.package_id
    WHERE i.source_id = :source AND p.state = 'active'
)
ORDER BY g.id"""

_SAID = """
SELECT md5(concat_ws('|', max(p.metadata_modified), max(g.title), count(*), max(i.downloaded),
        sum(i.failures), count(c.key))),
    coalesce(bool_or(i.published <> (p.state = 'active' AND NOT p.private)), false)
FROM freshness_iati i JOIN package p ON p.id = i.package_id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source"""
