"""Sites without ckanext-harvest: ``freshness`` works alone, and the harvesters say what to install."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ckan.tests import factories

from ckanext.freshness import harvesters
from ckanext.freshness.tests import without_harvest
from ckanext.freshness.tests.ckan_adapter.test_own_tables import without_tables
from ckanext.freshness.tests.processes import write_ini


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a site with some plugins in a process of its own."""

    def start(plugins: str, *work: list[Any]) -> subprocess.CompletedProcess[str]:
        ini = Path(write_ini(tmp_path))
        ini.write_text(
            re.sub(r"(?m)^ckan\.plugins *=.*", f"ckan.plugins = {plugins}", ini.read_text())
        )
        command = [sys.executable, without_harvest.__file__, str(ini), json.dumps(work)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return start


# The doctor warns of background jobs that wait.
@pytest.mark.usefixtures("kept_db", "clean_redis")
def test_freshness_alone(run: Any) -> None:
    dataset = factories.Dataset(resources=[{"url": "http://127.0.0.1:9/data.csv"}])["name"]
    pages = ["/", "/dataset/", f"/dataset/{dataset}", f"/dataset/{dataset}/freshness", "/freshness"]
    commands = [
        ["freshness", "refresh", "--all"],
        ["freshness", "report"],
        ["freshness", "check", "--dry-run"],
        ["freshness", "notify", "--dry-run"],
        ["freshness", "nightly", "--help"],
        ["freshness", "nightly"],
        ["freshness", "doctor"],
        ["freshness", "preview", "some-source"],
    ]
    with without_tables("harvest"):
        done = run("freshness", pages, commands)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert {page: answers.pop(page) for page in pages} == dict.fromkeys(pages, 200)
    said = {command: output for command, (code, output) in answers.items()}
    assert answers.pop("freshness preview some-source")[0] == 1
    assert "add harvest to ckan.plugins" in said["freshness preview some-source"]
    assert {command: code for command, (code, _output) in answers.items()} == dict.fromkeys(
        answers, 0
    ), said


def test_a_harvester_says_what_to_install(run: Any) -> None:
    done = run("freshness fdp_harvester", [], [])
    assert done.returncode != 0
    assert f"pip install '{harvesters.TESTED_HARVEST}'" in done.stderr.splitlines()[-1]
