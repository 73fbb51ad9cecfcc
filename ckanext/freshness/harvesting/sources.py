"""Harvest sources: their types, the check of their form, and sources that are made again."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from flask import has_request_context

from ..ckan_adapter.core import model
from ..ckan_adapter.harvest import get_harvester, registered_source_types
from ..web.errors import FetchError
from ..web.urls import Target, normal_host, parse_url
from .record import Containers, CurrentRecords, NotHarvested, Sink, spelling
from .source_config import OPTION, ConfigError, ReadValue, SourceConfig, check_allowed, parse
from .source_memory import SourceMemory

log = logging.getLogger(__name__)

_package = model.Package.__table__


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


@dataclass(slots=True)
class CrawlEnd:
    """The result of a crawl, besides the records that it handed on."""

    containers: Containers
    errors: list[str] = field(default_factory=list)
    """For people: a line with URL and reason for each container that could not be read."""
    warnings: list[str] = field(default_factory=list)
    """For people: a line for each oddity of the source's lists that cost nothing."""
    not_harvested: dict[str, NotHarvested] = field(default_factory=dict)
    """Members of the source's lists that become no dataset, by their kind in a few words."""
    requests: int = 0


class SourceType(Protocol):
    """A source type: how its sources are crawled. Classes, deletions and import are the same for all.

    Everything that a type must bring is here; the core asks for no type by its name. What a type remembers from
    one job to the next, only the type reads: of a source in its :class:`.SourceMemory`, of a record in
    :attr:`.record.Sighting.memory`. A type whose source is one document or one API, such as a DCAT catalogue or
    a CKAN portal, has its pages as containers, and :mod:`.listings` says what proves that they were read whole.
    """

    @property
    def name(self) -> str:
        """The type's name in ckanext-harvest."""

    @property
    def min_records(self) -> int:
        """The brake looks at the share of deleted records only if at least so many are current."""

    @property
    def organizations(self) -> bool:
        """Whether catalogs are organisations.

        If so, each becomes a CKAN organization that owns its datasets, and the brake counts
        organisations and datasets separately.
        """

    @property
    def owned_keys(self) -> frozenset[str]:
        """Keys that are removed from a package when its record no longer has them.

        For a type with organizations, the keys of the record's previous harvest are added.
        """

    @property
    def own_keys(self) -> Mapping[str, ReadValue]:
        """Keys of the configuration that only sources of this type have."""

    @property
    def adopts(self) -> tuple[str, ...]:
        """Types of deleted sources whose packages a source of this type takes over."""

    def validate_config(self, text: str) -> str:
        """Return the configuration from a source's form if it can be used.

        :raises ConfigError: names every mistake.
        """

    def advice(self, url: str) -> str | None:
        """Return a warning about a source's URL, for the editor who saves it; None if there is none."""

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: SourceMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        """Read a source, and hand each record to the sink as soon as it is read.

        A crawl decides nothing. It must tell "the record is not there" from "the record could not be seen":
        each container that was not read whole belongs into ``containers.unreadable``. Each record is handed to
        the sink once.

        :param known: the current records of the source.
        :param memory: what earlier jobs kept there.
        :param now: when the job began.
        :raises ConfigError: the source's configuration cannot be used.
        """


class ForeignSource(ValueError):
    """The type of a source belongs to another harvester. The text says so, for people."""


def source_type_named(name: str | None) -> SourceType | None:
    """Return our source type with a name.

    :returns: None if the type belongs to another harvester, or if its plugin is not enabled.
    """
    found: SourceType | None = getattr(get_harvester(name), "source_type", None)
    return found


def our_names() -> list[str]:
    """Return the names of the source types that this site's enabled plugins add."""
    return [name for name in registered_source_types() if source_type_named(name)]


