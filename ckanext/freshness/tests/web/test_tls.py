"""Certificates: trusted ones, wrong ones, and hosts whose certificates are not verified."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import trustme

from ckanext.freshness.tests.servers import gnutls, odd_certificates
from ckanext.freshness.tests.servers.raw import RawServer, saying
from ckanext.freshness.tests.web.support import SETTINGS, failure, visit
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.exchange import ClientSettings, Request

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OK = saying(ANSWER)
NOW = datetime.now(timezone.utc)
REFUSED = FailureReason.CONNECTION_REFUSED
NAMES = {name: ["127.0.0.1"] for name in ("good.example", "other.example")}


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """The certificate authority of the tests."""
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> ClientSettings:
    """Settings that trust this authority."""
    bundle = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(str(bundle))
    return replace(SETTINGS, ca_bundle=Path(bundle))


OWN_ADDRESS = "127.87.{}.{}".format(*divmod(os.getpid() % 60_000, 250))
"""An address of this process alone: other runs of these tests may listen at the same port."""


def may_listen_at(port: int) -> bool:
    with contextlib.suppress(PermissionError), socket.socket() as unheard:
        unheard.bind((OWN_ADDRESS, port))
        return True
    return False


def context(certificate: trustme.LeafCert) -> ssl.SSLContext:
    """The certificate of a server."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(made)
    return made


@pytest.mark.parametrize("host", ["good.example", "127.0.0.1"])
def test_a_site_can_trust_an_authority_of_its_own(
    authority: trustme.CA, trusting: ClientSettings, host: str
) -> None:
    with RawServer(OK, context(authority.issue_cert(host))) as server:
        answer = visit(f"https://{host}:{server.port}/x", settings=trusting, names=NAMES)
    assert (answer.status, answer.body, answer.insecure) == (200, b"ok", False)


