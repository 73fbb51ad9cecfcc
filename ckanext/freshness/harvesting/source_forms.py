"""The configuration box of a source's form, as all source types check it."""

from __future__ import annotations

import logging
from collections.abc import Collection

import ckan.plugins.toolkit as tk
from flask import has_request_context

from ..ckan_adapter import model
from .header_secrets import OPTION, check_allowed
from .source_config import ConfigError, SourceConfig, parse

log = logging.getLogger(__name__)


def check_config(text: str, *, without: Collection[str] = ()) -> SourceConfig:
    """Check a source's configuration, and tell of what in it has no effect.

    :param without: keys that say nothing about sources of this type.
    :raises ConfigError: names the key and the allowed values.
    """
    config, warnings = parse(text, without=without)
    for warning in warnings:
        _tell(warning)
    if _somebody_else_asks():
        check_allowed(config.headers, tk.config.get(OPTION))
    for group in config.default_groups:
        found = model.Group.get(group)
        if found is None or found.is_organization:
            raise ConfigError(f'"default_groups": there is no group called {group}')
    return config


def _somebody_else_asks() -> bool:
    """Whether a person who is no sysadmin saves a source; commands are the machine's own."""
    return has_request_context() and not getattr(tk.current_user, "sysadmin", False)


def _tell(warning: str) -> None:
    log.warning("Configuration of a harvest source: %s", warning)
    if has_request_context() and tk.request.blueprint == "harvest":
        tk.h.flash_notice(warning)
