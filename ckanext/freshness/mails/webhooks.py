"""Webhooks: who is told of events, and the sending, by the specification of Standard Webhooks.

Each event is a row for each webhook, committed before it is sent. It waits until its receiver has taken it.
If the process is killed in between, it is sent again with the same id. The events of a dataset are sent in
order: if one is not taken, those after it wait. Nothing is told but what every visitor may see, when it is
noticed and sent.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from standardwebhooks import Webhook as Signer

from .. import settings
from ..ckan_adapter.core import model
from ..ckan_adapter.database import locked_if_free
from ..dates import aware, utc, utc_now
from ..model import Webhook, WebhookDelivery
from ..reporting.visibility import rows
from ..web.address_guard import Guard, InsideAddress
from ..web.urls import parse_url
from .news import News, subject
from .recipients import may_see, sign
from .webhook_events import EVENTS, TEST, body, test_body

if TYPE_CHECKING:
    from ..web.client import Client

log = logging.getLogger(__name__)

LOCK = "webhooks"
MOST_WEBHOOKS = 20
"""Webhooks of an organization, or of the site."""
DELAYS = (*(timedelta(minutes=each) for each in (10, 30, 60, 180, 360)), timedelta(hours=12))
"""Time until an event is sent again, by the number of attempts; the last one is repeated."""
PATIENCE = timedelta(days=3)
"""How long an event is tried, and how long a webhook may fail before it is switched off."""
KEEP = timedelta(days=30)
"""How long the log goes back."""
SECONDS = 15.0
"""Time for an answer."""
_BUDGET = 300.0
"""Seconds for one webhook, until the next call."""
_FAILURES = 3
"""Attempts in a row that fail, after which a webhook is left to the next call."""
_MOST = 500
_OVERLAP = timedelta(days=1)
"""How far back changes are looked through again: a transaction may commit late."""
_GONE = 410


# Registration


def register(
    url: str, topics: Iterable[str], organization_id: str | None, author_id: str, now: datetime
) -> Any:
    """Store a webhook and commit. Nothing is told that lasts already."""
    at = utc(now)
    webhook = Webhook(
        id=str(uuid4()),
        url=url,
        organization_id=organization_id,
        topics=sorted(topics),
        author_id=author_id,
        created_at=at,
        seen_at=at,
    )
    model.Session.add(webhook)
    model.Session.flush()
    for event, rule in EVENTS.items():
        if rule.lasts and _is_wanted(event, webhook):
            for one in rule.facts(now, now):
                model.Session.add(_row(webhook, event, one.about, at))
    model.Session.commit()
    return webhook


def refusal(url: str) -> str | None:
    """Return why nothing can be sent to a URL, in words; None if it can.

    A name that has no address now may have one later.
    """
    from ..web.errors import FetchError
    from ..web.exchange import Limits
    from ..web.faults import fault_of

    try:
        target = parse_url(url)
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        Guard(settings.words("allowed_networks")).admitted(str(one[4][0]) for one in found)
    except FetchError as error:
        return f"{error.url} {error.words}"
    except InsideAddress as error:
        return f"{masked(url)} {fault_of(error, Limits()).words}"
    except OSError:
        return None
    return None


def masked(url: str) -> str:
    """Return the beginning of a URL: its password, its path or its parameters may be secret."""
    parts = urlsplit(url)
    start = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return url if url in (start, f"{start}/") else f"{start}/***"


def secret(webhook_id: str) -> str:
    """Return the secret by which a webhook's receiver verifies signatures."""
    return f"whsec_{base64.b64encode(sign(f'webhook {webhook_id}')).decode()}"


def delete(webhook: Any) -> None:
    """Delete a webhook with its log, and commit."""
    model.Session.query(WebhookDelivery).filter_by(webhook_id=webhook.id).delete()
    model.Session.delete(webhook)
    model.Session.commit()


