"""Options: what is declared is read, and what is read is declared, with a value that can be used."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from ckan.tests.helpers import changed_config

from ckanext.freshness import settings
from ckanext.freshness.checking.selection import Rules
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.web.hosts import HostPolicy

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
            case ast.Call(ast.Name(name), [ast.Constant(str(text))]) if (
                name in functions and not KEY.fullmatch(text)
            ):
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
    agent = settings.web(limits).user_agent
    assert agent.startswith("ckanext-freshness/") and agent.endswith("(+http://test.ckan.net)")
    # Firewalls block who says so.
    assert not any(word in agent.lower() for word in ("link", "check"))


@pytest.mark.usefixtures("with_plugins")
def test_a_source_sets_its_own() -> None:
    config = SourceConfig(timeout=7, concurrency=2, requests_per_second=0.5)
    assert settings.harvest_limits(config).total == 7
    policy = settings.harvest_policy(config)
    assert (policy.connections, policy.per_second) == (2, 0.5)


HARVEST = "ckanext.freshness.harvest."


CHECK = "ckanext.freshness.check."


@pytest.mark.usefixtures("with_plugins")
def test_all_defaults_for_checks_can_be_used() -> None:
    checks = settings.checks()
    assert checks.rules == Rules(
        internal_hosts=frozenset({"test.ckan.net"}),
        adhoc_hosts=frozenset({"proxy.hxlstandard.org", "ourairports.com"}),
    )
    assert (checks.archived_keys, checks.requestable_keys) == (
        ("archived",),
        ("is_requestdata_type",),
    )
    assert (checks.broken_after_failures, checks.broken_after) == (3, timedelta(days=1))
    assert checks.resource_fields == {"last_modified", "size", "mimetype"}
    assert checks.policy == HostPolicy(2, 4.0, robots=False, failures=10, pause=120.0)
    assert checks.policies == {}
    assert (checks.limits.total, checks.limits.attempts, checks.limits.backoff) == (
        3600,
        3,
        (5, 20),
    )
    assert checks.keep_transitions > checks.keep_runs == timedelta(days=730)


@pytest.mark.usefixtures("with_plugins")
def test_a_sites_rules_for_checks() -> None:
    given = {
        "ckan.site_url": "https://Data.Example.org:8443/portal",
        f"{CHECK}internal_hosts": ["files.example.org.", "b\u00fccher.example"],
        f"{CHECK}host_limits": ["fast.example.org=8,50.5"],
        f"{CHECK}robots": True,
        f"{CHECK}host_failures": 5,
        "ckanext.freshness.visit_intervals": ["7:0.5", "365:2", "14"],
    }
    with contextlib.ExitStack() as stack:
        for key, value in given.items():
            stack.enter_context(changed_config(key, value))
        checks = settings.checks()
    assert checks.rules.internal_hosts == {
        "data.example.org",
        "files.example.org",
        "xn--bcher-kva.example",
    }
    # What a host has of its own takes nothing else from it.
    assert checks.policies == {
        "fast.example.org": HostPolicy(8, 50.5, robots=True, failures=5, pause=120.0)
    }
    days = {frequency: checks.rules.intervals.of(frequency) for frequency in (1, 7, 8, 365, 366)}
    assert [one / timedelta(days=1) for one in days.values()] == [0.5, 0.5, 2, 2, 14]


BAD_CHECKS: list[tuple[str, Any]] = [
    *(
        (f"{CHECK}{name}", value)
        for name in ("connect_timeout", "read_timeout", "total_timeout", "retry_after_max")
        for value in ("0", "-1", "soon", "nan", None)
    ),
    *(
        (f"{CHECK}{name}", 0)
        for name in ("attempts", "concurrency", "connections", "max_bytes", "broken_after_failures")
    ),
    (f"{CHECK}requests_per_second", "0"),
    (f"{CHECK}rotation_days", -1),
    (f"{CHECK}rotation_days", 10**9),
    (f"{CHECK}keep_runs_days", "for ever"),
    (f"{CHECK}broken_after_hours", "-1"),
    (f"{CHECK}confirm_after", "-1"),
    (f"{CHECK}host_failures", -1),
    (f"{CHECK}host_pause", "-1"),
    (f"{CHECK}retry_delays", ["5", "-5"]),
    (f"{CHECK}max_redirects", -1),
    (f"{CHECK}resource_fields", ["name"]),
    (f"{CHECK}internal_hosts", ["-.-/"]),
    (f"{CHECK}host_limits", ["example.org"]),
    (f"{CHECK}host_limits", ["example.org=0,5"]),
    (f"{CHECK}host_limits", ["example.org=5,0"]),
    ("ckanext.freshness.visit_intervals", []),
    ("ckanext.freshness.visit_intervals", ["30:1"]),
    ("ckanext.freshness.visit_intervals", ["7", "30:1"]),
    ("ckanext.freshness.visit_intervals", ["30:1", "7:1", "7"]),
    ("ckanext.freshness.visit_intervals", ["0:1", "7"]),
    ("ckanext.freshness.visit_intervals", ["30:-1", "7"]),
    ("ckan.site_url", "nowhere"),
]


@pytest.mark.usefixtures("with_plugins")
@pytest.mark.parametrize(("key", "value"), BAD_CHECKS)
def test_values_for_checks_that_cannot_be_used_are_named(key: str, value: Any) -> None:
    with changed_config(key, value), pytest.raises(settings.OptionError, match=f"^{key}"):
        settings.checks()


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
