"""What ``./dev`` must not do wrong: processes of others, signals, secrets, and the choice of tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import commands, instances, peers, tests
    from stack.layout import Layout
    from stack.messages import StackError
    from stack.processes import Identity, spawn, stop

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(600)",
]


def wait_for(text: str, log: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
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
    stop(identity, patience=0.5)
    assert child.wait() == -ended_by
    assert not identity.alive()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_the_command_and_then_us(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    """Sent to ``./dev`` alone, as ``kill`` and CI systems do; a second one does not disturb the end."""
    log, pids = tmp_path / "log", tmp_path / "pid"
    command = f"""
import os, time
open({str(pids)!r}, 'w').write(str(os.getpid()) + ' ')
print('up', flush=True)
time.sleep(600)"""
    program = f"""
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from stack import cli, commands
commands.TERMINAL_GRACE = 0.2
def run(layout, options):
    try:
        return commands.foreground([sys.executable, '-c', {command!r}], os.environ)
    finally:
        print('ending', flush=True)
        time.sleep(0.5)
        print('ended', flush=True)
cli.run = run
sys.exit(cli.main(Path({str(tmp_path)!r}), ["run", "x"]))"""
    with log.open("wb") as out:
        dev = subprocess.Popen(
            [sys.executable, "-c", program], stdout=out, stderr=out, start_new_session=True
        )
    try:
        wait_for("up", log)
        child = Identity.of(int(pids.read_text()))
        assert child is not None
        dev.send_signal(number)
        wait_for("ending", log)
        dev.send_signal(signal.SIGTERM)
        assert dev.wait(30) == code, log.read_text()
        assert not child.alive()
        assert log.read_text().endswith("ended\n")
    finally:
        os.killpg(dev.pid, signal.SIGKILL) if dev.poll() is None else None
        dev.wait()


# What is private, and what belongs to others


def test_the_environment_of_commands_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbing = ("CKAN_SQLALCHEMY_URL", "CKAN_INI", "PGHOST", "PYTHONPATH", "VIRTUAL_ENV")
    # Without compiled modules, each start of CKAN takes three times as long.
    for name in (*disturbing, "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("NO_PROXY", "intranet.example,127.0.0.1")
    variables = commands.clean_environment(EXTRA="1")
    assert "elsewhere" not in variables.values()
    assert variables["NO_PROXY"] == "intranet.example,127.0.0.1,localhost"
    assert variables["EXTRA"] == "1"


def test_what_an_instance_keeps_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    instance = instances.Instance(Layout(tmp_path), "2.12", instances.Kind.DEMO)
    instance.keep(password="x", settings={"a": "b"})
    instance.keep(port=1)
    assert instance.state == {"password": "x", "settings": {"a": "b"}, "port": 1}
    (path,) = instance.home.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


# Arguments

FILE = "ckanext/freshness/tests/test_docs.py"
PURE = "ckanext/freshness/tests/web"


@pytest.mark.parametrize(
    ("arguments", "workers", "services", "passed_on"),
    [
        ([], 6, True, []),
        (["-q", "-k", "facet"], 6, True, ["-q", "-k", "facet"]),
        ([PURE], 4, False, [PURE]),
        ([f"{FILE}::test_one", f"{FILE}::test_two"], 0, True, [f"{FILE}::test_one", f"{FILE}::test_two"]),
        (["-n", "3", FILE], 3, True, [FILE]),
        (["--numprocesses=0"], 0, True, []),
        (["--pdb"], 0, True, ["--pdb"]),
        (["--cov", "-x"], 6, True, [*tests.COVERAGE, "-x"] if (ROOT / "dev").exists() else []),
        (["ckanext/freshness/tests/checking"], 6, True, ["ckanext/freshness/tests/checking"]),
    ],
)  # fmt: skip
def test_the_plan(
    arguments: list[str],
    workers: int,
    services: bool,
    passed_on: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3})
    plan = tests.plan(arguments, ROOT)
    assert (plan.workers, plan.services, plan.arguments) == (workers, services, passed_on)


@pytest.mark.parametrize("subset", ["--contract", "--quick"])
def test_the_subsets_name_tests_that_are_there(subset: str) -> None:
    named = [one for one in tests.plan([subset], ROOT).arguments if not one.startswith("-")]
    assert len(named) == len(set(named)) > 20
    assert not [path for path in named if not (ROOT / path.partition("::")[0]).exists()]


# The tests of peers

PASSED, FAILED, SKIPPED = ("passed", ""), ("failed", "assert 3 == 2"), ("skipped", "no")
REASONS = {"test_sorts": "It counts the extras."}


@pytest.mark.parametrize(
    ("without", "ours", "is_good", "said"),
    [
        ({"test_a": PASSED}, {"test_a": PASSED}, True, "0 new failures, 0 listed"),
        ({"test_a": PASSED}, {"test_a": FAILED}, False, "NEW: test_a: assert 3 == 2"),
        ({"test_a": PASSED}, {}, False, "NEW: test_a: It did not run."),
        ({"test_a": FAILED, "test_b": SKIPPED}, {"test_a": FAILED}, True, "2 tests; 0 pass"),
        ({"test_sorts": PASSED}, {"test_sorts": FAILED}, True, "listed: test_sorts: It counts"),
        ({"test_sorts": PASSED}, {"test_sorts": PASSED}, True, "passes again, remove it"),
    ],
)
def test_the_report_on_peers(
    without: Mapping[str, tuple[str, str]],
    ours: Mapping[str, tuple[str, str]],
    is_good: bool,
    said: str,
) -> None:
    lines, found = peers.report(without, ours, REASONS)
    assert found is is_good
    assert said in "\n".join(lines)


def test_a_suite_of_peers_that_cannot_run_proves_nothing(tmp_path: Path) -> None:
    def run(settings: Mapping[str, str], arguments: Sequence[str | Path]) -> int:
        (file,) = (str(one) for one in arguments if str(one).startswith("--endings="))
        Path(file.partition("=")[2]).write_text(json.dumps({"module.py": ("failed", "In use")}))
        return 1

    listed = ROOT / "stack" / "peers.txt"
    given: Any = {"run": run, "plugins": "freshness", "packages": tmp_path, "listed": listed}
    assert all(reason.endswith(".") for reason in peers.read_reasons(listed.read_text()).values())
    with pytest.raises(StackError, match="No test of dcat passes without our plugins"):
        peers.main(["dcat"], **given, folder=tmp_path / "out")
    with pytest.raises(StackError, match=r"no suite 'spatial'"):
        peers.main(["spatial"], **given, folder=tmp_path)
