"""What a release has: the wheel, the source distribution, metadata, and licences of what it requires."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
PACKAGES = ("ckanext/freshness/", "ckanext/freshness_iati/")

PLUGINS = {
    "freshness": "FreshnessPlugin",
    "dcat_catalog_harvester": "DcatCatalogHarvesterPlugin",
    "fdp_harvester": "FdpHarvesterPlugin",
    "ckan_portal_harvester": "CkanPortalHarvesterPlugin",
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
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both distributions. A build writes beside its sources, so it gets a copy of them."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in tracked():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    # Without isolation nothing is downloaded. CKAN 2.11's own pin of packaging is too old for that.
    options = [] if find_spec("packaging.licenses") is None else ["--no-isolation"]
    run(sys.executable, "-m", "build", *options, "--outdir", copy / "out", cwd=copy)
    return copy / "out"


def tracked(*paths: str | Path) -> set[str]:
    """Return the files of the checkout, new ones included."""
    options = ("-z", "--cached", "--others", "--exclude-standard", "--", *paths)
    names = run("git", "ls-files", *options, cwd=ROOT).split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path, names: set[str]) -> Message:
    (name,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())


def test_the_wheel_has_every_file_that_a_site_needs(names: set[str]) -> None:
    tests = tuple(f"{package}tests/" for package in PACKAGES)
    sources = (".po", ".pot")
    wanted = {name for name in tracked(*PACKAGES) if not name.startswith(tests)}
    wanted -= {name for name in wanted if name.endswith(sources)}
    assert len(wanted) > 200
    wanted |= {f"{name[:-2]}mo" for name in tracked(*PACKAGES) if name.endswith(".po")}
    assert not wanted - names, "MANIFEST.in does not name these"
    assert not [name for name in names if name.startswith(tests) or name.endswith(sources)]
    allowed = (*PACKAGES, "ckanext_freshness-", "ckanext/__init__.py")
    assert not [name for name in names if not name.startswith(allowed) or name.endswith(".pyc")]


def test_the_links_of_the_readme_work_where_it_is_shown_alone(metadata: Message) -> None:
    """A package index shows README without the files beside it."""
    (address,) = re.findall(r"^Repository, (\S+)$", metadata["Project-URL"], re.MULTILINE)
    links = re.findall(r"<(\S+)>`_|image:: (\S+)", str(metadata.get_payload()))
    ours = [link for link in map("".join, links) if link.startswith(address)]
    assert not [link for link in map("".join, links) if "://" not in link]
    assert len(ours) > 10 and len([link for link in ours if "/raw/" in link]) == 1
    version = metadata["Version"]
    paths = [re.sub(rf"{address}/(blob|raw)/v{version}/", "", link) for link in ours]
    assert not set(paths) - tracked()


def test_the_plugins_load_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    """By their entry points, out of a folder that holds the wheel alone.

    CKAN is elsewhere, as when it was installed from source: its ``ckanext`` then has one folder, its own, and
    ours joins it by the .pth file of the wheel.
    """
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    script = f"""
import importlib.metadata, site, sys
import ckanext
ckanext.__path__ = [one for one in ckanext.__path__ if one != {str(ROOT / "ckanext")!r}]
site.addsitedir({str(site)!r})
(found,) = importlib.metadata.distributions(name="ckanext-freshness", path=[{str(site)!r}])
for point in found.entry_points.select(group="ckan.plugins"):
    plugin = point.load()
    print(point.name, plugin.__name__, sys.modules[plugin.__module__].__file__)
"""
    lines = run(sys.executable, "-c", script, cwd=tmp_path, PYTHONPATH="").split("\n")
    loaded = [line.split(" ", 2) for line in lines if line.startswith(tuple(PLUGINS))]
    assert {name: plugin for name, plugin, _ in loaded} == PLUGINS
    assert all(Path(file).is_relative_to(site) for _, _, file in loaded)


def required(name: str, found: set[str]) -> None:
    """Add the distributions that one needs, itself included, to those that were found."""
    if (name := re.sub(r"[-_.]+", "-", name).lower()) in found:
        return
    found.add(name)
    for line in importlib.metadata.requires(name) or ():
        needed = Requirement(line)
        # Those of aiohttp's extra, which requirements.txt names, but of no other.
        extra = "speedups" if name == "aiohttp" else ""
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            required(needed.name, found)


def test_the_licence_of_each_required_distribution_is_named() -> None:
    found: set[str] = set()
    required("ckanext-freshness", found)
    named = set(re.findall(r"[a-z0-9-]+", (ROOT / "docs/licences.rst").read_text().lower()))
    assert len(found) > 25 and not found - named
