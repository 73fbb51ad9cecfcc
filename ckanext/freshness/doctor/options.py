"""Options that have no effect: they were removed, or are misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from datetime import datetime

import ckan.plugins.toolkit as tk

from ..ckan_adapter import declared_options, removed_options_in_use
from ..settings import PREFIX
from . import Finding, warning


def removed(now: datetime) -> Iterator[Finding]:
    """Options that are set although they were removed."""
    for key, advice in removed_options_in_use(PREFIX).items():
        yield warning(f"The option {key} was removed and has no effect", advice)


def unknown(now: datetime) -> Iterator[Finding]:
    """Options that begin as this extension's do, and that nobody reads: misspelt ones."""
    known = declared_options(PREFIX)
    names = [key.removeprefix(PREFIX) for key in known]
    heeded = {*known, *removed_options_in_use(PREFIX)}
    for key in sorted(key for key in tk.config if key.startswith(PREFIX) and key not in heeded):
        nearest = difflib.get_close_matches(key.removeprefix(PREFIX), names, 1)
        meant = f"Is {PREFIX}{nearest[0]} meant? " if nearest else ""
        yield warning(
            f"There is no option {key}: what it says is not heeded",
            f"{meant}Correct its name in the site's ini file, or take it out.",
        )
