"""CKAN's mailer, with a limit of time and an answer to whether a mail has gone; pages outside of requests."""

from __future__ import annotations

import contextlib
import contextvars
import smtplib
import socket
import threading
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from ckan import model
from ckan.lib.helpers import _get_auto_flask_context
from ckan.lib.mailer import MailerException
from flask import has_request_context


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail to one address."""

    address: str
    subject: str
    text: str
    html: str
    headers: Mapping[str, str] = field(default_factory=dict)


class MailFailure(Enum):
    """How far a mail came that was not confirmed."""

    UNREACHABLE = "unreachable"
    """The mail server was not spoken to, or cannot be used as it is configured: so it is for all mails."""
    REFUSED = "refused"
    """The mail server does not take this one."""
    BROKEN_OFF = "broken off"
    """The mail server fell silent before it had the mail."""
    UNKNOWN = "unknown"
    """It may have gone."""


class MailError(Exception):
    """A mail was not confirmed; the text says why."""

    def __init__(self, words: str, failure: MailFailure) -> None:
        super().__init__(words)
        self.failure = failure


def mailer_problem() -> str | None:
    """Why CKAN could send no mails; None if nothing is known to be in their way."""
    if _notifiers():
        return None
    if not tk.config.get("smtp.server"):
        return tk._("smtp.server is not set: CKAN sends no mails without it")
    if not tk.config.get("smtp.mail_from"):
        return tk._("smtp.mail_from is not set: set it to the address that mails come from")
    return None


def _notifiers() -> list[object]:
    """Plugins that send CKAN's mails in another way; CKAN 2.12 alone has them."""
    interface = getattr(p, "INotifier", None)
    return [] if interface is None else list(p.PluginImplementations(interface))


def send_mail(letter: Letter, seconds: float) -> None:
    """Hand a mail to CKAN's mailer, and wait for it no longer than some seconds.

    CKAN waits for its mail server as long as that likes. So every connection that is opened meanwhile,
    in this process, gets a limit for each answer; and should the answers drip in, so that no limit is ever
    reached, the thread that waits for them is left behind.

    :raises MailError: the mail was not confirmed.
    """
    faults: list[BaseException | None] = []

    def work() -> None:
        try:
            tk.mail_recipient(
                "",
                letter.address,
                letter.subject,
                letter.text,
                body_html=letter.html,
                headers=dict(letter.headers),
            )
        except Exception as error:
            faults.append(error)
        else:
            faults.append(None)
        finally:
            # Of this thread: plugins that send mails may have asked the database.
            model.Session.remove()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        thread.start()
        # Later than a silent connection gives up, which says more about what has happened.
        thread.join(seconds + 1)
    finally:
        socket.setdefaulttimeout(before)
    if not faults:
        words = tk._("The mail server was not done after {seconds} seconds")
        raise MailError(words.format(seconds=f"{seconds:g}"), MailFailure.UNKNOWN)
    fault = faults[0]
    failure = None if fault is None else _failure(fault)
    if fault is not None and failure is not None:
        raise MailError(_words(fault), failure) from fault


_REFUSALS = (
    smtplib.SMTPRecipientsRefused,
    smtplib.SMTPSenderRefused,
    smtplib.SMTPDataError,
    smtplib.SMTPHeloError,
)


def _failure(error: BaseException) -> MailFailure | None:
    """How far a mail came, by the errors and by where in ``smtplib`` they were raised.

    CKAN says good-bye to the server in the end, whatever was before; if that fails, its error stands in
    front of the one that tells.

    :returns: None if nothing but the good-bye failed: the server has the mail.
    """
    chain = list(_chain(error))
    places = [_places(one) for one in chain]
    if any(isinstance(one, smtplib.SMTPAuthenticationError) for one in chain):
        return MailFailure.UNREACHABLE
    if any(isinstance(one, _REFUSALS) for one in chain):
        return MailFailure.REFUSED
    if any("data" in one for one in places):
        return MailFailure.UNKNOWN
    if any("connect" in one or "login" in one for one in places):
        return MailFailure.UNREACHABLE
    if any(one & {"ehlo", "starttls", "sendmail"} for one in places):
        return MailFailure.BROKEN_OFF
    if any(isinstance(one, MailerException) for one in chain):
        # CKAN's own: no host, no STARTTLS, no file of certificates.
        return MailFailure.UNREACHABLE
    if any("quit" in one for one in places):
        return None
    return MailFailure.UNKNOWN


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _places(error: BaseException) -> set[str]:
    """The functions of ``smtplib`` that an error came through."""
    frames = traceback.walk_tb(error.__traceback__)
    return {
        frame.f_code.co_name
        for frame, _ in frames
        if frame.f_code.co_filename == smtplib.SMTP.sendmail.__code__.co_filename
    }


def _words(error: BaseException) -> str:
    """The error that tells most: the first one that happened, of those that are not the system's."""
    told = [one for one in _chain(error) if isinstance(one, (smtplib.SMTPException, OSError))]
    return str(told[-1] if told else error)[:500]


@contextlib.contextmanager
def page_context() -> Iterator[None]:
    """What templates and links need, outside of requests too: in the site's language, as nobody."""
    context = None if has_request_context() else _get_auto_flask_context()
    if context is None:
        yield
        return
    language = {
        "CKAN_LANG": tk.config.get("ckan.locale_default"),
        "CKAN_LANG_IS_DEFAULT": True,
    }
    with context.app.test_request_context(environ_overrides=language):
        yield
