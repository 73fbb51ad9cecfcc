"""Properties of a source's records that no field has, counted over all records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model

KEY = "unmapped"
"""The harvest object extra with the properties of a record, as JSON."""


@dataclass(frozen=True, slots=True)
class UnmappedProperty:
    """A property that no field has."""

    name: str
    """With a prefix; ``a/b`` is the property ``b`` of what ``a`` describes."""
    records: int
    """Records that have it."""
    example: str
    """One of its values."""

    def __str__(self) -> str:
        records = "1 record" if self.records == 1 else f"{self.records} records"
        return f'{self.name}: {records}, for example "{self.example}"'


def count(records: Iterable[Mapping[str, str]]) -> list[UnmappedProperty]:
    """Return the properties of some records, by name.

    :param records: for each record, its properties with an example of a value.
    """
    counts: dict[str, int] = {}
    examples: dict[str, str] = {}
    for record in records:
        for name, example in record.items():
            counts[name] = counts.get(name, 0) + 1
            examples[name] = min(examples.get(name, example), example)
    return [UnmappedProperty(name, counts[name], examples[name]) for name in sorted(counts)]


def of_current_objects(source_id: str) -> dict[str, dict[str, str]]:
    """Return the properties of a source's current records, by the id of the harvest object."""
    objects = harvest_tables.OBJECT
    extras = harvest_tables.OBJECT_EXTRA
    rows = model.Session.execute(
        sa.select(objects.c.id, extras.c.value)
        .join(extras, extras.c.harvest_object_id == objects.c.id)
        .where(
            objects.c.harvest_source_id == source_id,
            objects.c.current.is_(True),
            extras.c.key == KEY,
        )
    )
    return {object_id: json.loads(value) for object_id, value in rows}
