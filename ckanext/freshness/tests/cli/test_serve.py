"""``ckan freshness serve``: real child processes, which are killed, fail, and ignore signals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time as clock
from collections.abc import Callable
from datetime import datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any

import click
import pytest

from ckanext.freshness.ckan_adapter.harvest import harvest_queue_connection
from ckanext.freshness.cli import serve
from ckanext.freshness.cli.serve import Children, Part, last_due
from ckanext.freshness.reporting import counts
from ckanext.freshness.tests import processes
from ckanext.freshness.tests.processes import write_ini

UTC = timezone.utc


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-03-02T01:29", "2026-03-01T01:30"),
        ("2026-03-02T01:30", "2026-03-02T01:30"),
        ("2026-03-02T23:59", "2026-03-02T01:30"),
        ("2026-03-01T00:00", "2026-02-28T01:30"),
    ],
)
def test_the_last_night_that_was_due(now: str, due: str) -> None:
    assert last_due(datetime.fromisoformat(now), time(1, 30)) == datetime.fromisoformat(due)


@pytest.mark.usefixtures("clean_db")
def test_a_night_is_done_once_its_figures_are_stored() -> None:
    due = datetime(2026, 3, 2, 1, 30, tzinfo=UTC)
    counts.store(due - timedelta(hours=2), counts.of_statuses({"fresh": 1}))
    assert not serve._is_done(due)
    counts.store(due + timedelta(hours=2), counts.of_statuses({"fresh": 1}))
    assert serve._is_done(due)


@pytest.mark.usefixtures("clean_db")
def test_a_night_is_tried_again_until_it_is_done() -> None:
    """It is killed, then another machine works on it. Only then does it store its figures."""
    codes, pauses = iter([-9, 1]), []

    async def call(part: Part) -> int:
        for code in codes:
            return code
        counts.store(datetime.now(UTC), counts.of_statuses({"fresh": 1}))
        return 0

    async def pause(seconds: int) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise asyncio.CancelledError

    nightly = next(part for part in serve.PARTS if part.at_night)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(serve.repeat(nightly, call, time(0, 0), pause))
    assert pauses == [60, 120, 60, 60, 60]


async def until(happens: Callable[[], bool]) -> None:
    for _ in range(6000):
        if happens():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("It did not happen in time")


def test_a_killed_child_starts_again_and_its_lines_name_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    children = Children([sys.executable, "-c"])
    part = Part("echo", ("import os, time; print(os.getpid()); time.sleep(60)",))
    lines: list[str] = []

    def seen(count: int) -> bool:
        lines.extend(capsys.readouterr().out.splitlines())
        return sum(line.removeprefix("echo    | ").isdigit() for line in lines) == count

    async def scenario() -> None:
        task = asyncio.ensure_future(serve.keep_running(part, children.call))
        await until(lambda: seen(1))
        os.kill(int(lines[-1].partition("| ")[2]), signal.SIGKILL)
        await until(lambda: seen(2))
        task.cancel()
        await children.stop()

    asyncio.run(scenario())
    assert "echo    | ended with -9, starts again in 1 s" in lines


def test_what_a_killed_child_leaves_behind_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """As the scheduler of RQ, which a worker starts."""
    program = (
        "import os, signal, time\n"
        "if pid := os.fork():\n"
        "    print(pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(60)"
    )
    call = Children([sys.executable, "-c"]).call(Part("left", (program,)))
    began = clock.monotonic()
    assert asyncio.run(call) == -signal.SIGKILL
    assert clock.monotonic() - began < 20
    pid = capsys.readouterr().out.partition("| ")[2].strip()
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert clock.monotonic() - began < 20, "it is still running"
        clock.sleep(0.02)


def test_a_child_that_ends_by_itself_ten_times_ends_all() -> None:
    codes = iter([-9, 0, 1, -15, *[1] * 8])
    pauses: list[int] = []

    async def call(part: Part) -> int:
        return next(codes)

    async def pause(seconds: int) -> None:
        pauses.append(seconds)

    with pytest.raises(click.ClickException, match="fetch ended 10 times"):
        asyncio.run(serve.keep_running(Part("fetch", ()), call, pause))
    assert pauses == [1, 1, 2, 2, 4, 8, 16, 32, 60, 60, 60]


HARD_OF_HEARING = """
import signal, sys, time
left = {count}
def hear(*arguments):
    global left
    left -= 1
    if left == 0:
        print("goes", flush=True)
        sys.exit(0)
signal.signal(signal.SIGTERM, hear)
print("ready", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.mark.parametrize("count", [2, 9])
def test_all_end_within_ten_seconds(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker of CKAN ends at the second signal."""
    children = Children([sys.executable, "-c"])

    async def scenario() -> float:
        call = children.call(Part("deaf", (HARD_OF_HEARING.format(count=count),)))
        task = asyncio.ensure_future(call)
        await until(lambda: "ready" in capsys.readouterr().out)
        began = clock.monotonic()
        await children.stop()
        assert await task == (0 if count < 9 else -signal.SIGKILL)
        return clock.monotonic() - began

    # The second signal comes after three seconds, the last after five.
    assert {2: 3, 9: 5}[count] <= asyncio.run(scenario()) < 10


def ckan_serve(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the command as an operator does, who knows nothing of redis-py."""
    program = [sys.executable, str(Path(sys.executable).with_name("ckan"))]
    ini = Path(write_ini(folder))
    ini.write_text(ini.read_text().replace("?socket_timeout=86400", ""))
    command = [*program, "-c", str(ini), "freshness", "serve", *arguments]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, text=True, **streams)


@pytest.mark.usefixtures("kept_db")
def test_the_command_runs_parts_until_it_is_told_to_stop(tmp_path: Path) -> None:
    process = ckan_serve(tmp_path, "--only", "worker")
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if "has started on queue" in line:
            break
    began = clock.monotonic()
    process.send_signal(signal.SIGTERM)
    lines += process.stdout.read().splitlines()
    assert process.wait() == 0 and clock.monotonic() - began < 30
    assert "serve   | Runs here: worker" in lines
    assert "serve   | Must run elsewhere: gather, fetch, harvests, refresh, nightly" in lines
    assert lines[-1] == "serve   | Stopped."
    assert any(line.startswith("worker  | ") for line in lines)


@pytest.mark.usefixtures("kept_db")
@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux ends the children of a killed process"
)
def test_an_idle_child_stays_and_does_not_outlive_the_killed_command(tmp_path: Path) -> None:
    before = idle()
    process = ckan_serve(tmp_path, "--only", "fetch")
    try:
        processes.until(lambda: idle() - before)
        consumer = idle() - before
        clock.sleep(6)  # The time-out of redis-py is 5.
        assert consumer <= idle()
    finally:
        process.kill()
    assert process.stdout is not None
    # The child holds the pipe, too: it is read to its end once the child is gone.
    process.stdout.read()


def idle() -> set[str]:
    """Return the connections that wait for a message in this site's database of Redis."""
    redis: Any = harvest_queue_connection()
    number = str(redis.get_connection_kwargs()["db"])
    clients = redis.client_list()
    return {one["id"] for one in clients if one["cmd"] == "blpop" and one["db"] == number}