def add_test(webhook: Any, now: datetime) -> None:
    """Have a test sent, and commit. If it is taken, a webhook that was switched off is on again."""
    at = utc(now)
    model.Session.add(_row(webhook, TEST, str(uuid4()), at, body=test_body(now), next_at=at))
    model.Session.commit()


def _row(webhook: Any, event: str, about: str, at: datetime, **values: Any) -> Any:
    return WebhookDelivery(webhook_id=webhook.id, event=event, about=about, created_at=at, **values)


def _is_wanted(event: str, webhook: Any) -> bool:
    return event.partition(".")[0] in webhook.topics


# Events


def tell(clock: Callable[[], datetime] = utc_now) -> None:
    """Notice new events and send what is due. If another process does this, do nothing."""
    if model.Session.query(Webhook.id).first() is None:
        return
    with locked_if_free(LOCK) as is_locked:
        if is_locked:
            _notice(clock())
            _send_due(clock)


def _notice(now: datetime) -> None:
    """Write a row for each new event and webhook, and commit."""
    webhooks = model.Session.query(Webhook).filter(Webhook.disabled_at.is_(None)).all()
    since = {one.id: max(one.created_at, one.seen_at - _OVERLAP) for one in webhooks}
    subjects = lru_cache(maxsize=None)(_subject)
    current: dict[str, list[News]] = {}
    for event, rule in EVENTS.items():
        interested = [one for one in webhooks if _is_wanted(event, one)]
        if interested:
            first = aware(min(since[one.id] for one in interested))
            current[event] = list(rule.facts(first, now))
        for webhook in interested:
            found = {
                one.about: one
                for one in current[event]
                if one.details.get("at", since[webhook.id]) >= since[webhook.id]
                and one.details.get("webhook_id", webhook.id) == webhook.id
            }
            rows = _deliveries(webhook.id, event).filter(WebhookDelivery.about.in_([*found]))
            for known in rows.with_entities(WebhookDelivery.about):
                del found[known.about]
            for about, one in found.items():
                about_it = subjects(one.package_id or one.source_id)
                if about_it and webhook.organization_id in (None, about_it["owner_org"]):
                    row = _row(webhook, event, about, utc(now), next_at=utc(now))
                    row.package_id, row.body = about_it["id"], body(event, one, about_it, now)
                    model.Session.add(row)
            model.Session.flush()
    for webhook in webhooks:
        webhook.seen_at = utc(now)
        for event in (*current, TEST):
            _deliveries(webhook.id, event).filter(
                WebhookDelivery.created_at < utc(now - KEEP),
                WebhookDelivery.next_at.is_(None),
                WebhookDelivery.about.not_in([one.about for one in current.get(event, ())]),
            ).delete(synchronize_session=False)
    model.Session.commit()


def _deliveries(webhook_id: str, event: str) -> Any:
    return model.Session.query(WebhookDelivery).filter_by(webhook_id=webhook_id, event=event)


def _subject(package_id: str) -> Mapping[str, Any] | None:
    """Return a dataset or harvest source; None if not every visitor may see it."""
    found = subject(package_id)
    return found if found is not None and may_see(package_id, None) else None


# Sending


def _send_due(clock: Callable[[], datetime]) -> None:
    # Web workers import this module, too, and need no HTTP library.
    from ..web.client import Client
    from ..web.event_loop import run
    from ..web.exchange import Limits
    from ..web.hosts import Hosts

    due = rows(_DUE, now=utc(clock()), most=_MOST).all()
    model.Session.commit()
    waiting: dict[str, list[Any]] = {}
    for row in due:
        waiting.setdefault(row.webhook_id, []).append(row)
    # A redirect is a failure, and a request for a long pause as well: the next attempt comes later anyway.
    limits = Limits(
        read=SECONDS, total=SECONDS, redirects=0, attempts=1, backoff=(), retry_after_max=0
    )

    async def send_all() -> None:
        async with Client(settings.web(limits), Hosts()) as client:
            await asyncio.gather(*(_send(client, *each, clock) for each in waiting.items()))

    if waiting:
        run(send_all)


