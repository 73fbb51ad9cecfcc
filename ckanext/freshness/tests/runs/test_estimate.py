"""How long a run takes, estimated before it starts."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from ckan.cli.cli import ckan
from ckan.tests import factories

from ckanext.freshness.checking import run_records
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.runs.estimate import PastRun, RunLimits, estimate, past_runs
from ckanext.freshness.tests.runs.test_checks import START
from ckanext.freshness.web.hosts import HostPolicy

LIMITS = RunLimits(HostPolicy(2, 4.0), {"fast.example": HostPolicy(8, 100.0)}, concurrency=100)
PAST = PastRun(datetime(2026, 11, 22), 600.0, 10, {"*": 0.1, "slow.example": 5.0})


@pytest.mark.parametrize(
    ("hosts", "past", "seconds"),
    [
        pytest.param({}, [], 0.0, id="nothing"),
        pytest.param({"a.example": 4100}, [], 4100 / 4, id="rate"),
        pytest.param({"a.example": 4100, "b.example": 400}, [], 4100 / 4, id="hosts in parallel"),
        pytest.param(
            {"fast.example": 1000}, [], 1000 / 16, id="8 requests of half a second at a time"
        ),
        pytest.param(
            {"fast.example": 1000}, [PAST], 1000 / 80, id="of a tenth, as in the last run"
        ),
        pytest.param({"slow.example": 100}, [PAST], 100 * 5 / 2, id="a slow host"),
        pytest.param(
            {f"{number}.example": 4 for number in range(10_000)}, [PAST], 120.0, id="computation"
        ),
        pytest.param(
            {f"{number}.example": 1 for number in range(10_000)}, [], 50.0, id="checks at a time"
        ),
    ],
)
def test_what_takes_longest(hosts: dict[str, int], past: list[PastRun], seconds: float) -> None:
    checks = [host for host, number in hosts.items() for _ in range(number)]
    found = estimate(checks, LIMITS, past)
    assert found.seconds == pytest.approx(seconds)
    assert found.checks == len(checks)
    assert {one.host: one.checks for one in found.hosts} == hosts
    assert [one.seconds for one in found.hosts] == sorted(
        (one.seconds for one in found.hosts), reverse=True
    )


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_only_complete_runs_of_all_due_checks_are_compared() -> None:
    hosts = {"*": {"visits": 4, "seconds": 2.0}, "a.example": {"visits": 0, "seconds": 0.0}}
    figures = run_records.RunFigures(hosts=hosts, visited=4)
    whole: dict[str, Any] = {"package_ids": None, "host": None, "everything": False}
    for changed in ({}, {"host": "a.example"}, {"everything": True}, {"package_ids": ["x"]}):
        run_id = run_records.begin_run(START, whole | changed)
        run_records.end_run(run_id, START + timedelta(hours=1), figures)
    run_records.begin_run(START, whole)
    failed = run_records.begin_run(START, whole)
    run_records.end_run(failed, START, figures, error="killed")
    expected = PastRun(START.replace(tzinfo=None), 3600.0, 4, {"*": 0.5})
    assert past_runs() == [expected]


@pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")
def test_the_command(cli: Any) -> None:
    urls = [f"http://{host}.example/{number}.csv" for host in "aab" for number in (1, 2)]
    frequency = {"key": "frequency", "value": "1"}
    factories.Dataset(resources=[{"url": url} for url in urls], extras=[frequency])
    figures = run_records.RunFigures(visited=5000)
    run_id = run_records.begin_run(START, {})
    run_records.end_run(run_id, START + timedelta(minutes=30), figures)
    done = cli.invoke(ckan, ["freshness", "check", "--estimate"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-6:] == [
        "6 checks. Hosts: 2. Expected time: less than a minute.",
        "The slowest hosts:",
        "  a.example: 4 checks at 4 a second, less than a minute",
        "  b.example: 2 checks at 4 a second, less than a minute",
        "The last complete runs:",
        f"  {START:%Y-%m-%d}: 5000 checks in 30 min",
    ]
    model.Session.remove()
    done = cli.invoke(ckan, ["freshness", "check", "--estimate", "--json"])
    told = json.loads(done.output[done.output.index("{") :])
    assert (told["checks"], told["hosts"][0]["checks"], told["past"][0]["seconds"]) == (6, 4, 1800)
    assert past_runs()[0].checks == 5000