def expired(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("good.example", not_after=NOW - timedelta(days=1))


def not_yet_valid(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("good.example", not_before=NOW + timedelta(days=1))


def for_another_name(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("other.example")


def for_another_address(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("127.0.0.2")


def of_an_unknown_authority(_: trustme.CA) -> trustme.LeafCert:
    return trustme.CA().issue_cert("good.example")


BAD = [
    (expired, "good.example", FailureReason.TLS_EXPIRED, "has a TLS certificate that has expired"),
    (not_yet_valid, "good.example", FailureReason.TLS_EXPIRED, "that is not valid yet"),
    (for_another_name, "good.example", FailureReason.TLS_WRONG_NAME, "for another host name"),
    (for_another_address, "127.0.0.1", FailureReason.TLS_WRONG_NAME, "for another address"),
    (
        of_an_unknown_authority,
        "good.example",
        FailureReason.TLS_UNTRUSTED,
        "perhaps an intermediate certificate is missing",
    ),
]


@pytest.mark.parametrize(("issue", "host", "reason", "words"), BAD)
def test_bad_certificates(
    authority: trustme.CA,
    trusting: ClientSettings,
    issue: Callable[[trustme.CA], trustme.LeafCert],
    host: str,
    reason: FailureReason,
    words: str,
) -> None:
    with RawServer(OK, context(issue(authority))) as server:
        url = f"https://{host}:{server.port}/x"
        error = failure(url, settings=trusting, names=NAMES)
        assert error.reason is reason
        assert words in str(error)
        assert error.attempts == 1

        excused = replace(trusting, insecure_hosts=frozenset({host.upper()}))
        answer = visit(url, settings=excused, names=NAMES)
        assert (answer.status, answer.insecure) == (200, True)


def test_a_certificate_without_its_chain(
    authority: trustme.CA, trusting: ClientSettings, tmp_path: Path
) -> None:
    # A root certificate that is served as it is has signed itself.
    root, leaf = trustme.CA(), authority.create_child_ca().issue_cert("127.0.0.1")
    for certificate, key, reason, words in (
        (root.cert_pem, root.private_key_pem, FailureReason.TLS_SELF_SIGNED, "has a self-signed"),
        (
            leaf.cert_chain_pems[0],
            leaf.private_key_pem,
            FailureReason.TLS_UNTRUSTED,
            "perhaps an intermediate certificate is missing",
        ),
    ):
        pem = tmp_path / reason.name
        pem.write_bytes(certificate.bytes() + key.bytes())
        served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        served.load_cert_chain(pem)
        with RawServer(OK, served) as server:
            error = failure(f"https://127.0.0.1:{server.port}/x", settings=trusting)
        assert error.reason is reason
        assert words in str(error)


def with_unknown_root(_: trustme.CA, directory: Path) -> Path:
    root, pem = trustme.CA(), directory / "served.pem"
    leaf = root.issue_cert("127.0.0.1")
    for part in (leaf.private_key_pem, *leaf.cert_chain_pems, root.cert_pem):
        part.write_to_path(str(pem), append=True)
    return pem


def weak_key(authority: trustme.CA, directory: Path) -> Path:
    return odd_certificates.issue(authority, directory, bits=1024)


def weakest_key(authority: trustme.CA, directory: Path) -> Path:
    return odd_certificates.issue(authority, directory, bits=512)


def sha1(authority: trustme.CA, directory: Path) -> Path:
    return odd_certificates.issue(authority, directory, digest="sha1")


def for_clients(authority: trustme.CA, directory: Path) -> Path:
    return odd_certificates.issue(authority, directory, extension="extendedKeyUsage=clientAuth")


ODD: list[tuple[Callable[[trustme.CA, Path], Path], FailureReason | None, str]] = [
    (with_unknown_root, FailureReason.TLS_UNTRUSTED, "of an authority that is not known"),
    # Browsers take it, too.
    (weak_key, None, ""),
    (weakest_key, FailureReason.TLS_WEAK, "has a TLS certificate with a weak key"),
    (sha1, FailureReason.TLS_WEAK, "with a weak signature, such as of SHA-1"),
    (
        for_clients,
        FailureReason.TLS_REFUSED,
        "that is not accepted: unsuitable certificate purpose",
    ),
]
"""What is served, why it is refused (None: it is not), and what is said of it."""

needs_openssl = pytest.mark.skipif(
    odd_certificates.OPENSSL is None, reason="the command openssl is not installed"
)


def serving(pem: Path) -> ssl.SSLContext:
    """Serve a certificate, however weak it is."""
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.maximum_version = ssl.TLSVersion.TLSv1_2
    served.set_ciphers("DEFAULT:@SECLEVEL=0")
    served.load_cert_chain(pem)
    return served


@needs_openssl
@pytest.mark.parametrize(("issue", "reason", "words"), ODD)
def test_each_failure_of_a_certificate_has_its_words(
    authority: trustme.CA,
    trusting: ClientSettings,
    tmp_path: Path,
    issue: Callable[[trustme.CA, Path], Path],
    reason: FailureReason | None,
    words: str,
) -> None:
    with RawServer(OK, serving(issue(authority, tmp_path))) as server:
        url = f"https://127.0.0.1:{server.port}/x"
        if reason is None:
            answer = visit(url, settings=trusting)
            assert (answer.status, answer.outdated_tls) == (200, True)
            return
        error = failure(url, settings=trusting)
    assert (error.reason, error.attempts) == (reason, 1)
    assert words in str(error)
    assert ("intermediate" in str(error)) is ("intermediate" in words)


def test_an_excuse_is_for_its_host_only(authority: trustme.CA) -> None:
    with RawServer(OK, context(authority.issue_cert("good.example"))) as server:
        settings = replace(SETTINGS, insecure_hosts=frozenset({"other.example"}))
        url = f"https://good.example:{server.port}/x"
        error = failure(url, settings=settings, names=NAMES)
    assert error.reason is FailureReason.TLS_UNTRUSTED


@contextmanager
def serving_one_by_one(tls: ssl.SSLContext) -> Iterator[str]:
    """Serve as old servers do, which say why a handshake fails. asyncio's server closes without a word."""

    def serve() -> None:
        # Until the socket is closed.
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with (
                    contextlib.suppress(OSError),
                    tls.wrap_socket(connection, server_side=True) as peer,
                ):
                    peer.recv(4096)
                    peer.sendall(ANSWER)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"


OUTDATED = {
    "RSA key exchange": "AES128-GCM-SHA256",
    "CBC": "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA",
}


@pytest.mark.parametrize("ciphers", OUTDATED.values(), ids=OUTDATED)
def test_outdated_encryption_is_spoken_in_a_second_look(
    authority: trustme.CA, trusting: ClientSettings, ciphers: str
) -> None:
    tls = context(authority.issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA))
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    tls.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with serving_one_by_one(tls) as url:
        answer = visit(url, settings=trusting)
        assert answer.status == 200 and answer.outdated_tls
        # Certificates are verified all the same.
        error = failure(url, attempts=1)
    assert error.reason is FailureReason.TLS_UNTRUSTED


@pytest.mark.skipif(gnutls.LIBRARY is None, reason="GnuTLS is not installed")
def test_a_server_without_secure_renegotiation(
    authority: trustme.CA, trusting: ClientSettings, tmp_path: Path
) -> None:
    pem = tmp_path / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(pem))
    with gnutls.without_secure_renegotiation(pem, ANSWER) as port:
        url = f"https://127.0.0.1:{port}"
        # OpenSSL refuses it by default.
        with (
            socket.create_connection(("127.0.0.1", port)) as connection,
            pytest.raises(ssl.SSLError, match=r"(?i)unsafe.legacy"),
        ):
            ssl.create_default_context(cafile=trusting.ca_bundle).wrap_socket(
                connection, server_hostname="127.0.0.1"
            )
        answer = visit(url, settings=trusting)
        assert (answer.body, answer.outdated_tls) == (b"ok", True)
        error = failure(url, attempts=1)
    assert error.reason is FailureReason.TLS_UNTRUSTED


@pytest.mark.skipif(not may_listen_at(443), reason="only root may listen at port 443")
def test_a_machine_that_takes_no_http_is_asked_by_https(
    authority: trustme.CA, trusting: ClientSettings
) -> None:
    tls = context(authority.issue_cert("good.example"))
    # Nothing listens at port 80 there.
    names = {"good.example": [OWN_ADDRESS]}
    with RawServer(OK, tls, address=OWN_ADDRESS, port=443):
        answer = visit("http://good.example/a?b", settings=trusting, names=names)
        assert (answer.body, answer.final_url) == (b"ok", "https://good.example/a?b")
        error = failure("http://good.example/a", settings=trusting, names=names, max_bytes=1)
        assert error.reason is FailureReason.TOO_LARGE
        error = failure("http://good.example/a", names=names)
        assert error.reason is FailureReason.TLS_UNTRUSTED
        secret = Request("http://good.example/a", headers={"X-Token": "1"})
        assert failure(secret, settings=trusting, names=names).reason is REFUSED
    error = failure("http://good.example/a", settings=trusting, names=names)
    assert (error.reason, error.target) == (REFUSED, "http://good.example/a")
