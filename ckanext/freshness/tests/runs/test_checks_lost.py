"""Runs in processes of their own that lose the database, Redis or their life: what is said, and what the
next run does."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.cli.cli import ckan
from ckan.tests import factories, helpers

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import is_held
from ckanext.freshness.cli import site
from ckanext.freshness.runs import requested
from ckanext.freshness.tests.harvesting.test_away import before
from ckanext.freshness.tests.processes import CkanProcess, until, until_locks_are_free, write_ini
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Hold
from ckanext.freshness.tests.servers.tcp import TcpProxy
from ckanext.freshness.tests.web.support import FileServer

PATIENCE = 120.0
"""Seconds after which a test stops waiting."""

QUICK, HELD = 12, 6
"""Numbers of resources with an immediate answer and with a held answer, each on a host of its own."""

Command = Callable[..., CkanProcess]


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.fixture
def hold(server: FileServer) -> Hold:
    """The fault that holds answers at /held."""
    hold = server.faults[lambda request: request.path == "/held"] = Hold()
    return hold


@pytest.fixture
def dataset(
    clean_db: None,
    clean_index: None,
    clean_redis: None,
    impatient_checks: None,
    server: FileServer,
    hold: Hold,
) -> dict[str, Any]:
    """A daily dataset with resources on many hosts."""
    urls = [f"{server.url_at(f'127.0.1.{n + 1}')}/quick" for n in range(QUICK)]
    urls += [f"{server.url_at(f'127.0.2.{n + 1}')}/held" for n in range(HELD)]
    return factories.Dataset(
        name="files",
        resources=[{"url": url} for url in urls],
        extras=[{"key": "frequency", "value": "1"}],
    )


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """Run commands of ``ckan`` as processes of their own, with short waiting times."""
    begun = []
    ini = write_ini(
        tmp_path,
        requests_per_second="10000",
    )

    def begin(*arguments: str, **environment: str) -> CkanProcess:
        process = CkanProcess(arguments, tmp_path, CKAN_INI=ini, **environment)
        begun.append(process)
        return process

    yield begin
    for process in begun:
        process.kill()


@pytest.fixture
def database() -> Iterator[tuple[TcpProxy, str]]:
    """A connection to the database that can be cut, and its URL. The tests use another one."""
    with before("sqlalchemy.url") as found:
        yield found


def counted(rows: str) -> int:
    with model.Session.get_bind().connect() as connection:
        return connection.execute(sa.text(f"SELECT count(*) FROM {rows}")).scalar() or 0


def recorded() -> int:
    """Return the number of resources with a stored check."""
    return counted("freshness_check WHERE checked_at IS NOT NULL")


def halfway(server: FileServer, process: CkanProcess) -> None:
    """Wait until the immediate answers are stored and counted, and all other requests are sent."""
    # A run counts its checks after it has stored them.
    until(lambda: counted(f"freshness_run WHERE checked = {QUICK}") == 1, process)
    until(lambda: recorded() == QUICK and server.count("/held") == HELD, process)


def check(cli: Any) -> list[str]:
    """Do the next run in this process, and return its output."""
    done = cli.invoke(ckan, ["freshness", "check"])
    assert done.exit_code == 0, done.output
    model.Session.remove()
    return list(done.output.splitlines())


def the_rest_is_visited(server: FileServer, cli: Any) -> None:
    """The next run checks the resources without a stored check, nothing else, and ends."""
    model.Session.remove()
    until_locks_are_free()
    asked = server.count("/held")
    assert f"Checked {HELD} resources, 0 with an error" in check(cli)
    assert server.count("/quick") == QUICK, "some were visited twice"
    assert server.count("/held") == asked + HELD
    assert recorded() == QUICK + HELD
    newest, _ = helpers.call_action("freshness_run_list")
    assert (newest["checked"], newest["error"]) == (HELD, None)
    for resource in helpers.call_action("package_show", id="files")["resources"]:
        known = helpers.call_action("freshness_resource_history", id=resource["id"])
        assert known["hash"] and len(known["attempts"]) == 1


@pytest.mark.usefixtures("dataset")
def test_the_database_is_lost_at_night(
    server: FileServer, hold: Hold, command: Command, database: tuple[TcpProxy, str], cli: Any
) -> None:
    """Each part reports it in a sentence, and the next night does its work."""
    proxy, url = database
    process = command("freshness", "nightly", CKAN_SQLALCHEMY_URL=url)
    halfway(server, process)
    model.Session.remove()
    proxy.away()
    hold.release()
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, (output, errors)
    assert output == "" and "Traceback" not in errors and "pass@" not in errors, errors
    *told, last = [line for line in errors.splitlines() if not line.startswith("20")]
    parts = [part.name for part in site.parts()]
    assert [line.partition(": The database ")[0] for line in told] == parts
    assert all("next run goes on" in line for line in told), told
    assert last.startswith(f"Error: These parts of the nightly run failed: {', '.join(parts)}.")
    the_rest_is_visited(server, cli)


def test_a_requested_check_begins_again_if_its_process_is_killed(
    dataset: dict[str, Any], server: FileServer, hold: Hold, command: Command
) -> None:
    assert requested.enqueue_dataset(dataset["id"], "Files")
    worker = command("jobs", "worker", "--burst")
    halfway(server, worker)
    (child,) = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    until(lambda: server.count("/held") > HELD, worker)
    hold.release()
    assert worker.wait(PATIENCE) == 0
    assert recorded() == QUICK + HELD
    assert not requested.is_checking(dataset["id"])


@pytest.mark.usefixtures("dataset")
def test_a_run_is_killed(server: FileServer, hold: Hold, command: Command, cli: Any) -> None:
    process = command("freshness", "check")
    halfway(server, process)
    (run,) = helpers.call_action("freshness_run_list")
    assert is_held(run_records.lock(run["id"]))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until_locks_are_free()
    hold.release()
    model.Session.remove()
    (run,) = helpers.call_action("freshness_run_list")
    assert (run["ended_at"], run["checked"]) == (None, QUICK)
    the_rest_is_visited(server, cli)


def one_waits_for_the_database() -> bool:
    """Return whether the run has written results, and cannot commit them yet."""
    waits = "datname = current_database() AND wait_event_type = 'Lock'"
    return bool(counted(f"pg_stat_activity WHERE {waits}"))


def some_are_stored() -> bool:
    return counted("freshness_check WHERE change_seen_at IS NOT NULL") == QUICK


@pytest.mark.parametrize("point", [one_waits_for_the_database, some_are_stored])
@pytest.mark.usefixtures("dataset")
def test_a_killed_run_neither_loses_nor_doubles_an_observation(
    server: FileServer, hold: Hold, command: Command, cli: Any, point: Callable[[], bool]
) -> None:
    hold.release()
    assert f"Checked {QUICK + HELD} resources, 0 with an error" in check(cli)
    with model.Session.get_bind().begin() as connection:
        days = ", ".join(
            f"{name} = {name} - interval '10 days'"
            for name in ("checked_at", "tried_at", "succeeded_at", "hashed_at")
        )
        connection.execute(sa.text(f"UPDATE freshness_check SET {days}"))
    for path in ("/quick", "/held"):
        server.files[path] = Answer(200, b"a,b\n1,2\n3,4\n", {"Content-Type": "text/csv"})
    server.faults.clear()
    again = server.faults[lambda request: request.path == "/held"] = Hold()
    asked = server.count("/held")
    lock = model.Session.get_bind().connect()
    if point is one_waits_for_the_database:
        # A change is stored after the observation, in the same transaction.
        lock.begin()
        lock.execute(sa.text("LOCK freshness_change IN EXCLUSIVE MODE"))
    try:
        process = command("freshness", "check")
        until(lambda: server.count("/held") == asked + HELD and point(), process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    finally:
        lock.close()
        again.release()
    until_locks_are_free()
    check(cli)
    with model.Session.get_bind().connect() as connection:
        rows = connection.execute(
            sa.text(
                "SELECT resource_id, seen_changes, watched_days, attempts, failures "
                "FROM freshness_check"
            )
        ).all()
        changes = connection.execute(sa.text("SELECT resource_id FROM freshness_change")).all()
    # Each file was seen to change once, within ten days.
    assert sorted(row.resource_id for row in changes) == sorted(row.resource_id for row in rows)
    for row in rows:
        assert (len(row.attempts), row.failures) == (2, 0)
        assert row.seen_changes == 1 and 0 <= row.watched_days < 10.5
