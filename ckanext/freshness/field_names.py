"""The names of our extras, Solr fields and facet, and of the extra of reviews. No other module spells them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

REVIEW_KEY = "review_date"
"""The extra in which people state when they reviewed the data."""


class FieldNames(NamedTuple):
    """The names of our extras and Solr fields; the facets have the names of the group and the status.

    :ivar due_date: Solr's date field with the value of ``due``; likewise the two that follow it, and
        ``last_modified_date``
    :ivar group: Solr's field for the group of the status
    """

    status: str
    last_modified: str
    evidence: str
    frequency: str
    due: str
    overdue: str
    delinquent: str
    undetermined: str
    due_date: str
    overdue_date: str
    delinquent_date: str
    last_modified_date: str
    group: str

    @property
    def prefix(self) -> str:
        """The prefix of all names; usually empty."""
        return self.status.removesuffix("freshness")

    @property
    def extras(self) -> tuple[str, ...]:
        """The keys of our extras, in alphabetical order."""
        return tuple(sorted(self[:8]))


@lru_cache
def with_prefix(prefix: str = "") -> FieldNames:
    """Return the names with a prefix, for a site whose own fields have the same names."""
    names = FieldNames._fields[1:]
    return FieldNames(f"{prefix}freshness", *(f"{prefix}freshness_{name}" for name in names))


NAMES = with_prefix()
"""The names of a site without fields of its own under these."""
