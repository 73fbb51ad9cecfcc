"""A TLS server that knows no secure renegotiation (RFC 5746), as servers from before 2010.

OpenSSL cannot be told to be one. GnuTLS can, which Debian and Ubuntu always have.
"""

from __future__ import annotations

import ctypes
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes.util import find_library
from pathlib import Path

LIBRARY = find_library("gnutls")
"""None if it is not installed."""

_PRIORITIES = b"NORMAL:-VERS-ALL:+VERS-TLS1.2:%DISABLE_SAFE_RENEGOTIATION"
_SERVER, _PEM, _CERTIFICATE = 1, 1, 1


@contextmanager
def without_secure_renegotiation(certificate: Path, answer: bytes) -> Iterator[int]:
    """Give each request this answer, one after the other.

    :param certificate: a file with a certificate and its key
    :returns: the port on 127.0.0.1
    """
    tls = ctypes.CDLL(LIBRARY)
    credentials = ctypes.c_void_p()
    tls.gnutls_certificate_allocate_credentials(ctypes.byref(credentials))
    path = bytes(certificate)
    assert tls.gnutls_certificate_set_x509_key_file(credentials, path, path, _PEM) == 0

    def serve() -> None:
        while True:
            connection, _ = listening.accept()
            session = ctypes.c_void_p()
            tls.gnutls_init(ctypes.byref(session), _SERVER)
            tls.gnutls_priority_set_direct(session, _PRIORITIES, None)
            tls.gnutls_credentials_set(session, _CERTIFICATE, credentials)
            with connection:
                tls.gnutls_transport_set_int2(session, connection.fileno(), connection.fileno())
                if tls.gnutls_handshake(session) == 0:
                    tls.gnutls_record_recv(session, ctypes.create_string_buffer(4096), 4096)
                    tls.gnutls_record_send(session, answer, len(answer))
                    tls.gnutls_bye(session, 1)
                tls.gnutls_deinit(session)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
