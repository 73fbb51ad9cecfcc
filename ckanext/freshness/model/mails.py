"""The tables of sent mails and of the mails that people switched off.

Moments are in UTC, without a zone.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import Column, DateTime, Integer, UnicodeText
from sqlalchemy.dialects.postgresql import ARRAY, JSONB


class Mail(tk.BaseModel):
    """A piece of news for one address. It is sent at most once.

    A row is marked as sent, and committed, before its mail is sent. It is deleted when its fact does not last
    any more.
    """

    __tablename__ = "freshness_mail"

    kind = Column(UnicodeText, primary_key=True, doc="kind of mail: overdue, broken...")
    about = Column(
        UnicodeText,
        primary_key=True,
        doc=(
            "id of the transition, resource, dataset or organization; for runs the problem and "
            "the id of the run: failed:..."
        ),
    )
    address = Column(
        UnicodeText, primary_key=True, doc="e-mail address; empty if there is no recipient"
    )
    sent_at = Column(
        DateTime, doc="when its mail was about to be sent; empty if it waits for the next mail"
    )
    error = Column(UnicodeText, doc="error of the last attempt; empty if it did not fail")


class MailPerson(tk.BaseModel):
    """An address that was written to, with its owner's choice and the times of its last mails."""

    __tablename__ = "freshness_mail_person"

    id = Column(Integer, primary_key=True, doc="number in the links of the mails to this address")
    address = Column(UnicodeText, nullable=False, unique=True, doc="e-mail address, in lower case")
    off: Column[list[str]] = Column(
        ARRAY(UnicodeText),
        nullable=False,
        server_default="{}",
        doc="kinds of mails that the owner of the address switched off",
    )
    told_at = Column(
        JSONB, nullable=False, server_default="{}", doc="time of the last mail of each kind"
    )
