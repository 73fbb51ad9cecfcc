"""This extension's fields in CKAN's tables, and a site's own fields of the same names, which stay as they are.

They are told apart by their values. Where the plugin is not enabled any more, everything is removed that this
extension wrote: the extras of packages, and the fields of links that checks filled in. Its options are not
declared then, and are not read for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import Evidence
from ..aging.status import Status
from ..checking import fields
from ..ckan_adapter.core import (
    NAMES,
    FieldNames,
    declared_fields,
    model,
    own_extras,
    site_names,
    with_prefix,
)
from ..ckan_adapter.packages import (
    lock_packages,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..ckan_adapter.tables import existing_tables

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_STATUSES = frozenset(status.value for status in Status)
_EVIDENCE = frozenset(evidence.value for evidence in Evidence)
_REASONS = frozenset({"api", "adhoc", "blocked"})


def look_ours(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> bool:
    """Decide whether the values under our names are a complete set as this extension writes it.

    A single ``freshness: fresh`` is not: this extension writes no such status without an update frequency.

    :param extras: all extras of a dataset
    :param keys: those of our names that are extras, if the site's schema declares others
    """
    own = names.extras if keys is None else keys
    values = _under(extras, own)
    if not values or not all(_is_valid(key, value, names) for key, value in values.items()):
        return False
    if names.status not in own:
        return True
    status = values.get(names.status)
    needs = {names.frequency} & set(own) if status != Status.UNAVAILABLE.value else set()
    return status is not None and needs <= values.keys()


def foreign(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Return the values under our names that are the site's own, or of another extension.

    The parameters are those of :func:`look_ours`.
    """
    values = _under(extras, names.extras if keys is None else keys)
    return {} if look_ours(extras, names, keys) else values


