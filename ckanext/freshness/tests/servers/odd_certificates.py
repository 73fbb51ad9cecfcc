"""Certificates that trustme and cryptography refuse to make: weak ones, and ones for another purpose."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import trustme

OPENSSL = shutil.which("openssl")
"""The command; None if it is not installed."""


def issue(
    authority: trustme.CA,
    directory: Path,
    *,
    bits: int = 2048,
    digest: str = "sha256",
    extension: str = "basicConstraints=CA:FALSE",
) -> Path:
    """Issue a certificate for 127.0.0.1 with an RSA key.

    :param bits: the size of the key
    :param digest: of the authority's signature
    :param extension: a line for OpenSSL
    :returns: a file with the key and the certificate
    """
    authority.cert_pem.write_to_path(str(directory / "issuer.pem"))
    authority.private_key_pem.write_to_path(str(directory / "issuer.key"))
    (directory / "extensions").write_text(f"subjectAltName=IP:127.0.0.1\n{extension}\n")
    name = ["-subj", "/CN=127.0.0.1"]
    _openssl(
        directory,
        *("req", "-new", "-newkey", f"rsa:{bits}", "-nodes", *name),
        *("-keyout", "leaf.key", "-out", "leaf.csr"),
    )
    _openssl(
        directory,
        *("x509", "-req", "-in", "leaf.csr", "-days", "30", f"-{digest}", "-set_serial", "7"),
        *("-CA", "issuer.pem", "-CAkey", "issuer.key", "-extfile", "extensions"),
        *("-out", "leaf.pem"),
    )
    served = directory / "served.pem"
    served.write_text((directory / "leaf.key").read_text() + (directory / "leaf.pem").read_text())
    return served


def _openssl(directory: Path, *arguments: str) -> None:
    assert OPENSSL is not None
    subprocess.run([OPENSSL, *arguments], cwd=directory, check=True, capture_output=True)
