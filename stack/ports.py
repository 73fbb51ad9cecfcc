"""Free ports on loopback."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def choose(preferred: int | None) -> int:
    """The port used last time if it is free, else any free one."""
    if preferred and is_free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
