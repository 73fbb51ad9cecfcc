"""The documentation names what there is: every option, key and command, and nothing that is not there."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml
from docutils.core import publish_doctree

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.ckan_adapter.core import NAMES
from ckanext.freshness.cli.site import freshness
from ckanext.freshness.harvesting import source_config
from ckanext.freshness.harvesting.ckan.source_type import CKAN_PORTAL
from ckanext.freshness.harvesting.dcat.source_type import DCAT_CATALOG
from ckanext.freshness.harvesting.fdp.source_type import FAIR_DATA_POINT
from ckanext.freshness.logic import (
    dataset_actions,
    harvest_actions,
    report_actions,
)
from ckanext.freshness.mails.kinds import KINDS
from ckanext.freshness.uninstall import command as uninstall
from ckanext.freshness_iati.cli import iati
from ckanext.harvest.cli import get_commands

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "ckanext" / "freshness"

pytestmark = pytest.mark.skipif(
    not (DOCS / "conf.py").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from benchmarks.__main__ import NAMES as BENCHMARKS
    from stack import cli as dev

PAGES = [*ROOT.glob("README.rst"), *sorted(DOCS.glob("*.rst"))]
GROUPS: dict[str, click.Command] = {
    "freshness": freshness,
    uninstall.name or "": uninstall,
    "harvester": next(one for one in get_commands() if one.name == "harvester"),
    "iati": iati,
}
"""Our commands of ``ckan`` and ckanext-harvest's; CKAN's own are CKAN's business."""
FOREIGN_GROUPS = {"config", "db", "generate", "jobs", "search-index"}
OPTION = re.compile(r"\bckanext\.freshness(?:\.[a-z_]+)+\b")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Dataclasses with slots look their module up by its name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def declared_options() -> set[str]:
    declared = yaml.safe_load(text_of(PACKAGE / "config_declaration.yaml"))
    options = [option for group in declared["groups"] for option in group["options"]]
    return {option["key"] for option in options}


# Options and mapping


def test_the_generated_parts_are_those_of_the_code() -> None:
    docs = generator()
    for part in docs.PARTS:
        page = text_of(DOCS / part.page)
        assert page == docs.filled(part, page), "run: ./dev run python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_an_option_that_is_not_there(page: Path) -> None:
    groups = {key.rpartition(".")[0] for key in declared_options()}
    without_code = re.sub(r"^ +from \S+ import .*$", "", text_of(page), flags=re.M)
    assert set(OPTION.findall(without_code)) - groups <= declared_options()


# Settings of sources


def test_the_example_configurations_are_allowed() -> None:
    decoder = json.JSONDecoder()
    examples = [
        decoder.raw_decode(after.lstrip())[0]
        for page in PAGES
        for after in text_of(page).split(".. code-block:: json")[1:]
    ]
    assert len(examples) >= 3
    for example in examples:
        config, warnings = source_config.parse(json.dumps(example), own_keys=DCAT_CATALOG.own_keys)
        assert config != source_config.SourceConfig() and not warnings


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("harvesting.rst", set(source_config.KEYS)),
        ("harvesting.rst", set(FAIR_DATA_POINT.own_keys)),
        ("harvesting.rst", set(DCAT_CATALOG.own_keys)),
        ("harvesting.rst", set(CKAN_PORTAL.own_keys)),
        ("aging.rst", set(NAMES.extras)),
        ("aging.rst", {evidence.value for evidence in Evidence}),
        ("checking.rst", {outcome.value for outcome in Outcome}),
        ("mails.rst", set(KINDS)),
    ],
)
def test_the_page_describes_each_of(page: str, names: set[str]) -> None:
    assert names <= set(re.findall(r"``([^`]+)``", text_of(DOCS / page)))


# Commands


def example_lines() -> list[tuple[str, str]]:
    """Each command in the pages, with the page's name; sentences split over two lines are joined."""
    found = []
    for page in PAGES:
        text = text_of(page)
        spans = (" ".join(span.split()) for span in re.findall(r"``([^`]+)``", text))
        blocks = (line.strip() for line in text.splitlines() if line.startswith("  "))
        for line in (*spans, *blocks):
            # A crontab, a supervisor file or a unit has something before the command.
            line = re.sub(r"^(?:\*\S* +\S+ +\S+ +\S+ +\S+ +|command=|ExecStart=)", "", line)
            command = re.match(r"(?:/\S*/)?((?:ckan|\./dev) .+)", line)
            if command and "``" not in command[1]:
                found.append((page.name, command[1]))
    return sorted(set(found))


def check_ckan(words: list[str]) -> None:
    """Fail unless the words after ``ckan`` name a command, with options and arguments that it takes."""
    if words[:1] == ["-c"]:
        words = words[2:]
    name, *rest = words
    if name in FOREIGN_GROUPS:
        return
    command = GROUPS[name]
    while isinstance(command, click.Group) and rest:
        subcommand, *rest = rest
        assert subcommand in command.commands, f"{command.name} has no command {subcommand}"
        command = command.commands[subcommand]
    options = {name for one in command.params for name in one.opts}
    for word in rest:
        assert not word.startswith("-") or word in options, f"{command.name} has no option {word}"


def check_dev(words: list[str]) -> None:
    """Fail unless the words after ``./dev`` are what its parser takes."""
    ours, theirs = dev.split(words)
    dev.parser().parse_args(ours)
    if ours[-1] == "ckan" and theirs:
        check_ckan(theirs)
    if ours[-1] == "bench" and theirs:
        assert theirs[0] in ("NAME", *BENCHMARKS)
    if ours[-1] == "run" and len(theirs) > 1 and theirs[0] == "python":
        assert (ROOT / theirs[1]).is_file()


def test_the_commands_in_the_pages_exist() -> None:
    lines = example_lines()
    assert len(lines) > 40
    for _page, line in lines:
        program, *words = shlex.split(line.rstrip(":"))
        check_dev(words) if program == "./dev" else check_ckan(words)


# Actions, queries and links


def test_every_action_has_an_example() -> None:
    modules = (dataset_actions, harvest_actions, report_actions)
    examples = json.loads(text_of(DOCS / "api-examples.json"))
    assert sorted(one["action"] for one in examples) == sorted(
        name for module in modules for name in vars(module) if name.startswith("freshness_")
    )


def test_the_modules_that_pages_for_developers_name_exist() -> None:
    pages = [DOCS / "design.rst", DOCS / "extending.rst", ROOT / "CONTRIBUTING.rst"]
    folders = (ROOT / "ckanext", ROOT / "stack", DOCS)
    there = [f"/{path.relative_to(ROOT)}" for one in folders for path in one.rglob("*.*")]
    named = {name for page in pages for name in re.findall(r"``([\w./-]+\.py)``", text_of(page))}
    assert len(named) > 50
    assert not [name for name in named if not any(one.endswith(f"/{name}") for one in there)]


@pytest.mark.parametrize("name", ["CHANGELOG.rst", "CONTRIBUTING.rst", "README.rst"])
def test_the_pages_outside_of_the_documentation_are_well_formed(name: str) -> None:
    """Docutils alone shows them, in a package index and on the pages of a repository."""
    publish_doctree(text_of(ROOT / name), settings_overrides={"halt_level": 2})


def test_the_pages_are_built_without_a_warning(tmp_path: Path) -> None:
    """Broken references, pages that nothing leads to and malformed tables are warnings of Sphinx."""
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "dummy"]
    done = subprocess.run(
        [*sphinx, "-d", tmp_path / "doctrees", DOCS, tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
