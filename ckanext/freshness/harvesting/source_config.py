"""The configuration of a harvest source: a JSON object, with a field of :class:`SourceConfig` for each key.

Everybody can read it through the API. Therefore it never contains secrets: values of ``headers`` only name an
environment variable or a file. An editor of a source also chooses its URL, and could have any secret of the
machine sent to a server of their own. Therefore only sysadmins name any variable or file; all others may use
those that the option ``ckanext.freshness.harvest.header_secrets`` lists. An entry of the option may also name
the only host that receives the value, whoever names it.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..web.urls import host_name
from .legal_values import TAG_CHARACTERS, tag

FOREIGN_KEYS = frozenset(
    [
        *("rdf_format", "catalog_fields"),
        # ckanext-harvest, for CKAN portals
        *("remote_orgs", "remote_groups", "default_extras", "override_extras", "clean_tags"),
        *("force_all", "read_only", "user", "api_key", "api_version", "resource_formats"),
        *("default_group_dicts", "user_agent"),
        *("organizations_filter_include", "organizations_filter_exclude"),
        *("groups_filter_include", "groups_filter_exclude"),
        # ckanext-fairdatapoint
        *("profile", "request_timeout", "template_package_id", "resolve_labels"),
    ]
)
"""Keys of other harvesters whose sources can be switched to ours. They have no effect, with a warning."""

ReadValue = Callable[[Any], Any]
"""Returns a key's value as the code uses it, or raises ValueError with the allowed values."""

_HEADER_NAME = re.compile(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
_SET_BY_THE_CLIENT = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-length", "expect", "host"),
        *("keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"),
        *("proxy-authorization", "proxy-connection", "range", "if-none-match", "if-modified-since"),
    }
)
_FIELD = re.compile(r"^(resources\.)?[^.\x00-\x1f\x7f]+$")
_HOST = re.compile(r"^(?=.{1,253}$)[^\s/:@?#]+$|^[0-9A-Fa-f:.]+$")


class ConfigError(ValueError):
    """A configuration that cannot be used. The text names each mistake: the key and the allowed values."""

    def __init__(self, *mistakes: str, rest: SourceConfig | None = None) -> None:
        """
        :param rest: the configuration with defaults in place of the mistakes, if it could be read so far.
        """
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes
        self.rest = rest


def boolean(value: Any) -> bool:
    """Return a value that is true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def texts(
    words: str = 'a list of texts, such as ["one", "two"]',
    is_legal: Callable[[str], object] = bool,
    *,
    may_be_one: bool = False,
) -> ReadValue:
    """Return a function that reads a list of texts.

    An object stands for its name, as ckanext-harvest has it for tags and groups.

    :param words: the allowed values.
    :param may_be_one: a single text counts as a list.
    """

    def read(value: Any) -> tuple[str, ...]:
        items = [value] if may_be_one and isinstance(value, str) else value
        if not isinstance(items, list):
            raise ValueError(words)
        named = [
            one.get("name") or one.get("id") if isinstance(one, dict) else one for one in items
        ]
        if not all(isinstance(text, str) and text.strip() for text in named):
            raise ValueError(words)
        texts = [str(text).strip() for text in named]
        for text in texts:
            if not is_legal(text):
                raise ValueError(f"{words}; {_quoted(text)} is none")
        return tuple(texts)

    return read


def _number(low: float, high: float, *, whole: bool = False) -> Callable[[Any], Any]:
    kind = "a whole number" if whole else "a number"

    def read(value: Any) -> Any:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or not low <= value <= high or (whole and value != int(value)):
            raise ValueError(f"{kind} from {low} to {high}")
        return int(value) if whole else float(value)

    return read


def _frequency(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise ValueError('an update frequency, such as "30", "P1M" or "monthly"')
    return str(value).strip()


def _headers(value: Any) -> dict[str, dict[str, str]]:
    words = 'an object of header names with {"env": NAME} or {"file": PATH} as value, never the value itself'
    if not isinstance(value, dict):
        raise ValueError(words)
    for name, origin in value.items():
        ok = isinstance(origin, dict) and len(origin) == 1 and set(origin) <= {"env", "file"}
        if not _HEADER_NAME.match(name) or not ok:
            raise ValueError(words)
        if not all(isinstance(text, str) and text.strip() for text in origin.values()):
            raise ValueError(words)
        if name.lower() in _SET_BY_THE_CLIENT:
            raise ValueError(f"{words}; {name} is set by the harvester itself")
    return value


def one_of(values: Collection[str]) -> ReadValue:
    """Return a function that reads one of some texts."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise ValueError(" or ".join(_quoted(text) for text in values))
        return value

    return read


