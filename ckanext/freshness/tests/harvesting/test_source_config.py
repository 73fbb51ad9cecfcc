"""The configuration of a harvest source: every key, with its allowed and its refused values."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.harvesting.fdp.source_type import FAIR_DATA_POINT
from ckanext.freshness.harvesting.source_client import SourceHosts
from ckanext.freshness.harvesting.source_config import (
    FOREIGN_KEYS,
    KEYS,
    ConfigError,
    check_allowed,
    read_headers,
)
from ckanext.freshness.harvesting.source_config import parse as parse_any
from ckanext.freshness.web.urls import host_of

OWN_KEYS = FAIR_DATA_POINT.own_keys
parse = partial(parse_any, own_keys=OWN_KEYS)

TOKEN = {"Authorization": {"env": "FDP_TOKEN"}}

GOOD: list[tuple[str, Any, Any]] = [
    ("harvest_catalogs", True, True),
    ("profiles", ["euro_dcat_ap_3"], ("euro_dcat_ap_3",)),
    ("language", "en", "en"),
    ("max_delete_fraction", 0.25, 0.25),
    ("max_deletions", 0, 0),
    ("absent_for", 7, 7.0),
    ("on_absence", "keep", "keep"),
    ("delete_unlisted", True, True),
    ("keep_fields", ["notes", "resources.name"], ("notes", "resources.name")),
    ("default_tags", [" health ", "Épidémiologie"], ("health", "Épidémiologie")),
    ("default_groups", ["cohorts"], ("cohorts",)),
    ("default_frequency", "P1M", "P1M"),
    ("notify_contacts", True, True),
    ("keep_copies", True, True),
    ("timeout", 0.5e3, 500.0),
    ("concurrency", 64, 64),
    ("requests_per_second", 0.01, 0.01),
    ("max_records", 10_000_000, 10_000_000),
    ("allowed_hosts", ["files.example.org", "::1"], ("files.example.org", "::1")),
    ("headers", TOKEN, TOKEN),
]

BAD: list[tuple[str, Any, str]] = [
    ("harvest_catalogs", "yes", "true or false"),
    ("profiles", [3], "a list of texts"),
    ("language", "english please", "a language tag"),
    ("max_delete_fraction", 1.5, "a number from 0 to 1"),
    ("absent_for", -1, "a number from 0 to 3650"),
    ("on_absence", "hide", '"delete" or "keep"'),
    ("delete_unlisted", "yes", "true or false"),
    ("max_deletions", -1, "a whole number from 0 to 10000000"),
    ("keep_fields", {"notes": True}, "a list of fields"),
    ("keep_fields", ["title", "extras.title"], '"extras.title" is none'),
    ("default_tags", "health", "a list of tags"),
    (
        "default_tags",
        ["health", "a"],
        "a list of tags of 2 to 100 letters, digits, spaces and -_. each",
    ),
    ("default_groups", "cohorts", "a list of texts"),
    ("default_frequency", "", "an update frequency"),
    ("notify_contacts", "false", "true or false"),
    ("keep_copies", "yes", "true or false"),
    ("timeout", 0, "a number from 1 to 3600"),
    ("concurrency", 2.5, "a whole number from 1 to 64"),
    ("requests_per_second", 0, "a number from 0.01 to 10000"),
    ("max_records", float("inf"), "a whole number from 1 to 10000000"),
    ("allowed_hosts", ["https://data.example.org"], "a list of host names"),
    ("headers", {"Authorization": "Bearer s3cret"}, "never the value itself"),
    ("headers", {"Host": {"env": "A"}}, "Host is set by the harvester itself"),
]


def test_every_key_has_good_and_bad_values_here() -> None:
    assert {key for key, _, _ in GOOD} == {key for key, _, _ in BAD} == {*KEYS, *OWN_KEYS}


@pytest.mark.parametrize(("key", "value", "read"), GOOD)
def test_good_values(key: str, value: Any, read: Any) -> None:
    config, warnings = parse(json.dumps({key: value}))
    assert (config.own[key] if key in OWN_KEYS else getattr(config, key)) == read
    assert warnings == []


@pytest.mark.parametrize(("key", "value", "words"), BAD)
def test_bad_values(key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(json.dumps({key: value}))
    message = str(raised.value)
    assert message.startswith(f'"{key}" must be ')
    assert words in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '{"language": "en",\n}',
            "The configuration is not valid JSON: there is a mistake in line 2 near character 1. Look",
        ),
        ("[]", "The configuration must be a JSON object"),
        ('{"langauge": "en"}', 'Unknown key "langauge". Did you mean "language"?'),
        ('{"timeout": 0, "lang": "en"}', '"timeout" must be a number from 1 to 3600; Unknown key'),
    ],
)
def test_what_is_no_configuration(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert str(raised.value).startswith(words)


@given(
    st.one_of(
        st.text(),
        st.dictionaries(
            st.sampled_from([*KEYS, *OWN_KEYS, *FOREIGN_KEYS, "else"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=5,
            ),
        ).map(json.dumps),
    )
)
def test_any_text_is_a_configuration_or_a_message(text: str) -> None:
    try:
        config, _ = parse(text)
    except ConfigError as error:
        assert str(error)
    else:
        assert config.max_delete_fraction is None or 0 <= config.max_delete_fraction <= 1


# Secrets


def test_headers_are_read_when_they_are_used(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from a file\n")
    headers = {"Authorization": {"env": "FDP_TOKEN"}, "X-Key": {"file": str(file)}}
    assert read_headers(headers, "x", (), {"FDP_TOKEN": "Bearer s3cret"}) == {
        "Authorization": "Bearer s3cret",
        "X-Key": "from a file",
    }
    assert read_headers(None, "x") == read_headers({}, "x") == {}


@pytest.mark.parametrize(
    ("origin", "content", "words"),
    [
        ("env", None, "takes its value from the environment variable FDP_TOKEN, which is not set"),
        ("env", "s3cret\r\nX: y", "the value of Authorization is empty or no legal header value"),
        ("file", None, "which cannot be read (No such file or directory)"),
        ("file", b"\xff\xfe s3cret", "which cannot be read (it is no text in UTF-8)"),
    ],
)
def test_headers_that_cannot_be_read(tmp_path: Path, origin: str, content: Any, words: str) -> None:
    environment = {}
    name = "FDP_TOKEN"
    if origin == "file":
        name = str(tmp_path / "token")
        if content is not None:
            Path(name).write_bytes(content)
    elif content is not None:
        environment[name] = content
    with pytest.raises(ConfigError) as raised:
        read_headers({"Authorization": {origin: name}}, "x", (), environment)
    assert str(raised.value).startswith('"headers": ')
    assert words in str(raised.value)
    assert "s3cret" not in str(raised.value)


LISTED = ("env:OPEN", "env:BOUND@fdp.example.org", "file:/run/secrets/a@fdp.example.org")


@pytest.mark.parametrize(
    ("origin", "ok"),
    [
        ({"env": "OPEN"}, True),
        ({"env": "BOUND"}, True),
        ({"file": "/run/secrets/a"}, True),
        ({"env": "CKAN_SQLALCHEMY_URL"}, False),
        ({"file": "/run/secrets/../secrets/a"}, False),
        ({"file": "/etc/ckan/ckan.ini"}, False),
    ],
)
def test_what_others_than_sysadmins_may_name(origin: dict[str, str], ok: bool) -> None:
    if ok:
        check_allowed({"X-Key": origin}, LISTED)
        return
    with pytest.raises(ConfigError, match=r"X-Key may not take its value .* only a sysadmin"):
        check_allowed({"X-Key": origin}, LISTED)


@pytest.mark.parametrize(
    ("name", "host", "sent"),
    [
        ("OPEN", "other.example.org", True),
        ("BOUND", "fdp.example.org", True),
        ("BOUND", "other.example.org", False),
        ("BOUND", "fdp.example.org.evil.example", False),
    ],
)
def test_secrets_for_one_host_go_to_no_other(name: str, host: str, sent: bool) -> None:
    headers = {"X-Key": {"env": name}}
    environment = {"OPEN": "s3cret", "BOUND": "s3cret", "UNLISTED": "s3cret"}
    if sent:
        assert read_headers(headers, host, LISTED, environment) == {"X-Key": "s3cret"}
        return
    with pytest.raises(ConfigError, match=f"not for {host}") as raised:
        read_headers(headers, host, LISTED, environment)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("listed", ["München.example", "xn--mnchen-3ya.example"])
@pytest.mark.parametrize(
    "url", ["https://münchen.example/fdp", "https://XN--MNCHEN-3YA.example:443"]
)
def test_a_host_in_another_script_receives_its_headers(url: str, listed: str) -> None:
    headers = {"X-Key": {"env": "A"}}
    allowed = [f"env:A@{listed}"]
    check_allowed(headers, allowed)
    values = read_headers(headers, host_of(url), allowed, {"A": "s3cret"})
    hosts = SourceHosts(url, ["daten.MÜNCHEN.example"], values)
    assert hosts.sends_headers_to("https://münchen.example/catalog/1")
    assert hosts.may_visit("https://daten.xn--mnchen-3ya.example/") and values
    assert not hosts.may_visit("https://munchen.example/")
