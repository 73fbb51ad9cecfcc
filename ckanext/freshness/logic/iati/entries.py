"""What the index files and bulk ZIPs of a source say, read from the database: public datasets alone."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa

from ...ckan_adapter import ORGANIZATION_EXTRAS, model
from ...copies import names
from ...copies.archive import Member
from ...copies.index import AttemptEntry, DatasetEntry, GoodEntry, OrganisationEntry
from ...harvesting.iati.entries import REGISTRY_ID, REGISTRY_NAME
from ...web.urls import display_url
from ..copies import shown
from .published import copies_prefix

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


@dataclass(frozen=True, slots=True)
class Entries:
    """What is published.

    :ivar members: the copies of ``datasets`` that are in the store
    :ivar sha256: of these copies, by their path
    :ivar resource_ids: of ``datasets``
    """

    datasets: Sequence[DatasetEntry]
    organisations: Sequence[OrganisationEntry]
    members: Mapping[str, str]
    sha256: Mapping[str, str]
    resource_ids: Sequence[str]

    def archived(self, before: Mapping[str, str]) -> list[Member]:
        """The members of the bulk ZIPs.

        :param before: what those of now have, as :attr:`sha256`
        """
        return [
            Member(zip_key, path, changed=before.get(path) != self.sha256[path])
            for path, zip_key in self.members.items()
        ]

    @property
    def fingerprint(self) -> str:
        """Another one when the bulk ZIPs have to be made anew.

        When a server last confirmed what it has is no reason: that is so in each cycle.
        """
        digest = hashlib.sha256()
        for one in self.datasets:
            good = one.good and (one.good.hash, one.good.downloaded, one.good.source_url)
            known = (one.id, one.short_name, one.reporting_org_id, one.reporting_org_short_name)
            said = (one.licence_id, one.source_url, one.path, self.sha256.get(one.path), good)
            digest.update(repr((known, said)).encode("utf-8", "surrogatepass"))
        for each in self.organisations:
            digest.update(
                repr([getattr(each, one.name) for one in fields(each)]).encode(
                    "utf-8", "surrogatepass"
                )
            )
        return digest.hexdigest()


def of_source(source_id: str, there: Collection[str]) -> Entries:
    """What is to be published of a source now.

    :param there: the keys that the store has below :func:`.published.copies_prefix`: what is named
        exists.
    """
    prefix = copies_prefix(source_id)
    rows = model.Session.execute(sa.text(_DATASETS), {"source": source_id}).all()
    # Of bytes that came from elsewhere, and that no cycle has downloaded yet, nothing is known.
    copied = [
        one for one in rows if one.hash is not None and one.key in there and one.zip_key in there
    ]
    paths = {one.resource_id: one.key[len(prefix) :] for one in copied}
    members = {paths[one.resource_id]: one.zip_key for one in copied}
    sha256 = {paths[one.resource_id]: one.sha256 for one in copied}
    datasets = []
    taken, site = set(members), shown.site_url()
    for row in rows:
        path = paths.get(row.resource_id)
        datasets.append(_dataset(row, path or _free(row, taken), path is not None, site))
    resource_ids = [one.resource_id for one in rows]
    organisations = [
        _organisation(row)
        for row in model.Session.execute(sa.text(_ORGANISATIONS), {"source": source_id})
    ]
    model.Session.commit()
    return Entries(datasets, organisations, members, sha256, resource_ids)


def _free(row: Any, taken: set[str]) -> str:
    """A path for a dataset without a copy that no other has: several may have one name."""
    path = names.iati_key(row.organisation_name, row.dataset_name)
    if path in taken:
        path = names.iati_key(row.organisation_name, f"{row.dataset_name} {row.resource_id}")
    taken.add(path)
    return path


def _dataset(row: Any, path: str, has_copy: bool, site: str) -> DatasetEntry:
    good = None
    if has_copy:
        good = GoodEntry(
            cached_dataset_xml_url=shown.url(row.package_id, row.resource_id, site),
            cached_dataset_zip_url=shown.zip_url(row.package_id, row.resource_id, site),
            content_length=row.content_length,
            downloaded=_aware(row.downloaded),
            hash=row.hash,
            hash_excluding_generated_timestamp=row.hash_excluding_generated_timestamp,
            initial_contents=row.initial_contents,
            server_header_etag=row.etag,
            server_header_last_modified=row.last_modified,
            source_url=display_url(row.source_url),
            verified_on_server=_aware(row.verified_on_server),
            content_modified=_maybe(row.content_modified),
            content_modified_excluding_generated_timestamp=_maybe(
                row.content_modified_excluding_generated_timestamp
            ),
        )
    return DatasetEntry(
        id=row.dataset_id,
        short_name=row.dataset_name,
        reporting_org_id=row.organisation_id,
        reporting_org_short_name=row.organisation_name,
        source_url=display_url(row.url or ""),
        licence_id=row.license_id or None,
        last_update_check=_maybe(row.last_update_check),
        good=good,
        head_attempt=_attempt(row.head_attempt),
        get_attempt=_attempt(row.get_attempt),
        attempts=tuple(one for one in map(_attempt, row.attempts) if one is not None),
        path=path,
    )


def _attempt(plain: Mapping[str, Any] | None) -> AttemptEntry | None:
    if plain is None:
        return None
    return AttemptEntry(
        # Python 3.10 does not know the Z.
        datetime=datetime.fromisoformat(plain["datetime"].replace("Z", "+00:00")),
        http_status=plain["http_status"],
        error_occurred=plain["error_occurred"],
        error_details=plain["error_details"] or {},
        method=plain["method"],
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


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=timezone.utc)


def _maybe(moment: datetime | None) -> datetime | None:
    return None if moment is None else _aware(moment)


_DATASETS = """
SELECT i.*, r.url, p.license_id, c.key, c.zip_key, c.sha256
FROM freshness_iati i
JOIN package p ON p.id = i.package_id AND p.state = 'active' AND NOT p.private
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source
ORDER BY i.resource_id"""

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
