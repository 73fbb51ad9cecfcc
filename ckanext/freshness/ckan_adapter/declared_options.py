"""The options that plugins declare."""

from __future__ import annotations

from ckan.common import config_declaration
from ckan.logic import clear_validators_cache


def forget_validators() -> None:
    """Make CKAN collect the validators of all plugins again.

    CKAN collects them at the first call of ``get_validator``. If a plugin calls it on import, before this
    extension is loaded, CKAN does not know our validators and does not start.
    """
    clear_validators_cache()


def declared_options(prefix: str) -> list[str]:
    """Return the keys of the declared options that begin with a prefix."""
    return [key for key in map(str, config_declaration.iter_options()) if key.startswith(prefix)]
