"""The arguments of ``./dev test``: which tests, how many workers, and whether they need services."""

from __future__ import annotations

import argparse
import os
import runpy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.messages import StackError

FOLDERS = (Path("ckanext/freshness/tests"), Path("ckanext/freshness_iati/tests"))

SITES = "FRESHNESS_TEST_SITES"
"""The variable with the ini files of the workers' sites, separated by colons."""

COVERAGE = (
    "--cov=ckanext.freshness",
    "--cov=ckanext.freshness_iati",
    "--cov-report=term-missing:skip-covered",
)

QUICK_PROFILE = "quick"
"""The profile of Hypothesis for ``--quick``."""

ONE_PROCESS = frozenset({"--pdb", "--trace", "-s", "--capture=no", "--collect-only", "--co"})
"""Options of pytest that ask for, or show, a single process."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The tests to run, and their workers.

    :ivar workers: processes that run tests; 0 if pytest runs them itself.
    :ivar services: whether the tests need CKAN's services.
    """

    workers: int
    services: bool
    arguments: list[str]


def plan(arguments: Sequence[str], root: Path) -> Plan:
    """Split the arguments into those of ``./dev test`` with ``-n``, and those of pytest.

    :raises StackError: ``-n`` is no number of workers.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-n", "--numprocesses")
    parser.add_argument("--cov", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--contract", action="store_true")
    ours, theirs = parser.parse_known_args(list(arguments))
    subsets = {folder: runpy.run_path(str(root / folder / "subsets.py")) for folder in FOLDERS}
    if ours.quick:
        theirs = [f"--hypothesis-profile={QUICK_PROFILE}", *theirs]
        if not named(theirs, root):
            for tests, tables in subsets.items():
                theirs += [str(tests / one) for one in (*tables["PURE"], *tables["SAMPLES"])]
                theirs += [f"--ignore={tests / one}" for one in tables["IMPURE"]]
    if ours.contract:
        for tests in FOLDERS:
            promises = runpy.run_path(str(root / tests / "contract.py"))["CONTRACT"]
            theirs += [str(tests / one) for places in promises.values() for one in places]
    paths = named(theirs, root)
    services = not paths or not all(map(subsets[FOLDERS[0]]["is_pure"], paths))
    return Plan(
        _workers(ours.numprocesses, theirs, paths or {root / tests for tests in FOLDERS}, services),
        services,
        [*(COVERAGE if ours.cov else ()), *theirs],
    )


def named(arguments: Sequence[str], root: Path) -> set[Path]:
    """Return the files and folders in pytest's arguments."""
    paths = {Path(root, one.partition("::")[0]) for one in arguments if not one.startswith("-")}
    return {path for path in paths if path.exists()}


def _workers(asked: str | None, arguments: Sequence[str], paths: set[Path], services: bool) -> int:
    cores = len(os.sched_getaffinity(0))
    # Tests with services wait for them a third of their time.
    cores += cores // 2 if services else 0
    if asked in ("auto", "logical"):
        return cores
    if asked is not None:
        if not asked.isdecimal():
            raise StackError(f"-n {asked} is no number of workers. Say -n 4, or -n auto.")
        return int(asked)
    if ONE_PROCESS & set(arguments):
        return 0
    files = sum(len(list(one.rglob("test_*.py"))) if one.is_dir() else 1 for one in paths)
    workers = min(cores, files)
    return workers if workers > 1 else 0


def distribution(workers: int, sites: int) -> list[str]:
    """Return pytest's options for the workers. Each worker needs a site."""
    if not workers:
        return ["-n0"]
    # A worker that ends is not replaced: its successor would need its site.
    return [f"-n{min(workers, sites)}", "--dist=worksteal", "--max-worker-restart=0"]
