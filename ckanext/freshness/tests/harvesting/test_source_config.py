"""The configuration of a harvest source: every key, with its allowed and its refused values."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ckan.logic import validators
from ckan.plugins import toolkit as tk
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ckanext.freshness.harvesting.fdp.source_type import FAIR_DATA_POINT
from ckanext.freshness.harvesting.legal_values import is_tag
from ckanext.freshness.harvesting.source_config import (
    FOREIGN_KEYS,
    KEYS,
    ConfigError,
    SourceConfig,
    check_allowed,
    read_headers,
)
from ckanext.freshness.harvesting.source_config import parse as parse_any

OWN_KEYS = FAIR_DATA_POINT.own_keys
parse = partial(parse_any, own_keys=OWN_KEYS)

TOKEN = {"Authorization": {"env": "FDP_TOKEN"}}

GOOD: list[tuple[str, Any, Any]] = [
    ("harvest_catalogs", True, True),
    ("profiles", ["euro_dcat_ap_3"], ("euro_dcat_ap_3",)),
    ("profiles", "fairdatapoint_dcat_ap", ("fairdatapoint_dcat_ap",)),
    ("language", "en", "en"),
    ("language", "pt-BR", "pt-br"),
    ("max_delete_fraction", 0.25, 0.25),
    ("max_deletions", 0, 0),
    ("absent_for", 7, 7.0),
    ("on_absence", "keep", "keep"),
    ("keep_fields", ["notes", "resources.name"], ("notes", "resources.name")),
    (
        "keep_fields",
        ["tags", "resources", " Data source ", "hash:a"],
        ("tags", "resources", "Data source", "hash:a"),
    ),
    ("default_tags", [" health ", "Épidémiologie"], ("health", "Épidémiologie")),
    ("default_tags", [{"name": "health"}], ("health",)),
    ("default_groups", ["cohorts"], ("cohorts",)),
    ("default_groups", [{"name": "cohorts"}, {"id": "7f3a"}], ("cohorts", "7f3a")),
    ("default_frequency", "P1M", "P1M"),
    ("default_frequency", 30, "30"),
    ("notify_contacts", True, True),
    ("keep_copies", True, True),
    ("timeout", 0.5e3, 500.0),
    ("concurrency", 64, 64),
    ("concurrency", 4.0, 4),
    ("requests_per_second", 0.01, 0.01),
    ("max_records", 10_000_000, 10_000_000),
    ("allowed_hosts", ["files.example.org", "::1"], ("files.example.org", "::1")),
    ("headers", TOKEN, TOKEN),
    ("headers", {"X-Key": {"file": "/run/secrets/fdp"}}, {"X-Key": {"file": "/run/secrets/fdp"}}),
    ("headers", {}, {}),
]

BAD: list[tuple[str, Any, str]] = [
    ("harvest_catalogs", "yes", "true or false"),
    ("profiles", [3], "a list of texts"),
    ("language", "english please", "a language tag"),
    ("max_delete_fraction", 1.5, "a number from 0 to 1"),
    ("max_delete_fraction", float("nan"), "a number from 0 to 1"),
    ("absent_for", -1, "a number from 0 to 3650"),
    ("on_absence", "hide", '"delete" or "keep"'),
    ("max_deletions", -1, "a whole number from 0 to 10000000"),
    ("keep_fields", {"notes": True}, "a list of fields"),
    (
        "keep_fields",
        ["title", "extras.title"],
        '"extras.title" is none',
    ),
    (
        "keep_fields",
        ["resources.a.b"],
        '"resources.a.b" is none',
    ),
    ("default_tags", "health", "a list of tags"),
    ("default_tags", [{"title": "health"}], "a list of tags"),
    (
        "default_tags",
        ["health", "a"],
        "a list of tags of 2 to 100 letters, digits, spaces and -_. each",
    ),
    ("default_tags", ["health", "été/air"], '"été/air" is none'),
    ("default_groups", "cohorts", "a list of texts"),
    ("default_groups", [{"title": "Cohorts"}], "a list of texts"),
    ("default_frequency", "", "an update frequency"),
    ("notify_contacts", "false", "true or false"),
    ("keep_copies", "yes", "true or false"),
    ("timeout", 0, "a number from 1 to 3600"),
    ("concurrency", 2.5, "a whole number from 1 to 64"),
    ("requests_per_second", 0, "a number from 0.01 to 10000"),
    ("max_records", float("inf"), "a whole number from 1 to 10000000"),
    ("allowed_hosts", ["https://data.example.org"], "a list of host names"),
    ("allowed_hosts", ["data.example.org/path"], "a list of host names"),
    ("headers", {"Authorization": "Bearer s3cret"}, "never the value itself"),
    ("headers", {"Authorization": {"value": "s3cret"}}, "never the value itself"),
    ("headers", [], "an object of header names"),
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


@given(
    st.text(alphabet=st.one_of(st.characters(), st.sampled_from("ab _-./,é\u0301")), max_size=103)
)
@example("a" * 101)
def test_tags_are_legal_by_the_rules_of_ckan(tag: str) -> None:
    assume(tag == tag.strip())
    try:
        validators.tag_length_validator(tag, {})
        validators.tag_name_validator(tag, {})
        legal = "\n" not in tag
    except tk.Invalid:
        legal = False
    assert is_tag(tag) == legal


@pytest.mark.parametrize("key", [*OWN_KEYS, *KEYS])
def test_null_is_the_default(key: str) -> None:
    config, warnings = parse(json.dumps({key: None}))
    assert (config, warnings) == (SourceConfig(), [])


@pytest.mark.parametrize("text", [None, "", "  \n", "{}"])
def test_no_configuration_is_all_defaults(text: str | None) -> None:
    assert parse(text) == (SourceConfig(), [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{",
            "The configuration is not valid JSON: there is a mistake in line 1 near character 2.",
        ),
        (
            '{"language": "en",\n}',
            "The configuration is not valid JSON: there is a mistake in line 2 near character 1. Look",
        ),
        ("language: en", "The configuration is not valid JSON: "),
        ("[]", "The configuration must be a JSON object"),
        ('"en"', "The configuration must be a JSON object"),
        ('{"langauge": "en"}', 'Unknown key "langauge". Did you mean "language"?'),
        ('{"colour": 1}', 'Unknown key "colour". Allowed keys: harvest_catalogs, '),
        ('{"timeout": 0, "lang": "en"}', '"timeout" must be a number from 1 to 3600; Unknown key'),
    ],
)
def test_what_is_no_configuration(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse(text)
    assert str(raised.value).startswith(words)


@pytest.mark.parametrize("key", sorted(FOREIGN_KEYS))
def test_keys_of_other_harvesters_are_accepted_with_a_warning(key: str) -> None:
    config, (warning,) = parse(json.dumps({key: "whatever", "language": "nl"}))
    assert config == SourceConfig(own={"language": "nl"})
    assert warning == f'"{key}" belongs to another harvester and has no effect here'


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
        hash(
            (
                config.keep_fields,
                config.default_tags,
                config.own.get("profiles"),
                config.allowed_hosts,
            )
        )
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
        ("env", " ", "the value of Authorization is empty or no legal header value"),
        ("env", "s3cret\r\nX: y", "the value of Authorization is empty or no legal header value"),
        ("env", "s3cret\u20ac", "the value of Authorization is empty or no legal header value"),
        ("file", None, "which cannot be read (No such file or directory)"),
        ("file", b"\xff\xfe s3cret", "which cannot be read (it is no text in UTF-8)"),
        ("file", b"", "the value of Authorization is empty or no legal header value"),
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
        ({"env": "open"}, False),
        ({"file": "OPEN"}, False),
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
        ("BOUND", "FDP.example.org", True),
        ("BOUND", "other.example.org", False),
        ("BOUND", "fdp.example.org.evil.example", False),
        ("UNLISTED", "other.example.org", True),
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


def test_a_configuration_nested_too_deeply() -> None:
    with pytest.raises(ConfigError, match="nested too deeply"):
        parse("[" * 100_000)