def claimed(
    extras: Mapping[str, str], names: FieldNames, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Return the values under our names, if one of them is no value that this extension writes.

    For extras that a caller sends: a caller who sends ``freshness: fresh`` alone may not claim a status.
    The parameters are those of :func:`look_ours`.
    """
    values = _under(extras, names.extras if keys is None else keys)
    return {} if all(_is_valid(key, value, names) for key, value in values.items()) else values


def _under(extras: Mapping[str, str], keys: Collection[str]) -> dict[str, str]:
    return {key: extras[key] for key in keys if key in extras}


def ours_among(extras: Iterable[Mapping[str, Any]], names: FieldNames) -> Collection[str]:
    """Return our names, unless a list of extras has values of the site's own under them.

    :param extras: as actions show them, each with ``key`` and ``value``
    """
    return () if foreign(as_mapping(extras), names) else names.extras


def as_mapping(extras: object) -> dict[str, str]:
    """Return a list of extras as actions take it by key; without malformed ones, which CKAN refuses."""
    found = {}
    for extra in extras if isinstance(extras, list) else ():
        if isinstance(extra, Mapping) and isinstance(extra.get("key"), str):
            found[extra["key"]] = str(extra.get("value", ""))
    return found


def _is_valid(key: str, value: str, names: FieldNames) -> bool:
    if key == names.status:
        return value in _STATUSES
    if key == names.evidence:
        return value in _EVIDENCE
    if key == names.undetermined:
        return value in _REASONS
    if key == names.frequency:
        return re.fullmatch(r"-?\d{1,9}", value) is not None
    return _MOMENT.fullmatch(value) is not None


CHOICE = (
    "Set ckanext.freshness.field_prefix = PREFIX_ in the ini file, so that the names of this extension begin "
    "with PREFIX_. Restart CKAN, then: ckan freshness refresh --all"
)


@dataclass(frozen=True, slots=True)
class OwnField:
    """A field of a dataset that is the site's own, or another extension's, with a name of ours."""

    package_id: str
    key: str
    value: str


class OwnFieldsError(Exception):
    """Fields of the site's own that this extension would overwrite. The text says what to do."""

    def __init__(self, found: Sequence[OwnField]) -> None:
        super().__init__(f"{in_words(found)}. Nothing was written. {CHOICE}")


def in_words(found: Sequence[OwnField]) -> str:
    """Return for people which datasets have such fields, with an example."""
    first = found[0]
    names = ", ".join(sorted({field.key for field in found}))
    count = len({field.package_id for field in found})
    datasets = "1 dataset has" if count == 1 else f"{count} datasets have"
    value = first.value if len(first.value) <= 60 else f"{first.value[:60]}..."
    return (
        f"{datasets} fields of their own with names that ckanext-freshness uses ({names}), for example "
        f"{first.key} = {value!r} in {first.package_id}"
    )


def find(ids: Sequence[str] | None = None) -> list[OwnField]:
    """Return the site's own fields that have names of ours, except those that a schema declares.

    :param ids: look only at these datasets
    """
    names = site_names()
    keys = {each: own_extras(each) for each in settings.dataset_types()}
    return [
        OwnField(package_id, key, value)
        for package_id, package_type, extras in packages_with_extras(
            names.extras, types=list(keys), ids=ids, not_judged_with=names.prefix
        )
        for key, value in foreign(extras, names, keys[package_type]).items()
    ]


def declared() -> dict[str, list[str]]:
    """Return the names of ours that the site's schemas declare, by the type of package."""
    found = {each: declared_fields(each) for each in sorted(settings.dataset_types())}
    names = site_names().extras
    return {
        each: [name for name in names if name in fields]
        for each, fields in found.items()
        if not fields.isdisjoint(names)
    }


_BATCH = 100


@dataclass(frozen=True, slots=True)
class Written:
    """A package in which this extension has written.

    :ivar keys: its extras that are this extension's
    """

    package_id: str
    keys: tuple[str, ...]


def find_written() -> list[Written]:
    """Return the packages with extras of ours, or with fields of links that checks have filled in."""
    keys: dict[tuple[str, str], tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    judged = _judged()
    names = [key for prefix in {"", *judged.values()} for key in with_prefix(prefix).extras]
    for package_id, package_type, extras in packages_with_extras(names):
        kind = package_type, judged.get(package_id, "")
        if kind not in keys:
            keys[kind] = own_extras(package_type, with_prefix(kind[1]))
        own = keys[kind]
        # Without a row, they remain of an earlier installation, or are the site's own.
        if any(key in extras for key in own) and (
            package_id in judged or look_ours(extras, NAMES, own)
        ):
            found[package_id] = own
    if "freshness_check" in existing_tables():
        for package_id in fields.packages_with_found():
            found.setdefault(package_id, ())
    return [Written(package_id, own) for package_id, own in sorted(found.items())]


def take_out(found: Sequence[Written]) -> Iterator[int]:
    """Remove extras and fields from packages, and from their documents; yield the number of packages done.

    Our tables stay as they are, so that ``ckan freshness refresh --all`` can write everything again. Each batch
    is committed as a whole. After an interruption, the next call does the rest.

    :raises SearchIndexError: Solr does not answer
    """
    has_checks = "freshness_check" in existing_tables()
    done = 0
    for keys, packages in groupby(sorted(found, key=attrgetter("keys")), key=attrgetter("keys")):
        ids = [package.package_id for package in packages]
        for start in range(0, len(ids), _BATCH):
            batch = ids[start : start + _BATCH]
            lock_packages(batch)
            if keys:
                write_extras({package_id: {} for package_id in batch}, keys)
            if has_checks:
                fields.take_out(batch)
            # Otherwise the session's older packages would be indexed.
            model.Session.expire_all()
            # Before the commit: a second call would not find a package without extras.
            rebuild(batch)
            model.Session.commit()
            done += len(batch)
            yield done
    solr_commit()


def _judged() -> dict[str, str]:
    """Return the datasets whose extras this installation has written, with the prefix of their names."""
    if "freshness_dataset" not in existing_tables():
        return {}
    rows = model.Session.execute(sa.text("SELECT package_id, field_prefix FROM freshness_dataset"))
    return {package_id: prefix for package_id, prefix in rows}
