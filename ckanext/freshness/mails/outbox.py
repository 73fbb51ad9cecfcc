"""What was told to whom: rows that are claimed before a mail is sent, and get their end afterwards.

Nothing here sends, and nothing commits but :func:`claim`, :func:`end` and :func:`orphans`, whose
commits are what keeps a mail from being sent twice.
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
"""So often a mail is tried, one notify at a time."""

_TO_PEOPLE = (MailKind.NOT_FRESH.value, MailKind.DELINQUENT.value)


@dataclass(frozen=True, slots=True)
class NotifyStart:
    """Where mails begin.

    :ivar transition_id: of that transition, and of those before, nobody is told
    :ivar at: nor of what went wrong before this moment; in UTC, without zone
    """

    transition_id: int
    at: datetime


def start() -> NotifyStart | None:
    """Where mails begin; None if nothing has been sent since they were switched on."""
    row = model.Session.query(MailStart).first()
    return None if row is None else NotifyStart(row.transition_id, row.started_at)


def begin(now: datetime) -> None:
    """All that is known by now is what the site was like: nobody is told of it."""
    _execute(
        """
        INSERT INTO freshness_mail_start (id, transition_id, started_at)
        SELECT 1, coalesce(max(id), 0), :now FROM freshness_transition
        ON CONFLICT (id) DO NOTHING""",
        now=utc(now),
    )


def forget_start() -> None:
    """Mails are switched off: should they be switched on again, they begin anew."""
    _execute("DELETE FROM freshness_mail_start")


def crossings(begun: NotifyStart) -> list[Crossing]:
    """The dates that datasets have crossed since mails began, and that are not settled yet."""
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


def waiting_findings(keys: Iterable[str]) -> dict[str, set[str]]:
    """The addresses that still wait to be told of findings, by key; no key of what is new to everybody."""
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
    """The addresses to which a mail of a kind went, or may have gone, since some moment."""
    rows = _execute(
        "SELECT DISTINCT kind, address FROM freshness_mail"
        " WHERE outcome IN ('sent', 'unknown') AND ended_at > :since AND kind = ANY(:kinds)",
        since=utc(since),
        kinds=list(_TO_PEOPLE),
    )
    return {(MailKind(row.kind), row.address) for row in rows}


def opted_out() -> set[str]:
    """The addresses whose owners want no mails."""
    rows = _execute("SELECT address FROM freshness_mail_person WHERE opted_out_at IS NOT NULL")
    return {row.address for row in rows}


def tries() -> dict[tuple[MailKind, str], int]:
    """How often it was tried already to tell people what waits for them."""
    rows = _execute(
        "SELECT kind, address, max(tries) AS tries FROM freshness_mail"
        " WHERE outcome = 'waiting' AND tries > 0 GROUP BY kind, address"
    )
    return {(MailKind(row.kind), row.address): row.tries for row in rows}


def enter(plan: MailPlan, now: datetime) -> None:
    """Write down what is to be told to whom, and what to nobody."""
    waiting = [(item, address) for item, address in plan.waiting]
    waiting += [(item, digest.address) for digest in plan.digests for item in digest.items]
    rows = [_row(item, address, MailOutcome.WAITING, None) for item, address in waiting]
    for item, outcome, addresses in plan.settled:
        # Nobody has been thought of yet: nobody it is.
        rows += [_row(item, one, outcome, now) for one in addresses or ("",)]
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
    """Make sure that nobody else sends this mail, or sends it again, and commit.

    :returns: the items that are still to be told to its address: the mail is to have these, and none else.
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
    """Write down what became of a mail, and commit.

    :param outcome: what waits again has been tried, and is given up after :data:`MOST_TRIES`.
    :returns: whether it was given up.
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
    """The mail server could not be spoken to: the try does not count. Commits."""
    _execute(
        "UPDATE freshness_mail SET outcome = 'waiting', tries = tries - 1, error = :error"
        " WHERE mail_id = :mail_id AND outcome = 'claimed'",
        mail_id=mail_id,
        error=error,
    )
    model.Session.commit()


def orphans(now: datetime) -> list[str]:
    """Mails that a process was sending when it died, and commit: nobody knows whether they have gone.

    To be called only by whoever alone may send.

    :returns: their addresses.
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
    """The numbers of addresses, which stand in the links of their mails."""
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
    """Remove what was told of transitions and runs that are themselves forgotten."""
    _execute(
        """
        DELETE FROM freshness_mail m WHERE m.outcome <> 'claimed' AND CASE WHEN m.kind = 'run'
            THEN NOT EXISTS (SELECT 1 FROM freshness_run r
                WHERE r.id = substr(m.about, strpos(m.about, ':') + 1))
            ELSE NOT EXISTS (SELECT 1 FROM freshness_transition t WHERE t.id = CAST(m.about AS bigint)) END"""
    )


def _execute(statement: str, **parameters: Any) -> Any:
    return model.Session.execute(sa.text(statement), parameters)
