"""Names of harvested datasets: from the title, stable for ever once given."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import sqlalchemy as sa

from ..ckan_adapter import model, munge_title_to_name

_RESERVED = frozenset({"new", "edit", "search"})


def plain_name(title: str) -> str | None:
    """The name that a title asks for; None if it has too few characters that a name may have."""
    name = munge_title_to_name(title).strip("-_")
    return name if sum(character.isalnum() for character in name) >= 2 else None


def taken(names: Iterable[str | None]) -> set[str]:
    """Those of the names that a package has, or that lead to CKAN's own pages."""
    wanted = {name for name in names if name}
    column = model.Package.__table__.c.name
    rows = model.Session.execute(sa.select(column).where(column.in_(wanted)))
    return set(rows.scalars()) | (wanted & _RESERVED)


def candidates(plain: str | None, url: str, used: set[str]) -> list[str]:
    """Names for a new dataset, the best first: the plain one, else one with a mark of its URL.

    The mark is the same at every attempt, so that two consumers cannot count each other up.
    """
    mark = hashlib.sha256(url.encode()).hexdigest()[:8]
    if plain is None:
        return [f"dataset-{mark}"]
    marked = f"{plain[:91]}-{mark}"
    return [marked] if plain in used else [plain, marked]
