"""The configuration of a harvest source: a JSON object, with a row in :data:`KEYS` for each key.

Everybody can read it through the API. Therefore it never contains secrets: values of ``headers`` only name
an environment variable or a file (see :mod:`.source_requests`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from .legal_values import TAG_CHARACTERS, is_tag

FOREIGN_KEYS = frozenset(
    [
        *("rdf_format", "catalog_fields"),
        # ckanext-harvest, for CKAN portals
        *("remote_orgs", "remote_groups", "default_extras", "override_extras", "clean_tags"),
        *("force_all", "read_only", "user", "api_key", "api_version", "resource_formats"),
        *("organizations_filter_include", "organizations_filter_exclude"),
        *("groups_filter_include", "groups_filter_exclude"),
        # ckanext-fairdatapoint
        *("profile", "request_timeout", "template_package_id", "resolve_labels"),
    ]
)
"""Keys of other harvesters whose sources can be switched to ours. They have no effect, with a warning."""

ReadValue = Callable[[Any], Any]
"""Returns a key's value as the code uses it, or raises ValueError with the allowed values."""

_NO_KEYS: Mapping[str, ReadValue] = {}

_LANGUAGE = re.compile(r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")
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

    def __init__(self, *mistakes: str) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = mistakes


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """A source's checked configuration, with defaults."""

    harvest_catalogs: bool = False
    profiles: tuple[str, ...] = ()
    language: str | None = None
    max_delete_fraction: float | None = None
    """None means the site's option, as for ``max_deletions``."""
    max_deletions: int | None = None
    keep_fields: tuple[str, ...] = ()
    default_tags: tuple[str, ...] = ()
    default_groups: tuple[str, ...] = ()
    default_frequency: str | None = None
    notify_contacts: bool = False
    timeout: float | None = None
    """Seconds for a whole answer; None means the site's option."""
    concurrency: int | None = None
    requests_per_second: float | None = None
    max_records: int = 100_000
    allowed_hosts: tuple[str, ...] = ()
    headers: Mapping[str, Mapping[str, str]] | None = None
    keep_copies: bool = False
    """Whether checks keep copies of the resources."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """Values of the keys that only sources of this type have."""


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _texts(value: Any, words: str = 'a list of texts, such as ["one", "two"]') -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(text, str) and text.strip() for text in value
    ):
        raise ValueError(words)
    return tuple(text.strip() for text in value)


def _profiles(value: Any) -> tuple[str, ...]:
    """Read ``profiles``. ckanext-fairdatapoint's documentation has a single text."""
    return _texts([value] if isinstance(value, str) else value)


def _hosts(value: Any) -> tuple[str, ...]:
    hosts = _texts(value)
    if not all(_HOST.match(host) for host in hosts):
        raise ValueError(
            'a list of host names without scheme or port, such as ["data.example.org"]'
        )
    return tuple(host.lower() for host in hosts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _fields(value: Any) -> tuple[str, ...]:
    """Read ``keep_fields`` as :func:`.package_merge.merge` expects it.

    Only ``resources.<key>`` has a dot. An extra is named by its key alone.
    """
    words = 'a list of fields, such as ["title", "tags", "resources.name"]'
    fields = _texts(value, words)
    for name in fields:
        if not _FIELD.match(name):
            raise ValueError(
                f"{words}; {_quoted(name)} is none: a field is a key of the dataset or of its extras, "
                "tags, groups, resources, or resources.<key>"
            )
    return fields


def _tags(value: Any) -> tuple[str, ...]:
    words = (
        f"a list of tags of {TAG_CHARACTERS[0]} to {TAG_CHARACTERS[1]} letters, digits, spaces and -_. "
        'each, such as ["health"]'
    )
    tags = _texts(_unwrapped(value), words)
    for tag in tags:
        if not is_tag(tag):
            raise ValueError(f"{words}; {_quoted(tag)} is none")
    return tags


def _names(value: Any) -> tuple[str, ...]:
    """Read names or ids of groups."""
    return _texts(_unwrapped(value))


def _unwrapped(value: Any) -> Any:
    """Return a list with the names of its objects, which ckanext-harvest uses for tags and groups."""
    if not isinstance(value, list):
        return value
    return [
        item.get("name") or item.get("id") if isinstance(item, dict) else item for item in value
    ]


def _number(low: float, high: float, *, whole: bool = False) -> Callable[[Any], Any]:
    kind = "a whole number" if whole else "a number"

    def read(value: Any) -> Any:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not fits or not low <= value <= high or (whole and value != int(value)):
            raise ValueError(f"{kind} from {low} to {high}")
        return int(value) if whole else float(value)

    return read


def _language(value: Any) -> str:
    if not isinstance(value, str) or not _LANGUAGE.match(value):
        raise ValueError('a language tag, such as "en" or "pt-BR"')
    return value.lower()


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


KEYS: Mapping[str, ReadValue] = {
    "harvest_catalogs": _boolean,
    "profiles": _profiles,
    "language": _language,
    "max_delete_fraction": _number(0, 1),
    "max_deletions": _number(0, 10_000_000, whole=True),
    "keep_fields": _fields,
    "default_tags": _tags,
    "default_groups": _names,
    "default_frequency": _frequency,
    "notify_contacts": _boolean,
    "timeout": _number(1, 3600),
    "concurrency": _number(1, 64, whole=True),
    "requests_per_second": _number(0.01, 10_000),
    "max_records": _number(1, 10_000_000, whole=True),
    "allowed_hosts": _hosts,
    "headers": _headers,
    "keep_copies": _boolean,
}
"""The keys that sources of any type may have."""


def parse(
    text: str | None, *, own_keys: Mapping[str, ReadValue] = _NO_KEYS
) -> tuple[SourceConfig, list[str]]:
    """Read a source's configuration.

    :param text: JSON text; empty or None means all defaults.
    :param own_keys: keys that only sources of this type have.
    :returns: the configuration, and warnings about keys of other harvesters, which have no effect.
    :raises ConfigError: names every mistake: text that is no JSON object, unknown keys, wrong values.
    """
    config, warnings, mistakes = examine(text, own_keys=own_keys)
    if mistakes:
        raise ConfigError(*mistakes)
    return config, warnings


def examine(
    text: str | None,
    *,
    own_keys: Mapping[str, ReadValue] = _NO_KEYS,
    without: Collection[str] = (),
) -> tuple[SourceConfig, list[str], list[str]]:
    """Read a source's configuration as far as possible. See :func:`parse`.

    :param without: keys that sources of this type do not have.
    :returns: the configuration with defaults in place of mistakes, the warnings, and the mistakes.
    :raises ConfigError: the text is no JSON object.
    """
    if not text or not text.strip():
        return SourceConfig(), [], []
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"The configuration is not valid JSON: {error}") from error
    except RecursionError as error:
        raise ConfigError("The configuration is nested too deeply to be read") from error
    if not isinstance(plain, dict):
        raise ConfigError('The configuration must be a JSON object, such as {"language": "en"}')
    keys = {key: KEYS[key] for key in KEYS if key not in without} | dict(own_keys)
    values: dict[str, Any] = {}
    warnings: list[str] = []
    mistakes: list[str] = []
    unknown: list[str] = []
    for key, value in plain.items():
        if key not in keys and key in FOREIGN_KEYS:
            warnings.append(f'"{key}" belongs to another harvester and has no effect here')
        elif key not in keys:
            unknown.append(_quoted(key))
        elif value is not None:
            try:
                values[key] = keys[key](value)
            except ValueError as error:
                mistakes.append(f'"{key}" must be {error}')
    if unknown:
        noun = "key" if len(unknown) == 1 else "keys"
        mistakes.append(f"Unknown {noun} {', '.join(unknown)}. Allowed keys: {', '.join(keys)}")
    own = {key: values.pop(key) for key in own_keys if key in values}
    return SourceConfig(**values, own=own), warnings, mistakes
