"""The options that plugins declare, and what CKAN says of their values."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from ckan.common import config_declaration


def declared_options(prefix: str) -> list[str]:
    """The keys of the declared options that begin with something."""
    return [key for key in map(str, config_declaration.iter_options()) if key.startswith(prefix)]


def misdeclared_options(prefix: str) -> dict[str, str]:
    """What CKAN says of options whose values are not of their declared type, by key.

    CKAN starts with them all the same, unless its ``config.mode`` is strict.
    """
    _, errors = config_declaration.validate(tk.config)
    return {
        str(key): " ".join(map(str, words))
        for key, words in errors.items()
        if str(key).startswith(prefix)
    }
