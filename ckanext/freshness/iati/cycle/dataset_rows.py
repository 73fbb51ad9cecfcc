"""What is known of each registered dataset, between the database and the rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ...ckan_adapter import model
from ...dates import aware, utc
from ..policy.attempts import IatiAttempt
from ..policy.state import KEPT_ATTEMPTS, FileState, GoodDownload

PAGE = 500
"""Rows of a long answer that are fetched at once."""


@dataclass(frozen=True, slots=True)
class RegisteredDataset:
    """A dataset as the registry has it, and CKAN by the last harvest.

    :ivar organisation_id: the registry's id; ``dataset_id`` likewise
    """

    resource_id: str
    package_id: str
    organisation_id: str
    organisation_name: str
    dataset_id: str
    dataset_name: str


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A registered dataset as a cycle finds it.

    :ivar url: of its file, as the registry has it now
    :ivar state: with the attempts of a file that fails alone, and without the first characters of what is
        good: nobody asks for the others
    :ivar key: of its copy in the store; None if there is none
    :ivar size: of that copy
    :ivar sha256: likewise
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
    """What :func:`sync` did.

    :ivar added: datasets that are new
    :ivar removed: resources of datasets that are gone
    """

    added: int
    removed: list[str]


def sync(source_id: str, registered: Sequence[RegisteredDataset]) -> SyncedDatasets:
    """Let there be a row for each registered dataset of a source, and for none that is gone; and commit.

    A dataset whose resource was made anew keeps what is known of it, and its copy. What is gone and in
    published files keeps its row until they are made anew: by it is known that nobody may have them.

    :param registered: those that are new, or have another resource or name than is known.
    """
    session = model.Session
    rows = json.dumps(
        [
            {name: getattr(one, name) for name in RegisteredDataset.__dataclass_fields__}
            for one in registered
        ]
    )
    values = {"source": source_id, "rows": rows}
    if registered:
        session.execute(sa.text(_COPIES_GO_OVER), values)
        session.execute(sa.text(_GO_OVER), values)
    removed = list(session.execute(sa.text(_REMOVED), values).scalars())
    session.execute(sa.text(_REMOVE), values)
    added = sum(session.execute(sa.text(_ADD), values).scalars()) if registered else 0
    session.commit()
    return SyncedDatasets(added, removed)


def forget_gone(source_id: str) -> None:
    """Remove the rows of datasets that are gone and in no published file; and commit."""
    model.Session.execute(sa.text(_REMOVE), {"source": source_id})
    model.Session.commit()


def known(source_id: str) -> list[KnownDataset]:
    """The registered datasets of a source whose resource is there, in the order of their names."""
    rows = model.Session.execute(
        sa.text(_KNOWN), {"source": source_id}, execution_options={"yield_per": PAGE}
    )
    found = [_known(row) for row in rows]
    model.Session.commit()
    return found


def write(states: Mapping[str, FileState], before: Mapping[str, KnownDataset]) -> list[str]:
    """Write states, by resource; nothing is committed.

    :param before: what the visits began from: attempts that came since are added.
    :returns: those that were written; the others' resources are gone.
    """
    if not states:
        return []
    rows = json.dumps([_row(one, state, before[one].state) for one, state in states.items()])
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
    good = state.good
    known = set(map(id, before.attempts))
    new = {id(one): _attempt(one) for one in state.attempts if id(one) not in known}
    return {
        "resource_id": resource_id,
        "last_update_check": _exact_text(state.last_update_check),
        "head_attempt": new.get(id(state.head_attempt)),
        "get_attempt": new.get(id(state.get_attempt)),
        "attempts": list(new.values()),
        **{
            name: _exact_text(getattr(state, name))
            for name in _CHANGES
            if _differs(name, state, before)
        },
        "failures": state.failures,
        "postponed_until": _exact_text(state.postponed_until),
        "failing_since": _exact_text(state.failing_since),
        **({} if good is None else _good(good, before.good)),
    }


def _differs(name: str, state: FileState, before: FileState) -> bool:
    return getattr(state, name) is not getattr(before, name)


def _good(good: GoodDownload, before: GoodDownload | None) -> dict[str, Any]:
    if before is not None and (good.hash, good.downloaded) == (before.hash, before.downloaded):
        return {"verified_on_server": _exact_text(good.verified_on_server)}
    return {
        "hash": good.hash,
        "hash_excluding_generated_timestamp": good.hash_excluding_generated_timestamp,
        "downloaded": _exact_text(good.downloaded),
        "verified_on_server": _exact_text(good.verified_on_server),
        "content_length": good.content_length,
        "initial_contents": _text(good.initial_contents),
        "etag": _text(good.etag),
        "last_modified": _text(good.last_modified),
        "source_url": _text(good.source_url),
    }


def _attempt(attempt: IatiAttempt) -> dict[str, Any]:
    plain = attempt.as_json()
    details = plain["error_details"]
    if details is not None:
        for key in ("detailed_message", "http_reason", "source_url"):
            details[key] = _text(details[key])
        details["http_headers"] = {
            _text(name): _text(value) for name, value in details["http_headers"].items()
        }
    return plain


def _text(text: str | None) -> str | None:
    """What a server sent, as the database can have it: neither NUL nor half characters."""
    if text is None or (text.isascii() and "\0" not in text):
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _exact_text(moment: datetime | None) -> str | None:
    return None if moment is None else utc(moment).isoformat()


_REGISTERED = """jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, package_id text, organisation_id text, organisation_name text,
    dataset_id text, dataset_name text
)"""

# A resource that was written without its id has another one now.
_COPIES_GO_OVER = f"""
UPDATE freshness_copy c SET resource_id = f.resource_id, package_id = f.package_id
FROM freshness_iati i, {_REGISTERED}
WHERE i.source_id = :source AND f.dataset_id = i.dataset_id AND i.resource_id <> f.resource_id
    AND c.resource_id = i.resource_id
    AND NOT EXISTS (SELECT FROM freshness_copy o WHERE o.resource_id = f.resource_id)"""
_GO_OVER = f"""
UPDATE freshness_iati i SET resource_id = f.resource_id, package_id = f.package_id
FROM {_REGISTERED}
WHERE i.source_id = :source AND f.dataset_id = i.dataset_id AND i.resource_id <> f.resource_id
    AND NOT EXISTS (SELECT FROM freshness_iati o WHERE o.resource_id = f.resource_id)"""
# Only what CKAN has no more: nobody's list of what is registered takes anything away by being short.
_GONE = """
FROM freshness_iati i WHERE i.source_id = :source AND NOT EXISTS (
    SELECT FROM resource r JOIN package p ON p.id = r.package_id
    WHERE r.id = i.resource_id AND r.state = 'active' AND p.state = 'active'
)"""
_REMOVED = f"SELECT i.resource_id {_GONE}"
_REMOVE = f"DELETE {_GONE} AND NOT i.published"
_ADD = f"""
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

