"""Options: each has a kind of value that CKAN checks when it starts, and is read."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import yaml
from ckan.common import config_declaration
from ckan.tests.helpers import changed_config

from ckanext.freshness import settings
from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.exchange import Limits
from ckanext.freshness.web.headers import can_be_sent
from ckanext.freshness.web.hosts import HostPolicy

PACKAGE = Path(__file__).parents[1]
DECLARED = {
    option["key"]: option
    for group in yaml.safe_load((PACKAGE / "config_declaration.yaml").read_text())["groups"]
    for option in group["options"]
}

REFUSED = object()
"""Instead of a value: CKAN does not start with it."""


@dataclass(frozen=True)
class Kind:
    """What options with the same type and validators take.

    :ivar good: texts of an ini file, and the values that CKAN makes of them
    :ivar bad: texts with which CKAN does not start, and what it says of them
    :ivar empty: the value of an option that is there and empty
    """

    good: dict[str, Any]
    bad: dict[str, str]
    empty: Any = REFUSED


def _same(text: str) -> dict[str, Any]:
    return {text: text.split()}


_ABOVE_ZERO = "must be a number above 0, not"
_WHOLE = "must be a whole number of 1 or more, not"

KINDS: dict[str, Kind] = {
    "": Kind({"any text": "any text"}, {}, ""),
    "not_empty": Kind({"bulk": "bulk"}, {}),
    "list": Kind(_same("one two"), {}, []),
    "list not_empty": Kind(_same("one two"), {}),
    "flag": Kind(
        {"true": True, "off": False},
        {"maybe": "must be true or false, not 'maybe'"},
        False,
    ),
    "whole,0": Kind({"0": 0, "7": 7}, {"-1": "of 0 or more, not '-1'", "1.5": "a whole number"}),
    "whole,1": Kind({"7.0": 7}, {"0": f"{_WHOLE} '0'"}),
    "number,0,1": Kind(
        {"0": 0.0, "1": 1.0},
        dict.fromkeys(("20", "-1", "soon", "nan"), "must be a number from 0 to 1, not"),
    ),
    "above_zero": Kind({"0.5": 0.5}, {"0": _ABOVE_ZERO, "many": _ABOVE_ZERO}),
    "list hosts": Kind(
        _same("files.example.org b\u00fccher.example"), {"-.-/": "'-.-/' is not"}, []
    ),
    "list host_limits": Kind(
        _same("a.example=8,50.5 b.example=1,1"),
        {
            "example.org": "must be HOST=CONNECTIONS,REQUESTS_PER_SECOND, not 'example.org'",
            "example.org=5,0": _ABOVE_ZERO,
        },
        [],
    ),
    "list networks": Kind(
        _same("10.20.0.0/16 192.0.2.7"),
        {"10.0.0.0/33": "must be addresses and networks, such as 10.20.0.0/16"},
        [],
    ),
    "list intervals": Kind(
        _same("7") | _same("30:1 180:0.5 7"),
        {
            "30:1": "must be FREQUENCY:DAYS for some frequencies",
            "30:1 7:1 7": "must be in ascending order of frequencies",
            "30:-1 7": "must be a number from 0 to 36600, not '-1'",
        },
    ),
    "list secrets": Kind(
        _same("env:TOKEN@fdp.example.org file:/run/secrets/fdp"),
        dict.fromkeys(("TOKEN", "env:@host"), "must be env:NAME or file:PATH"),
        [],
    ),
    "list fields": Kind(
        _same("size hash"), {"name": "must be of last_modified, size, mimetype, hash, not name"}, []
    ),
    "policy": Kind({"learned": "learned"}, {"iati": "must be of hdx, learned, not iati"}),
    "list addresses": Kind(
        _same("root@example.org"), {"root": "must be addresses, not 'root'"}, []
    ),
    "thresholds": Kind(
        {"7:7,14,21 30:30,44,60": "7:7,14,21 30:30,44,60"},
        {"nonsense": "Thresholds 'nonsense'", "7:7,14,6": "'7:7,14,6'"},
    ),
    "contact": Kind(
        {one: one for one in ("opendata@example.org", "https://example.org/about?x=1#y")},
        dict.fromkeys(
            ("j\u00f6rg@example.org", "example.org", "a@b.org; x", "https://example.org/(a)"),
            "must be an address or a URL in ASCII without brackets, not",
        ),
        "",
    ),
    "frequency": Kind({"P1Y": "P1Y", "weekly": "weekly"}, {"sometimes": "sometimes"}, ""),
}
"""By the type and the validators of the declaration."""


def kind(key: str) -> Kind:
    option = DECLARED[key]
    validators = re.sub(r"freshness_option\((.*)\)", r"\1", option.get("validators", ""))
    return KINDS[f"{option.get('type', '')} {validators}".strip()]


def validated(values: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """What CKAN makes of an ini file with these values: the values, and what is wrong, by key."""
    converted, errors = config_declaration.validate({**tk.config, **values})
    return converted, {key: " ".join(words) for key, words in errors.items()}


@pytest.mark.usefixtures("with_plugins")
def test_each_option_takes_good_values_and_refuses_bad_ones() -> None:
    """The n-th value of each option at a time, since CKAN validates all its options at once."""
    for number in range(10):
        good = {key: text for key in DECLARED for text in list(kind(key).good)[number : number + 1]}
        converted, errors = validated(good)
        assert errors == {}
        assert {key: converted[key] for key in good} == {
            key: kind(key).good[text] for key, text in good.items()
        }
        bad = {key: text for key in DECLARED for text in list(kind(key).bad)[number : number + 1]}
        _, errors = validated(bad)
        assert errors.keys() == bad.keys()
        for key, text in bad.items():
            assert kind(key).bad[text] in errors[key], (key, text, errors[key])


@pytest.mark.usefixtures("with_plugins")
def test_an_option_may_be_empty_if_it_is_a_list_or_a_text() -> None:
    converted, errors = validated(dict.fromkeys(DECLARED, ""))
    assert errors.keys() == {key for key in DECLARED if kind(key).empty is REFUSED}
    accepted = DECLARED.keys() - errors.keys()
    assert {key: converted[key] for key in accepted} == {key: kind(key).empty for key in accepted}


@pytest.mark.usefixtures("with_plugins")
def test_defaults_and_examples_are_good_values() -> None:
    assert validated({})[1] == {}
    examples = {key: one["example"] for key, one in DECLARED.items() if "example" in one}
    assert validated(examples)[1] == {}


# What is declared is read


KEY = re.compile(r"ckanext\.freshness(\.[a-z_]+)+")
READERS = {"option", "words", "flag"}
"""Functions of settings.py that take an option's name."""


