"""Requests to a source: the hosts that a crawl may contact, and the headers that it may send.

A source's configuration only names an environment variable or a file for the value of a header. An
editor of a source also chooses its URL, and could have any secret of the machine sent to a server of
their own. Therefore only sysadmins name any variable or file; all others may use those that the option
``ckanext.freshness.harvest.header_secrets`` lists. An entry of the option may also name the only host
that receives the value, whoever names it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ..web.errors import FetchError
from ..web.urls import Target, normal_host, parse_url
from .source_config import ConfigError

OPTION = "ckanext.freshness.harvest.header_secrets"

Headers = Mapping[str, Mapping[str, str]]
"""Header name to where its value is: ``{"env": NAME}`` or ``{"file": PATH}``."""


class SourceHosts:
    """The hosts that a crawl of one source may contact, and the origin that receives its headers.

    A source URL that cannot be used is no error here: the first request reports it.

    :ivar hosts: normalised host names: the source's own and the allowed ones
    """

    def __init__(
        self,
        source_url: str,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: hosts that may be contacted besides the source's own.
        :param headers: sent only to the source's own origin (scheme, host and port), because they may be
            secret and a document may name any URL.
        """
        self.hosts: set[str] = set()
        self._headers = headers or {}
        self._origin: tuple[str, str, int] | None = None
        for host in allowed_hosts:
            with contextlib.suppress(FetchError):
                self.hosts.add(normal_host(host))
        with contextlib.suppress(FetchError):
            source = parse_url(source_url)
            self._origin = source.origin
            self.hosts.add(source.host)

    def sends_headers_to(self, url: str) -> bool:
        """Return whether requests for a URL carry the configured headers."""
        with contextlib.suppress(FetchError):
            return bool(self.headers_for(parse_url(url)))
        return False

    def headers_for(self, target: Target) -> Mapping[str, str]:
        """Return the configured headers for a URL: none outside the source's own origin."""
        return self._headers if target.origin == self._origin else {}


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
    return key, host.lower()
