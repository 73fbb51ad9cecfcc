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
    return _joined(directory, "leaf.key", "leaf.pem")


def weak_authority(directory: Path) -> tuple[Path, Path]:
    """Make an authority with a weak key, and a certificate of it for 127.0.0.1.

    :returns: the authority's certificate, and a file with the other's key and certificate
    """
    _openssl(
        directory,
        *("req", "-x509", "-newkey", "rsa:1024", "-nodes", "-subj", "/CN=weak", "-days", "30"),
        *("-keyout", "weak.key", "-out", "weak.pem"),
    )
    weak = trustme.CA.from_pem(
        (directory / "weak.pem").read_bytes(), (directory / "weak.key").read_bytes()
    )
    return directory / "weak.pem", issue(weak, directory)


def of_a_leaf(authority: trustme.CA, directory: Path) -> Path:
    """Issue a certificate by another one that may issue none. Return a file with the key and both."""
    issue(authority, directory)
    leaf = trustme.CA.from_pem(
        (directory / "leaf.pem").read_bytes(), (directory / "leaf.key").read_bytes()
    )
    shutil.copy(directory / "leaf.pem", directory / "middle.pem")
    issue(leaf, directory)
    return _joined(directory, "leaf.key", "leaf.pem", "middle.pem")


def _openssl(directory: Path, *arguments: str) -> None:
    assert OPENSSL is not None
    subprocess.run([OPENSSL, *arguments], cwd=directory, check=True, capture_output=True)


def _joined(directory: Path, *names: str) -> Path:
    joined = directory / "served.pem"
    joined.write_text("".join((directory / name).read_text() for name in names))
    return joined
