"""The tables of mails. Rows are claimed before a mail is sent and get an outcome afterwards.

Only :func:`claim`, :func:`end`, :func:`give_back` and :func:`orphans` commit. Their commits keep a
mail from being sent twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import model
from ..dates import utc
from ..model import MailStart
from . import rules
from .rules import Crossing, Digest, MailKind, MailOutcome, MailPlan, NewsItem

MOST_TRIES = 5
"""Attempts to send a mail, one per notify."""

_TO_PEOPLE = (MailKind.NOT_FRESH.value, MailKind.DELINQUENT.value)


@dataclass(frozen=True, slots=True)
class NotifyStart:
    """The point from which changes cause mails.

    :ivar transition_id: the last transition that causes no mail
    :ivar at: problems until this moment cause no mail; in UTC, without a zone
    """

    transition_id: int
    at: datetime


def start() -> NotifyStart | None:
    """Return the point at which mails began; None before the first notify with mails switched on."""
    row = model.Session.query(MailStart).first()
    return None if row is None else NotifyStart(row.transition_id, row.started_at)


def begin(now: datetime) -> None:
    """Let mails begin now, so that everything known so far causes no mail."""
    _execute(
        """
        INSERT INTO freshness_mail_start (id, transition_id, started_at)
        SELECT 1, coalesce(max(id), 0), :now FROM freshness_transition
        ON CONFLICT (id) DO NOTHING""",
        now=utc(now),
    )


def forget_start() -> None:
    """Forget where mails began, because they are switched off. If switched on again, they begin anew."""
    _execute("DELETE FROM freshness_mail_start")


def crossings(begun: NotifyStart) -> list[Crossing]:
    """Return the dates that datasets have crossed since mails began and that are not settled yet."""
    rows = _execute(_CROSSINGS, after=begun.transition_id)
    found = []
    for row in rows:
        for kind in rules.kinds(row.from_status, row.to_status, row.cause):
            waiting = (row.waiting or {}).get(kind.value)
            if waiting or kind.value not in (row.known or ()):
                item = NewsItem(kind, str(row.id), row.package_id)
                found.append(Crossing(item, frozenset(waiting) if waiting else None))
    return found


_CROSSINGS = """
SELECT t.id, t.package_id, t.from_status, t.to_status, t.cause, m.known, m.waiting
FROM freshness_transition t
CROSS JOIN LATERAL (
    SELECT array_agg(kind) AS known,
        jsonb_object_agg(kind, addresses) FILTER (WHERE addresses IS NOT NULL) AS waiting
    FROM (
        SELECT kind, jsonb_agg(address) FILTER (WHERE outcome = 'waiting') AS addresses
        FROM freshness_mail WHERE kind IN ('overdue', 'delinquent') AND about = t.id::text
        GROUP BY kind
    ) k
) m
WHERE t.id > :after AND t.to_status IN ('overdue', 'delinquent') AND t.from_status IS NOT NULL
ORDER BY t.changed_at, t.id"""


def waiting_problems(keys: Iterable[str]) -> dict[str, set[str]]:
    """Return the addresses that wait for a mail about a problem, by its key; new problems are absent."""
    rows = _execute(
        "SELECT about, address, outcome FROM freshness_mail WHERE kind = :kind AND about = ANY(:keys)",
        kind=MailKind.RUN.value,
        keys=list(keys),
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        waiting = found.setdefault(row.about, set())
        if row.outcome == MailOutcome.WAITING.value:
            waiting.add(row.address)
    return found


def lately(since: datetime) -> set[tuple[MailKind, str]]:
    """Return the kinds and addresses of mails that were sent, or may have been, since a moment."""
    rows = _execute(
        "SELECT DISTINCT kind, address FROM freshness_mail"
        " WHERE outcome IN ('sent', 'unknown') AND ended_at > :since AND kind = ANY(:kinds)",
        since=utc(since),
        kinds=list(_TO_PEOPLE),
    )
    return {(MailKind(row.kind), row.address) for row in rows}


def opted_out() -> set[str]:
    """Return the addresses whose owners want no mails."""
    rows = _execute("SELECT address FROM freshness_mail_person WHERE opted_out_at IS NOT NULL")
    return {row.address for row in rows}


def tries() -> dict[tuple[MailKind, str], int]:
    """Return the number of failed attempts for each kind and address with waiting news."""
    rows = _execute(
        "SELECT kind, address, max(tries) AS tries FROM freshness_mail"
        " WHERE outcome = 'waiting' AND tries > 0 GROUP BY kind, address"
    )
    return {(MailKind(row.kind), row.address): row.tries for row in rows}


def enter(plan: MailPlan, now: datetime) -> None:
    """Store the plan: waiting rows for each recipient, and settled news."""
    waiting = [(item, address) for item, address in plan.waiting]
    waiting += [(item, digest.address) for digest in plan.digests for item in digest.items]
    rows = [_row(item, address, MailOutcome.WAITING, None) for item, address in waiting]
    for item, outcome, addresses in plan.settled:
        # No recipient: store an empty address.
        rows += [_row(item, address, outcome, now) for address in addresses or ("",)]
    _execute(_ENTER, rows=json.dumps(rows))


def _row(
    item: NewsItem, address: str, outcome: MailOutcome, now: datetime | None
) -> dict[str, Any]:
    return {
        "kind": item.kind.value,
        "about": item.about,
        "address": address,
        "package_id": item.package_id,
        "outcome": outcome.value,
        "ended_at": None if now is None else utc(now).isoformat(),
    }


_ENTER = """
INSERT INTO freshness_mail AS m (kind, about, address, package_id, outcome, tries, ended_at)
SELECT DISTINCT ON (kind, about, address) kind, about, address, package_id, outcome, 0, ended_at
FROM jsonb_populate_recordset(NULL::freshness_mail, CAST(:rows AS jsonb))
ON CONFLICT (kind, about, address) DO UPDATE SET outcome = excluded.outcome, ended_at = excluded.ended_at
WHERE m.outcome = 'waiting' AND excluded.outcome <> 'waiting'"""


def claim(digest: Digest, mail_id: str, now: datetime) -> tuple[NewsItem, ...]:
    """Claim the waiting news of a mail, so that no other process sends it, and commit.

    :returns: the claimed news, which is all that the mail may contain
    """
    rows = _execute(
        _CLAIM,
        kind=digest.kind.value,
        about=[item.about for item in digest.items],
        address=digest.address,
        mail_id=mail_id,
        now=utc(now),
    )
    claimed = {row.about for row in rows}
    model.Session.commit()
    return tuple(item for item in digest.items if item.about in claimed)


_CLAIM = """
UPDATE freshness_mail SET outcome = 'claimed', tries = tries + 1, mail_id = :mail_id, claimed_at = :now,
    ended_at = NULL, error = NULL
