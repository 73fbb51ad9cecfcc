"""The options that plugins declare, including removed ones."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
from ckan.common import config_declaration
from ckan.config.declaration.option import Flag
from ckan.logic import clear_validators_cache


def forget_validators() -> None:
    """Make CKAN collect the validators of all plugins again.

    CKAN collects them at the first call of ``get_validator``. If a plugin calls it on import, before this
    extension is loaded, CKAN does not know our validators and does not start.
    """
    clear_validators_cache()


def declared_options(prefix: str) -> list[str]:
    """Return the keys of the declared options that begin with a prefix, without removed options."""
    return [key for key in map(str, config_declaration.iter_options()) if key.startswith(prefix)]


def removed_options_in_use(prefix: str) -> dict[str, str]:
    """Return what to do about options that are set and were removed, by key.

    The declaration marks removed options as ``ignored``.
    """
    declared = config_declaration.iter_options(exclude=Flag.none())
    options = {str(key): config_declaration[key] for key in declared}
    return {
        key: " ".join((options[key].description or "").split())
        for key in sorted(tk.config)
        if key.startswith(prefix) and key in options and options[key].has_flag(Flag.ignored)
    }
