"""Mails, by CKAN's options and notifiers, with a limit of time; pages outside of requests."""

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
    """How far a mail came that was not confirmed."""

    UNREACHABLE = "unreachable"
    """The mail server was not spoken to, or cannot be used as it is configured: so it is for all mails."""
    REFUSED = "refused"
    """The mail server does not take this one."""
    BROKEN_OFF = "broken off"
    """The mail server fell silent before it had the mail."""
    UNKNOWN = "unknown"
    """It may have gone."""


_TAKEN = (250, 251)
"""Codes by which a mail server agrees (RFC 5321, section 4.2.3)."""


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


def _notifiers() -> list[Any]:
    """Plugins that send CKAN's mails in another way; CKAN 2.12 alone has them."""
    interface = getattr(p, "INotifier", None)
    return [] if interface is None else list(p.PluginImplementations(interface))


def send_mail(letter: Letter, seconds: float) -> None:
    """Send a mail, and wait for its mail server no longer than some seconds.

    CKAN's own mailer waits for ever, and does not say whether the server had the mail when an answer failed
    to come; both decide whether a mail is sent once more. Plugins that send CKAN's mails are asked first.

    :raises MailError: the mail was not confirmed.
    """
    faults: list[MailError | None] = []

    def work() -> None:
        try:
            if not _notified(letter):
                _send(letter, seconds)
            faults.append(None)
        except MailError as error:
            faults.append(error)
        except Exception as error:
            faults.append(MailError(str(error)[:500], MailFailure.UNKNOWN))
        finally:
            # Of this thread: plugins that send mails may have asked the database.
            model.Session.remove()

    # A server whose answers drip in never reaches a limit of time: the thread that waits is left behind.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
    thread.start()
    # Later than a silent connection gives up, which says more about what has happened.
    thread.join(seconds + 1)
    if not faults:
        words = tk._("The mail server was not done after {seconds} seconds")
        raise MailError(words.format(seconds=f"{seconds:g}"), MailFailure.UNKNOWN)
    if faults[0] is not None:
        raise faults[0]


def _notified(letter: Letter) -> bool:
    """Let plugins send a mail in another way; return whether one has."""
    sent = False
    for plugin in _notifiers():
        text, html, headers = letter.text, letter.html, dict(letter.headers)
        sent = plugin.notify_recipient(
            sent, "", letter.address, letter.subject, text, html, headers
        )
    return sent


def _send(letter: Letter, seconds: float) -> None:
    """Send a mail by the site's ``smtp`` options, as CKAN's mailer does."""
    config = tk.config
    server, sender = config.get("smtp.server") or "", config.get("smtp.mail_from") or ""
    failure: MailFailure | None = MailFailure.UNREACHABLE
    try:
        place = urlsplit(server if "://" in server else f"smtp://{server}")
        if not place.hostname:
            raise ValueError(tk._("smtp.server is not set: CKAN sends no mails without it"))
        with smtplib.SMTP(place.hostname, place.port or 0, timeout=seconds) as smtp:
            failure = MailFailure.BROKEN_OFF
            smtp.ehlo_or_helo_if_needed()
            failure = MailFailure.UNREACHABLE
            if config.get("smtp.starttls"):
                smtp.starttls(context=_tls())
                smtp.ehlo()
            if config.get("smtp.user"):
                smtp.login(config["smtp.user"], config.get("smtp.password") or "")
            failure = MailFailure.BROKEN_OFF
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
            failure = None
    except smtplib.SMTPDataError as error:
        raise MailError(str(error)[:500], MailFailure.REFUSED) from error
    except (OSError, ValueError) as error:
        # Once the server has the mail, its good-bye says nothing any more.
        if failure is not None:
            raise MailError(str(error)[:500], failure) from error


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
    """The certificates to trust, on CKAN versions that verify those of mail servers."""
    if not tk.config.get("smtp.starttls_verify"):
        return None
    bundle = tk.config.get("smtp.starttls_ca_bundle") or None
    if bundle and os.path.isdir(bundle):
        return ssl.create_default_context(capath=bundle)
    return ssl.create_default_context(cafile=bundle)


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
