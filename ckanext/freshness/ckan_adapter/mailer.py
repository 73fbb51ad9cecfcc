"""Sending of mails with a time limit, and a context for templates outside requests."""

from __future__ import annotations

import contextlib
import contextvars
import os
import smtplib
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formataddr, formatdate
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from ckan import model
from ckan.lib.helpers import _get_auto_flask_context
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
    """The reason why a mail was not confirmed."""

    UNREACHABLE = "unreachable"
    """The mail server cannot be reached or is configured wrongly, so every mail fails."""
    REFUSED = "refused"
    """The mail server refuses this mail."""
    BROKEN_OFF = "broken off"
    """The connection failed before the mail server had the mail."""
    UNKNOWN = "unknown"
    """The mail may have been sent."""


_TAKEN = (250, 251)
"""Reply codes of success (RFC 5321, section 4.2.3)."""


_KEPT_SECONDS = 5.0
"""How long a kept connection may take to answer before a new one replaces it."""


class MailSendError(Exception):
    """A mail that was not confirmed; the message says why."""

    def __init__(self, words: str, failure: MailFailure) -> None:
        super().__init__(words)
        self.failure = failure


def mailer_problem() -> str | None:
    """Return why CKAN cannot send mails; None if its options allow it."""
    if _notifiers():
        return None
    if not tk.config.get("smtp.server"):
        return str(tk._("smtp.server is not set: CKAN sends no mails without it"))
    if not tk.config.get("smtp.mail_from"):
        words = tk._("smtp.mail_from is not set: set it to the address that mails come from")
        return str(words)
    return None


def _notifiers() -> list[Any]:
    """Return the plugins that send mails in place of CKAN's mailer; always empty before CKAN 2.12."""
    interface = getattr(p, "INotifier", None)
    return [] if interface is None else list(p.PluginImplementations(interface))


class MailServer:
    """Sends mails one after the other, over one connection as far as the mail server keeps it.

    CKAN's own mailer waits without a limit, and does not tell whether the server had the mail when it
    failed. The sender needs to know, to decide whether to send the mail again. Use it as a context manager.
    """

    def __init__(self, seconds: float) -> None:
        """
        :param seconds: the time limit for one mail
        """
        self._seconds = seconds
        self._kept: smtplib.SMTP | None = None

    def __enter__(self) -> MailServer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept is not None:
            # Do not wait for the answer, which may never end.
            with contextlib.suppress(OSError):
                self._kept.putcmd("QUIT")
            self._kept.close()

    def send(self, letter: Letter) -> None:
        """Send a mail. Plugins that send CKAN's mails come first.

        :raises MailSendError: the mail was not confirmed
        """
        kept, self._kept = self._kept, None
        results: list[smtplib.SMTP | MailSendError | None] = []

        def work() -> None:
            try:
                results.append(kept if _notified(letter) else _send(letter, self._seconds, kept))
            except MailSendError as error:
                results.append(error)
            except Exception as error:
                results.append(MailSendError(str(error)[:500], MailFailure.UNKNOWN))
            finally:
                # The session of this thread: plugins may have used the database.
                model.Session.remove()

        # A server that sends one byte at a time never reaches a socket timeout. Its thread is abandoned.
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
        thread.start()
        # One second longer than the socket timeouts, whose errors say more.
        thread.join(self._seconds + 1 + (_KEPT_SECONDS if kept else 0))
        if not results:
            words = tk._("The mail server was not done after {seconds} seconds")
            error = words.format(seconds=f"{self._seconds:g}")
            raise MailSendError(error, MailFailure.UNKNOWN)
        if isinstance(results[0], MailSendError):
            raise results[0]
        self._kept = results[0]


def _is_usable(smtp: smtplib.SMTP, seconds: float) -> bool:
    """Return whether the server still answers on a connection, and forget the mail before."""
    try:
        if smtp.sock is not None:
            smtp.sock.settimeout(min(seconds, _KEPT_SECONDS))
        is_usable = smtp.rset()[0] in _TAKEN
        if smtp.sock is not None:
            smtp.sock.settimeout(seconds)
    except OSError:
        return False
    return is_usable