# What is good stays unless there is something as good: nothing is ever taken away here.
_GOOD = (
    *("hash", "hash_excluding_generated_timestamp", "downloaded"),
    *("content_length", "initial_contents", "etag", "last_modified", "source_url"),
)
_CHANGES = ("content_modified", "content_modified_excluding_generated_timestamp")
_WRITE = f"""
UPDATE freshness_iati i SET
    last_update_check = f.last_update_check,
    head_attempt = coalesce(f.head_attempt, i.head_attempt),
    get_attempt = coalesce(f.get_attempt, i.get_attempt),
    attempts = jsonb_path_query_array(f.attempts || i.attempts, '$[0 to {KEPT_ATTEMPTS - 1}]'),
    {", ".join(f"{one} = coalesce(f.{one}, i.{one})" for one in _CHANGES)},
    verified_on_server = coalesce(f.verified_on_server, i.verified_on_server),
    failures = f.failures, postponed_until = f.postponed_until, failing_since = f.failing_since,
    {", ".join(f"{one} = CASE WHEN f.hash IS NULL THEN i.{one} ELSE f.{one} END" for one in _GOOD)}
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS f (
    resource_id text, last_update_check timestamp, head_attempt jsonb, get_attempt jsonb,
    attempts jsonb, content_modified timestamp,
    content_modified_excluding_generated_timestamp timestamp, failures integer,
    postponed_until timestamp, failing_since timestamp, hash text, hash_excluding_generated_timestamp text,
    downloaded timestamp, verified_on_server timestamp, content_length bigint,
    initial_contents text, etag text, last_modified text, source_url text
)
WHERE i.resource_id = f.resource_id RETURNING i.resource_id"""
