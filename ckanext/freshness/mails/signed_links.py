"""The links in mails, signed by the site's secret key, so that they work without a login."""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter.core import may, model
from ..model import DatasetFreshness, MailPerson
from . import recipients

VALID = timedelta(days=30)
"""How long a link confirms data."""
_SIGNATURE_BYTES = 12


def token(person_id: int) -> str:
    """Return the token for the links in a person's mails. Its holder may choose their mails.

    It is a number with a signature of 96 bits. It must be short, because Python folds headers of more than
    78 characters in a way that mail programs do not recognise as a URL.
    """
    return f"{person_id}.{_signature(f'mails {person_id}')}"


def holder(text: str) -> recipients.Person | None:
    """Return the owner of a token; None if the token is invalid."""
    number = _verified("mails", text)
    return None if number is None else _holder_of(number)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A confirmation that a link asks for.

    :ivar address: of the person who confirms
    :ivar user: their account, if it may edit the dataset
    :ivar is_old: the data were updated or confirmed since the mail was written
    """

    package: Any
    address: str
    user: Any | None
    is_old: bool

    @property
    def name(self) -> str:
        """The name of the person who confirms."""
        return self.address if self.user is None else str(self.user.display_name)


def confirm_token(person_id: int, package_id: str, now: datetime) -> str:
    """Return the token by which a person confirms the data of a dataset as they are now, for some time."""
    fields = f"{person_id}.{package_id}.{int(now.timestamp())}.{_newest(package_id)}"
    return f"{fields}.{_signature(f'confirm {fields}')}"


def confirmation(text: str, now: datetime) -> Confirmation | None:
    """Return what a token confirms; None if it is invalid or too old, or its holder may not confirm it now.

    Whoever looks after a dataset may confirm it, with or without an account that may edit it.
    """
    fields = _verified("confirm", text)
    if fields is None:
        return None
    number, _, rest = fields.partition(".")
    package_id, issued, newest = rest.rsplit(".", 2)
    person = _holder_of(number)
    if person is None or now.timestamp() - int(issued) > VALID / timedelta(seconds=1):
        return None
    user = editor(person.address, package_id)
    facts = recipients.datasets([package_id], now).get(package_id)
    if user is None and (facts is None or person.address not in facts.keepers):
        return None
    is_old = newest != str(_newest(package_id))
    return Confirmation(model.Package.get(package_id), person.address, user, is_old)


def editor(address: str, package_id: str) -> Any | None:
    """Return a user with an address who may edit an active dataset."""
    package = model.Package.get(package_id)
    if package is None or package.state != "active":
        return None
    users = recipients.users_of({address}).get(address, ())
    confirming = (
        one for one in users if may("freshness_confirm", recipients.context_of(one), id=package_id)
    )
    return next(confirming, None)


def _newest(package_id: str) -> int:
    """Return when the data of a dataset last changed or were confirmed, in seconds."""
    row = model.Session.get(DatasetFreshness, package_id)
    dates = () if row is None else (row.last_modified, row.confirmed_at)
    return max((int((one - _EPOCH).total_seconds()) for one in dates if one), default=0)


_EPOCH = datetime(1970, 1, 1)


def _holder_of(number: str) -> recipients.Person | None:
    # Only what the column holds.
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    row = model.Session.get(MailPerson, int(number)) if is_number else None
    return None if row is None else recipients.people([row.address])[row.address]


def _verified(purpose: str, text: str) -> str | None:
    """Return what a token says before its signature; None if the signature is not ours."""
    fields, _, signature = text.rpartition(".")
    expected = _signature(f"{purpose} {fields}")
    is_ours = signature.isascii() and hmac.compare_digest(signature, expected)
    return fields if is_ours else None


def _signature(text: str) -> str:
    key = str(tk.config["SECRET_KEY"]).encode()
    digest = hmac.digest(key, f"freshness {text}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()
