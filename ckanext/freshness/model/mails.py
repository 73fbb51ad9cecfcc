"""The tables of sent mails and of the mails that people switched off.

Moments are in UTC, without a zone.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Column, DateTime, Integer, UnicodeText
from sqlalchemy.dialects.postgresql import ARRAY, JSONB


class Mail(tk.BaseModel):
    """A piece of news for one address. It is sent at most once.

    A row is claimed, and the claim committed, before its mail is handed to the mail server. It gets its
    outcome afterwards. If the process dies in between, the mail may have been sent, so it is not sent again.
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
    package_id = Column(UnicodeText, doc="dataset; empty for runs")
    outcome = Column(
        UnicodeText,
        nullable=False,
        doc=(
            "waiting, claimed, sent, refused, unknown, or why there is no mail: fresh again, "
            "opted out, nobody (no recipient), gone"
        ),
    )
    tries = Column(
        Integer,
        nullable=False,
        server_default="0",
        doc="number of times the mail was handed to the mail server",
    )
    mail_id = Column(
        UnicodeText, index=True, doc="UUID of the last mail that contains this piece of news"
    )
    claimed_at = Column(
        DateTime, doc="when the row was claimed, before its mail was handed to the mail server"
    )
    ended_at = Column(DateTime, doc="when the outcome became known")
    error = Column(UnicodeText, doc="error of the last attempt; empty if it did not fail")


class MailPerson(tk.BaseModel):
    """An address that was written to, with its owner's choice and the times of its last mails."""

    __tablename__ = "freshness_mail_person"

    id = Column(Integer, primary_key=True, doc="number in the links of the mails to this address")
    address = Column(UnicodeText, nullable=False, unique=True, doc="e-mail address, in lower case")
    opted_out_at = Column(
        DateTime,
        doc="when the owner of the address switched off all mails; empty if some are wanted",
    )
    off: Column[list[str]] = Column(
        ARRAY(UnicodeText),
        nullable=False,
        server_default="{}",
        doc="kinds of mails that the owner of the address switched off",
    )
    told_at = Column(
        JSONB, nullable=False, server_default="{}", doc="time of the last mail of each kind"
    )


class MailStart(tk.BaseModel):
    """The point from which changes cause mails, in one row at most."""

    __tablename__ = "freshness_mail_start"

    id = Column(Integer, primary_key=True, doc="always 1")
    transition_id = Column(
        BigInteger, nullable=False, doc="newest transition that causes no mail; later ones do"
    )
    started_at = Column(
        DateTime, nullable=False, doc="runs that failed before this moment cause no mail"
    )
