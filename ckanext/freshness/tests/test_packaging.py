"""The wheel, which is what a site installs, holds all that the checkout does."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "ckanext" / "freshness"

PLUGINS = {
    "freshness": "FreshnessPlugin",
    "fdp_harvester": "FdpHarvesterPlugin",
    "iati_harvester": "IatiHarvesterPlugin",
}

pytestmark = pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="about a git checkout, which an installed copy is not"
)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout; a build writes beside its sources."""
    copy = tmp_path_factory.mktemp("checkout")
    tracked = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((ROOT / name).read_bytes())
    # Without isolation nothing is downloaded. CKAN 2.11's own pin of packaging is too old for that.
    alone = importlib.util.find_spec("packaging.licenses") is None
    options = [] if alone else ["--no-isolation"]
    run(sys.executable, "-m", "build", "--wheel", *options, "--outdir", copy / "out", cwd=copy)
    (built,) = (copy / "out").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_every_file_of_the_package_is_in_the_wheel(names: set[str]) -> None:
    tracked = run("git", "ls-files", "-z", "--", PACKAGE, cwd=ROOT).split("\0")
    wanted = {name for name in tracked if name and (ROOT / name).is_file()}
    assert len(wanted) > 20
    assert not wanted - names, "MANIFEST.in does not name these"


@pytest.mark.parametrize(
    "pattern",
    [
        "ckanext/freshness/config_declaration.yaml",
        "ckanext/freshness/migration/freshness/alembic.ini",
        "ckanext/freshness/migration/freshness/env.py",
        "ckanext/freshness/migration/freshness/script.py.mako",
        "ckanext/freshness/migration/freshness/versions/*.py",
    ],
)
def test_what_a_site_cannot_do_without_is_in_the_wheel(pattern: str, names: set[str]) -> None:
    assert any(Path(name).match(pattern) for name in names)


def test_nothing_of_the_machine_is_in_the_wheel(names: set[str]) -> None:
    allowed = ("ckanext/freshness/", "ckanext_freshness-", "ckanext/__init__.py")
    assert not [name for name in names if not name.startswith(allowed)]
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_requirements_are_those_of_requirements_txt(wheel: Path, names: set[str]) -> None:
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    required = Parser().parsestr(zipfile.ZipFile(wheel).read(metadata).decode())
    distributions = {line.split(" ")[0] for line in required.get_all("Requires-Dist", [])}
    for wanted in ("aiohttp", "ckanext-harvest", "fsspec", "python-dateutil", "rdflib", "requests"):
        assert any(name.startswith(wanted) for name in distributions), wanted
    assert required["License-Expression"] == "AGPL-3.0-or-later"


def test_the_plugins_load_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """By their entry points, out of a folder that holds the wheel alone."""
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    script = f"""
import importlib.metadata, sys
import ckanext
ckanext.__path__ = [{str(site / "ckanext")!r}, *ckanext.__path__]
(found,) = importlib.metadata.distributions(name="ckanext-freshness", path=[{str(site)!r}])
for point in found.entry_points.select(group="ckan.plugins"):
    plugin = point.load()
    print(point.name, plugin.__name__, sys.modules[plugin.__module__].__file__)
"""
    lines = run(sys.executable, "-c", script, cwd=tmp_path, PYTHONPATH="").split("\n")
    loaded = [line.split(" ", 2) for line in lines if line.startswith(tuple(PLUGINS))]
    assert {name: plugin for name, plugin, _ in loaded} == PLUGINS
    assert all(Path(file).is_relative_to(site) for _, _, file in loaded)