def keys_in(path: Path) -> Iterator[str]:
    """The options that a module's code names: whole, or for a reader of settings.py."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Constant(str(text)) if KEY.fullmatch(text):
                yield text
            case ast.Call(ast.Attribute(ast.Name("settings"), name), [ast.Constant(str(text)), *_]):
                if name in READERS:
                    yield f"ckanext.freshness.{text}"
            case ast.Call(ast.Name(name), [ast.Constant(str(text)), *_]):
                if name in READERS and path.name == "settings.py":
                    yield f"ckanext.freshness.{text}"


def test_what_is_read_is_declared_and_the_other_way_round() -> None:
    sources = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if "tests" not in path.relative_to(PACKAGE).parts
    ]
    assert {key for path in sources for key in keys_in(path)} == DECLARED.keys()


# What the readers make of them


@pytest.mark.usefixtures("with_plugins")
def test_a_source_may_set_its_own_limits_of_deletions() -> None:
    assert settings.brake_limits(SourceConfig(), 10) == BrakeLimits(0.2, 500, 10)
    with changed_config("ckanext.freshness.harvest.max_delete_fraction", 0.1):
        assert settings.brake_limits(SourceConfig(), 1) == BrakeLimits(0.1, 500, 1)
        own = SourceConfig(max_delete_fraction=0, max_deletions=7)
        assert settings.brake_limits(own, 10) == BrakeLimits(0, 7, 10)


@pytest.mark.usefixtures("with_plugins")
def test_a_sites_rules() -> None:
    given = {
        "ckanext.freshness.check.host_limits": ["fast.example.org=8,50.5"],
        "ckanext.freshness.check_intervals": ["7:0.5", "365:2", "14"],
        "ckanext.freshness.connections": 3,
    }
    with contextlib.ExitStack() as stack:
        for key, value in given.items():
            stack.enter_context(changed_config(key, value))
        checks = settings.checks()
        harvest = settings.harvest_policy(SourceConfig()), settings.harvest_limits(SourceConfig())
    assert checks.policy == HostPolicy(3, 4.0, failures=10)
    # What a host has of its own takes nothing else from it.
    assert checks.policies == {"fast.example.org": HostPolicy(8, 50.5, failures=10)}
    assert (harvest[0].connections, harvest[0].per_second) == (8, 50)
    # An hour is for all attempts of a check, but for each of a harvest.
    assert (harvest[1].all_attempts, checks.limits.all_attempts) == (math.inf, 3600)
    days = {frequency: checks.rules.intervals.of(frequency) for frequency in (1, 7, 8, 365, 366)}
    assert [one / timedelta(days=1) for one in days.values()] == [0.5, 0.5, 2, 2, 14]
    assert settings.resource_fields() == {"last_modified", "size", "mimetype"}


AGENTS = (
    ("https://Data.Example.org:8443/portal", "", "en", "+https://data.example.org:8443/portal"),
    ("https://data.example.org", "a@b.org", "en", "+https://data.example.org/; a@b.org"),
    ("https://b\u00fccher.example/a (b)", "", "en", "+https://xn--bcher-kva.example/a%20%28b%29"),
    ("https://user:geheim@data.example.org", "", "sr_Latn", "+https://data.example.org/"),
    ("https://x.example\r\nX-Evil: 1", "", "en", None),
)
"""The site's URL, contact and language, and what the User-Agent says of them."""


@pytest.mark.usefixtures("with_plugins")
@pytest.mark.parametrize(("site", "contact", "language", "about"), AGENTS)
def test_what_requests_say_of_the_site(
    site: str, contact: str, language: str, about: str | None
) -> None:
    given = {
        "ckan.site_url": site,
        "ckanext.freshness.contact": contact,
        "ckan.locale_default": language,
    }
    with contextlib.ExitStack() as stack:
        for key, value in given.items():
            stack.enter_context(changed_config(key, value))
        if about is None:
            with pytest.raises(FetchError):
                settings.web(Limits())
            return
        check, harvest = (settings.web(Limits(), is_check=one) for one in (True, False))
    version = metadata.version("ckanext-freshness")
    assert check.user_agent == f"Mozilla/5.0 (compatible; ckanext-freshness/{version}; {about})"
    assert harvest.user_agent == f"ckanext-freshness/{version} ({about})"
    assert (check.plain_agent, harvest.plain_agent) == (harvest.user_agent, None)
    assert check.languages == f"{language.replace('_', '-')}, *;q=0.5"
    assert harvest.languages is None
    for agent in (check.user_agent, harvest.user_agent):
        assert can_be_sent(agent) and agent.isascii()
        # Firewalls block who says so.
        assert not any(word in agent.lower() for word in ("link", "check"))