WHERE kind = :kind AND about = ANY(:about) AND address = :address AND outcome = 'waiting'
RETURNING about"""


def end(mail_id: str, outcome: MailOutcome, now: datetime, error: str | None = None) -> bool:
    """Store the outcome of a mail and commit.

    :param outcome: WAITING becomes REFUSED after :data:`MOST_TRIES` attempts
    :returns: whether it became REFUSED
    """
    rows = _execute(
        """
        UPDATE freshness_mail SET ended_at = :now, error = :error, outcome =
            CASE WHEN :outcome = 'waiting' AND tries >= :most THEN 'refused' ELSE :outcome END
        WHERE mail_id = :mail_id AND outcome = 'claimed'
        RETURNING outcome""",
        mail_id=mail_id,
        outcome=outcome.value,
        now=utc(now),
        error=error,
        most=MOST_TRIES,
    )
    given_up = any(row.outcome == MailOutcome.REFUSED.value for row in rows)
    model.Session.commit()
    return given_up


def give_back(mail_id: str, error: str) -> None:
    """Let a mail wait again without counting the attempt, since the mail server was unreachable; commit."""
    _execute(
        "UPDATE freshness_mail SET outcome = 'waiting', tries = tries - 1, error = :error"
        " WHERE mail_id = :mail_id AND outcome = 'claimed'",
        mail_id=mail_id,
        error=error,
    )
    model.Session.commit()


def orphans(now: datetime) -> list[str]:
    """Set the outcome of mails that a killed process was sending to UNKNOWN and commit.

    The caller must hold the lock for sending.

    :returns: their addresses
    """
    rows = _execute(
        "UPDATE freshness_mail SET outcome = 'unknown', ended_at = :now WHERE outcome = 'claimed'"
        " RETURNING address",
        now=utc(now),
    )
    found = sorted({row.address for row in rows})
    model.Session.commit()
    return found


def person_ids(emails: Iterable[str]) -> Mapping[str, int]:
    """Return the numbers of addresses for the links in their mails, adding missing rows."""
    wanted = sorted(set(emails))
    _execute(
        "INSERT INTO freshness_mail_person (address) SELECT unnest(CAST(:addresses AS text[]))"
        " ON CONFLICT (address) DO NOTHING",
        addresses=wanted,
    )
    rows = _execute(
        "SELECT id, address FROM freshness_mail_person WHERE address = ANY(:addresses)",
        addresses=wanted,
    )
    return {row.address: row.id for row in rows}


def forget() -> None:
    """Delete rows about transitions and runs that were themselves deleted."""
    _execute(
        """
        DELETE FROM freshness_mail m WHERE m.outcome <> 'claimed' AND CASE WHEN m.kind = 'run'
            THEN NOT EXISTS (SELECT 1 FROM freshness_run r
                WHERE r.id = substr(m.about, strpos(m.about, ':') + 1))
            ELSE NOT EXISTS (SELECT 1 FROM freshness_transition t WHERE t.id = CAST(m.about AS bigint)) END"""
    )


def _execute(statement: str, **parameters: Any) -> Any:
    return model.Session.execute(sa.text(statement), parameters)
