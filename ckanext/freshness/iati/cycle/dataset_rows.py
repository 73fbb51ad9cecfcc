"""The rows of a source's registered datasets: what the registry says of them, and the states of their files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...ckan_adapter.packages import ORGANIZATION_EXTRA, PACKAGE_EXTRAS
from ...dates import aware, exact_text
from ...web.exchange import storable
from ..policy.attempts import IatiAttempt
from ..policy.state import KEPT_ATTEMPTS, FileState, GoodDownload
from ..registry.records import REGISTRY_ID, REGISTRY_NAME

PAGE = 500
"""Rows fetched at a time from a long query."""


class RegisteredDataset(NamedTuple):
    """A dataset as the last harvest registered it.

    :ivar organisation_id: the registry's id
    :ivar dataset_id: the registry's id
    """

    resource_id: str
    package_id: str
    organisation_id: str
    organisation_name: str
    dataset_id: str
    dataset_name: str


class KnownDataset(NamedTuple):
    """A registered dataset at the beginning of a cycle.

    :ivar url: of its file, as the registry has it now
    :ivar state: its attempts are loaded only if its file fails, its initial contents never
    :ivar key: of its copy in the store; None without a copy
    :ivar size: of its copy
    :ivar sha256: of its copy
    """

    resource_id: str
    package_id: str
    url: str
    organisation_name: str
    dataset_name: str
    state: FileState
    key: str | None
    zip_key: str | None
    size: int | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class SyncedDatasets:
    """The result of :func:`sync`.

    :ivar added: number of new datasets
    :ivar removed: resource ids of datasets that are gone
    """

    added: int
    removed: list[str]


def unsynced(source_id: str) -> list[RegisteredDataset]:
    """Return the datasets of the last harvest whose rows are missing or out of date.

    Ids and names are the registry's: CKAN may have had to give a dataset another name.
    """
    rows = model.Session.execute(
        sa.text(_UNSYNCED), {"source": source_id, "id": REGISTRY_ID, "name": REGISTRY_NAME}
    ).all()
    model.Session.commit()
    return [RegisteredDataset(*row) for row in rows]


def sync(source_id: str, registered: Sequence[RegisteredDataset]) -> SyncedDatasets:
    """Add and update rows of registered datasets, remove those of deleted datasets, and commit.

    If a dataset got a new resource, its state and its copy go to the new one. The row of a deleted dataset that
    published files still name stays until they are written again: it marks these files as not public.

    :param registered: the result of :func:`unsynced`
    """
    session = model.Session
    rows = json.dumps([dataset._asdict() for dataset in registered])
    values = {"source": source_id, "rows": rows}
    if registered:
        session.execute(sa.text(_MOVE_COPIES), values)
        session.execute(sa.text(_MOVE_ROWS), values)
    removed = list(session.execute(sa.text(_SELECT_GONE), values).scalars())
    session.execute(sa.text(_DELETE_GONE), values)
    added = sum(session.execute(sa.text(_UPSERT), values).scalars()) if registered else 0
    session.commit()
    return SyncedDatasets(added, removed)


def forget_gone(source_id: str) -> None:
    """Delete the rows of deleted datasets that no published file names, and commit."""
    model.Session.execute(sa.text(_DELETE_GONE), {"source": source_id})
    model.Session.commit()


def known(source_id: str) -> list[KnownDataset]:
    """Return the registered datasets of a source that still have their resource, ordered by name."""
    rows = model.Session.execute(
        sa.text(_KNOWN), {"source": source_id}, execution_options={"yield_per": PAGE}
    )
    datasets = [_known(row) for row in rows]
    model.Session.commit()
    return datasets


def write(states: Mapping[str, FileState], before: Mapping[str, KnownDataset]) -> list[str]:
    """Write states by resource id, without a commit.

    :param before: the datasets before their checks; newer attempts are added to the stored ones
    :returns: resource ids whose rows were written; the other rows are gone
    """
    if not states:
        return []
    rows = json.dumps(
        [
            _row(resource_id, state, before[resource_id].state)
            for resource_id, state in states.items()
        ]
    )
    return list(model.Session.execute(sa.text(_WRITE), {"rows": rows}).scalars())


def _known(row: Any) -> KnownDataset:
    good = None
    if row.hash is not None:
        good = GoodDownload(
            hash=row.hash,
            hash_excluding_generated_timestamp=row.hash_excluding_generated_timestamp,
            downloaded=aware(row.downloaded),
            verified_on_server=aware(row.verified_on_server),
            content_length=row.content_length,
            initial_contents="",
            etag=row.etag,
            last_modified=row.last_modified,
            source_url=row.source_url,
        )
    state = FileState(
        last_update_check=aware(row.last_update_check),
        attempts=tuple(map(IatiAttempt.from_json, row.failed_attempts or ())),
        good=good,
        content_modified=aware(row.content_modified),
        content_modified_excluding_generated_timestamp=aware(
            row.content_modified_excluding_generated_timestamp
        ),
        failures=row.failures,
        postponed_until=aware(row.postponed_until),
        failing_since=aware(row.failing_since),
    )
    return KnownDataset(
        resource_id=row.resource_id,
        package_id=row.package_id,
        url=row.url or "",
        organisation_name=row.organisation_name,
        dataset_name=row.dataset_name,
        state=state,
        key=row.key,
        zip_key=row.zip_key,
        size=row.size,
        sha256=row.sha256,
    )


def _row(resource_id: str, state: FileState, before: FileState) -> dict[str, Any]:
    known_attempts = set(map(id, before.attempts))
    row = {
        "resource_id": resource_id,
        "last_update_check": exact_text(state.last_update_check),
        # Both are None before a check, so they are set only if the check made them.
        "head_attempt": state.head_attempt and _attempt(state.head_attempt),
        "get_attempt": state.get_attempt and _attempt(state.get_attempt),
        "attempts": [
            _attempt(attempt) for attempt in state.attempts if id(attempt) not in known_attempts
        ],
        "failures": state.failures,
        "postponed_until": exact_text(state.postponed_until),
        "failing_since": exact_text(state.failing_since),
    }
    for name in _CHANGE_TIMES:
        if getattr(state, name) != getattr(before, name):
            row[name] = exact_text(getattr(state, name))
    good = state.good
    if good is None:
        return row
    row["verified_on_server"] = exact_text(good.verified_on_server)
    known_good = before.good
    if known_good is None or (good.hash, good.downloaded) != (
        known_good.hash,
        known_good.downloaded,
    ):
        row |= {
            "hash": good.hash,
            "hash_excluding_generated_timestamp": good.hash_excluding_generated_timestamp,
            "downloaded": exact_text(good.downloaded),
            "content_length": good.content_length,
            "initial_contents": storable(good.initial_contents),
            "etag": storable(good.etag),
            "last_modified": storable(good.last_modified),
            "source_url": storable(good.source_url),
        }
    return row


def _attempt(attempt: IatiAttempt) -> dict[str, Any]:
    plain = attempt.as_json()
    details = plain["error_details"]
    if details is not None:
        for key in ("detailed_message", "http_reason", "source_url"):
            details[key] = storable(details[key])
        details["http_headers"] = {
            storable(name): storable(value) for name, value in details["http_headers"].items()
        }
    return plain


def _organization_extra(key: str) -> str:
    return ORGANIZATION_EXTRA.replace(":key", f":{key}")


# If a dataset has two current records or two resources, the first counts.
_UNSYNCED = f"""
SELECT f.* FROM (
SELECT DISTINCT ON (p.id) r.id AS resource_id, p.id AS package_id,
    coalesce({_organization_extra("id")}, p.owner_org, '') AS organisation_id,
    coalesce({_organization_extra("name")}, g.name, '') AS organisation_name,
    coalesce(({PACKAGE_EXTRAS}) ->> :id, p.id) AS dataset_id,
    coalesce(({PACKAGE_EXTRAS}) ->> :name, p.name) AS dataset_name
FROM ({harvest.CURRENT_PACKAGES}) o
JOIN package p ON p.id = o.package_id AND p.state = 'active'
JOIN resource r ON r.package_id = p.id AND r.state = 'active'
LEFT JOIN "group" g ON g.id = p.owner_org
ORDER BY p.id, r.position, r.id
) f LEFT JOIN freshness_iati i ON i.resource_id = f.resource_id
WHERE i.resource_id IS NULL OR (i.package_id, i.source_id, i.organisation_id, i.organisation_name,
        i.dataset_id, i.dataset_name)
    <> (f.package_id, :source, f.organisation_id, f.organisation_name, f.dataset_id, f.dataset_name)"""

_REGISTERED = """jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, package_id text, organisation_id text, organisation_name text,
    dataset_id text, dataset_name text
)"""

# A resource that was written without its id got a new one.
_MOVE_COPIES = f"""
UPDATE freshness_copy c SET resource_id = f.resource_id, package_id = f.package_id
FROM freshness_iati i, {_REGISTERED}
WHERE i.source_id = :source AND f.dataset_id = i.dataset_id AND i.resource_id <> f.resource_id
    AND c.resource_id = i.resource_id
    AND NOT EXISTS (SELECT FROM freshness_copy o WHERE o.resource_id = f.resource_id)"""
_MOVE_ROWS = f"""
UPDATE freshness_iati i SET resource_id = f.resource_id, package_id = f.package_id
FROM {_REGISTERED}
WHERE i.source_id = :source AND f.dataset_id = i.dataset_id AND i.resource_id <> f.resource_id
    AND NOT EXISTS (SELECT FROM freshness_iati o WHERE o.resource_id = f.resource_id)"""
# Only CKAN decides what is gone: an incomplete list of registered datasets removes nothing.
_GONE = """
FROM freshness_iati i WHERE i.source_id = :source AND NOT EXISTS (
    SELECT FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.id = i.resource_id AND r.state = 'active' AND p.state = 'active'
)"""
_SELECT_GONE = f"SELECT i.resource_id {_GONE}"
_DELETE_GONE = f"DELETE {_GONE} AND NOT i.published"
_UPSERT = f"""
INSERT INTO freshness_iati (resource_id, package_id, source_id, organisation_id, organisation_name,
    dataset_id, dataset_name)
