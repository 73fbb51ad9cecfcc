"""People's choice to receive no mails, and links to make it without logging in."""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from datetime import datetime

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import model
from ..dates import utc
from ..model import MailPerson

_SIGNATURE_BYTES = 12


@dataclass(frozen=True, slots=True)
class MailPreference:
    """The choice of an address's owner."""

    address: str
    opted_out: bool


def token(person_id: int) -> str:
    """Return the token for the links in a person's mails. Its holder may opt out, and in again.

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
    return None if row is None else MailPreference(row.address, row.opted_out_at is not None)


def of_address(address: str) -> MailPreference:
    """Return the choice of an address's owner."""
    row = model.Session.query(MailPerson).filter_by(address=address).first()
    return MailPreference(address, row is not None and row.opted_out_at is not None)


def write(address: str, now: datetime, *, opted_out: bool) -> None:
    """Store the choice of an address's owner and commit."""
    model.Session.execute(
        sa.text(
            """
            INSERT INTO freshness_mail_person AS p (address, opted_out_at) VALUES (:address, :at)
            ON CONFLICT (address) DO UPDATE SET opted_out_at =
                CASE WHEN :opted_out THEN coalesce(p.opted_out_at, excluded.opted_out_at) END"""
        ),
        {"address": address, "at": utc(now) if opted_out else None, "opted_out": opted_out},
    )
    model.Session.commit()


def _signature(person_id: int) -> str:
    key = str(tk.config["SECRET_KEY"]).encode()
    digest = hmac.digest(key, f"freshness mails {person_id}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()
