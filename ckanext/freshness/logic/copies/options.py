"""The site's options about copies and about IATI's cycle, read when used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk

from ...checking.iati.state import Policy
from ...copies.location import open_store
from ...copies.store import Store
from ...settings import OptionError

_LONGEST_DAYS = 100 * 366


@dataclass(frozen=True, slots=True)
class Choice:
    """Of which resources copies are kept, besides those of IATI's registries.

    :ivar everything: keep one of each resource that is checked
    :ivar formats: keep one of resources of these formats, in lower case
    :ivar organizations: keep one of resources of these organizations, by name
    """

    everything: bool
    formats: frozenset[str]
    organizations: frozenset[str]

    @property
    def wanted(self) -> bool:
        """Whether the options alone have any copies kept."""
        return self.everything or bool(self.formats) or bool(self.organizations)


@dataclass(frozen=True, slots=True)
class Copies:
    """Where copies are kept, and for how long.

    :ivar location: a directory, or a URL of fsspec's
    :ivar quota: bytes of all copies together; None for no bound
    :ivar expire_after: since when a source must have failed until its copy is removed; None for never.
        IATI's copies have a time of their own.
    """

    location: str
    quota: int | None
    expire_after: timedelta | None


def choice() -> Choice:
    """Of which resources copies are kept."""
    option = tk.config.get
    return Choice(
        everything=bool(option("ckanext.freshness.copies.all")),
        formats=frozenset(one.lower() for one in option("ckanext.freshness.copies.formats")),
        organizations=frozenset(option("ckanext.freshness.copies.organizations")),
    )


def copies() -> Copies:
    """Where copies are kept, and for how long.

    :raises OptionError: an option that cannot be used; the text names it.
    """
    days = _number("ckanext.freshness.copies.expire_days", _LONGEST_DAYS)
    quota = int(_number("ckanext.freshness.copies.quota_bytes", math.inf))
    return Copies(
        location=_location(),
        quota=quota or None,
        expire_after=timedelta(days=days) if days else None,
    )


def iati(*, strict: bool = False) -> Policy:
    """The times of IATI's cycle.

    :param strict: the rules alone, without the back-off of files that fail.
    :raises OptionError: an option that cannot be used; the text names it.
    """
    most = _hours("ckanext.freshness.iati.max_backoff_hours")
    try:
        return Policy(
            download_after=_hours("ckanext.freshness.iati.head_within_hours"),
            trusted_for=_hours("ckanext.freshness.iati.trust_within_hours"),
            expire_after=_hours("ckanext.freshness.iati.expire_after_hours"),
            backoff_first=min(Policy().backoff_first, most),
            backoff_most=most,
            strict=strict,
            jitter=_hours("ckanext.freshness.iati.jitter_hours"),
        )
    except ValueError as error:
        raise OptionError(f"ckanext.freshness.iati: {_in_options(str(error))}") from error


_OPTIONS = {
    "download_after": "head_within_hours",
    "trusted_for": "trust_within_hours",
    "backoff_most": "max_backoff_hours",
    "backoff_first": "15 minutes",
    "jitter": "jitter_hours",
}
"""What the policy's times are called as options."""


def _in_options(words: str) -> str:
    for name, option in _OPTIONS.items():
        words = words.replace(name, option)
    return words


def store(options: Copies | None = None) -> Store:
    """The store of the site's copies.

    :raises OptionError: an option that cannot be used; the text names it.
    :raises StoreError: the location cannot be used.
    """
    options = options or copies()
    return open_store(options.location, quota=options.quota)


def _location() -> str:
    given = tk.config.get("ckanext.freshness.copies.location")
    if given:
        return str(given)
    storage = tk.config.get("ckan.storage_path")
    if not storage:
        raise OptionError(
            "ckanext.freshness.copies.location must name a directory or a store for copies, since the "
            "site has no ckan.storage_path"
        )
    return str(Path(storage) / "freshness")


def _hours(key: str) -> timedelta:
    return timedelta(hours=_number(key, _LONGEST_DAYS * 24))


def _number(key: str, most: float) -> float:
    value: Any = tk.config.get(key)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number) or not 0 <= number <= most or math.isinf(number):
        bound = "" if math.isinf(most) else f" and {most:.0f} at most"
        raise OptionError(f"{key} must be a number of 0 or more{bound}, not {value!r}")
    return number
