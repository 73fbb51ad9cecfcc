"""The form of a source: its URL and its configuration, as all source types check them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

import ckan.plugins.toolkit as tk
from flask import has_request_context

from ..ckan_adapter import model
from ..web.errors import FetchError
from ..web.urls import parse_url
from .header_secrets import OPTION, check_allowed
from .source_config import ConfigError, SourceConfig, examine

log = logging.getLogger(__name__)


def check_config(
    text: str,
    *,
    without: Collection[str] = (),
    more: Callable[[SourceConfig], None] = lambda config: None,
) -> None:
    """Check a source's configuration, and tell its editor which keys have no effect.

    :param without: keys that say nothing about sources of this type.
    :param more: raises ConfigError for mistakes that only this type of source can have.
    :raises ConfigError: names every mistake, with the allowed values.
    """
    config, warnings, mistakes = examine(text, without=without)
    for check in (_check_headers, _check_groups, more):
        try:
            check(config)
        except ConfigError as error:
            mistakes += error.mistakes
    if mistakes:
        raise ConfigError(*mistakes)
    for warning in warnings:
        _tell(warning)


def url_mistake(url: str) -> str | None:
    """Return why a URL cannot be that of a source, for its editor, or None."""
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


def _check_headers(config: SourceConfig) -> None:
    if _somebody_else_asks():
        check_allowed(config.headers, tk.config.get(OPTION))


def _check_groups(config: SourceConfig) -> None:
    missing = []
    for name in config.default_groups:
        group = model.Group.get(name)
        if group is None or group.is_organization:
            missing.append(f'"default_groups": there is no group called {name}')
    if missing:
        raise ConfigError(*missing)


def _somebody_else_asks() -> bool:
    """Whether a person who is no sysadmin saves a source; commands are the machine's own."""
    return has_request_context() and not getattr(tk.current_user, "sysadmin", False)


def _tell(warning: str) -> None:
    log.warning("Configuration of a harvest source: %s", warning)
    if has_request_context() and tk.request.blueprint == "harvest":
        tk.h.flash_notice(warning)
