"""Mails over TLS and with a password, by CKAN's smtp options."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from ckanext.freshness.ckan_adapter.mailer import Letter, MailFailure, MailSendError, send
from ckanext.freshness.tests.servers.smtp import MailHost

LETTER = Letter("ann@example.org", "News", "Rain", "<p>Rain</p>")
LOGIN = (b"site", b"secret")


@pytest.fixture
def secure(ckan_config: Any, monkeypatch: Any, tmp_path: Path) -> Any:
    """A mail server that requires TLS and a password, and a site configured for it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with MailHost(tls=context, login=LOGIN) as host:
        for key, value in {
            "smtp.server": f"127.0.0.1:{host.port}",
            "smtp.mail_from": "site@example.org",
            "smtp.starttls": True,
            # CKAN 2.11.6 verifies the certificate, CKAN 2.12.0 does not.
            "smtp.starttls_ca_bundle": str(tmp_path / "ca.pem"),
            "smtp.user": "site",
            "smtp.password": "secret",
        }.items():
            monkeypatch.setitem(ckan_config, key, value)
        yield host


def test_signs_in_over_tls(secure: MailHost) -> None:
    send(LETTER, 5)
    assert secure.logins == [LOGIN]
    assert [mail.to for mail in secure.mails] == [("ann@example.org",)]


def test_a_wrong_password_is_told_and_no_mail_is_in_doubt(
    secure: MailHost, ckan_config: Any, monkeypatch: Any
) -> None:
    monkeypatch.setitem(ckan_config, "smtp.password", "wrong")
    with pytest.raises(MailSendError, match="535") as refused:
        send(LETTER, 5)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert set(secure.logins) == {(b"site", b"wrong")}
    assert secure.mails == []


def test_sends_no_password_without_the_tls_that_is_wanted(
    secure: MailHost, ckan_config: Any, monkeypatch: Any
) -> None:
    with MailHost() as plain:
        monkeypatch.setitem(ckan_config, "smtp.server", f"127.0.0.1:{plain.port}")
        with pytest.raises(MailSendError, match="STARTTLS") as refused:
            send(LETTER, 5)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert (plain.logins, plain.mails) == ([], [])
