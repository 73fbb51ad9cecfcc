"""What ``./dev`` says before it builds anything, to a closed pipe, and while it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import cli, environment
    from stack.errors import StackError
    from stack.source import check_source


# ./dev demo --source

HOPELESS = [
    ("", "does not begin with http:// or https://"),
    ("fdp.example.org", "does not begin with http:// or https://"),
    ("ftp://fdp.example.org", "does not begin with http:// or https://"),
    ("http://", "names no host"),
    ("https:///path", "names no host"),
    ("http://[broken/", "is no URL"),
    ("http://fdp.example.org:99999/", "is no URL"),
    ("http://fdp.example.org:0/", "cannot be asked for"),
    ("http://fdp.example.org/a b", "cannot be asked for"),
    ("http://fdp.example.org/a\x00", "cannot be asked for"),
    ("http://name.invalid/", "nothing answers there"),
    (f"http://{'a' * 64}.example.org/", "nothing answers there"),
]


@pytest.mark.parametrize(("url", "words"), HOPELESS)
def test_a_source_that_cannot_be_asked(url: str, words: str) -> None:
    with pytest.raises(StackError) as told:
        check_source(url)
    assert words in str(told.value)
    assert "--source" in str(told.value)


@pytest.mark.parametrize("end", ["", ":99999", "x y", "]["])
@pytest.mark.parametrize("scheme", ["https", "ftp"])
def test_a_password_is_refused_and_not_repeated(scheme: str, end: str) -> None:
    with pytest.raises(StackError, match="a user name or a password") as told:
        check_source(f"{scheme}://me:s3cret@fdp.example.org{end}/")
    assert "s3cret" not in str(told.value)


def test_it_is_told_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], handlers: None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    assert cli.main(tmp_path, ["demo", "--no-serve", "--source", url]) == 1
    said = capsys.readouterr().err
    assert f"Nothing can be harvested from --source {url}: nothing answers there" in said
    assert "refused" in said
    assert not list(tmp_path.iterdir())


def test_no_web_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"220 ready for mail\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(StackError, match="what answers is no web server"):
            check_source(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()


def test_one_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.source.PATIENCE", 0.1)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(StackError, match=r"it has not answered for 0 s"),
    ):
        check_source(f"http://127.0.0.1:{server.getsockname()[1]}/")


@pytest.mark.parametrize("code", [200, 404, 500])
def test_whatever_answers_is_left_to_the_harvest(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    # The harvest does not use it either.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        check_source(f"http://127.0.0.1:{server.server_port}/fdp#part")
        thread.join()


# Advice on packages

PIP_NONE = (
    "ERROR: Could not find a version that satisfies the requirement uv (from versions: none)\n"
)
PIP_SOME = (
    "ERROR: Could not find a version that satisfies the requirement uv>9 (from versions: 0.0.1)\n"
)
PIP_END = "ERROR: No matching distribution found for uv\n"
PIP_RETRY = (
    "WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after "
    "connection broken by 'NewConnectionError('<...>: Failed to establish a new connection: [Errno "
    "111] Connection refused')': /simple/uv/\n"
)
UV_NO = "error: No solution found when resolving dependencies\n  cause: Because "


@pytest.mark.parametrize(
    ("said", "about"),
    [
        (PIP_NONE + PIP_END, "version"),
        (PIP_SOME + PIP_END, "version"),
        (PIP_RETRY + PIP_NONE + PIP_END, "network"),
        (PIP_RETRY + PIP_SOME + PIP_END, "version"),
        ("ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/...", "version"),
        (
            UV_NO + "only uv==0.0.1 is available and you require uv>9, we can conclude ...",
            "version",
        ),
        (UV_NO + "nothere was not found in the package registry and you require ...", "version"),
        (UV_NO + "uv==0.0.1 has no wheels with a matching Python ABI tag (e.g. ...", "version"),
        (
            UV_NO
            + "nothere was not found in the cache and you require nothere, ...\n\nhint: Packages "
            "were unavailable because the network was disabled.",
            "network",
        ),
        (
            "error: Failed to fetch: http://127.0.0.1:1/simple/uv/\n  cause: error sending request for "
            "url (http://127.0.0.1:1/simple/uv/)\n  cause: client error (Connect)",
            "network",
        ),
        (
            "ERROR: Could not install packages due to an OSError: HTTPSConnectionPool(...)",
            "network",
        ),
        ("", "network"),
    ],
)
def test_what_to_do_about_packages(said: str, about: str) -> None:
    advice = environment.advice_on_packages(said)
    assert ("HTTPS_PROXY" in advice) == (about == "network")
    assert ("No version" in advice) == (about == "version")
    assert "{" not in advice


# Closed pipes, and signals


@pytest.fixture
def handlers() -> Iterator[None]:
    """The signal handlers of before, which `cli.main` replaces."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def program(root: Path, arguments: list[str], before: str = "") -> list[str]:
    """A ``./dev`` of another folder."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from stack import cli, commands
{before}
sys.exit(cli.main(Path({str(root)!r}), {arguments!r}))
"""
    return [sys.executable, "-c", code]


