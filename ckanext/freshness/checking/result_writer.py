"""What visits brought home, written to the database: many at once, and each whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from ..ckan_adapter import copy_into, lock_packages, model
from ..dates import utc, utc_text
from ..web.errors import FailureReason
from .check_rows import let_others_write
from .decisions import Outcome
from .results import CheckResult

ATTEMPTS = 5
"""Visits to a resource that are kept."""

NULL = "\\N"
"""How COPY writes NULL."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What an outcome does to what is known of a resource.

    :ivar found: the resource is there: the row of failures ends
    :ivar hashed: the bytes were read, and their hash is remembered or known to be of no use
    :ivar tells: whether changes can be determined, so that an earlier doubt goes
    :ivar undetermined: why they cannot be from now on
    :ivar unconfirmed: another hash was met, and the next run is to ask again; None: as before
    """

    found: bool = False
    hashed: bool = False
    tells: bool = False
    undetermined: str | None = None
    unconfirmed: bool | None = None


def _columns(outcome: Outcome, effect: Effect) -> str:
    """An outcome and what it does, as COPY reads them."""
    said = (effect.found, effect.hashed, effect.tells, effect.unconfirmed)
    flags = [NULL if one is None else "t" if one else "f" for one in said]
    return "\t".join((outcome.value, *flags, effect.undetermined or NULL))


_SAME = Effect(found=True, tells=True, unconfirmed=False)
_READ = Effect(found=True, hashed=True, tells=True, unconfirmed=False)

EFFECTS = {
    Outcome.NOT_MODIFIED: _SAME,
    Outcome.HEADER: _SAME,
    Outcome.SAME_HASH: _READ,
    Outcome.FIRST_HASH: _READ,
    Outcome.REPEAT_HASH: _READ,
    Outcome.CHANGED: _READ,
    Outcome.API: Effect(found=True, hashed=True, undetermined="api", unconfirmed=False),
    Outcome.UNCONFIRMED: Effect(found=True, unconfirmed=True),
    Outcome.ERROR: Effect(),
    Outcome.CANNOT_TELL: Effect(undetermined="blocked"),
}

_EFFECTS = {outcome: _columns(outcome, effect) for outcome, effect in EFFECTS.items()}

_NOT_ASKED = frozenset(
    one.value
    for one in (
        FailureReason.HOST_DEFERRED,
        FailureReason.HOST_SILENT,
        FailureReason.PROXY,
        FailureReason.OUT_OF_SOCKETS,
    )
)
"""Why a visit did not come to anything through no fault of the URL: the next run makes up for it."""


class WrittenResult(NamedTuple):
    """A finding that was written, and its resource's own fields as they are."""

    finding: CheckResult
    url_type: str | None
    last_modified: datetime | None
    size: int | None
    mimetype: str | None
    hash: str | None
    wrote: str | None
    """What the checker wrote into them, in JSON, if anything; see :mod:`.fields`."""
    doubt_changed: bool
    """Whether it can be determined that the resource changes, or why not, is another answer now."""


def write(findings: Sequence[CheckResult], run_start: datetime) -> list[WrittenResult]:
    """Remember what visits brought home. Nothing is committed.

    The datasets' rows in CKAN's table stay locked until the transaction ends, as in every writer of
    theirs. Of two findings about one resource the last counts.

    :param run_start: when the run started, with its zone: intervals count from there.
    :returns: those that were written. The others are about a resource that is gone, or has another
        URL since: they tell nothing.
    """
    last = {one.visit.resource_id: one for one in findings}
    if not last:
        return []
    session = model.Session
    packages = {one.visit.package_id for one in last.values()}
    lock_packages(packages)
    let_others_write(session)
    session.execute(sa.text(_TABLE))
    copy_into("freshness_found", (_line(one) for one in last.values()))
    rows = session.execute(sa.text(_WRITE), {"run_start": utc(run_start)}).all()
    session.execute(sa.text("DROP TABLE freshness_found"))
    return [WrittenResult(last[resource_id], *has) for resource_id, *has in rows]


def _line(finding: CheckResult) -> str:
    """A row of the temporary table, as COPY reads it: see :data:`_TABLE` for the columns."""
    visit, memory, attempt = finding.visit, finding.memory, finding.attempt
    texts = (
        *(visit.url, memory.etag, memory.last_modified, memory.hash),
        *(memory.promised, memory.found),
        *(attempt.reason, attempt.words, attempt.final_url, attempt.etag, attempt.last_modified),
    )
    if _is_plain("".join(filter(None, texts))):
        # Nearly always, and cheaper asked once than of each.
        copied = [NULL if text is None else text for text in texts]
    else:
        copied = [_copied(text) for text in texts]
    url, held_etag, held_modified, hash_, promised, found, *said = copied
    reason, words, final_url, etag, last_modified = said
    known = f"{visit.resource_id}\t{url}\t"
    if finding.handed_to is not None:
        return known + _copied(finding.handed_to) + _NOTHING
    failed = "t" if finding.counts_as_failure else "f"
    visited = "f" if attempt.reason in _NOT_ASKED else "t"
    return (
        f"{known}{NULL}\t{held_etag}\t{held_modified}\t{hash_}\t{_array(memory.earlier)}"
        f"\t{'t' if memory.outdated else 'f'}\t{'t' if memory.tabular else 'f'}\t{promised}\t{found}"
        f"\t{visited}\t{failed}\t{_EFFECTS[finding.outcome]}"
        f"\t{utc(attempt.at).isoformat()}\t{utc_text(finding.changed_at) or NULL}"
        f"\t{attempt.method}\t{NULL if attempt.status is None else attempt.status}"
        f"\t{reason}\t{words}\t{attempt.received}\t{round(attempt.seconds, 3)}\t{final_url}"
        f"\t{etag}\t{last_modified}\t{utc_text(attempt.modified) or NULL}\n"
    )


