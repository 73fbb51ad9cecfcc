"""Who was told what by mail, and who wants none.

Moments are in UTC, without a zone.
"""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from sqlalchemy import BigInteger, Column, DateTime, Integer, UnicodeText


class Mail(tk.BaseModel):
    """One thing that one person is told: once, whatever happens.

    A row is claimed, and that committed, before its mail is handed to the mail server, and gets its end
    afterwards. What is still claimed when nobody sends was being sent by a process that died: whether the
    mail has gone nobody knows, and it is not sent again.
    """

    __tablename__ = "freshness_mail"

    kind = Column(UnicodeText, primary_key=True, comment="overdue, delinquent or run")
    about = Column(
        UnicodeText,
        primary_key=True,
        comment="id of the transition, or the finding and the run's id: failed:...",
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
    """An address that was written to, and what its owner wants."""

    __tablename__ = "freshness_mail_person"

    id = Column(Integer, primary_key=True, comment="stands in the links of its mails")
    address = Column(
        UnicodeText, nullable=False, unique=True, comment="e-mail address, in small letters"
    )
    opted_out_at = Column(DateTime, comment="when its owner opted out; empty if mails are wanted")


class MailStart(tk.BaseModel):
    """Where mails begin: one row at most. All that was found before is what the site was like."""

    __tablename__ = "freshness_mail_start"

    id = Column(Integer, primary_key=True, comment="1")
    transition_id = Column(
        BigInteger, nullable=False, comment="the newest transition that nobody is told of"
    )
    started_at = Column(
        DateTime, nullable=False, comment="runs that went wrong before are not told of"
    )
