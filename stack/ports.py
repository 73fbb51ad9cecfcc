"""Free ports on loopback."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def choose(preferred: int | None) -> int:
    """Return the port of the last time if it is free, otherwise any free port."""
    if preferred and is_free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_loopback(url: str) -> bool:
    """Return whether the URL's host is this machine's loopback."""
    try:
        addresses = socket.getaddrinfo(urlsplit(url).hostname, None)
    except (OSError, ValueError):
        return False
    return all(ipaddress.ip_address(address[4][0]).is_loopback for address in addresses)
