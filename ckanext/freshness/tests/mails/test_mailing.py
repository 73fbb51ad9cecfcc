"""Mails over TLS and with a password, by CKAN's smtp options, and a mail server that does not end."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from ckan.tests.helpers import changed_config

from ckanext.freshness.ckan_adapter.mailer import MailFailure, MailSendError, OutgoingMail, send
from ckanext.freshness.tests.mails.conftest import sends_to
from ckanext.freshness.tests.servers.raw import RawServer
from ckanext.freshness.tests.servers.smtp import MailHost

MAIL = OutgoingMail("ann@example.org", "News", "Rain", "<p>Rain</p>")
LOGIN = (b"site", b"secret")


@pytest.fixture
def secure(with_plugins: None, tmp_path: Path) -> Iterator[MailHost]:
    """A mail server that requires TLS and a password, and a site configured for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").configure_cert(context)
    # CKAN 2.11.6 verifies the certificate, CKAN 2.12.0 does not.
    tls = {"smtp__starttls": True, "smtp__starttls_ca_bundle": str(tmp_path / "ca.pem")}
    with (
        MailHost(tls=context, login=LOGIN) as host,
        sends_to(host.port, smtp__user="site", smtp__password="secret", **tls),
    ):
        yield host


def test_signs_in_over_tls(secure: MailHost) -> None:
    send(MAIL, 5)
    assert secure.logins == [LOGIN]
    assert [mail.to for mail in secure.mails] == [("ann@example.org",)]


def test_a_wrong_password_is_told_and_no_mail_is_in_doubt(
    secure: MailHost,
) -> None:
    with (
        changed_config("smtp.password", "wrong"),
        pytest.raises(MailSendError, match="535") as refused,
    ):
        send(MAIL, 5)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert set(secure.logins) == {(b"site", b"wrong")}
    assert secure.mails == []


def test_sends_no_password_without_the_tls_that_is_wanted(
    secure: MailHost,
) -> None:
    with (
        MailHost() as plain,
        changed_config("smtp.server", f"127.0.0.1:{plain.port}"),
        pytest.raises(MailSendError, match="STARTTLS") as refused,
    ):
        send(MAIL, 5)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert (plain.logins, plain.mails) == ([], [])


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send line after line of a greeting, for ten seconds."""
    for _ in range(100):
        writer.write(b"220-wait\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)


def test_a_server_that_drips_is_abandoned(with_plugins: None) -> None:
    with RawServer(drip) as server, sends_to(server.port):
        begun = time.monotonic()
        with pytest.raises(MailSendError, match="not done after 1 seconds") as raised:
            send(MAIL, 1)
        assert time.monotonic() - begun < 5
    assert raised.value.failure is MailFailure.UNKNOWN
