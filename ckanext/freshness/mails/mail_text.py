"""A mail as text and HTML, with a section for each kind of news."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.mailer import MailFailure, OutgoingMail, page_context
from ..reporting.labels import counted
from . import signed_links
from .kinds import KINDS, NAMES_ONCE, MailFacts, Row, url
from .news import News
from .recipients import Receivers, line

MOST_ROWS = 100
"""Rows of a section. It gives only the number of the others."""
_LONGEST_HEADER_URL = 70
_LONGEST_SUBJECT = 70


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail and its outcome.

    :ivar about: the titles of its rows, by kind
    :ivar planned: the mail, until it is sent
    :ivar failure: None if the mail was sent, or only planned
    """

    address: str
    about: dict[str, list[str]]
    planned: OutgoingMail | None = None
    failure: MailFailure | None = None
    error: str | None = None


def written(
    address: str, every: Sequence[tuple[str, News]], facts: MailFacts, *, has_tasks: bool
) -> SentMail:
    """Return a mail that is not sent yet.

    :param every: its news, each with its kind
    :param facts: with the recipient, whose links are signed; without one in a dry run
    :param has_tasks: whether the recipient has a worklist
    """
    token = "preview" if facts.reader is None else signed_links.token(facts.reader[0])
    with page_context():
        rows = _rows(every, facts)
        values: dict[str, Any] = {
            "site_title": line(tk.config.get("ckan.site_title")),
            "site_url": tk.config.get("ckan.site_url"),
            "stop_url": url("freshness_mail_link.read_link", token=token),
            "sections": [_section(kind, rows[kind], has_tasks=has_tasks) for kind in rows],
            "reasons": dict.fromkeys(one.receivers.value for _, one in every),
        }
        planned = _outgoing(address, values)
    about = {kind: [row.title for row in rows[kind]] for kind in rows}
    return SentMail(address, about, planned)


def _rows(every: Iterable[tuple[str, News]], facts: MailFacts) -> dict[str, list[Row]]:
    """Return rows by kind, in the order of the table of kinds."""
    of_kind: dict[str, list[News]] = {kind: [] for kind in KINDS}
    for kind, one in every:
        of_kind[kind].append(one)
    order, named = [*Receivers], set()
    found: dict[str, list[Row]] = {}
    for kind, pieces in of_kind.items():
        rows = []
        for one in sorted(pieces, key=lambda one: order.index(one.receivers)):
            if kind not in NAMES_ONCE or one.package_id not in named:
                named.add(one.package_id)
                rows.append(KINDS[kind].row(one, facts))
        if rows:
            found[kind] = sorted(rows, key=lambda row: row.title)
    return found


def _section(kind: str, rows: list[Row], *, has_tasks: bool) -> dict[str, Any]:
    rule = KINDS[kind]
    subject = counted(rule.subject, len(rows))
    has_link = has_tasks and rule.tasks is not None
    return {
        "intro": rule.intro,
        "otherwise": rule.otherwise,
        "subject": subject,
        "heading": subject[:1].upper() + subject[1:],
        "rows": rows[:MOST_ROWS],
        "more": max(0, len(rows) - MOST_ROWS),
        "worklist_url": url("freshness_worklist.read", group=rule.tasks or "")
        if has_link
        else None,
    }


def _outgoing(address: str, values: dict[str, Any]) -> OutgoingMail:
    sections = values["sections"]
    first = f"{line(values['site_title'], 25)}: {sections[0]['subject']}"
    longer = tk._("{subject}, and more").format(subject=first)
    subject = longer if len(sections) > 1 and len(longer) <= _LONGEST_SUBJECT else first
    return OutgoingMail(
        address=address,
        subject=line(subject, _LONGEST_SUBJECT),
        # Sections and rows end with any number of blank lines.
        text=re.sub(r"\n{3,}", "\n\n", tk.render("freshness/mails/digest.txt", values)),
        html=tk.render("freshness/mails/digest.html", values),
        headers={
            "Auto-Submitted": "auto-generated",
            "List-Unsubscribe": _header_url(values["stop_url"]),
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    )


def _header_url(address: str) -> str:
    """Return a URL in brackets for a header, with a space in it if it is long.

    Python folds headers only at spaces, and encodes longer words in a way that mail programs do not
    recognise as a URL. A space between the brackets has no meaning (RFC 2369, section 2).
    """
    if len(address) > _LONGEST_HEADER_URL:
        host, slash, path = address.rpartition("/freshness/")
        address = f"{host} {slash}{path}"
    return f"<{address}>"