def _copied(text: str | None) -> str:
    """A value as COPY reads it."""
    if text is None:
        return NULL
    if _is_plain(text):
        return text
    return _text(text).translate(_ESCAPES)


def _is_plain(text: str) -> bool:
    return text.isprintable() and "\\" not in text


_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def _array(items: Sequence[str]) -> str:
    """An array of text as COPY reads it."""
    quoted = (one.replace("\\", "\\\\").replace('"', '\\"') for one in items)
    return _copied("{" + ",".join(f'"{one}"' for one in quoted) + "}") if items else "{}"


def _text(text: str) -> str:
    """What a server sent, as the database can have it: neither NUL nor half characters."""
    if text.isascii() and "\0" not in text:
        return text
    plain = text.encode("utf-8", "surrogateescape" if _is_bytes(text) else "replace")
    return plain.decode("utf-8", "replace").replace("\0", "\ufffd")


def _is_bytes(text: str) -> bool:
    """Whether all half characters in a text stand for bytes, as the client gives illegal ones."""
    return all(not 0xD800 <= ord(one) <= 0xDFFF or 0xDC80 <= ord(one) <= 0xDCFF for one in text)


_COLUMNS = """
    resource_id text, url text, handed_to text, etag text, last_modified text, hash text,
    earlier text[], outdated boolean, tabular boolean, promised text, found_kind text,
    visited boolean, failed boolean, outcome text, found boolean,
    hashed boolean, tells boolean, unconfirmed boolean, undetermined text, at timestamp,
    changed_at timestamp, method text, status integer, reason text, words text, received bigint,
    seconds numeric, final_url text, sent_etag text, sent_modified text, modified timestamp"""
_TABLE = f"CREATE TEMPORARY TABLE freshness_found ({_COLUMNS}) ON COMMIT DROP"
_NOTHING = f"\t{NULL}" * (_COLUMNS.count(",") - 2) + "\n"
"""What a visit that was handed on has in all columns after the third."""

_SECOND = """to_char(f.{}, 'YYYY-MM-DD"T"HH24\\:MI\\:SS"Z"')"""
_ATTEMPT = f"""
        jsonb_strip_nulls(jsonb_build_object(
            'at', {_SECOND.format("at")}, 'method', f.method, 'outcome', f.outcome,
            'status', f.status, 'reason', f.reason, 'words', f.words, 'received', f.received,
            'seconds', f.seconds, 'final_url', f.final_url, 'etag', f.sent_etag,
            'last_modified', f.sent_modified, 'modified', {_SECOND.format("modified")}
        ))"""

_WRITE = f"""
UPDATE freshness_check c SET
    handed_to = f.handed_to,
    etag = CASE WHEN f.handed_to IS NULL THEN f.etag ELSE c.etag END,
    last_modified = CASE WHEN f.handed_to IS NULL THEN f.last_modified ELSE c.last_modified END,
    hash = CASE WHEN f.handed_to IS NULL THEN f.hash ELSE c.hash END,
    earlier = coalesce(f.earlier, c.earlier),
    outdated = coalesce(f.outdated, c.outdated),
    tabular = coalesce(f.tabular, c.tabular),
    promised = CASE WHEN f.handed_to IS NULL THEN f.promised ELSE c.promised END,
    found = CASE WHEN f.handed_to IS NULL THEN f.found_kind ELSE c.found END,
    unconfirmed = coalesce(f.unconfirmed, c.unconfirmed),
    hashed_at = CASE WHEN f.hashed THEN f.at ELSE c.hashed_at END,
    visited_at = CASE WHEN f.visited THEN :run_start ELSE c.visited_at END,
    tried_at = coalesce(f.at, c.tried_at),
    succeeded_at = CASE WHEN f.found AND NOT f.failed THEN f.at ELSE c.succeeded_at END,
    changed_at = coalesce(f.changed_at, c.changed_at),
    failures = CASE
        WHEN f.failed THEN c.failures + 1
        WHEN f.found THEN 0
        ELSE c.failures END,
    failing_since = CASE
        WHEN f.failed THEN coalesce(c.failing_since, f.at)
        WHEN f.found THEN NULL
        ELSE c.failing_since END,
    undetermined = CASE WHEN f.tells THEN NULL ELSE coalesce(f.undetermined, c.undetermined) END,
    attempts = CASE WHEN f.handed_to IS NOT NULL THEN c.attempts
        ELSE jsonb_path_query_array({_ATTEMPT} || c.attempts, '$[0 to {ATTEMPTS - 1}]') END
FROM freshness_found f
JOIN resource r ON r.id = f.resource_id AND r.url = f.url AND r.state = 'active'
JOIN freshness_check before ON before.resource_id = f.resource_id
WHERE c.resource_id = f.resource_id AND c.url = f.url
RETURNING c.resource_id, r.url_type, r.last_modified, r.size, r.mimetype, r.hash,
    CAST(nullif(c.wrote, '{{}}') AS text), c.undetermined IS DISTINCT FROM before.undetermined"""
