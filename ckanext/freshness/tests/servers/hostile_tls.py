"""Servers with certificates that nobody should believe, one each."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import trustme

from ckanext.freshness.tests.servers.raw import RawServer, saying

_OK = saying(b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nContent-Length: 4\r\n\r\na,b\n")


@contextlib.contextmanager
def tls_servers(host: str, directory: Path, address: str) -> Iterator[dict[str, str]]:
    """HTTPS servers for a `host` that leads to `address`: their URLs, by what is wrong.

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
    contexts: dict[str, ssl.SSLContext] = {"self-signed": _self_signed(directory)}
    for name, certificate in certificates.items():
        context = contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
    servers = {name: RawServer(_OK, context, address=address) for name, context in contexts.items()}
    servers["plain"] = RawServer(_in_plain_text, address=address)
    with contextlib.ExitStack() as stack:
        ports = {name: stack.enter_context(server).port for name, server in servers.items()}
        yield {name: f"https://{host}:{port}/{name}.csv" for name, port in ports.items()}


async def _in_plain_text(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 This port speaks HTTP\r\n\r\n")


def _self_signed(directory: Path) -> ssl.SSLContext:
    # A root certificate that is served as it is has signed itself.
    root = trustme.CA()
    pem = directory / "root.pem"
    root.cert_pem.write_to_path(str(pem))
    root.private_key_pem.write_to_path(str(pem), append=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