_DUE = """
SELECT * FROM (
    SELECT d.id, d.webhook_id, w.url, d.package_id, d.body,
        row_number() OVER (PARTITION BY d.webhook_id ORDER BY d.id) AS place
    FROM freshness_webhook_delivery d JOIN freshness_webhook w ON w.id = d.webhook_id
    WHERE d.next_at <= :now AND NOT EXISTS (
        SELECT FROM freshness_webhook_delivery e WHERE e.webhook_id = d.webhook_id
            AND e.package_id = d.package_id AND e.id < d.id AND e.next_at > :now)
) d WHERE place <= :most ORDER BY id"""
"""SQL: what is due, without events that must wait for an earlier one of their dataset."""


async def _send(
    client: Client, webhook_id: str, rows: list[Any], clock: Callable[[], datetime]
) -> None:
    """Send a webhook's events one after the other, and commit after each."""
    stuck, failures, end = set(), 0, monotonic() + _BUDGET
    for row in rows:
        if failures == _FAILURES or monotonic() > end:
            break
        if row.package_id in stuck:
            continue
        if row.package_id and _subject(row.package_id) is None:
            model.Session.query(WebhookDelivery).filter_by(id=row.id).delete()
            model.Session.commit()
            continue
        # No transaction lasts while an answer is awaited.
        model.Session.rollback()
        # The time of the signature is the machine's: receivers compare it with theirs.
        answer = await _answer(client, row, utc_now())
        is_taken = answer.isdecimal() and 200 <= int(answer) < 300
        if not _store(webhook_id, row.id, answer, is_taken, clock()):
            break
        failures = 0 if is_taken else failures + 1
        if not is_taken and row.package_id:
            stuck.add(row.package_id)


async def _answer(client: Client, row: Any, now: datetime) -> str:
    """Send an event; return the status, or why there was no answer."""
    from ..web.errors import FetchError
    from ..web.exchange import Body, Request

    number = f"msg_{row.webhook_id}_{row.id}"
    headers = {
        "Content-Type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(secret(row.webhook_id)).sign(number, now, row.body),
    }
    request = Request(row.url, "POST", row.body.encode(), headers=headers)
    try:
        found = await client.fetch(request, lambda _: Body.SKIP)
    except FetchError as error:
        return error.words
    return str(found.status)


def _store(webhook_id: str, delivery_id: int, answer: str, is_taken: bool, now: datetime) -> bool:
    """Store the answer to an attempt and commit. Return whether the webhook is on."""
    model.Session.rollback()
    webhook = model.Session.get(Webhook, webhook_id)
    row = model.Session.get(WebhookDelivery, delivery_id)
    if webhook is None or row is None:
        # Somebody has deleted it meanwhile.
        return webhook is not None
    at = utc(now)
    row.attempts += 1
    row.answer, row.next_at = answer, None
    if is_taken:
        row.delivered_at = at
        if webhook.disabled_at is not None:
            webhook.seen_at = at
        webhook.failing_since = webhook.disabled_at = None
    else:
        webhook.failing_since = webhook.failing_since or at
        if at - row.created_at < PATIENCE:
            row.next_at = at + DELAYS[min(row.attempts, len(DELAYS)) - 1]
        if at - webhook.failing_since >= PATIENCE or answer == str(_GONE):
            _disable(webhook, at)
    model.Session.commit()
    return webhook.disabled_at is None


def _disable(webhook: Any, at: datetime) -> None:
    """Switch a webhook off: nothing is sent but tests, and nothing is noticed until one is taken."""
    log.warning("The webhook %s at %s was switched off", webhook.id, urlsplit(webhook.url).hostname)
    webhook.disabled_at = webhook.disabled_at or at
    model.Session.flush()
    waiting = model.Session.query(WebhookDelivery).filter_by(webhook_id=webhook.id)
    waiting.filter(WebhookDelivery.next_at.is_not(None)).update({"next_at": None})
