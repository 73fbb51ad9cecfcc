"""What a crawl hands on: one sighting for each record, as soon as it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .strategy import Containers, LostDistribution, SeenRecord


class Contents(Protocol):
    """The contents of a record, ready to be kept until it is imported."""

    @property
    def unmapped(self) -> Mapping[str, str]:
        """Properties that no field has, with an example of a value each."""

    def as_json(self) -> str:
        """Canonical JSON."""


@dataclass(slots=True)
class Sighting:
    """One record as the crawl found it."""

    seen: SeenRecord
    contents: Contents | None = None
    """None if it could not be read, or if everything it was read from hashes as last time."""
    fingerprint: str | None = None
    """Hash of everything that the record was read from: as last time means that it is unchanged."""
    subject: str | None = None
    """The record's URL in its own document, where that is another one than it is listed under."""
    error: str | None = None
    """For people, with the URL: why it could not be read. None for a draft that was never ours."""
    distributions: Mapping[str, LostDistribution] = field(default_factory=dict)
    """What is to be remembered of its distributions, by URI."""
    warnings: Sequence[str] = ()
    """For people: what of it could not be read, though the record could."""
    drafts: int = 0
    """Distributions that it lists and that nobody may read yet."""
    in_pages: bool = False
    """A page of its catalog has it, or had it when its pages were last read whole."""


Sink = Callable[[Sighting, Containers], None]
"""Takes each sighting, with the containers read so far: all of them, when the first record comes.

A second sighting of a record that was present replaces the first."""
