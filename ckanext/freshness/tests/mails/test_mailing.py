"""Mails over TLS and with a password, by CKAN's smtp options."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from ckanext.freshness.ckan_adapter.mailer import Letter, MailFailure, MailSendError, MailServer
from ckanext.freshness.tests.servers.smtp import MailHost

LETTER = Letter("ann@example.org", "News", "Rain", "<p>Rain</p>")
LOGIN = (b"site", b"secret")


def send(*letters: Letter) -> None:
    with MailServer(5) as server:
        for letter in letters:
            server.send(letter)


@pytest.fixture
def secure(ckan_config: Any, monkeypatch: Any, tmp_path: Path) -> Any:
    """A mail server that requires TLS and a password, and a site configured for it."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with MailHost(tls=context, login=LOGIN) as host:
        for key, value in {
            "smtp.server": f"127.0.0.1:{host.port}",
            "smtp.mail_from": "site@example.org",
            "smtp.starttls": True,
            "smtp.starttls_verify": True,
            "smtp.starttls_ca_bundle": str(tmp_path / "ca.pem"),
            "smtp.user": "site",
            "smtp.password": "secret",
        }.items():
            monkeypatch.setitem(ckan_config, key, value)
        yield host


def test_signs_in_over_tls_once_for_many_mails(secure: MailHost) -> None:
    send(LETTER, LETTER)
    assert secure.logins == [LOGIN]
    assert [mail.to for mail in secure.mails] == [("ann@example.org",)] * 2


@pytest.mark.parametrize(
    ("key", "value", "words", "logins"),
    [
        ("smtp.starttls_ca_bundle", None, "CERTIFICATE_VERIFY_FAILED", []),
        ("smtp.starttls_ca_bundle", "/no/such/file", "No such file", []),
        ("smtp.password", "wrong", "535", [(b"site", b"wrong")]),
    ],
)
def test_is_not_reached(
    secure: MailHost,
    ckan_config: Any,
    monkeypatch: Any,
    key: str,
    value: str | None,
    words: str,
    logins: list[tuple[bytes, bytes]],
) -> None:
    monkeypatch.setitem(ckan_config, key, value)
    with pytest.raises(MailSendError, match=words) as refused:
        send(LETTER)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert set(secure.logins) == set(logins)
    assert secure.mails == []


def test_sends_no_password_without_the_tls_that_is_wanted(
    secure: MailHost, ckan_config: Any, monkeypatch: Any
) -> None:
    with MailHost() as plain:
        monkeypatch.setitem(ckan_config, "smtp.server", f"127.0.0.1:{plain.port}")
        with pytest.raises(MailSendError, match="STARTTLS") as refused:
            send(LETTER)
    assert refused.value.failure is MailFailure.UNREACHABLE
    assert (plain.logins, plain.mails) == ([], [])
