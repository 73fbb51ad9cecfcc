"""Options: what is declared is read, and what is read is declared, with a value that can be used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ckan.tests.helpers import changed_config

from ckanext.freshness import settings
from ckanext.freshness.harvesting.source_config import SourceConfig

PACKAGE = Path(__file__).parents[1]
DECLARED = {
    option["key"]: option
    for group in yaml.safe_load((PACKAGE / "config_declaration.yaml").read_text())["groups"]
    for option in group["options"]
}
KEY = re.compile(r"ckanext\.freshness(\.[a-z_]+)+")
PREFIX = re.compile(r"ckanext\.freshness(\.[a-z_]+)*\.")


def sources() -> Iterator[ast.Module]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "tests" not in path.relative_to(PACKAGE).parts:
            yield ast.parse(path.read_text(encoding="utf-8"))


def keys_in(module: ast.Module) -> Iterator[str]:
    """The options that a module's code names: whole, or the rest after a prefix that it defines.

    The rest is a literal that one of the module's own functions is called with.
    """
    prefixes = [
        str(node.value.value)
        for node in module.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and PREFIX.fullmatch(str(node.value.value))
    ]
    functions = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(module):
        match node:
            case ast.Constant(str(text)) if KEY.fullmatch(text):
                yield text
            case ast.Call(ast.Name(name), [ast.Constant(str(text))]) if name in functions:
                yield from (f"{prefix}{text}" for prefix in prefixes)


def test_what_is_read_is_declared_and_the_other_way_round() -> None:
    assert {key for module in sources() for key in keys_in(module)} == set(DECLARED)


@pytest.mark.parametrize("key", DECLARED)
def test_each_option_says_what_it_is(key: str) -> None:
    option = DECLARED[key]
    assert option["description"].strip().endswith("."), "a sentence for people"
    assert "default" in option or "example" in option
    assert option.keys() <= {"key", "type", "default", "example", "description"}


@pytest.mark.usefixtures("with_plugins")
def test_all_defaults_can_be_used() -> None:
    limits = settings.harvest_limits(SourceConfig())
    assert (limits.connect, limits.read, limits.total) == (10, 30, 120)
    assert (limits.attempts, limits.backoff, limits.retry_after_max) == (3, (5, 20), 600)
    assert (limits.max_bytes, limits.redirects) == (50 * 2**20, 5)
    policy = settings.harvest_policy(SourceConfig())
    assert (policy.connections, policy.per_second) == (8, 50)
    assert settings.web(limits).user_agent.startswith("ckanext-freshness/")


@pytest.mark.usefixtures("with_plugins")
def test_a_source_sets_its_own() -> None:
    config = SourceConfig(timeout=7, concurrency=2, requests_per_second=0.5)
    assert settings.harvest_limits(config).total == 7
    policy = settings.harvest_policy(config)
    assert (policy.connections, policy.per_second) == (2, 0.5)


HARVEST = "ckanext.freshness.harvest."


BAD: list[tuple[str, Any]] = [
    *(
        (f"{HARVEST}{name}", value)
        for name in ("connect_timeout", "read_timeout", "total_timeout", "retry_after_max")
        for value in ("0", "-1", "soon", "nan", "inf", None)
    ),
    (f"{HARVEST}concurrency", 0),
    (f"{HARVEST}requests_per_second", "-5"),
    (f"{HARVEST}attempts", 0),
    (f"{HARVEST}max_bytes", -1),
    (f"{HARVEST}max_redirects", -1),
    (f"{HARVEST}retry_delays", ["five"]),
    (f"{HARVEST}retry_delays", ["5", "-5"]),
    ("ckanext.freshness.allowed_networks", ["10.0.0.0/33"]),
]


@pytest.mark.usefixtures("with_plugins")
def test_values_that_cannot_be_used_are_named() -> None:
    for key, value in BAD:
        with changed_config(key, value), pytest.raises(settings.OptionError) as raised:
            settings.harvest_policy(SourceConfig())
            settings.web(settings.harvest_limits(SourceConfig()))
        assert str(raised.value).startswith(key), (key, value)
        assert str(value[-1] if isinstance(value, list) else value) in str(raised.value)
