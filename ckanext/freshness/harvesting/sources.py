"""Harvest sources: their types, the check of their form, and sources that are made again."""

from __future__ import annotations

import logging
import re
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from flask import has_request_context

from ..ckan_adapter.core import model
from ..ckan_adapter.harvest import get_harvester, registered_source_types
from ..web.errors import FetchError
from ..web.urls import parse_url, spelling
from .source_config import OPTION, ConfigError, Source, SourceConfig, check_allowed, parse
from .source_type import SourceType, editor_may

log = logging.getLogger(__name__)

_package = model.Package.__table__


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
    source_type = source_type_named(source.type) or SourceType()
    config, warnings = parse(source.config, own_keys=source_type.own_keys)
    title = source.title or source.url
    return Source(source.id, source.url, source.type, title, config, tuple(warnings))


def check_config(source_type: SourceType, text: str) -> None:
    """Check the configuration in a source's form, and tell the editor which keys have no effect.

    :raises ConfigError: names every mistake, with the allowed values.
    """
    mistakes: list[str] = []
    try:
        config, warnings = parse(text, own_keys=source_type.own_keys)
    except ConfigError as error:
        if error.rest is None:
            raise
        config, warnings = error.rest, []
        mistakes += error.mistakes
    for check in (_check_headers, _check_groups, source_type.check):
        try:
            check(config)
        except ConfigError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    for warning in warnings:
        _warn_editor(warning)


def _warn_editor(warning: str) -> None:
    """Log a warning about a source that is being saved, and show it if its form is saved."""
    log.warning("Harvest source: %s", warning)
    if has_request_context() and tk.request.blueprint == "harvest":
        tk.h.flash_notice(warning)


def _check_headers(config: SourceConfig) -> None:
    if not editor_may("sysadmin"):
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
