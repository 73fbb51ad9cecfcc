"""The imports that each subpackage may have, as tables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
NAME = "ckanext.freshness"

LAYERS = (
    {"dates", "room", "translation"},
    {"model"},
    {"ckan_adapter"},
    {"aging", "copies", "sandbox", "web"},
    {"interfaces", "resource_identity", "settings"},
    {"checking"},
    {"status"},
    {"harvesting"},
    {"reporting"},
    {"mails"},
    {"runs"},
    {"doctor"},
    {"logic"},
    {
        *("__init__", "cli", "dcat", "harvesters", "helpers", "migration", "plugin", "tests"),
        *("uninstall", "views"),
    },
)
"""The subpackages from the bottom up. Each may import those below it; the last layer may import everything."""

BESIDE = {
    # The site's options become the limits of web, the rules of checking and the policy of a harvest.
    "settings": {"checking", "harvesting"},
    # Names that other extensions need are collected there.
    "interfaces": {"checking", "doctor"},
}
"""What a subpackage may import besides."""

INDEPENDENT = {"aging", "copies", "sandbox", "web"}
"""Subpackages that import nothing of this package but those of the first layer."""


def may_import(room: str) -> set[str]:
    """Return the names of this package that a subpackage may import, besides its own."""
    if room in INDEPENDENT:
        return LAYERS[0]
    below: set[str] = set()
    for layer in LAYERS:
        if room in layer:
            break
        below |= layer
    return below | BESIDE.get(room, set())


WITHOUT_CKAN = (
    *(
        "dates.py",
        "translation.py",
        "aging/",
        "copies/",
        "sandbox/",
        "web/",
    ),
    "tests/servers/",
)
"""Files that import nothing of CKAN, not even its toolkit."""

TOOLKIT = ("ckan.plugins", "ckan.types")
"""What may be imported of CKAN outside `ADAPTERS`."""
ADAPTERS = ("ckan_adapter/", "migration/")
HARVESTERS = ("ckan_adapter/harvest.py", "harvesters.py")
"""What may import ckanext-harvest, which sites that do not harvest need not install."""


HARVESTING = {
    "fdp": ("dcat", "packages"),
    "dcat": ("fdp", "packages"),
    "rdf": ("dcat", "fdp", "packages"),
    "packages": ("dcat", "fdp", "rdf"),
}
"""What the parts of ``harvesting/`` may not import. The rest, the core, knows neither RDF nor FDPs."""

PURE = (
    *("aging/", "checking/decisions.py", "checking/content.py", "checking/shapes.py"),
    *("checking/selection.py", "checking/learned.py"),
    *("harvesting/record.py", "harvesting/strategy.py", "harvesting/brake.py"),
    "resource_identity.py",
)
"""Neither database nor network nor CKAN, and no clock: ``now`` is an argument."""
IMPURE_MODULES = (
    *("aiohttp", "asyncio", "ckan", "ckanext.harvest", "http.client", "requests", "socket"),
    *("sqlalchemy", "threading", "urllib.request", "urllib3", f"{NAME}.dates.utc_now"),
)
CLOCKS = {
    *("date.today", "datetime.now", "datetime.today", "datetime.utcnow"),
    *("time.monotonic", "time.perf_counter", "time.time", "dates.utc_now"),
}


@dataclass(frozen=True, slots=True)
class Use:
    """An import, or a call of a dotted name, and where it stands."""

    path: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} uses {self.name}"

    def of(self, *modules: str) -> bool:
        """Whether it is one of the modules, or something in one."""
        return any(self.name == module or self.name.startswith(f"{module}.") for module in modules)


def imports(path: str, source: str) -> Iterator[Use]:
    """Every import of a file of the package; relative ones by their full name."""
    package = [NAME, *path.split("/")[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Use(path, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Use(path, node.lineno, f"{module}.{alias.name}")


def clock_reads(path: str, source: str) -> Iterator[Use]:
    """Every call that reads a clock."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ".".join(ast.unparse(node.func).split(".")[-2:])
            if name in CLOCKS:
                yield Use(path, node.lineno, f"{name}()")


def broken(path: str, source: str) -> Iterator[str]:
    """What a file does against the rules, one sentence each."""
    room = path.split("/")[0].removesuffix(".py")
    for use in imports(path, source):
        if use.of(NAME) and room not in LAYERS[-1]:
            other = use.name.removeprefix(f"{NAME}.").split(".")[0]
            if other not in {room, *may_import(room)}:
                yield f"{use}, but {room} may import of this package: {sorted(may_import(room))}"
        if path.startswith(WITHOUT_CKAN) and use.of("ckan", "ckanext") and not use.of(NAME):
            yield f"{use}, but knows nothing of CKAN"
        if not path.startswith(ADAPTERS) and use.of("ckan") and not use.of(*TOOLKIT):
            yield f"{use}, which is not in CKAN's toolkit: only ckan_adapter may"
        if use.of("ckanext.harvest") and not path.startswith(HARVESTERS):
            yield f"{use}: only harvesters.py may"
        if path.startswith("harvesting/"):
            below = path.split("/")[1]
            others = HARVESTING.get(below, ("fdp", "rdf"))
            if use.of(*(f"{NAME}.harvesting.{other}" for other in others)):
                yield f"{use}: harvesting/{below} may not"
        if path.startswith(PURE) and use.of(*IMPURE_MODULES):
            yield f"{use}, but is pure"
    if path.startswith(PURE):
        for use in clock_reads(path, source):
            yield f"{use}, but is pure: now is an argument"


def files() -> list[str]:
    """The files for which there are rules: of the tests, the servers alone."""
    paths = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
    return [one for one in paths if not one.startswith("tests/") or one.startswith(WITHOUT_CKAN)]


def test_every_file_keeps_the_rules() -> None:
    found = [
        sentence
        for path in files()
        for sentence in broken(path, (PACKAGE / path).read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(["imports against the design:", *found])


def test_no_module_imports_itself_through_others() -> None:
    product = (path for path in files() if not path.startswith("tests/"))
    modules = {f"{NAME}.{path[:-3].replace('/', '.')}": path for path in product}
    graph = {
        module: {
            target
            for use in imports(path, (PACKAGE / path).read_text(encoding="utf-8"))
            for target in (use.name, use.name.rpartition(".")[0])
            if target in modules
        }
        for module, path in modules.items()
    }
    # Raises a CycleError that names the modules.
    TopologicalSorter(graph).prepare()


def test_every_room_is_in_the_table() -> None:
    names = {path.split("/")[0].removesuffix(".py") for path in files()}
    assert names <= set().union(*LAYERS)
