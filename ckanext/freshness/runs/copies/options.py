"""The site's options about copies, read on each use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import ckan.plugins.toolkit as tk

from ... import settings
from ...copies.store import Store


@dataclass(frozen=True, slots=True)
class CopyChoice:
    """The resources whose copies are kept, besides those that update cycles keep.

    :ivar everything: keep a copy of each checked resource
    :ivar formats: keep copies of resources of these formats, in lower case
    :ivar organizations: keep copies of resources of these organizations, by name
    """

    everything: bool
    formats: frozenset[str]
    organizations: frozenset[str]

    @property
    def wanted(self) -> bool:
        """Whether the options alone select any resources."""
        return self.everything or bool(self.formats) or bool(self.organizations)


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The site's options for copies: their place, and how long they are kept.

    :ivar location: a directory, or a URL of fsspec
    :ivar quota: bytes of all copies together; None for no limit
    :ivar expire_after: how long a source must have failed before its copy is removed; None for never. Copies of
        update cycles have a limit of their own.
    """

    location: str
    quota: int | None
    expire_after: timedelta | None


def choice() -> CopyChoice:
    """Return the site's choice of resources."""
    return CopyChoice(
        everything=settings.flag("copies.all"),
        formats=frozenset(name.lower() for name in settings.words("copies.formats")),
        organizations=frozenset(settings.words("copies.organizations")),
    )


def copies() -> CopyOptions:
    """Return where copies are kept, and for how long.

    :raises OptionError: the site has no place for copies
    """
    days = float(settings.option("copies.expire_days"))
    return CopyOptions(
        location=_location(),
        quota=int(settings.option("copies.quota_bytes")) or None,
        expire_after=timedelta(days=days) if days else None,
    )


def store(options: CopyOptions | None = None) -> Store:
    """Return the store of the site's copies.

    :raises OptionError: the site has no place for copies
    :raises StoreError: the location cannot be used
    """
    options = options or copies()
    return Store(options.location, options.quota)


def _location() -> str:
    given = settings.option("copies.location")
    if given:
        return str(given)
    storage = tk.config.get("ckan.storage_path")
    if not storage:
        raise settings.OptionError(
            "ckanext.freshness.copies.location must name a directory or a store for copies, since the "
            "site has no ckan.storage_path"
        )
    return str(Path(storage) / "freshness")