def source_of(source: Any) -> Source:
    """Return a source with its configuration.

    :param source: a HarvestSource row.
    :raises ConfigError: its configuration cannot be used.
    """
    source_type = source_type_named(source.type)
    own_keys = source_type.own_keys if source_type else {}
    config, warnings = parse(source.config, own_keys=own_keys)
    title = source.title or source.url
    return Source(source.id, source.url, source.type, title, config, tuple(warnings))


def check_config(
    text: str,
    *,
    own_keys: Mapping[str, ReadValue],
    without: Collection[str] = (),
    more: Callable[[SourceConfig], None] = lambda config: None,
) -> None:
    """Check the configuration in a source's form, and tell the editor which keys have no effect.

    :param own_keys: keys that only sources of this type have.
    :param without: keys that sources of this type do not have.
    :param more: a check of this source type; it raises ConfigError.
    :raises ConfigError: names every mistake, with the allowed values.
    """
    mistakes: list[str] = []
    try:
        config, warnings = parse(text, own_keys=own_keys, without=without)
    except ConfigError as error:
        if error.rest is None:
            raise
        config, warnings = error.rest, []
        mistakes += error.mistakes
    for check in (_check_headers, _check_groups, more):
        try:
            check(config)
        except ConfigError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    for warning in warnings:
        warn_editor(warning)


def warn_editor(warning: str) -> None:
    """Log a warning about a source that is being saved, and show it if its form is saved."""
    log.warning("Harvest source: %s", warning)
    if has_request_context() and tk.request.blueprint == "harvest":
        tk.h.flash_notice(warning)


def _check_headers(config: SourceConfig) -> None:
    # Without a request a command saves the source: it may name what it likes, as a sysadmin may.
    if has_request_context() and not getattr(tk.current_user, "sysadmin", False):
        check_allowed(config.headers, tk.config.get(OPTION))


def _check_groups(config: SourceConfig) -> None:
    groups = {name: model.Group.get(name) for name in config.default_groups}
    missing = [
        f'"default_groups": there is no group called {name}'
        for name, group in groups.items()
        if group is None or group.is_organization
    ]
    if missing:
        raise ConfigError(*missing)


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


def url_mistake(url: str) -> str | None:
    """Return, for the editor, why a URL cannot be that of a source; None if it can."""
    try:
        target = parse_url(url)
    except FetchError as error:
        return f"The URL {error.words}"
    if target.authorization is not None:
        return (
            "The URL contains a user name or password, which everybody could read. Remove it from the "
            'URL and name an environment variable or a file under "headers" in the configuration'
        )
    return None


def free_url_and_name(url: Any, name: Any) -> None:
    """Take a URL and a name from deleted harvest sources, so that a new source can have them. No commit.

    The package of the deleted source gets a URL that says so, and a name with its id. Its HarvestSource
    row keeps the URL, and its records stay: the new source takes over their packages.

    :param url: the new source's URL. Values that are not texts are ignored here; validators refuse them.
    :param name: the new source's name, with the same rule.
    """
    deleted = sa.and_(_package.c.type == "harvest", _package.c.state == "deleted")
    if isinstance(url, str) and url.strip():
        rows = model.Session.execute(sa.select(_package.c.id, _package.c.url).where(deleted))
        for source_id, old in rows:
            if old and _without_query(old) == _without_query(url):
                _update_package(source_id, url=f"deleted {source_id} {old}")
    if isinstance(name, str) and name:
        source_id = model.Session.execute(
            sa.select(_package.c.id).where(deleted, _package.c.name == name)
        ).scalar()
        if source_id is not None:
            suffix = f"-deleted-{source_id}"
            _update_package(
                source_id, name=name[: model.PACKAGE_NAME_MAX_LENGTH - len(suffix)] + suffix
            )


def _without_query(url: str) -> str:
    """Return the part of a URL by which ckanext-harvest compares sources, however it is spelled."""
    return spelling(re.split("[;?#]", url, maxsplit=1)[0])


def _update_package(package_id: str, **values: str) -> None:
    model.Session.execute(sa.update(_package).where(_package.c.id == package_id).values(**values))
