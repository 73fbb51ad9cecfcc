"""The documentation names what there is: every option, key and command, and nothing that is not there."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import yaml

from ckanext.freshness import model
from ckanext.freshness.cli.site import freshness
from ckanext.freshness.cli.sources import iati
from ckanext.freshness.harvesting import source_config
from ckanext.freshness.iati.registry.source_type import OWN_KEYS
from ckanext.freshness.uninstall import command as uninstall
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
FOREIGN_GROUPS = {"config", "db", "jobs", "search-index"}
OPTION = re.compile(r"\bckanext\.freshness(?:\.[a-z_]+)+\b")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def everything() -> str:
    return "\n".join(text_of(page) for page in PAGES)


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


OF_OUR_OWN = {"freshness_harvest_document", "freshness_harvest_hold", "freshness_resource"}
OF_OUR_OWN |= {"freshness_unindexed", "freshness_harvest_report"}
"""Tables that tell nobody anything: what work remembers for itself."""


def test_every_table_is_documented() -> None:
    described = re.findall(r"^``(freshness_\w+)``\n-+$", text_of(DOCS / "checking.rst"), re.M)
    there = {getattr(model, name).__tablename__ for name in model.__all__}
    assert set(described) == there - OF_OUR_OWN


def test_every_option_is_documented() -> None:
    described = re.findall(
        r"^``(ckanext\.freshness\S+)`` \(", text_of(DOCS / "configuration.rst"), re.M
    )
    assert set(described) == declared_options()
    assert len(described) == len(set(described))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_names_an_option_that_is_not_there(page: Path) -> None:
    groups = {key.rpartition(".")[0] for key in declared_options()}
    without_code = re.sub(r"^ +from \S+ import .*$", "", text_of(page), flags=re.M)
    assert set(OPTION.findall(without_code)) - groups <= declared_options()


# A source's settings


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table of a source's settings."""

    key: str
    allowed: str
    default: str


def settings() -> list[Setting]:
    if not PAGES:
        return []
    page = text_of(DOCS / "fdp-harvester.rst")
    part = page[page.index(".. _source-settings:") : page.index(".. _headers:")]
    rows = re.findall(
        r"^   \* - ``(\w+)``\n     - (.+)\n     - (.+)\n     - ", part, flags=re.MULTILINE
    )
    return [Setting(*row) for row in rows]


def test_every_key_of_a_source_is_documented() -> None:
    assert [one.key for one in settings()] == list(source_config.KEYS)


WRONG = (b"of no type that JSON has", ["a scheme://"])
"""The second is a list of texts, but not of hosts."""


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.key)
def test_the_allowed_values_are_those_of_the_refusal(setting: Setting) -> None:
    refusals = set()
    for value in WRONG:
        try:
            source_config.KEYS[setting.key](value)
        except ValueError as refused:
            refusals.add(str(refused))
    assert setting.allowed in refusals


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.key)
def test_the_defaults_are_those_of_the_code(setting: Setting) -> None:
    default = getattr(source_config.SourceConfig(), setting.key)
    if isinstance(default, (int, float)):
        assert setting.default == json.dumps(default)
    else:
        assert not default and setting.default in ("none", "the site's")


def test_the_example_configurations_are_allowed() -> None:
    decoder = json.JSONDecoder()
    examples = [
        decoder.raw_decode(after.lstrip())[0]
        for page in PAGES
        for after in text_of(page).split(".. code-block:: json")[1:]
    ]
    assert len(examples) >= 4
    for example in examples:
        config, warnings = source_config.parse(json.dumps(example), own_keys=OWN_KEYS)
        assert config != source_config.SourceConfig() and not warnings


# Commands


def subcommands(group: click.Group, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{path} {name}"
        if isinstance(command, click.Group):
            yield from subcommands(command, f"{path} {name}")


OURS = [*subcommands(freshness, "ckan freshness"), *subcommands(iati, "ckan iati")]


@pytest.mark.parametrize("command", OURS)
def test_every_command_of_ours_is_documented(command: str, everything: str) -> None:
    assert command in everything


def dev_commands() -> dict[str, Any]:
    choices = (one.choices for one in dev.parser()._actions if one.dest != "ckan")
    (commands,) = (one for one in choices if isinstance(one, dict))
    return commands


@pytest.mark.parametrize("name", list(dev_commands()) if (ROOT / "dev").exists() else [])
def test_every_command_of_dev_is_documented(name: str) -> None:
    assert f"./dev {name}" in text_of(DOCS / "quick-start.rst")


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


def test_there_are_examples_to_be_checked() -> None:
    lines = [line for _page, line in example_lines()]
    assert "./dev demo --no-serve" in lines
    assert "ckan -c /etc/ckan/default/ckan.ini harvester run" in lines
    assert "ckan -c /etc/ckan/default/ckan.ini harvester gather-consumer" in lines
    assert len(lines) > 40


@pytest.mark.parametrize(("page", "line"), example_lines())
def test_the_commands_in_the_pages_exist(page: str, line: str) -> None:
    program, *words = shlex.split(line.rstrip(":"))
    check_dev(words) if program == "./dev" else check_ckan(words)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ckan freshness frobnicate", AssertionError),
        ("ckan -c x.ini freshness release --force SOURCE", AssertionError),
        ("ckan harvester source vanish", AssertionError),
        ("ckan freshnes doctor", KeyError),
        ("./dev frobnicate", SystemExit),
        ("./dev demo --quickly", SystemExit),
        ("./dev bench nothing", AssertionError),
    ],
)
def test_a_command_that_is_not_there_is_found(line: str, error: type[BaseException]) -> None:
    with pytest.raises(error):
        test_the_commands_in_the_pages_exist("page", line)


# Messages


def messages() -> list[str]:
    """Every text of the package's code, with a line break where it has a value."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.JoinedStr):
                parts = (
                    one.value if isinstance(one, ast.Constant) else "\n" for one in node.values
                )
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def said() -> list[str]:
    """What the table of what to do quotes."""
    if not PAGES:
        return []
    page = text_of(DOCS / "operating.rst")
    table = page[page.index(".. _said:") : page.index(".. _stuck-job:")]
    cells = re.findall(r"^   \* - (.+?)\n     - ", table, re.M | re.S)
    return [" ".join(one.split()) for cell in cells for one in re.findall(r"``([^`]+)``", cell)]


def test_what_the_table_quotes_is_said_somewhere() -> None:
    every = messages()
    assert len(said()) > 20
    for quoted in said():
        parts = [part.strip() for part in quoted.split("...") if part.strip()]
        for part in parts:
            assert any(part in one for one in every), f"nothing says: {part}"


# Plugins, links


def test_the_plugins_of_the_readme_are_entry_points() -> None:
    (line,) = re.findall(r"^ +ckan\.plugins = (.+)$", text_of(ROOT / "README.rst"), re.MULTILINE)
    ours = re.findall(
        r"^(\w+) = \"ckanext\.freshness\.plugin:", text_of(ROOT / "pyproject.toml"), re.MULTILINE
    )
    plugins = line.split()
    assert set(ours) <= set(plugins)
    assert plugins.index("freshness") < plugins.index("harvest")


def test_the_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"<([^<>\s]+)>`_", text_of(ROOT / "README.rst"))
    inside = [link for link in links if not link.startswith("https://")]
    assert len(inside) > 6
    assert not [link for link in inside if not (ROOT / link).is_file()]
    linked = {link.removeprefix("docs/") for link in inside}
    assert {page.name for page in PAGES if page.parent == DOCS} - {"index.rst"} <= linked


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