_FIELDS = texts(
    'a list of fields, such as ["title", "tags", "resources.name"]: keys of the dataset or of its extras, '
    "tags, groups, resources, or resources.<key>",
    _FIELD.match,
)
_TAGS = texts(
    f"a list of tags of {TAG_CHARACTERS[0]} to {TAG_CHARACTERS[1]} letters, digits, spaces and -_. each, "
    'such as ["health"]',
    lambda text: tag(text) == text,
)
_HOSTS = texts(
    'a list of host names without scheme or port, such as ["data.example.org"]', _HOST.match
)


def _setting(read: ReadValue, default: Any = None) -> Any:
    """Return the field of a key that sources of any type may have.

    :param read: reads its value.
    """
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A source's checked configuration, with defaults."""

    max_delete_fraction: float | None = _setting(_number(0, 1))
    """None means the site's option, as for ``max_deletions``."""
    max_deletions: int | None = _setting(_number(0, 10_000_000, whole=True))
    absent_for: float = _setting(_number(0, 3650), 0.0)
    """Days for which a record must be absent before it is deleted."""
    on_absence: str = _setting(one_of(("delete", "keep")), "delete")
    """What happens to a record that is absent."""
    delete_unlisted: bool = _setting(boolean, False)
    """Whether records are deleted that no list has, although their own URLs still answer."""
    keep_fields: tuple[str, ...] = _setting(_FIELDS, ())
    default_tags: tuple[str, ...] = _setting(_TAGS, ())
    default_groups: tuple[str, ...] = _setting(texts(), ())
    default_frequency: str | None = _setting(_frequency)
    notify_contacts: bool = _setting(boolean, False)
    timeout: float | None = _setting(_number(1, 3600))
    """Seconds for a whole answer; None means the site's option."""
    concurrency: int | None = _setting(_number(1, 64, whole=True))
    requests_per_second: float | None = _setting(_number(0.01, 10_000))
    max_records: int = _setting(_number(1, 10_000_000, whole=True), 100_000)
    allowed_hosts: tuple[str, ...] = _setting(_HOSTS, ())
    headers: Mapping[str, Mapping[str, str]] | None = _setting(_headers)
    keep_copies: bool = _setting(boolean, False)
    """Whether checks keep copies of the resources."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Values of the keys that only sources of this type have."""


KEYS: Mapping[str, ReadValue] = {
    one.name: one.metadata["read"] for one in fields(SourceConfig) if one.metadata
}
"""The keys that sources of any type may have."""


@dataclass(frozen=True, slots=True)
class Source:
    """A harvest source."""

    id: str
    url: str
    type: str
    title: str
    config: SourceConfig
    warnings: tuple[str, ...] = ()
    """For people: the keys of its configuration that have no effect."""


