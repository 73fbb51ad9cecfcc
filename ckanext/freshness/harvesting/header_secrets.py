"""Secrets in the headers of requests to a source: where they are found, and who may have them sent.

A source's configuration only names an environment variable or a file. Whoever may edit a source chooses
its URL too, and could have any secret of the machine sent to a server of his own. So only sysadmins
name what they like; everybody else what ``ckanext.freshness.harvest.header_secrets`` lists. An entry of
it may also say to which host alone its value is sent, whoever names it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from .source_config import ConfigError

OPTION = "ckanext.freshness.harvest.header_secrets"

Headers = Mapping[str, Mapping[str, str]]


def check_allowed(headers: Headers | None, listed: Iterable[str]) -> None:
    """Refuse values that only a sysadmin may name.

    :param listed: entries ``env:NAME``, ``file:PATH``, each optionally followed by ``@host``.
    :raises ConfigError: names each such header and what to do.
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
    """The values of the configured headers, read at the moment of use.

    :param host: of the source: what the option lists for other hosts alone is not sent there.
    :raises ConfigError: a variable or a file that is not there, or is not for this host; the text names
        it, never its value.
    """
    hosts: dict[str, set[str]] = {}
    for entry in listed:
        key, only = _split(entry)
        hosts.setdefault(key, set()).add(only)
    values = {}
    for name, origin in (headers or {}).items():
        only_for = hosts.get(_key(origin), {""})
        if not only_for & {"", host.lower()}:
            raise ConfigError(
                f'"headers": {name} takes its value from {_key(origin)}, which {OPTION} lists for '
                f"{', '.join(sorted(only_for))} and not for {host}"
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
    ((kind, where),) = origin.items()
    return f"{kind}:{where}"


def _split(entry: str) -> tuple[str, str]:
    key, _, host = entry.partition("@")
    return key, host.lower()
