"""Sending of mails by CKAN's mailer, with a time limit, and a context for templates outside requests."""

from __future__ import annotations

import contextlib
import contextvars
import smtplib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from ckan import model
from ckan.lib.mailer import MailerException
from flask import has_request_context

from .services import causes


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """A mail to one address."""

    address: str
    subject: str
    text: str
    html: str
    headers: Mapping[str, str] = field(default_factory=dict)


class MailFailure(Enum):
    """The reason why a mail was not confirmed."""

    UNREACHABLE = "unreachable"
    """The mail server cannot be reached or is configured wrongly, so no mail can be sent."""
    LATER = "later"
    """The mail server refuses this mail for now."""
    REFUSED = "refused"
    """The mail server refuses this mail for good."""
    UNKNOWN = "unknown"
    """The mail may have been sent."""


class MailSendError(Exception):
    """A mail that was not confirmed; the message says why."""

    def __init__(self, words: str, failure: MailFailure) -> None:
        super().__init__(words)
        self.failure = failure


def mailer_problem() -> str | None:
    """Return why CKAN cannot send mails; None if its options allow it."""
    # Since CKAN 2.12, plugins can send mails in place of CKAN's mailer.
    interface = getattr(p, "INotifier", None)
    if interface is not None and list(p.PluginImplementations(interface)):
        return None
    if not tk.config.get("smtp.server"):
        return str(tk._("smtp.server is not set: CKAN sends no mails without it"))
    if not tk.config.get("smtp.mail_from"):
        words = tk._("smtp.mail_from is not set: set it to the address that mails come from")
        return str(words)
    return None


def unreachable_server() -> str | None:
    """Return why CKAN's mail server takes no connection; None if it does, or if a plugin sends the mails."""
    if not (server := tk.config.get("smtp.server")):
        return None
    host, _, port = server.partition(":")
    try:
        socket.create_connection((host, int(port or smtplib.SMTP_PORT)), timeout=5).close()
    except (OSError, ValueError) as error:
        return f"{server}: {error}"
    return None


def send(mail: OutgoingMail, seconds: float) -> None:
    """Send a mail.

    :param seconds: the time limit. CKAN's mailer has none, so it works in a thread, which is abandoned
    :raises MailSendError: the mail was not confirmed
    """
    results: list[Exception | None] = []

    def work() -> None:
        try:
            tk.mail_recipient(
                "", mail.address, mail.subject, mail.text, mail.html, dict(mail.headers)
            )
            results.append(None)
        except Exception as error:
            results.append(error)
        finally:
            # The session of this thread: plugins may have used the database.
            model.Session.remove()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    thread.join(seconds)
    if not results:
        words = tk._("The mail server was not done after {seconds} seconds")
        raise MailSendError(words.format(seconds=f"{seconds:g}"), MailFailure.UNKNOWN)
    if (error := results[0]) is not None:
        hidden = causes(error)
        # The end of a broken connection hides what broke it.
        words = str(error) if str(hidden[-1]) in str(error) else str(hidden[-1])
        raise MailSendError(words[:500], _failure(hidden)) from error


_NOT_SENT = (
    *(smtplib.SMTPResponseException, smtplib.SMTPNotSupportedError, ssl.SSLError),
    *(ConnectionRefusedError, socket.gaierror),
)
"""Errors after which the mail server surely has no mail, and will take none."""
_DOUBTFUL = (smtplib.SMTPServerDisconnected, ConnectionError, TimeoutError)
"""Errors that may come after the mail server has taken the mail."""


def _failure(hidden: list[BaseException]) -> MailFailure:
    """Return what the errors of CKAN's mailer mean for the mail."""
    for cause in hidden:
        if isinstance(cause, smtplib.SMTPRecipientsRefused):
            return _refused(min(code for code, _ in cause.recipients.values()))
        if isinstance(cause, (smtplib.SMTPSenderRefused, smtplib.SMTPDataError)):
            return _refused(cause.smtp_code)
    if any(isinstance(cause, _NOT_SENT) for cause in hidden):
        return MailFailure.UNREACHABLE
    if any(isinstance(cause, _DOUBTFUL) for cause in hidden):
        return MailFailure.UNKNOWN
    # The host has no route, a file of the configuration is missing, or an option contradicts another.
    known = (OSError, MailerException, AssertionError)
    return MailFailure.UNREACHABLE if isinstance(hidden[0], known) else MailFailure.UNKNOWN


def _refused(code: int) -> MailFailure:
    return MailFailure.REFUSED if code >= 500 else MailFailure.LATER


_apps: list[Any] = []
"""The web application of this process. Commands and workers have one, too."""


def remember_app(app: Any) -> None:
    """Remember the web application, for templates and links outside requests."""
    _apps[:] = [app]


@contextlib.contextmanager
def page_context() -> Iterator[None]:
    """Enter a request context if there is none, for templates and links: in the site's language, not
    logged in."""
    if has_request_context():
        yield
        return
    language = {
        "CKAN_LANG": tk.config.get("ckan.locale_default"),
        "CKAN_LANG_IS_DEFAULT": True,
    }
    with _apps[0].test_request_context(environ_overrides=language):
        yield
