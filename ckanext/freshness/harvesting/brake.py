"""The brake: deletions that look like an accident, by their number. Pure.

It looks at all records of a source, and at the datasets of each of several catalogs. It does not ask why a
record is to be deleted (:mod:`.strategy`): a source that loses most of its list may prove each absence. What
the brake holds waits until an editor releases exactly these deletions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from .record import KnownRecord, SeenRecord, is_listed

MIN_CATALOG = 10
"""How many datasets a catalog has at least that the brake also looks at by itself."""


@dataclass(frozen=True, slots=True)
class BrakeLimits:
    """How many deletions one job may make without an approval, and how long a record must be absent before."""

    max_delete_fraction: float = 0.2
    """The share of the current records, 0 to 1. It counts from ``min_records`` current records on."""
    max_deletions: int = 500
    min_records: int = 10
    absent_for: timedelta = timedelta()
    deletes: bool = True
    """False if absent records are kept."""
    delete_unlisted: bool = False
    """Records that no list has need no approval although their own URLs still answer."""


def alarms(
    current: Sequence[KnownRecord],
    seen: Mapping[str, SeenRecord],
    going: Collection[str],
    released: Collection[str],
    limits: BrakeLimits,
) -> list[str]:
    """Return, for people, why the deletions of a job look like an accident; nothing if they do not.

    :param current: all current records of the source.
    :param seen: every record that the crawl met, by URL.
    :param going: URLs of the records to delete.
    :param released: guids of records whose deletion an editor has released.
    """
    parts = _parts(current, seen, limits)
    return list(filter(None, (_alarm(part, seen, going, released) for part in parts)))


def lists_any(seen: Mapping[str, SeenRecord]) -> bool:
    """Return whether a crawl found a dataset in any list. A listed catalog may be empty."""
    return any(found.listed_in and not found.is_catalog for found in seen.values())


@dataclass(frozen=True, slots=True)
class _Part:
    """Current records that the brake counts together."""

    noun: str
    """For people, in the plural."""
    records: Sequence[KnownRecord]
    limits: BrakeLimits
    lists_any: bool = True
    """The source lists records of this kind, known or not."""
    catalog: str = ""
    """The catalog that has them; "" if all records of the source count."""

    @property
    def where(self) -> str:
        return f" of {self.catalog}" if self.catalog else ""


def _parts(
    current: Sequence[KnownRecord], seen: Mapping[str, SeenRecord], limits: BrakeLimits
) -> Iterator[_Part]:
    """Yield what the brake looks at: all records of the source, then each of several catalogs.

    A catalog has no limits of its own: it may lose any number of datasets but not all, nor all but one.
    """
    yield _Part("records", current, limits, lists_any(seen))
    datasets = [record for record in current if not record.is_catalog]
    by_catalog: dict[str | None, list[KnownRecord]] = {}
    for record in datasets:
        by_catalog.setdefault(record.catalog_url, []).append(record)
    if len(by_catalog) > 1:
        unlimited = replace(limits, max_delete_fraction=1.0, max_deletions=len(current))
        for catalog, members in by_catalog.items():
            if len(members) >= MIN_CATALOG:
                yield _Part("datasets", members, unlimited, catalog=str(catalog))


def _alarm(
    part: _Part,
    seen: Mapping[str, SeenRecord],
    going: Collection[str],
    released: Collection[str],
) -> str | None:
    """Return why the deletions in one part look like an accident; None if they do not."""
    of_part = [record for record in part.records if record.url in going]
    agreed = sum(record.guid in released for record in of_part)
    doomed, count = len(of_part) - agreed, len(part.records)
    if not doomed:
        return None
    if not part.lists_any:
        verb = "is" if count == 1 else "are"
        words = f"{counted(count, part.noun)} of it {verb} current"
        return f"the source lists nothing at all, but {words}"
    if doomed > 1 and not any(is_listed(seen.get(record.url)) for record in part.records):
        return f"the source lists none of the {count} current {part.noun}{part.where} any more"
    left, limits = count - agreed, part.limits
    would = f"{doomed} of {counted(left, part.noun)}{part.where} would be deleted"
    if agreed:
        would += f", besides {agreed} that an editor released"
    if left - doomed <= 1:
        kind = "catalog" if part.catalog else "source"
        always = f"no job deletes all {part.noun} of a {kind}, or all but one, without an approval"
        return f"{would}, and {always}"
    if doomed > limits.max_deletions:
        most = f"at most {limits.max_deletions} without an approval (max_deletions)"
        return f"{would}, and one job may delete {most}"
    fraction = limits.max_delete_fraction
    if count >= limits.min_records and doomed > fraction * left:
        most = f"at most {100 * fraction:g}% of them without an approval (max_delete_fraction)"
        return f"{would}, and one job may delete {most}"
    return None


def counted(count: int, name: str) -> str:
    """Return a number with its plural noun, which loses its s if the number is 1."""
    return f"{count} {name.removesuffix('s') if count == 1 else name}"
