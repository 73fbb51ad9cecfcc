"""Servers with certificates that nobody should believe, one each."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import trustme

from ckanext.freshness.tests.servers.raw import RawServer, saying

_OK = saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 4\r\n\r\na,b\n")


@contextlib.contextmanager
def tls_servers(host: str, directory: Path) -> Iterator[dict[str, str]]:
    """HTTPS servers on 127.0.0.1 for a `host` that leads there: their URLs, by what is wrong.

    `good` is none of it, for whoever trusts the authority in `directory/ca.pem`, which is written.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "ca.pem"))
    yesterday = datetime.now(timezone.utc) - timedelta(days=1)
    certificates = {
        "good": authority.issue_cert(host),
        "expired": authority.issue_cert(host, not_after=yesterday),
        "wrong-name": authority.issue_cert("other.invalid"),
        "untrusted": trustme.CA().issue_cert(host),
    }
    contexts: dict[str, ssl.SSLContext | None] = {"plain": None}
    for name, certificate in certificates.items():
        context = contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
    contexts["self-signed"] = _self_signed(directory)
    with contextlib.ExitStack() as stack:
        ports = {
            name: stack.enter_context(RawServer(_OK, context)).port
            for name, context in contexts.items()
        }
        yield {name: f"https://{host}:{port}/{name}.csv" for name, port in ports.items()}


def _self_signed(directory: Path) -> ssl.SSLContext:
    # A root certificate that is served as it is has signed itself.
    root = trustme.CA()
    pem = directory / "root.pem"
    root.cert_pem.write_to_path(str(pem))
    root.private_key_pem.write_to_path(str(pem), append=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