def _notified(letter: Letter) -> bool:
    """Offer a mail to plugins, and return whether one of them sent it."""
    sent = False
    for plugin in _notifiers():
        text, html, headers = letter.text, letter.html, dict(letter.headers)
        sent = plugin.notify_recipient(
            sent, "", letter.address, letter.subject, text, html, headers
        )
    return sent


def _send(letter: Letter, seconds: float, kept: smtplib.SMTP | None) -> smtplib.SMTP:
    """Send a mail by the site's ``smtp`` options, as CKAN's mailer does.

    :param kept: the connection of an earlier mail
    :returns: the connection, for the next mail
    """
    sender = tk.config.get("smtp.mail_from") or ""
    smtp = kept if kept is not None and _is_usable(kept, seconds) else _connect(seconds)
    failure = MailFailure.BROKEN_OFF
    try:
        for ask, value, if_broken_off in (
            (smtp.mail, sender, MailFailure.BROKEN_OFF),
            (smtp.rcpt, letter.address, MailFailure.BROKEN_OFF),
            (smtp.data, _message(letter, sender), MailFailure.UNKNOWN),
        ):
            failure = if_broken_off
            code, reply = ask(value)
            if code not in _TAKEN:
                failure = MailFailure.REFUSED
                raise smtplib.SMTPResponseException(code, reply)
    except smtplib.SMTPDataError as error:
        smtp.close()
        raise MailSendError(str(error)[:500], MailFailure.REFUSED) from error
    except (OSError, ValueError) as error:
        smtp.close()
        raise MailSendError(str(error)[:500], failure) from error
    return smtp


def _connect(seconds: float) -> smtplib.SMTP:
    """Connect to the site's mail server, and log in if the site's options say so."""
    config = tk.config
    server = config.get("smtp.server") or ""
    failure = MailFailure.UNREACHABLE
    try:
        place = urlsplit(server if "://" in server else f"smtp://{server}")
        if not place.hostname:
            raise ValueError(tk._("smtp.server is not set: CKAN sends no mails without it"))
        smtp = smtplib.SMTP(place.hostname, place.port or 0, timeout=seconds)
        failure = MailFailure.BROKEN_OFF
        smtp.ehlo_or_helo_if_needed()
        failure = MailFailure.UNREACHABLE
        if config.get("smtp.starttls"):
            smtp.starttls(context=_tls())
            smtp.ehlo()
        if config.get("smtp.user"):
            smtp.login(config["smtp.user"], config.get("smtp.password") or "")
    except (OSError, ValueError) as error:
        raise MailSendError(str(error)[:500], failure) from error
    return smtp


def _message(letter: Letter, sender: str) -> str:
    message = EmailMessage()
    message.set_content(letter.text, cte="base64")
    message.add_alternative(letter.html, subtype="html", cte="base64")
    for name, value in letter.headers.items():
        message[name] = value
    message["Subject"] = letter.subject
    message["From"] = formataddr((tk.config.get("ckan.site_title") or "", sender))
    message["To"] = letter.address
    message["Date"] = formatdate()
    if reply_to := tk.config.get("smtp.reply_to"):
        message["Reply-To"] = reply_to
    return message.as_string()


def _tls() -> ssl.SSLContext | None:
    """Return the TLS context by the option ``smtp.starttls_verify`` of newer CKAN versions; None without
    it."""
    if not tk.config.get("smtp.starttls_verify"):
        return None
    bundle = tk.config.get("smtp.starttls_ca_bundle") or None
    if bundle and os.path.isdir(bundle):
        return ssl.create_default_context(capath=bundle)
    return ssl.create_default_context(cafile=bundle)


@contextlib.contextmanager
def page_context() -> Iterator[None]:
    """Enter a request context if there is none, for templates and links: in the site's language, not
    logged in."""
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
