"""Names of harvested datasets: from the title, stable for ever once given."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable

import sqlalchemy as sa

from ..ckan_adapter import model, munge_title_to_name

_LEGAL = re.compile("[a-z0-9_-]{2,100}")
_RESERVED = frozenset({"new", "edit", "search"})


def plain_name(title: str) -> str | None:
    """The name that a title asks for; None if it has too few characters that a name may have."""
    name = munge_title_to_name(title).strip("-_")
    return name if sum(character.isalnum() for character in name) >= 2 else None


def own_name(name: str) -> str | None:
    """The name that a source's own name asks for: that one, where CKAN takes it as it is."""
    return name if _LEGAL.fullmatch(name) else plain_name(name)


def taken(names: Iterable[str | None], *, organizations: bool = False) -> set[str]:
    """Those of the names that a package has, or that lead to CKAN's own pages.

    :param organizations: that a group or an organization has, instead.
    """
    wanted = {name for name in names if name}
    column = (model.Group if organizations else model.Package).__table__.c.name
    rows = model.Session.execute(sa.select(column).where(column.in_(wanted)))
    return set(rows.scalars()) | (wanted & _RESERVED)


def candidates(
    plain: str | None, url: str, source_id: str, used: Container[str], *, stem: str = "dataset"
) -> list[str]:
    """Names for a new dataset, the best first: the plain one, else one with a mark.

    The first mark is the URL's, the second also that of its source, since two sources over one
    server have the same URLs. They are the same at every attempt, so that two consumers cannot
    count each other up.
    """
    stem = stem if plain is None else plain[:91]
    marked = [f"{stem}-{_mark(url)}", f"{stem}-{_mark(source_id, url)}"]
    return marked if plain is None or plain in used else [plain, *marked]


def _mark(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:8]
