"""What ``./dev test peers`` makes of the endings of other people's tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from stack import peers
    from stack.errors import StackError

LISTED = """\
# A comment.

It counts the extras.
    test_update.py::test_counts
    test_update.py::test_sorts
"""

PASSED, FAILED, SKIPPED = ("passed", ""), ("failed", "assert 3 == 2"), ("skipped", "no")


class Runs:
    """A run of pytest that writes these endings, one for each side."""

    def __init__(self, *sides: Mapping[str, tuple[str, str]] | int) -> None:
        self._sides = list(sides)
        self.settings: list[Mapping[str, str]] = []
        self.arguments: list[list[str | Path]] = []

    def __call__(self, settings: Mapping[str, str], arguments: list[str | Path]) -> int:
        self.settings.append(settings)
        self.arguments.append(arguments)
        side = self._sides.pop(0)
        code, endings = (side, {}) if isinstance(side, int) else (1, side)
        (file,) = (str(one) for one in arguments if str(one).startswith("--endings="))
        Path(file.partition("=")[2]).write_text(json.dumps(endings))
        return code


def compare(tmp_path: Path, runs: Runs, *arguments: str) -> int:
    listed = tmp_path / "peers.txt"
    listed.write_text(LISTED)
    return peers.main(
        arguments, run=runs, packages=tmp_path / "packages", listed=listed, folder=tmp_path / "out"
    )


@pytest.mark.parametrize(
    ("without", "ours", "code", "said"),
    [
        ({"test_a": PASSED}, {"test_a": PASSED}, 0, "0 new failures, 0 listed"),
        ({"test_a": PASSED}, {"test_a": FAILED}, 1, "test_a\n        assert 3 == 2"),
        ({"test_a": PASSED}, {}, 1, "test_a\n        It did not run."),
        ({"test_a": PASSED}, {"test_a": SKIPPED}, 1, "test_a\n        no"),
        (
            {"test_a": PASSED},
            {"test_a": PASSED, "module.py": FAILED},
            1,
            "module.py\n        assert 3 == 2",
        ),
        (
            {"test_a": FAILED, "test_b": SKIPPED, "test_c": PASSED},
            {"test_a": FAILED, "test_b": SKIPPED, "test_c": PASSED},
            0,
            "3 tests; 1 pass without our plugins, 1 with them; 0 new failures, 0 listed ones",
        ),
        (
            {"test_update.py::test_counts": PASSED},
            {"test_update.py::test_counts": FAILED},
            0,
            "Listed:\n    test_update.py::test_counts\n        It counts the extras.",
        ),
        (
            {"test_update.py::test_sorts": PASSED},
            {"test_update.py::test_sorts": PASSED},
            0,
            "Pass again. Remove them from peers.txt if they pass on both CKAN series:\n"
            "    test_update.py::test_sorts",
        ),
    ],
)
def test_the_report(
    without: Mapping[str, tuple[str, str]],
    ours: Mapping[str, tuple[str, str]],
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert compare(tmp_path, Runs(without, ours), "harvest") == code
    output = capsys.readouterr().out
    assert said in output
    assert ("FAIL because of our plugins" in output) == bool(code)
    assert "Pass again" not in output or "again" in said


def test_each_suite_runs_without_and_with_our_plugins(tmp_path: Path) -> None:
    runs = Runs({}, {}, {}, {}, {}, {})
    assert compare(tmp_path, runs, "-k", "extras") == 0
    plugins = [one["ckan.plugins"].split() for one in runs.settings]
    assert [{"freshness", "iati_harvester"} <= set(one) for one in plugins] == [False, True] * 3
    assert all("harvest" in one for one in plugins[1::2])
    assert all({"-k", "extras"} <= set(one) for one in runs.arguments)


def test_an_unknown_suite(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"no suite 'spatial'\. There are: ckan, harvest"):
        compare(tmp_path, Runs(), "spatial")


def test_a_run_that_ends_early_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="The tests of dcat ended with code 3"):
        compare(tmp_path, Runs({"test_a": PASSED}, 3), "dcat")


def test_a_suite_that_cannot_run_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="No test of dcat passes without our plugins: Address in"):
        compare(tmp_path, Runs({"module.py": ("failed", "Address in use")}), "dcat")


def test_every_listed_test_has_a_reason() -> None:
    reasons = peers.read_reasons((ROOT / "stack" / "peers.txt").read_text())
    assert reasons
    assert all("::" in test and reason.endswith(".") for test, reason in reasons.items())
