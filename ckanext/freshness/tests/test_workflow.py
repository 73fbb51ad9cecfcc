"""What is done for each pull request: the tests on every series of CKAN that the checkout can make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"

pytestmark = pytest.mark.skipif(
    not WORKFLOW.exists(), reason="about a checkout, which an installed copy is not"
)


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    (found,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
    assert isinstance(found, dict)
    return found


def commands(job: dict[str, Any]) -> list[str]:
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


def test_every_series_is_tested_and_no_other(job: dict[str, Any]) -> None:
    from stack.layout import RELEASES

    series = job["strategy"]["matrix"]["ckan"]
    assert sorted(series) == sorted(RELEASES)
    assert "./dev --ckan ${{ matrix.ckan }} test --cov" in commands(job)


def test_every_command_is_one_of_the_checkouts_entry(job: dict[str, Any]) -> None:
    from stack import cli

    assert commands(job)
    for line in commands(job):
        program, *words = line.replace("${{ matrix.ckan }}", "2.12").split()
        assert program == "./dev"
        ours, _ = cli.split(words)
        cli.parser().parse_args(ours)


def test_the_python_is_one_that_the_package_takes(job: dict[str, Any]) -> None:
    (setup,) = (step for step in job["steps"] if "setup-python" in step.get("uses", ""))
    version = setup["with"]["python-version"]
    assert f"Python :: {version}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_no_place_to_get_packages_from_is_named() -> None:
    """Where they come from is for whoever runs it to say, by pip's own variables."""
    text = WORKFLOW.read_text(encoding="utf-8")
    assert not [word for word in ("http:", "https:", "index-url", "PIP_", "UV_") if word in text]
