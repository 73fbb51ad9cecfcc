"""What ``./dev`` must not do wrong: processes of others, signals, secrets, and the choice of tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import tests
    from stack.processes import Identity, spawn, stop

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(600)",
]


def wait_for(text: str, log: Path) -> None:
    deadline = time.monotonic() + 120
    while text not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
        time.sleep(0.01)


# Processes


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended whatever happens."""
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("command", "ended_by"), [(SLEEP, signal.SIGTERM), (STUBBORN, signal.SIGKILL)]
)
def test_a_process_is_stopped_and_no_stranger_with_its_id(
    command: list[str],
    ended_by: signal.Signals,
    started: list[subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    child, identity = spawn(command, log, environment=os.environ, folder=tmp_path)
    started.append(child)
    wait_for("up", log)
    earlier = Identity(identity.pid, identity.started - 1, identity.boot)
    for stranger in (earlier, Identity(identity.pid, identity.started, "another boot")):
        stop(stranger, patience=0.1)
    assert child.poll() is None and identity.alive()
    stop(identity, patience=60 if ended_by == signal.SIGTERM else 0.5)
    assert child.wait() == -ended_by
    assert not identity.alive()


# Subsets


@pytest.mark.parametrize("subset", ["--contract", "--quick"])
def test_the_subsets_name_tests_that_are_there(subset: str) -> None:
    named = [one for one in tests.plan([subset], ROOT).arguments if not one.startswith("-")]
    assert len(named) == len(set(named)) > 20
    for path, _, function in (one.partition("::") for one in named):
        assert (ROOT / path).exists(), path
        assert not function or f"def {function}(" in (ROOT / path).read_text(), function
