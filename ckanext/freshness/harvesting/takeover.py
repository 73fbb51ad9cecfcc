"""Room for a harvest source that is made again: what its deleted predecessor still occupies."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import model, normalized_source_url

_package = model.Package.__table__


def free_url_and_name(url: Any, name: Any) -> None:
    """Take a URL and a name from deleted harvest sources, so that a new source can have them. No commit.

    The deleted source's own row keeps its URL, and its records stay: the new source takes over their
    datasets. Its dataset-like page gets a URL that says what happened, and a name with its id.

    :param url: of the new source; anything but a text is left to the validators.
    :param name: of the new source; the same.
    """
    deleted = sa.and_(_package.c.type == "harvest", _package.c.state == "deleted")
    if isinstance(url, str) and url.strip():
        wanted = normalized_source_url(url)
        rows = model.Session.execute(sa.select(_package.c.id, _package.c.url).where(deleted))
        for source_id, old in rows:
            if wanted and old and normalized_source_url(old) == wanted:
                _set(source_id, url=f"deleted {source_id} {old}")
    if isinstance(name, str) and name:
        row = model.Session.execute(
            sa.select(_package.c.id).where(deleted, _package.c.name == name)
        ).first()
        if row is not None:
            suffix = f"-deleted-{row.id}"
            _set(row.id, name=name[: model.PACKAGE_NAME_MAX_LENGTH - len(suffix)] + suffix)


def _set(source_id: str, **values: str) -> None:
    model.Session.execute(sa.update(_package).where(_package.c.id == source_id).values(**values))
