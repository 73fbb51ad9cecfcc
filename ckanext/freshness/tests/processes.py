"""``ckan`` commands in processes of their own, forked from the tests' process: none imports CKAN again."""

from __future__ import annotations

import configparser
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ckan.cli.cli
import sqlalchemy as sa
from ckan.common import config
from ckan.lib import jobs, redis
from ckan.plugins.core import unload_all

from ckanext.freshness.ckan_adapter.core import model

from .usual_site import CtxObject, no_new_configuration

_FORK = multiprocessing.get_context("fork")


def disconnect() -> None:
    """Close all connections of this process to the database, as before a fork."""
    model.Session.remove()
    model.meta.engine.dispose()


def killed_at(owner: Any, name: str, number: int, work: Callable[[], object]) -> None:
    """Work in a child process that kills itself at the n-th call of a function of ours.

    :param owner: the class or module that has the function
    """
    disconnect()
    child = os.fork()
    if not child:
        original, calls = getattr(owner, name), itertools.count(1)

        def counted(*arguments: Any, **named: Any) -> Any:
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **named)

        try:
            setattr(owner, name, counted)
            work()
        finally:
            os._exit(7)  # it should be dead
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    until_locks_are_free()


WITH_LOCKS = "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
"""SQL: whether a connection of ``pg_stat_activity`` holds one of our locks, or waits for one."""


def end_connections(those: str = "true", *, by: str = "pg_terminate_backend") -> int:
    """End other connections to this site's database, as a restart does, and return their number.

    ``pg_locks`` alone would name those of other workers too, whose databases are on the same server.

    :param those: SQL: which rows of ``pg_stat_activity``
    :param by: ``pg_cancel_backend`` to end only what they do now
    """
    statement = f"""
    SELECT {by}(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND {those}"""
    with model.Session.get_bind().connect() as connection:
        return len(connection.execute(sa.text(statement)).all())


class CkanProcess:
    """A command as another process runs it, with the part of Popen's interface that tests use.

    :param folder: where its output goes
    :param variables: added to the environment
    """

    def __init__(self, arguments: tuple[str, ...], folder: Path, **variables: str) -> None:
        disconnect()
        self._files = [Path(tempfile.mkstemp(dir=folder)[1]) for _ in ("out", "err")]
        self._process = _FORK.Process(target=_run, args=(arguments, self._files, variables))
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, or the signal's number below zero; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        :raises subprocess.TimeoutExpired: it still runs.
        """
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("ckan", timeout or 0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end, and return what it wrote to standard output and to standard error."""
        self.wait(timeout)
        output, errors = (path.read_text() for path in self._files)
        return output, errors

    def kill(self) -> None:
        """End it, and what it has started, at once."""
        if self.returncode is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.join()


def until(
    happens: Callable[[], Any], process: CkanProcess | None = None, *, patience: float = 120.0
) -> None:
    """Wait for a change by another process, some seconds at most.

    :param process: must not end meanwhile
    """
    end = time.monotonic() + patience
    while not happens():
        assert process is None or process.returncode is None, process.communicate()
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def until_locks_are_free() -> None:
    """Wait until PostgreSQL has noticed that clients are gone which were killed or cut off.

    Until then it holds their locks, and what looks for lost work leaves it to them.
    """
    held = sa.text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database()"
    )

    def are_free() -> bool:
        with model.meta.engine.connect() as connection:
            return not connection.execute(held).scalar()

    until(are_free)


def write_ini(folder: Path, **options: str) -> str:
    """Write the tests' settings with other options of this extension; return the file's name.

    CKAN 2.11 wants all in one file.

    :param options: without ``ckanext.freshness.``, with two underscores for each full stop
    """
    usual = Path(config["__file__"])
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(usual.read_text().replace("%(here)s", str(usual.parent)))
    for name, value in options.items():
        parser["app:main"][f"ckanext.freshness.{name.replace('__', '.')}"] = value
    ini = folder / "ckan.ini"
    with ini.open("w") as file:
        parser.write(file)
    return str(ini)


def _run(arguments: tuple[str, ...], files: list[Path], variables: dict[str, str]) -> None:
    os.setsid()
    for number, path in enumerate(files, 1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, closefd=False) for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(variables)
    # As CKAN is before it is started: what it keeps in modules was made for other options.
    with no_new_configuration():
        unload_all()
    config.clear()
    redis._connection_pool = None
    jobs._queues.clear()
    ckan.cli.cli.CtxObject = CtxObject
    sys.argv = ["ckan", *arguments]
    ckan.cli.cli.ckan()
