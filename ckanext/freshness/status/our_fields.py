"""This extension's fields in CKAN's tables, and a site's own fields of the same names, which stay as they are.

They are told apart by their values. Where the plugin is not enabled any more, everything is removed that this
extension wrote: the extras of packages, and the fields of links that checks filled in. Its options are not
declared then, and are not read for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import Evidence
from ..aging.status import Status
from ..checking import fields
from ..checking.observations import period_of
from ..ckan_adapter.core import NAMES, declared_fields, model, our_extras
from ..ckan_adapter.packages import (
    lock_packages,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..ckan_adapter.tables import existing_tables

UNDETERMINED = ("api", "adhoc", "blocked", "page")
"""Why changes of a resource cannot be determined: each download differs, its host makes it on request, its host
blocks checks, or its link leads to a page. If several apply, people see the first."""

_RULES: Mapping[str, Callable[[str], object]] = {
    NAMES.status: frozenset(status.value for status in Status).__contains__,
    NAMES.evidence: frozenset(evidence.value for evidence in Evidence).__contains__,
    NAMES.undetermined: UNDETERMINED.__contains__,
    NAMES.frequency: re.compile(r"-?\d{1,9}").fullmatch,
    NAMES.frequency_from: frozenset({"rhythm"}).__contains__,
    NAMES.data_until: period_of,
}
"""By key, what decides whether this extension writes a value. The values under our other keys are moments."""
_is_moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").fullmatch


def look_ours(extras: Mapping[str, str]) -> bool:
    """Decide whether the values under our names are a complete set as this extension writes it.

    A single ``freshness: fresh`` is not: this extension writes no such status without an update frequency.

    :param extras: all extras of a dataset
    """
    values = _under_our_names(extras)
    if not _are_valid(values):
        return False
    status = values.get(NAMES.status)
    if status == Status.UNAVAILABLE.value:
        return True
    return status is not None and NAMES.frequency in values


def site_values(extras: Mapping[str, str]) -> dict[str, str]:
    """Return the values under our names that are the site's own, or of another extension.

    :param extras: all extras of a dataset
    """
    return {} if look_ours(extras) else _under_our_names(extras)


def claimed(extras: Mapping[str, str]) -> dict[str, str]:
    """Return the values under our names, if one of them is no value that this extension writes.

    For extras that a caller sends: a caller who sends ``freshness: fresh`` alone may not claim a status.
    """
    values = _under_our_names(extras)
    return {} if _are_valid(values) else values


def _under_our_names(extras: Mapping[str, str]) -> dict[str, str]:
    return {key: extras[key] for key in NAMES.extras if key in extras}


def ours_among(extras: Iterable[Mapping[str, Any]]) -> Collection[str]:
    """Return our names, unless a list of extras has values of the site's own under them.

    :param extras: as actions show them, each with ``key`` and ``value``
    """
    return () if site_values(as_mapping(extras)) else NAMES.extras


def as_mapping(extras: object) -> dict[str, str]:
    """Return a list of extras as actions take it by key; without malformed ones, which CKAN refuses."""
    found = {}
    for extra in extras if isinstance(extras, list) else ():
        if isinstance(extra, dict) and isinstance(key := extra.get("key"), str):
            found[key] = str(extra.get("value", ""))
    return found


def _are_valid(values: Mapping[str, str]) -> bool:
    return all(_RULES.get(key, _is_moment)(value) for key, value in values.items())


ADVICE = "Rename these fields, then: ckan freshness refresh"


@dataclass(frozen=True, slots=True)
class SiteField:
    """A field of a dataset that is the site's own, or another extension's, with a name of ours."""

    package_id: str
    key: str
    value: str


def in_words(found: Sequence[SiteField]) -> str:
    """Return for people which datasets have such fields, with an example."""
    first = found[0]
    names = ", ".join(sorted({field.key for field in found}))
    count = len({field.package_id for field in found})
    datasets = "1 dataset has" if count == 1 else f"{count} datasets have"
    value = first.value if len(first.value) <= 60 else f"{first.value[:60]}..."
    return (
        f"{datasets} fields of their own with names that ckanext-freshness uses ({names}), for example "
        f"{first.key} = {value!r} in {first.package_id}. They stay as they are, and these datasets have no "
        "status"
    )


def find(ids: Sequence[str] | None = None) -> list[SiteField]:
    """Return the site's own fields that have names of ours, except those that a schema declares.

    :param ids: look only at these datasets
    """
    return [
        SiteField(package_id, key, value)
        for package_id, _, extras in packages_with_extras(
            NAMES.extras, types=judged_types(), ids=ids, without_row=True
        )
        for key, value in site_values(extras).items()
    ]


def judged_types() -> list[str]:
    """Return the types of packages that have a status: none whose schema declares a name of ours."""
    return [each for each in sorted(settings.dataset_types()) if our_extras(each)]


def declared_in_words() -> Iterator[str]:
    """Yield for people, for each type of package, the names of ours that the site's schema declares."""
    for package_type in sorted(settings.dataset_types()):
        fields = declared_fields(package_type)
        if names := [name for name in NAMES.extras if name in fields]:
            yield (
                f"The schema of the type {package_type} declares {', '.join(names)}, which ckanext-freshness "
                "uses: its datasets have no status"
            )


DECLARED_ADVICE = (
    "Rename this field, then: ckan freshness refresh --all. Or leave the type out of "
    "ckanext.freshness.dataset_types."
)

_BATCH = 100


def find_written() -> dict[str, bool]:
    """Return the packages in which this extension has written, and whether they have extras of ours.

    The others have fields of links that checks have filled in.
    """
    judged = _judged()
    found = {}
    for package_id, package_type, extras in packages_with_extras(NAMES.extras):
        # Without a row, they remain of an earlier installation, or are the site's own.
        if look_ours(extras) or (package_id in judged and our_extras(package_type)):
            found[package_id] = True
    if "freshness_check" in existing_tables():
        for package_id in fields.packages_with_found():
            found.setdefault(package_id, False)
    return dict(sorted(found.items()))


def take_out(found: Mapping[str, bool]) -> Iterator[int]:
    """Remove extras and fields from packages, and from their documents; yield the number of packages done.

    Our tables stay as they are, so that ``ckan freshness refresh --all`` can write everything again. Each batch
    is committed as a whole. After an interruption, the next call does the rest.

    :param found: of :func:`find_written`
    :raises SearchIndexError: Solr does not answer
    """
    has_checks = "freshness_check" in existing_tables()
    ids = list(found)
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        lock_packages(batch)
        write_extras({package_id: {} for package_id in batch if found[package_id]}, NAMES.extras)
        if has_checks:
            fields.take_out(batch)
        # Otherwise the session's older packages would be indexed.
        model.Session.expire_all()
        # Before the commit: a second call would not find a package without extras.
        rebuild(batch)
        model.Session.commit()
        yield start + len(batch)
    solr_commit()


def _judged() -> set[str]:
    """Return the datasets whose extras this installation has written."""
    if "freshness_dataset" not in existing_tables():
        return set()
    statement = sa.text("SELECT package_id FROM freshness_dataset")
    return set(model.Session.execute(statement).scalars())
