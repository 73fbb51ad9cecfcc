"""The tables of mails. Rows are claimed before a mail is sent and get an outcome afterwards.

Only :func:`claim` and :func:`orphans` commit, which keeps a mail from being sent twice. The commit of a claim
also stores the outcome of the mail before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from dateutil.parser import isoparse

from ..ckan_adapter.ckan_core import model
from ..dates import aware, utc
from ..model import MailStart
from . import opt_outs, rules
from .kinds import MailKind, Origin, kinds_from
from .rules import Digest, MailOutcome, MailPlan, News, NewsItem, Person

MOST_TRIES = 5
"""Attempts to send a piece of news, one per notify."""


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
    """Start mails from now on: no earlier fact causes a mail."""
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


def crossings(begun: NotifyStart) -> list[News]:
    """Return the dates that datasets have crossed since mails began and that are not settled yet."""
    rows = _execute(_CROSSINGS, after=begun.transition_id, kinds=kinds_from(Origin.TRANSITION))
    found = []
    for row in rows:
        for kind in rules.kinds(row.from_status, row.to_status, row.cause):
            waiting = (row.waiting or {}).get(kind.value)
            # News that earlier versions sent without a copy gets none.
            original = MailKind.NOT_FRESH if kind is MailKind.COPY else kind
            if waiting or original.value not in (row.known or ()):
                item = NewsItem(kind, str(row.id), row.package_id)
                found.append(News(item, frozenset(waiting) if waiting else None))
    return found


_CROSSINGS = """
SELECT t.id, t.package_id, t.from_status, t.to_status, t.cause, m.known, m.waiting
FROM freshness_transition t
CROSS JOIN LATERAL (
    SELECT array_agg(kind) AS known,
        jsonb_object_agg(kind, addresses) FILTER (WHERE addresses IS NOT NULL) AS waiting
    FROM (
        SELECT kind, jsonb_agg(address) FILTER (WHERE outcome = 'waiting') AS addresses
        FROM freshness_mail WHERE kind = ANY(:kinds) AND about = t.id::text
        GROUP BY kind
    ) k
) m
WHERE t.id > :after AND t.to_status IN ('overdue', 'delinquent') AND t.from_status <> t.to_status
ORDER BY t.changed_at, t.id"""


def unsettled(items: Iterable[NewsItem]) -> list[News]:
    """Return the faults and problems that are not settled yet.

    :param items: all that exist now
    """
    rows = _execute(
        "SELECT kind, about, array_agg(address) FILTER (WHERE outcome = 'waiting') AS waiting"
        " FROM freshness_mail WHERE kind = ANY(:kinds) GROUP BY kind, about",
        kinds=kinds_from(Origin.FINDING, Origin.RUN),
    )
    known = {(row.kind, row.about): row.waiting for row in rows}
    found = []
    for item in items:
        waiting = known.get((item.kind.value, item.about))
        if waiting or (item.kind.value, item.about) not in known:
            found.append(News(item, frozenset(waiting) if waiting else None))
    return found


def people() -> dict[str, Person]:
    """Return the addresses whose owners switched off mails or had any."""
    rows = _execute(
        "SELECT address, opted_out_at, off, told_at FROM freshness_mail_person"
        " WHERE opted_out_at IS NOT NULL OR off <> '{}' OR told_at <> '{}'"
    )
    return {
        row.address: Person(
            opt_outs.kinds_off(row),
            {
                kind: aware(isoparse(row.told_at[kind.value]))
                for kind in MailKind
                if kind.value in row.told_at
            },
        )
        for row in rows
    }


def tries() -> dict[str, int]:
    """Return the number of failed attempts for each address with waiting news."""
    rows = _execute(
        "SELECT address, max(tries) AS tries FROM freshness_mail"
        " WHERE outcome = 'waiting' AND tries > 0 GROUP BY address"
    )
    return {row.address: row.tries for row in rows}


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
        kinds=[item.kind.value for item in digest.items],
        about=[item.about for item in digest.items],
        address=digest.address,
        mail_id=mail_id,
        now=utc(now),
    )
    claimed = {(row.kind, row.about) for row in rows}
    model.Session.commit()
    return tuple(item for item in digest.items if (item.kind.value, item.about) in claimed)


_CLAIM = """
UPDATE freshness_mail m SET outcome = 'claimed', tries = tries + 1, mail_id = :mail_id,
    claimed_at = :now, ended_at = NULL, error = NULL
