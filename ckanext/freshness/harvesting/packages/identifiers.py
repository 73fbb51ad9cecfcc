"""Names of harvested datasets and organizations, which stay once given."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Container, Iterable

import sqlalchemy as sa

from ...ckan_adapter.core import model, munge_title_to_name

_LEGAL_NAME = re.compile("[a-z0-9_-]{2,100}")
_RESERVED_NAMES = frozenset({"new", "edit", "search"})

_ORGANIZATIONS = uuid.UUID("0c2c6f0e-5b1e-4d0b-9a3e-3b8c1d6f7e21")
"""Namespace of the organization ids."""


def plain_name(title: str) -> str | None:
    """Return the name that a title suggests; None if fewer than two letters or digits are left of it."""
    name = munge_title_to_name(title).strip("-_")
    return name if sum(character.isalnum() for character in name) >= 2 else None


def own_name(name: str) -> str | None:
    """Return a source's own name for a record if CKAN accepts it, otherwise a legal name made of it."""
    return name if _LEGAL_NAME.fullmatch(name) else plain_name(name)


def taken_names(names: Iterable[str | None], *, organizations: bool = False) -> set[str]:
    """Return the names that a package has, or that lead to CKAN's own pages.

    :param organizations: look at groups and organizations instead of packages.
    """
    wanted = {name for name in names if name}
    column = (model.Group if organizations else model.Package).__table__.c.name
    rows = model.Session.execute(sa.select(column).where(column.in_(wanted)))
    return set(rows.scalars()) | (wanted & _RESERVED_NAMES)


def candidate_names(
    plain: str | None, url: str, source_id: str, used: Container[str], *, stem: str = "dataset"
) -> list[str]:
    """Return names for a new dataset, the best first: the plain name, then names with a suffix.

    The first suffix is made of the URL, the second of source and URL, because two sources may harvest the
    same server. They are the same at every attempt. So two consumers never count up each other's names.

    :param used: names that are taken.
    :param stem: the word before the suffix if there is no plain name.
    """
    base = stem if plain is None else plain[:91]
    with_suffix = [f"{base}-{_digest(url)}", f"{base}-{_digest(source_id, url)}"]
    return with_suffix if plain is None or plain in used else [plain, *with_suffix]


def followed_name(
    source_name: str,
    now: str,
    url: str,
    source_id: str,
    *,
    used: Iterable[str] = (),
    stem: str = "dataset",
    organizations: bool = False,
) -> str:
    """Return the name of a package or organization that follows the source's own name for its record.

    :param now: its name in CKAN. It stays if it still fits the source's name, or if no other is free.
    :param used: names that are not free, besides those in CKAN.
    """
    wanted = candidate_names(own_name(source_name), url, source_id, (), stem=stem)
    if now in wanted:
        return now
    taken = taken_names(wanted, organizations=organizations).union(used)
    return next((name for name in wanted if name not in taken), now)


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:8]


def organization_id(source_id: str, url: str) -> str:
    """Return the id for a new organization: the same at every attempt, and when it comes back.

    :param url: the record's URL.
    """
    return str(uuid.uuid5(_ORGANIZATIONS, f"{source_id} {url}"))