def parse(text: str | None, *, own_keys: Mapping[str, ReadValue]) -> tuple[SourceConfig, list[str]]:
    """Read a source's configuration.

    :param text: JSON text; empty or None means all defaults.
    :param own_keys: keys that only sources of this type have.
    :returns: the configuration, and warnings about keys of other harvesters, which have no effect.
    :raises ConfigError: names every mistake: text that is no JSON object, unknown keys, wrong values.
    """
    if not text or not text.strip():
        return SourceConfig(), []
    try:
        plain = json.loads(text)
    except ValueError as error:
        where = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        raise ConfigError(
            "The configuration is not valid JSON: there is a mistake in line {} near character {}. Look there "
            "for a missing or surplus comma, bracket or quotation mark".format(*where)
        ) from error
    except RecursionError as error:
        raise ConfigError("The configuration is nested too deeply to be read") from error
    if not isinstance(plain, dict):
        raise ConfigError('The configuration must be a JSON object, such as {"language": "en"}')
    keys = {**own_keys, **KEYS}
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for key, value in plain.items():
        if key in keys and value is not None:
            try:
                values[key] = keys[key](value)
            except ValueError as error:
                mistakes.append(f'"{key}" must be {error}')
    foreign = [key for key in plain if key not in keys and key in FOREIGN_KEYS]
    for key in plain:
        if key not in keys and key not in FOREIGN_KEYS:
            nearest = difflib.get_close_matches(key, keys, 1)
            advice = (
                f'Did you mean "{nearest[0]}"?' if nearest else f"Allowed keys: {', '.join(keys)}"
            )
            mistakes.append(f"Unknown key {_quoted(key)}. {advice}")
    own = {key: values.pop(key) for key in own_keys if key in values}
    config = SourceConfig(**values, own=own)
    if mistakes:
        raise ConfigError(*mistakes, rest=config)
    warnings = [f'"{key}" belongs to another harvester and has no effect here' for key in foreign]
    return config, warnings


# Values of headers

OPTION = "ckanext.freshness.harvest.header_secrets"

Headers = Mapping[str, Mapping[str, str]]
"""Header name to where its value is: ``{"env": NAME}`` or ``{"file": PATH}``."""


def check_allowed(headers: Headers | None, listed: Iterable[str]) -> None:
    """Refuse variables and files that only a sysadmin may name.

    :param listed: entries ``env:NAME`` or ``file:PATH``, each optionally followed by ``@host``.
    :raises ConfigError: names each refused header and what to do.
    """
    allowed = {_split(entry)[0] for entry in listed}
    refused = [
        f'"headers": {name} may not take its value from {_key(origin)}: only a sysadmin may save '
        f"this, unless the site's option {OPTION} lists it"
        for name, origin in (headers or {}).items()
        if _key(origin) not in allowed
    ]
    if refused:
        raise ConfigError(*refused)


def read_headers(
    headers: Headers | None,
    host: str,
    listed: Iterable[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Return the configured headers with their values, read now.

    :param host: the source's host. It receives no value that the option lists for other hosts only.
    :raises ConfigError: a variable or a file is missing, or is not for this host, or its value cannot be
        sent. The text names the variable or file, never its value.
    """
    hosts: dict[str, set[str]] = {}
    for entry in listed:
        key, only_host = _split(entry)
        hosts.setdefault(key, set()).add(only_host)
    values = {}
    for name, origin in (headers or {}).items():
        receivers = hosts.get(_key(origin), {""})
        if not receivers & {"", host.lower()}:
            raise ConfigError(
                f'"headers": {name} takes its value from {_key(origin)}, which {OPTION} lists for '
                f"{', '.join(sorted(receivers))} and not for {host}"
            )
        value = _read(name, origin, environment).strip()
        if not value or any(ord(character) < 32 or ord(character) > 255 for character in value):
            raise ConfigError(f'"headers": the value of {name} is empty or no legal header value')
        values[name] = value
    return values


def _read(name: str, origin: Mapping[str, str], environment: Mapping[str, str]) -> str:
    if "env" in origin:
        if origin["env"] not in environment:
            raise ConfigError(
                f'"headers": {name} takes its value from the environment variable '
                f"{origin['env']}, which is not set for this process"
            )
        return environment[origin["env"]]
    try:
        return Path(origin["file"]).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise ConfigError(
            f'"headers": {name} takes its value from the file {origin["file"]}, '
            f"which cannot be read ({why})"
        ) from error


def _key(origin: Mapping[str, str]) -> str:
    """Return the entry of the option for an origin, without a host."""
    ((kind, name),) = origin.items()
    return f"{kind}:{name}"


def _split(entry: str) -> tuple[str, str]:
    """Split an entry of the option; the host is "" if every host may receive the value."""
    key, _, host = entry.partition("@")
    with contextlib.suppress(ValueError):
        return key, host_name(host)
    return key, host.lower()