FROM unnest(CAST(:kinds AS text[]), CAST(:about AS text[])) AS i (kind, about)
WHERE m.kind = i.kind AND m.about = i.about AND m.address = :address AND m.outcome = 'waiting'
RETURNING m.kind, m.about"""


def end(mail_id: str, outcome: MailOutcome, now: datetime, error: str | None = None) -> bool:
    """Store the outcome of a mail. No commit.

    :param outcome: WAITING becomes REFUSED after :data:`MOST_TRIES` attempts
    :returns: whether it became REFUSED
    """
    rows = _execute(
        _END.format(mails="mail_id = :mail_id AND outcome = 'claimed'"),
        mail_id=mail_id,
        outcome=outcome.value,
        now=utc(now),
        error=error,
        most=MOST_TRIES,
    )
    return any(row.outcome == MailOutcome.REFUSED.value for row in rows)


_END = """
WITH ended AS (
    UPDATE freshness_mail SET ended_at = :now, error = :error, outcome =
        CASE WHEN :outcome = 'waiting' AND tries >= :most THEN 'refused' ELSE :outcome END
    WHERE {mails}
    RETURNING kind, address, outcome
), told AS (
    UPDATE freshness_mail_person p SET told_at = p.told_at || t.kinds
    FROM (
        SELECT address, jsonb_object_agg(kind, CAST(:now AS timestamp)) AS kinds
        FROM ended WHERE outcome IN ('sent', 'unknown') GROUP BY address
    ) t
    WHERE p.address = t.address
)
SELECT DISTINCT address, outcome FROM ended"""


def give_back(mail_id: str, error: str) -> None:
    """Make a mail wait again, because the server was unreachable. The attempt does not count. No commit."""
    _execute(
        "UPDATE freshness_mail SET outcome = 'waiting', tries = tries - 1, error = :error"
        " WHERE mail_id = :mail_id AND outcome = 'claimed'",
        mail_id=mail_id,
        error=error,
    )


def orphans(now: datetime) -> list[str]:
    """Set the outcome of mails that a killed process was sending to UNKNOWN and commit.

    The caller must hold the lock for sending.

    :returns: their addresses
    """
    rows = _execute(
        _END.format(mails="outcome = 'claimed'"),
        outcome=MailOutcome.UNKNOWN.value,
        now=utc(now),
        error=None,
        most=MOST_TRIES,
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


def forget(current: Iterable[NewsItem]) -> None:
    """Delete rows about deleted transitions and runs, and about faults that do not exist any more.

    :param current: all faults that exist now
    """
    abouts: dict[str, list[str]] = {kind: [] for kind in kinds_from(Origin.FINDING)}
    for item in current:
        if item.kind.value in abouts:
            abouts[item.kind.value].append(item.about)
    for kind, about in abouts.items():
        _execute(_FORGET.format(is_gone=_IS_GONE[Origin.FINDING]), kinds=[kind], about=about)
    for origin in (Origin.TRANSITION, Origin.RUN):
        _execute(_FORGET.format(is_gone=_IS_GONE[origin]), kinds=kinds_from(origin))


_FORGET = (
    "DELETE FROM freshness_mail m WHERE kind = ANY(:kinds) AND outcome <> 'claimed' AND {is_gone}"
)
_IS_GONE = {
    # Only transitions have numbers. Without CASE, the database may read those of other kinds.
    Origin.TRANSITION: """CASE WHEN kind = ANY(:kinds) THEN NOT EXISTS (
        SELECT FROM freshness_transition t WHERE t.id = CAST(m.about AS bigint)
    ) END""",
    Origin.FINDING: """NOT EXISTS (
        SELECT FROM unnest(CAST(:about AS text[])) f (about) WHERE f.about = m.about
    )""",
    Origin.RUN: """NOT EXISTS (
        SELECT FROM freshness_run r WHERE r.id = substr(m.about, strpos(m.about, ':') + 1)
    )""",
}
"""Conditions for rows whose transition, fault or run does not exist any more."""


def _execute(statement: str, **parameters: Any) -> Any:
    return model.Session.execute(sa.text(statement), parameters)
