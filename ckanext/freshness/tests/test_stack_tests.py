"""How ``./dev test`` reads its arguments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import tests
    from stack.errors import StackError

FILE = "ckanext/freshness/tests/test_docs.py"
FOLDER = "ckanext/freshness/tests/web"


@pytest.mark.parametrize(
    ("arguments", "workers", "passed_on"),
    [
        ([], 4, []),
        (["-q", "-k", "facet"], 4, ["-q", "-k", "facet"]),
        ([FOLDER], 4, [FOLDER]),
        ([FILE], 0, [FILE]),
        ([f"{FILE}::test_one", f"{FILE}::test_two"], 0, [f"{FILE}::test_one", f"{FILE}::test_two"]),
        ([FILE, f"{FOLDER}/test_urls.py"], 2, [FILE, f"{FOLDER}/test_urls.py"]),
        (["-n", "3", FILE], 3, [FILE]),
        (["-n3"], 3, []),
        (["--numprocesses=0"], 0, []),
        (["-n", "auto", FILE], 4, [FILE]),
        (["--pdb"], 0, ["--pdb"]),
        (["-s"], 0, ["-s"]),
        (["--no-cov"], 4, ["--no-cov"]),
        (["--cov"], 4, ["--cov=ckanext.freshness", "--cov-report=term-missing:skip-covered"]),
        (["--cov-report=html", "-x"], 4, ["--cov-report=html", "-x"]),
    ],
)
def test_the_plan(
    arguments: list[str], workers: int, passed_on: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3})
    plan = tests.plan(arguments, ROOT)
    assert (plan.workers, plan.arguments) == (workers, passed_on)


def test_the_contract_names_tests_that_are_there() -> None:
    named = tests.plan(["--contract"], ROOT).arguments
    assert len(named) == len(set(named)) > 40
    assert not [path for path in named if not (ROOT / path).is_file()]


@pytest.mark.parametrize(
    ("arguments", "services"),
    [
        ([], True),
        (["-q"], True),
        (["ckanext/freshness/tests/aging", "-q"], False),
        (["ckanext/freshness/tests/aging/test_dates.py::test_one", FOLDER], False),
        ([str(ROOT / FOLDER)], False),
        (["ckanext/freshness/tests/aging", "ckanext/freshness/tests/pages"], True),
        (["ckanext/freshness/tests/checking/test_decisions.py"], False),
        (["ckanext/freshness/tests/checking/test_check_rows.py"], True),
        (["ckanext/freshness/tests/checking"], True),
        (["ckanext/freshness/tests"], True),
        (["--quick"], True),
        (["--quick", "ckanext/freshness/tests/aging"], False),
    ],
)
def test_pure_tests_need_no_services(arguments: list[str], services: bool) -> None:
    assert tests.plan(arguments, ROOT).services is services


def test_quick_runs_the_pure_tests_and_samples() -> None:
    profile, *chosen = tests.plan(["--quick", "-n0"], ROOT).arguments
    assert profile == "--hypothesis-profile=quick"
    places = [one for one in chosen if not one.startswith("-")]
    assert {FOLDER, "ckanext/freshness/tests/harvesting/fdp/test_end_to_end.py"} <= set(places)
    assert all((ROOT / one.partition("::")[0]).exists() for one in places)
    assert "--ignore=ckanext/freshness/tests/checking/test_check_rows.py" in chosen


def test_pure_tests_can_be_left_out() -> None:
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-n0", "--not-pure", FOLDER]
    assert subprocess.run(collect, cwd=ROOT).returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_number_of_workers_that_is_none() -> None:
    with pytest.raises(StackError, match="-n many is no number of workers"):
        tests.plan(["-n", "many"], ROOT)


@pytest.mark.parametrize(
    ("workers", "sites", "options"), [(0, 1, "-n0"), (2, 2, "-n2"), (4, 3, "-n3")]
)
def test_no_worker_is_without_a_site(workers: int, sites: int, options: str) -> None:
    assert tests.distribution(workers, sites)[0] == options
