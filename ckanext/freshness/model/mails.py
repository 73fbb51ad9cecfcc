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

    kind = Column(UnicodeText, primary_key=True, comment="kind of mail: overdue, broken...")
    about = Column(
        UnicodeText,
        primary_key=True,
        comment="id of the transition, the resource, dataset or organization; for runs the problem and "
        "the run's id: failed:...",
    )
    address = Column(
        UnicodeText, primary_key=True, comment="e-mail address; empty where nobody is told"
    )
    package_id = Column(UnicodeText, comment="dataset; empty for runs")
    outcome = Column(
        UnicodeText,
        nullable=False,
        comment="waiting, claimed, sent, refused, unknown, or why nobody is told: fresh again, opted "
        "out, nobody, gone",
    )
    tries = Column(Integer, nullable=False, comment="how often it was handed to the mail server")
    mail_id = Column(UnicodeText, index=True, comment="UUID of the last mail in which it stood")
    claimed_at = Column(DateTime, comment="when that mail was about to be sent")
    ended_at = Column(DateTime, comment="when its outcome was known")
    error = Column(UnicodeText, comment="why the last try failed; empty if it did not")


class MailPerson(tk.BaseModel):
    """An address that was written to, with its owner's choice and the times of its last mails."""

    __tablename__ = "freshness_mail_person"

    id = Column(Integer, primary_key=True, comment="stands in the links of its mails")
    address = Column(
        UnicodeText, nullable=False, unique=True, comment="e-mail address, in small letters"
    )
    opted_out_at = Column(
        DateTime, comment="when its owner switched off all mails; empty if some are wanted"
    )
    off: Column[list[str]] = Column(
        ARRAY(UnicodeText), nullable=False, comment="kinds of mails that its owner switched off"
    )
    told_at = Column(JSONB, nullable=False, comment="the time of the last mail by kind")


class MailStart(tk.BaseModel):
    """The point from which changes cause mails, in one row at most."""

    __tablename__ = "freshness_mail_start"

    id = Column(Integer, primary_key=True, comment="1")
    transition_id = Column(
        BigInteger, nullable=False, comment="the newest transition that nobody is told of"
    )
    started_at = Column(
        DateTime, nullable=False, comment="runs that went wrong before are not told of"
    )
