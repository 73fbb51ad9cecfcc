"""Names of harvested datasets: from the title, stable for ever once given."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from ..ckan_adapter import model, munge_title_to_name

_RESERVED = frozenset({"new", "edit", "search"})


def free_names(title: str, url: str) -> list[str]:
    """Names for a new dataset, the best first: from its title, else with a mark of its URL.

    The mark is the same at every attempt, so that two consumers cannot count each other up.
    """
    mark = hashlib.sha256(url.encode()).hexdigest()[:8]
    plain = munge_title_to_name(title).strip("-_")
    if sum(character.isalnum() for character in plain) < 2:
        return [f"dataset-{mark}"]
    marked = f"{plain[:91]}-{mark}"
    name = model.Package.__table__.c.name
    taken = model.Session.execute(sa.select(sa.exists().where(name == plain))).scalar()
    return [marked] if taken or plain in _RESERVED else [plain, marked]
