"""The events of which webhooks are told, as a table: where they come from, and how they are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_
from ..ckan_adapter.mailer import page_context
from ..dates import utc, utc_text, utc_words
from ..model.runs import CHECKED_LINKS
from ..reporting import labels
from ..reporting.visibility import rows
from . import news
from .kinds import changed, held_deletions, resource_name, url
from .news import News
from .recipients import line

TOPICS: Mapping[str, str] = {
    "data": N_("Data changed"),
    "status": N_("The status of a dataset changed"),
    "link": N_("A link is broken, or works again"),
    "source": N_("A harvest source failed"),
    "deletion": N_("Deletions wait for approval"),
}
"""What people choose, with its words. An event belongs to the topic before its full stop."""
TEST = "test"
"""The event of the test button."""


@dataclass(frozen=True, slots=True)
class EventRule:
    """An event.

    :ivar facts: yields what has happened since a moment, or what lasts now
    :ivar text: the sentence for chats, with the title of the dataset or source, and ``words``
    :ivar words: returns what the sentence says of the fact
    :ivar fields: the details that programs get
    :ivar lasts: whether facts from before a webhook was registered are among ``facts``
    """

    facts: Callable[[datetime, datetime], Iterable[News]]
    text: str
    words: Callable[[Mapping[str, Any]], str]
    fields: tuple[str, ...]
    lasts: bool = False


def _broken(since: datetime, now: datetime) -> Iterator[News]:
    for one in news.broken_links(now):
        yield News(f"{one.about}:{one.details['failing_since']}", one.package_id, None, one.details)


def _happened(statement: str, since: datetime, now: datetime) -> Iterator[News]:
    for row in rows(statement, since=utc(since)):
        yield News(str(row.id), row.package_id, details=dict(row._mapping))


_TRANSITIONS = """
SELECT t.id, t.package_id, t.from_status AS status_before, t.to_status AS status, t.changed_at AS at
FROM freshness_transition t
JOIN package p ON p.id = t.package_id AND p.state = 'active' AND p.type = ANY(:types)
WHERE t.changed_at >= :since AND t.from_status IS NOT NULL AND t.cause <> 'recompute' ORDER BY t.id"""
_MENDED = f"""
SELECT d.about AS id, d.webhook_id, c.package_id, c.resource_id, c.succeeded_at AS at, r.name AS resource, r.url
FROM freshness_webhook_delivery d JOIN ({CHECKED_LINKS}) ON c.resource_id = split_part(d.about, ':', 1)
WHERE d.event = 'link.broken' AND c.failing_since IS NULL AND c.succeeded_at >= c.tried_at
    AND c.succeeded_at >= :since
ORDER BY d.id"""

_LINK = ("resource_id", "resource")
EVENTS: Mapping[str, EventRule] = {
    "data.changed": EventRule(
        partial(_happened, f"{news.CHANGES} ORDER BY c.seen_at, c.id"),
        N_("The data of {title} changed: {words}."),
        changed,
        (*_LINK, "evidence", "summary"),
    ),
    "status.changed": EventRule(
        partial(_happened, _TRANSITIONS),
        N_("{title} is now: {words}."),
        lambda details: str(tk._(labels.STATUSES[details["status"]].label)),
        ("status_before", "status"),
    ),
    "link.broken": EventRule(
        _broken,
        N_("A link of {title} is broken: {words}."),
        resource_name,
        (*_LINK, "failing_since"),
        lasts=True,
    ),
    "link.works": EventRule(
        partial(_happened, _MENDED),
        N_("A link of {title} works again: {words}."),
        resource_name,
        _LINK,
    ),
    "source.failed": EventRule(
        lambda since, now: news.failed_sources(now),
        N_("The harvest source {title} has failed since {words}."),
        lambda details: utc_words(details["failing_since"]),
        ("failing_since",),
        lasts=True,
    ),
    "deletion.held": EventRule(
        lambda since, now: news.held_deletions(now),
        N_("{title}: {words}. Nothing is deleted before somebody approves."),
        held_deletions,
        ("count",),
        lasts=True,
    ),
}
"""The names stand in what is sent. A dataset's events of one moment are sent in this order."""


def body(event: str, one: News, subject: Mapping[str, Any], now: datetime) -> str:
    """Return what is sent: ``text`` for chats, all else for programs.

    There is no ``type``, which Mattermost takes for its own and refuses.

    :param subject: the row of the dataset or harvest source
    """
    rule, is_source = EVENTS[event], one.source_id is not None
    endpoint = "harvest.read" if is_source else "dataset.read"
    details = dict(one.details)
    details["resource"] = resource_name(details)
    with page_context():
        page = url(endpoint, id=subject["name"])
        title = line(subject["title"])
        sentence = _plain_text(tk._(rule.text).format(title=title, words=rule.words(one.details)))
    about = {key: subject[key] for key in ("id", "name", "title", "organization")} | {"url": page}
    data = {"source" if is_source else "dataset": about}
    data |= {key: _plain(details.get(key)) for key in rule.fields}
    return _json(event, f"{sentence} {page}", details.get("at") or now, data)


def _plain_text(text: str) -> str:
    """Return a text in which chats see neither links nor mentions: anybody may write a dataset's title."""
    return escape(text, quote=False).replace("@", "@\u200b")


def test_body(now: datetime) -> str:
    """Return what the test button sends."""
    with page_context():
        page = url("freshness.dashboard")
        sentence = tk._("This is a test: {site} can tell you of events here.").format(
            site=line(tk.config.get("ckan.site_title"))
        )
    return _json(TEST, f"{sentence} {page}", now, {})


def _json(event: str, text: str, at: datetime, data: Mapping[str, Any]) -> str:
    plain = {"event": event, "timestamp": utc_text(at), "text": text, "data": data}
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return utc_text(value) if isinstance(value, datetime) else value