@pytest.mark.parametrize(
    ("arguments", "unread", "code"),
    [
        (["services", "status"], "stdout", 128 + signal.SIGPIPE),
        (["services", "status", "--json"], "stdout", 128 + signal.SIGPIPE),
        (["services", "status"], "stderr", 3),
        (["--help"], "stdout", 0),
        (["demo", "--source", "x"], "stderr", 128 + signal.SIGPIPE),
    ],
)
@pytest.mark.parametrize("buffered", [True, False])
def test_nobody_reads(
    arguments: list[str], unread: str, code: int, buffered: bool, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    pipe = subprocess.PIPE
    variables = os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"}
    done = subprocess.run(
        program(tmp_path, arguments),
        env=variables,
        text=True,
        stdout=writer if unread == "stdout" else pipe,
        stderr=writer if unread == "stderr" else pipe,
    )
    os.close(writer)
    assert done.returncode == code
    assert not done.stderr


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_disturb_the_end(
    first: signal.Signals, second: signal.Signals, tmp_path: Path
) -> None:
    """What is done at the end takes its time: here until a file is there, made after the signal."""
    clears_up = f"""
import time
from pathlib import Path
folder = Path({str(tmp_path)!r})

def run(layout, options):
    try:
        (folder / "up").touch()
        time.sleep(600)
    finally:
        (folder / "ending").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        (folder / "ended").touch()

cli.run = run
"""
    dev = subprocess.Popen(
        program(tmp_path, ["run", "x"], clears_up), stderr=subprocess.PIPE, text=True
    )
    assert dev.stderr
    try:
        wait_for(tmp_path / "up")
        dev.send_signal(first)
        wait_for(tmp_path / "ending")
        dev.send_signal(second)
        assert dev.stderr.readline() == "Stopping what was started; please wait.\n"
        (tmp_path / "go").touch()
        assert dev.wait(20) == 128 + first
        assert dev.stderr.read() == ""
    finally:
        dev.kill()
        dev.wait()
        dev.stderr.close()
    assert (tmp_path / "ended").exists()


def test_a_test_run_ends_what_its_fixtures_started(tmp_path: Path) -> None:
    test = f"""
import os, pytest

@pytest.fixture
def server(tmp_path_factory):
    yield
    os.kill(os.getpid(), {signal.SIGTERM:d})
    open({str(tmp_path / "stopped")!r}, "w").close()

def test(server):
    os.kill(os.getpid(), {signal.SIGTERM:d})
    os._exit(9)
"""
    (tmp_path / "test_it.py").write_text(test)
    options = ["-p", "ckanext.freshness.tests.conftest", "-c", os.devnull, f"--rootdir={tmp_path}"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            *options,
            "-c",
            os.devnull,
            "--rootdir",
            tmp_path,
            tmp_path,
        ],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == pytest.ExitCode.INTERRUPTED, done.stdout
    assert (tmp_path / "stopped").exists()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)
