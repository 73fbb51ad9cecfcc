"""PostgreSQL, Redis and Solr of one checkout: started once, shared by all commands, stopped by the last."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from stack.commands import last_lines, undisturbed
from stack.layout import Layout
from stack.messages import StackError, step
from stack.postgres import Postgres
from stack.processes import Identity, spawn, stop
from stack.redis import Redis
from stack.service import Service
from stack.solr import Solr
from stack.system import Lock, choose_port, exclusive, write_private

START_PATIENCE = 90.0
"""Seconds until a service must answer; Solr needs 8 on an idle machine."""
POLL = 0.1


@dataclass(slots=True)
class Record:
    """The port and process of a service, kept between two commands."""

    port: int
    process: Identity | None

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.alive()


class Services:
    """The three servers, which all commands share.

    Every command that needs them holds a shared lock while it runs. The last command stops them,
    unless ``./dev services start`` keeps them running.

    :param for_tests: start them with the settings of test runs. Servers that run already keep theirs.
    """

    def __init__(self, layout: Layout, tools_bin: Path, *, for_tests: bool = False) -> None:
        self.folder = layout.services
        self.postgres = Postgres(tools_bin, self.folder / "postgres")
        self.redis = Redis(tools_bin, self.folder / "redis")
        self.solr = Solr(layout, tools_bin, self.folder / "solr", for_tests=for_tests)
        self._in_use = Lock(self.folder / "in-use.lock")

    @property
    def all(self) -> tuple[Service, ...]:
        return (self.postgres, self.redis, self.solr)

    def port(self, service: Service) -> int:
        """Return the port on which a service listens."""
        record = self._load(service)
        if record is None or not record.running:
            raise StackError(f"{service.name} is not running; start it with ./dev services start.")
        return record.port

    def running(self, service: Service) -> bool:
        """Return whether the process of a service runs."""
        record = self._load(service)
        return record is not None and record.running

    def acquire(self) -> None:
        """Start services that do not run, and keep them running until `release`."""
        with self._changing():
            self._in_use.take(shared=True)
            missing = [service for service in self.all if not self.running(service)]
            if not missing:
                return
            for service in missing:
                service.prepare()
            with step("Starting " + ", ".join(service.name for service in missing)):
                self._start(missing)

    def release(self) -> bool:
        """End the use by this command. If it was the last, stop the services; return whether it was."""
        with undisturbed(), self._changing():
            is_last = self._in_use.take(wait=False)
            if is_last and not self._kept.exists():
                self._stop_all()
            self._in_use.free()
            return is_last

    def keep(self, stay: bool) -> None:
        """Set whether the services keep running when the last command ends."""
        if stay:
            self._kept.touch()
        else:
            self._kept.unlink(missing_ok=True)

    @property
    def _kept(self) -> Path:
        return self.folder / "kept"

    def _changing(self) -> AbstractContextManager[None]:
        return exclusive(self.folder / "changing.lock", "it starts or stops the services")

    def _start(self, missing: Sequence[Service]) -> None:
        try:
            children = [(service, self._launch(service)) for service in missing]
            for service, child in children:
                self._wait(service, child)
        except BaseException:
            with undisturbed():
                self._stop_all()
            raise

    def _launch(self, service: Service) -> subprocess.Popen[bytes]:
        before = self._load(service)
        port = choose_port(before.port if before else None)
        with undisturbed():
            child, identity = spawn(
                service.command(port),
                service.log,
                environment=service.environment(),
                folder=service.working_folder,
                account=service.account,
            )
            self._save(service, Record(port, identity))
        return child

    def _wait(self, service: Service, child: subprocess.Popen[bytes]) -> None:
        """Wait until a service answers.

        :raises StackError: it has ended, or does not answer
        """
        port = self.port(service)
        deadline = time.monotonic() + START_PATIENCE
        while not service.ready(port):
            if child.poll() is not None or time.monotonic() > deadline:
                does = "has ended" if child.returncode is not None else "does not answer"
                raise StackError(f"{service.name} {does}. {self._diagnosis(service)}")
            time.sleep(POLL)

    def _diagnosis(self, service: Service) -> str:
        return (
            f"The end of {service.log}:\n{last_lines(service.log)}\n"
            "If that does not tell what is wrong: ./dev clean, then start again."
        )

    def _stop_all(self) -> None:
        for service in reversed(self.all):
            record = self._load(service)
            if record is None:
                continue
            if record.process is not None:
                stop(record.process, how=service.stop_signal)
                self._save(service, Record(record.port, None))
            service.stopped()

    def _path(self, service: Service) -> Path:
        return self.folder / f"{service.name.lower()}.json"

    def _load(self, service: Service) -> Record | None:
        path = self._path(service)
        if not path.exists():
            return None
        data = json.loads(path.read_text())
        process = Identity(**data["process"]) if data["process"] else None
        return Record(data["port"], process)

    def _save(self, service: Service, record: Record) -> None:
        write_private(self._path(service), json.dumps(asdict(record)))
