"""People's choice of the mails that they receive, and links to make it without logging in."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..dates import utc
from ..model import MailPerson
from . import recipients
from .kinds import KINDS, MailKind, Receivers

ALL = frozenset(MailKind)

_SIGNATURE_BYTES = 12


@dataclass(frozen=True, slots=True)
class MailPreference:
    """The choice of an address's owner.

    :ivar off: the kinds that are switched off
    """

    address: str
    off: frozenset[MailKind]

    @property
    def opted_out(self) -> bool:
        """Whether all kinds are switched off."""
        return self.off == ALL


def token(person_id: int) -> str:
    """Return the token for the links in a person's mails. Its holder may choose their mails.

    It is a number with a signature of 96 bits by the site's secret key. It must be short, because Python
    folds headers of more than 78 characters in a way that mail programs do not recognise as a URL.
    """
    return f"{person_id}.{_signature(person_id)}"


def of_token(text: str) -> MailPreference | None:
    """Return the choice of a token's owner; None if the token is invalid."""
    number, _, signature = text.partition(".")
    # Only ASCII digits, and no more than the column holds.
    if not (number.isascii() and number.isdigit() and len(number) < 10 and signature.isascii()):
        return None
    if not hmac.compare_digest(signature, _signature(int(number))):
        return None
    row = model.Session.query(MailPerson).get(int(number))
    return None if row is None else MailPreference(row.address, kinds_off(row))


def of_address(address: str) -> MailPreference:
    """Return the choice of an address's owner."""
    row = model.Session.query(MailPerson).filter_by(address=address).first()
    return MailPreference(address, frozenset() if row is None else kinds_off(row))


def kinds_off(row: Any) -> frozenset[MailKind]:
    """Return the kinds that are switched off, by a row of ``freshness_mail_person``."""
    if row.opted_out_at is not None:
        return ALL
    return frozenset(kind for kind in MailKind if kind.value in row.off)


def offered(address: str) -> list[MailKind]:
    """Return the kinds of mails that an address may receive. Only operators receive mails about the site."""
    is_operator = address in recipients.operators()
    return [
        kind
        for kind, rule in KINDS.items()
        if is_operator or rule.receivers is not Receivers.OPERATORS
    ]


def write(address: str, now: datetime, off: Collection[MailKind]) -> None:
    """Store the choice of an address's owner and commit.

    :param off: the kinds to switch off; if these are all, later versions' kinds are switched off, too
    """
    is_all = set(off) >= ALL
    model.Session.execute(
        sa.text(
            """
            INSERT INTO freshness_mail_person AS p (address, opted_out_at, off)
            VALUES (:address, :at, CAST(:off AS text[]))
            ON CONFLICT (address) DO UPDATE SET off = excluded.off, opted_out_at =
                CASE WHEN :is_all THEN coalesce(p.opted_out_at, excluded.opted_out_at) END"""
        ),
        {
            "address": address,
            "at": utc(now) if is_all else None,
            "off": [] if is_all else sorted(kind.value for kind in off),
            "is_all": is_all,
        },
    )
    model.Session.commit()


def _signature(person_id: int) -> str:
    key = str(tk.config["SECRET_KEY"]).encode()
    digest = hmac.digest(key, f"freshness mails {person_id}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()
