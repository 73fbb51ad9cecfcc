"""Options that cannot be used, and options that nobody reads."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from datetime import datetime

import ckan.plugins.toolkit as tk

from .. import settings
from ..ckan_adapter import declared_options, misdeclared_options
from ..harvesting.source_config import SourceConfig
from ..logic.copies import options as copies
from ..reporting import options as reports
from ..web.exchange import Limits
from . import Finding, problem, warning

PREFIX = "ckanext.freshness."


def _copies() -> None:
    # Where no copies can be kept at all, that is said only if some are to be.
    if tk.config.get("ckanext.freshness.copies.location") or tk.config.get("ckan.storage_path"):
        copies.copies()


READERS: tuple[Callable[[], object], ...] = (
    lambda: settings.web(Limits()),
    lambda: settings.harvest_limits(SourceConfig()),
    lambda: settings.harvest_policy(SourceConfig()),
    settings.aging,
    settings.checks,
    _copies,
    copies.iati,
    reports.host_groups,
    settings.mails,
)
"""Everybody who reads options, and raises OptionError where one cannot be used."""


def unusable(now: datetime) -> Iterator[Finding]:
    """Options whose values cannot be used."""
    told = []
    for read in READERS:
        try:
            read()
        except settings.OptionError as error:
            told.append(str(error))
    # Readers say better what a value must be; but they stop at their first, and do not read all.
    told += [
        f"{key}: {words}, not {tk.config.get(key)!r}"
        for key, words in misdeclared_options(PREFIX).items()
        if not any(key in one for one in told)
    ]
    for words in told:
        yield problem(f"An option cannot be used: {words}", "Correct it in the site's ini file.")


def unknown(now: datetime) -> Iterator[Finding]:
    """Options that begin as this extension's do, and that nobody reads: misspelt ones."""
    known = declared_options(PREFIX)
    names = [key.removeprefix(PREFIX) for key in known]
    for key in sorted(key for key in tk.config if key.startswith(PREFIX) and key not in known):
        nearest = difflib.get_close_matches(key.removeprefix(PREFIX), names, 1)
        meant = f"Is {PREFIX}{nearest[0]} meant? " if nearest else ""
        yield warning(
            f"There is no option {key}: what it says is not heeded",
            f"{meant}Correct its name in the site's ini file, or take it out.",
        )
