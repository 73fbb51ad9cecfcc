"""A process of the sandbox can reach nothing but the content that it opens."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

import pytest

from ckanext.freshness.sandbox import Exceeded, Unopened
from ckanext.freshness.sandbox.processes import ProcessLimits, Sandbox
from ckanext.freshness.tests.sandbox.attempts import ACTIONS

ATTEMPTS = "ckanext.freshness.tests.sandbox.attempts"


def answers(
    function: str, *requests: bytes, file: BinaryIO | None = None, answer: int = 10_000
) -> list[bytes | Unopened]:
    """Return the answers of one process to several requests."""

    async def run() -> list[bytes | Unopened]:
        found: list[bytes | Unopened] = []
        with Sandbox(ProcessLimits(20, answer=answer)) as sandbox:
            for request in requests:
                try:
                    found.append(await sandbox.run(f"{ATTEMPTS}:{function}", request, file))
                except Unopened as error:
                    found.append(error)
        return found

    return asyncio.run(run())


@pytest.mark.parametrize("content", [None, b"content"])
def test_nothing_can_be_opened(content: bytes | None) -> None:
    requests = [name.encode() for name in ACTIONS]
    if content is None:
        assert answers("attempt", *requests) == [b"EMFILE"] * len(requests)
        return
    with tempfile.TemporaryFile() as file:
        file.write(content)
        for request in requests:
            assert answers("attempt", request, file=file) == [b"EMFILE" + content]


CRASHES = {
    "raise ValueError": "cannot be opened: ValueError('é",
    "raise Panic": "cannot be opened: Panic('é",
    "raise SystemExit": "cannot be opened: SystemExit('é",
    "exit 0": "ends the process that opens it (status 0)",
    "exit 3": "ends the process that opens it (status 3)",
    "signal SIGSEGV": "ends the process that opens it (status -11)",
    "signal SIGABRT": "ends the process that opens it (status -6)",
    "signal SIGKILL": "ends the process that opens it (status -9)",
    "say thread panicked at": "ends the process that opens it (status -6)",
    "flood": "cannot be opened: OSError(27, 'File too large')",
    "lie no json\n": "ends the process that opens it (status 0)",
    "lie {}\n": "ends the process that opens it (status 0)",
    'lie {"size": "x"}\n': "ends the process that opens it (status 0)",
}


@pytest.mark.parametrize("action", CRASHES)
def test_a_crash_is_an_error_of_its_content_alone(
    action: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    before, crash, after = answers("misbehave", b"", action.encode(), b"")
    assert isinstance(before, bytes) and isinstance(after, bytes) and before != after
    assert type(crash) is Unopened
    assert str(crash).startswith(CRASHES[action]) and len(str(crash)) <= 1000
    (record,) = caplog.records
    if action.startswith("raise"):
        assert ", in misbehave\n" in record.getMessage()
    if action.startswith("say"):
        assert "thread panicked at" in record.getMessage()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("words", ["memory allocation of 8 bytes failed", "MemoryError"])
def test_a_process_that_dies_of_its_memory_limit_has_exceeded_it(words: str) -> None:
    before, lost, after = answers("misbehave", b"", f"say {words}".encode(), b"")
    assert isinstance(before, bytes) and isinstance(after, bytes) and before != after
    assert type(lost) is Exceeded
    assert str(lost) == "needs more than 512 MiB of memory"


def test_python_is_found_from_within_a_web_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an embedded interpreter, ``sys.executable`` is the web server."""
    python = Path(sys.exec_prefix, "bin", "python3")
    assert python.exists()
    monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    assert answers("repeat", b"x") == [b"x" * 1000]
