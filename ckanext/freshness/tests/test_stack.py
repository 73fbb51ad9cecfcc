"""The machinery of ``./dev``, as far as it can be seen without building an environment."""

from __future__ import annotations

import ast
import itertools
import os
import signal
import socket
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
    from stack import cli, commands, environment, files, instances, locks, ports, progress
    from stack.errors import StackError
    from stack.layout import RELEASES, Layout
    from stack.processes import Identity, Ledger, spawn, stop

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('up', flush=True); time.sleep(600)",
]


def wait_for(text: str, log: Path, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while text not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < deadline, log.read_text() if log.exists() else "no log"
        time.sleep(0.01)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended whatever happens."""
    children: list[subprocess.Popen[bytes]] = []
    yield children
    for child in children:
        if child.poll() is None:
            child.kill()
            child.wait()


class TestProcesses:
    def start(
        self, started: list[subprocess.Popen[bytes]], log: Path, command: list[str]
    ) -> tuple[subprocess.Popen[bytes], Identity]:
        child, identity = spawn(command, log, environment=os.environ, folder=log.parent)
        started.append(child)
        wait_for("up", log)
        return child, identity

    def test_a_process_is_stopped(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        child, identity = self.start(started, tmp_path / "log", SLEEP)
        assert identity.alive()
        stop(identity, child=child)
        assert not identity.alive()
        assert child.returncode == -signal.SIGTERM

    def test_one_that_does_not_listen_is_killed(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        child, identity = self.start(started, tmp_path / "log", STUBBORN)
        stop(identity, patience=0.2, child=child)
        assert child.returncode == -signal.SIGKILL

    def test_the_whole_group_is_stopped(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        inner = "import os, time; print(f'up {os.getpid()}', flush=True); time.sleep(600)"
        outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
        log = tmp_path / "log"
        child, identity = self.start(started, log, [sys.executable, "-c", outer])
        grandchild = Identity.of(int(log.read_text().split()[1]))
        assert grandchild
        stop(identity, child=child)
        deadline = time.monotonic() + 5
        while grandchild.alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not grandchild.alive()

    def test_a_reused_id_is_left_alone(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        child, identity = self.start(started, tmp_path / "log", SLEEP)
        earlier = Identity(identity.pid, identity.started - 1, identity.boot)
        other_boot = Identity(identity.pid, identity.started, "another")
        for stranger in (earlier, other_boot):
            assert not stranger.alive()
            stop(stranger, patience=0.1)
        assert child.poll() is None

    def test_a_zombie_is_not_alive(self, started: list[subprocess.Popen[bytes]]) -> None:
        child = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert Identity.of(child.pid) is None
        child.wait()

    def test_signals_reach_what_was_started_undisturbed(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        with commands.undisturbed():
            child, _ = spawn(SLEEP, tmp_path / "log", environment=os.environ, folder=tmp_path)
        started.append(child)
        status = Path(f"/proc/{child.pid}/status").read_text()
        (ignored,) = (line.split()[1] for line in status.splitlines() if line[:7] == "SigIgn:")
        assert not int(ignored, 16) & (1 << (signal.SIGTERM - 1))


class TestLedger:
    def test_ends_what_a_dead_owner_left_and_nothing_else(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        children = TestProcesses()
        left, left_identity = children.start(started, tmp_path / "left", SLEEP)
        kept, kept_identity = children.start(started, tmp_path / "kept", SLEEP)
        myself = Identity.of(os.getpid())
        assert myself
        dead = Identity(myself.pid, myself.started - 1, myself.boot)
        folder = tmp_path / "processes"
        Ledger(folder, dead).add(left_identity)
        mine = Ledger(folder, myself)
        mine.add(kept_identity)

        assert mine.sweep() == 1
        assert left.wait(5) == -signal.SIGTERM
        assert kept.poll() is None
        assert len(list(folder.iterdir())) == 1
        mine.remove(kept_identity)
        assert not list(folder.iterdir())

    def test_what_is_left_may_clear_up_its_own(
        self, started: list[subprocess.Popen[bytes]], tmp_path: Path
    ) -> None:
        """As a demo does whose ./dev was killed: it ends its processes and removes their files."""
        folder = tmp_path / "processes"
        clears_up = f"""
import pathlib, signal, sys, time
def end(*_):
    for path in pathlib.Path({str(folder)!r}).iterdir():
        path.unlink()
    sys.exit()
signal.signal(signal.SIGTERM, end)
print('up', flush=True)
time.sleep(600)
"""
        myself = Identity.of(os.getpid())
        assert myself
        dead = Identity(myself.pid, myself.started - 1, myself.boot)
        children = TestProcesses()
        for name in ("one", "other"):
            command = [sys.executable, "-c", clears_up]
            Ledger(folder, dead).add(children.start(started, tmp_path / name, command)[1])
        assert Ledger(folder, myself).sweep() == 1

    def test_forgets_what_ended_by_itself(self, tmp_path: Path) -> None:
        myself = Identity.of(os.getpid())
        assert myself
        dead = Identity(myself.pid, myself.started - 1, myself.boot)
        Ledger(tmp_path, dead).add(Identity(myself.pid, 1, myself.boot))
        assert Ledger(tmp_path, myself).sweep() == 0
        assert not list(tmp_path.iterdir())


class TestForeground:
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Ledger:
        myself = Identity.of(os.getpid())
        assert myself
        return Ledger(tmp_path / "processes", myself)

    @pytest.mark.parametrize(
        ("code", "expected"),
        [
            ("pass", 0),
            ("raise SystemExit(5)", 5),
            ("import os; os.kill(os.getpid(), 9)", 128 + 9),
        ],
    )
    def test_the_exit_code_is_passed_on(self, code: str, expected: int, ledger: Ledger) -> None:
        command = [sys.executable, "-c", code]
        assert commands.foreground(command, environment=os.environ, ledger=ledger) == expected
        assert not list(ledger.folder.iterdir())

    def test_a_missing_command_is_named(self, ledger: Ledger) -> None:
        with pytest.raises(StackError, match="no-such-command"):
            commands.foreground(["no-such-command"], environment=os.environ, ledger=ledger)

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGTERM, 128 + 15), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
    )
    def test_a_signal_ends_the_command_and_then_us(
        self, number: signal.Signals, code: int, tmp_path: Path
    ) -> None:
        """Sent to ``./dev`` alone, as ``kill`` and CI systems do."""
        log = tmp_path / "log"
        program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from stack import cli, commands
from stack.processes import Identity, Ledger

commands.TERMINAL_GRACE = 0.2

def run(layout, options):
    ledger = Ledger(Path({str(tmp_path / "processes")!r}), Identity.of(os.getpid()))
    return commands.foreground({SLEEP!r}, environment=os.environ, ledger=ledger)

cli.run = run
sys.exit(cli.main(Path({str(tmp_path)!r}), ["run", "x"]))
"""
        with log.open("wb") as out:
            dev = subprocess.Popen(
                [sys.executable, "-c", program],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            wait_for("up", log)
            (record,) = (tmp_path / "processes").iterdir()
            child = Identity.of(int(record.name.split("-")[0]), leader=False)
            assert child
            os.kill(dev.pid, number)
            assert dev.wait(20) == code, log.read_text()
            assert not child.alive()
        finally:
            if dev.poll() is None:
                os.killpg(dev.pid, signal.SIGKILL)
                dev.wait()


class TestUndisturbed:
    def test_a_signal_waits_for_the_end_of_the_block(self) -> None:
        # Tests that ran before may have left a handler of their own, as RQ's worker does.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        reached = False
        with pytest.raises(KeyboardInterrupt), commands.undisturbed():
            os.kill(os.getpid(), signal.SIGINT)
            reached = True
        signal.signal(signal.SIGINT, before)
        assert reached


def test_the_environment_of_commands_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    disturbing = ("CKAN_SQLALCHEMY_URL", "CKAN_INI", "PGHOST", "PYTHONPATH", "VIRTUAL_ENV")
    # Without compiled modules, each start of CKAN takes three times as long.
    for name in (*disturbing, "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "intranet.example,127.0.0.1")
    monkeypatch.delenv("no_proxy", raising=False)
    variables = commands.clean_environment(EXTRA="1")
    assert "elsewhere" not in variables.values()
    assert variables["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert variables["NO_PROXY"] == "intranet.example,127.0.0.1,localhost"
    assert variables["no_proxy"] == "127.0.0.1,localhost"
    assert variables["EXTRA"] == "1"


@pytest.mark.parametrize(
    ("arguments", "ours", "theirs"),
    [
        (["demo", "--no-serve"], ["demo", "--no-serve"], []),
        (["test"], ["test"], []),
        (["test", "-q", "-k", "run"], ["test"], ["-q", "-k", "run"]),
        (["--ckan", "2.11", "test", "--ckan", "x"], ["--ckan", "2.11", "test"], ["--ckan", "x"]),
        (["ckan", "--help"], ["ckan"], ["--help"]),
        (["run", "ckan", "test"], ["run"], ["ckan", "test"]),
        (["services", "status", "--json"], ["services", "status", "--json"], []),
        ([], [], []),
    ],
)
def test_arguments_of_other_programs_are_left_to_them(
    arguments: list[str], ours: list[str], theirs: list[str]
) -> None:
    assert cli.split(arguments) == (ours, theirs)


@pytest.mark.parametrize("command", ["demo", "services", "clean"])
def test_help_needs_no_environment(command: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "dev", command, "--help"], capture_output=True)
    assert done.returncode == 0
    assert b"usage: ./dev" in done.stdout


def test_instances_do_not_meet(tmp_path: Path) -> None:
    kinds = [
        (instances.Kind.DEMO, 0),
        (instances.Kind.BENCH, 0),
        (instances.Kind.TEMPLATE, 0),
        *((instances.Kind.TEST, slot) for slot in range(instances.TEST_SLOTS)),
    ]
    made = [
        instances.Instance(Layout(tmp_path), series, kind, slot)
        for series, (kind, slot) in itertools.product(RELEASES, kinds)
    ]
    for attribute in ("name", "ini", "storage", "redis_database"):
        assert len({getattr(instance, attribute) for instance in made}) == len(made), attribute
    assert all(instance.name.isidentifier() for instance in made)
    assert max(instance.redis_database for instance in made) < 256


def test_what_an_instance_keeps_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    instance = instances.Instance(Layout(tmp_path), "2.12", instances.Kind.DEMO)
    assert instance.state == {}
    instance.keep(password="x", settings={"a": "b"})
    instance.keep(port=1)
    assert instance.state == {"password": "x", "settings": {"a": "b"}, "port": 1}
    (path,) = instance.home.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_private_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    files.write_private(path, "first")
    before = path.open()
    files.write_private(path, "second")
    assert (before.read(), path.read_text()) == ("first", "second")
    before.close()


def test_the_demo_has_the_plugins_of_the_tests() -> None:
    assert instances.plugins(ROOT / "test.ini").split()[:2] == ["freshness", "fdp_harvester"]


class TestPorts:
    def test_the_port_of_last_time_is_kept_if_free(self) -> None:
        port = ports.choose(None)
        assert ports.choose(port) == port

    def test_a_port_taken_meanwhile_is_not(self) -> None:
        with socket.create_server((ports.HOST, 0)) as server:
            port = server.getsockname()[1]
            assert not ports.is_free(port)
            assert ports.choose(port) != port

    @pytest.mark.parametrize(
        ("url", "expected"),
        [
            ("http://127.0.0.1:8080/fdp", True),
            ("http://localhost/", True),
            ("http://[::1]:80/", True),
            ("http://192.0.2.1/", False),
            ("http://10.0.0.1/", False),
            ("http://name.invalid/", False),
            ("not a URL", False),
            ("http://[broken/", False),
        ],
    )
    def test_loopback_is_told_from_the_rest(self, url: str, expected: bool) -> None:
        assert ports.is_loopback(url) is expected


class TestLocks:
    def test_only_one_holds_an_exclusive_lock(self, tmp_path: Path) -> None:
        one, other = locks.Lock(tmp_path / "lock"), locks.Lock(tmp_path / "lock")
        assert one.take(wait=False)
        assert not other.take(wait=False)
        one.free()
        assert other.take(wait=False)
        other.free()

    def test_the_last_of_several_users_is_told(self, tmp_path: Path) -> None:
        one, other = locks.Lock(tmp_path / "lock"), locks.Lock(tmp_path / "lock")
        assert one.take(shared=True)
        assert other.take(shared=True)
        assert not one.take(wait=False), "another one uses it still"
        assert other.take(wait=False), "it is the last"
        other.free()

    def test_waiting_is_told(self, tmp_path: Path) -> None:
        held = locks.Lock(tmp_path / "lock")
        assert held.take()
        program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from stack.locks import exclusive
with exclusive(Path({str(held.path)!r}), "it does something"):
    print("has it", file=sys.stderr)
"""
        command = [sys.executable, "-c", program]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiter:
            assert waiter.stderr
            told = waiter.stderr.readline()
            held.free()
            rest = waiter.stderr.read()
        assert "it does something" in told
        assert rest == "has it\n"
        assert waiter.returncode == 0


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("", {}),
        ("global.timeout='60'\n", {}),
        ("global.cert='/etc/ca.crt'\n", {"SSL_CERT_FILE": "/etc/ca.crt"}),
        (
            "global.index-url='https://mirror.example/simple'\n"
            "global.extra-index-url='\\nhttps://a.example\\nhttps://b.example'\n",
            {
                "UV_DEFAULT_INDEX": "https://mirror.example/simple",
                "UV_INDEX": "https://a.example https://b.example",
            },
        ),
        (
            ":env:.find-links='/by/variable'\nglobal.find-links='/by/file'\n",
            {"UV_FIND_LINKS": "/by/variable"},
        ),
        (
            "global.trusted-host='of.all'\ninstall.trusted-host='of.install'\n",
            {"UV_INSECURE_HOST": "of.install"},
        ),
    ],
)
def test_what_pip_was_told_is_told_to_uv(listing: str, expected: dict[str, str]) -> None:
    assert environment.uv_settings(listing) == expected


def test_a_failed_command_shows_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(StackError) as failure:
        commands.quiet(
            [sys.executable, "-c", "print('first'); print('the reason'); raise SystemExit(3)"],
            tmp_path / "logs" / "x.log",
            what="Doing something",
            advice="Do something else.",
            environment=os.environ,
        )
    text = str(failure.value)
    for part in ("Doing something failed", "the reason", "Do something else.", "x.log"):
        assert part in text


def test_steps_are_plain_lines_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress.step("Dividing"):
        _ = 1 // 0
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "Dividing ..."
    assert told[1].endswith("s (failed)")
    assert "\x1b" not in "".join(told)


def test_the_stack_needs_the_standard_library_alone() -> None:
    """It runs before anything is installed; fetch_jars.py is run by the environment that has jgo."""
    scripts = [ROOT / "dev", *(ROOT / "stack").glob("*.py")]
    assert len(scripts) > 10
    for path in scripts:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                top = name.split(".")[0]
                allowed = top in sys.stdlib_module_names or top == "stack"
                assert allowed or path.name == "fetch_jars.py", f"{path.name} imports {name}"


def test_every_jar_has_a_digest() -> None:
    lines = (ROOT / "stack" / "solr-jars.txt").read_text().splitlines()
    jars = [line.split(" ") for line in lines if not line.startswith("#")]
    assert len(jars) > 100
    assert all(len(digest) == 64 and name.count(":") in (2, 3) for name, digest in jars)