SELECT f.resource_id, f.package_id, :source, f.organisation_id, f.organisation_name, f.dataset_id,
    f.dataset_name FROM {_REGISTERED}
ON CONFLICT (resource_id) DO UPDATE SET package_id = excluded.package_id,
    source_id = excluded.source_id, organisation_id = excluded.organisation_id,
    organisation_name = excluded.organisation_name, dataset_id = excluded.dataset_id,
    dataset_name = excluded.dataset_name
RETURNING CAST(xmax = 0 AS integer)"""

_KNOWN = """
SELECT i.resource_id, i.package_id, r.url, i.organisation_name, i.dataset_name,
    c.key, c.zip_key, c.size, c.sha256,
    i.last_update_check, i.content_modified, i.content_modified_excluding_generated_timestamp,
    i.failures, i.postponed_until, i.failing_since, CASE WHEN i.failures > 0 THEN i.attempts END
        AS failed_attempts,
    i.hash, i.hash_excluding_generated_timestamp, i.downloaded, i.verified_on_server,
    i.content_length, i.etag, i.last_modified, i.source_url
FROM freshness_iati i
JOIN resource r ON r.id = i.resource_id AND r.state = 'active'
JOIN package p ON p.id = r.package_id AND p.state = 'active'
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id
WHERE i.source_id = :source
ORDER BY i.organisation_name, i.dataset_name, i.resource_id"""

# The last known good download is only ever replaced by another, never removed.
_GOOD = (
    *("hash", "hash_excluding_generated_timestamp", "downloaded"),
    *("content_length", "initial_contents", "etag", "last_modified", "source_url"),
)
_CHANGE_TIMES = ("content_modified", "content_modified_excluding_generated_timestamp")
_WRITE = f"""
UPDATE freshness_iati i SET
    last_update_check = f.last_update_check,
    head_attempt = coalesce(f.head_attempt, i.head_attempt),
    get_attempt = coalesce(f.get_attempt, i.get_attempt),
    attempts = jsonb_path_query_array(f.attempts || i.attempts, '$[0 to {KEPT_ATTEMPTS - 1}]'),
    {", ".join(f"{name} = coalesce(f.{name}, i.{name})" for name in _CHANGE_TIMES)},
    verified_on_server = coalesce(f.verified_on_server, i.verified_on_server),
    failures = f.failures, postponed_until = f.postponed_until, failing_since = f.failing_since,
    {", ".join(f"{name} = CASE WHEN f.hash IS NULL THEN i.{name} ELSE f.{name} END" for name in _GOOD)}
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, last_update_check timestamp, head_attempt jsonb, get_attempt jsonb,
    attempts jsonb, content_modified timestamp,
    content_modified_excluding_generated_timestamp timestamp, failures integer,
    postponed_until timestamp, failing_since timestamp, hash text, hash_excluding_generated_timestamp text,
    downloaded timestamp, verified_on_server timestamp, content_length bigint,
    initial_contents text, etag text, last_modified text, source_url text
)
WHERE i.resource_id = f.resource_id RETURNING i.resource_id"""
