"""This extension's fields in CKAN's tables, and a site's own fields with these names, which stay as they are.

Where the plugin is not enabled any more, everything is removed that this extension wrote: the extras of
packages, and the fields of links that checks filled in. Its options are not declared then, and are not read
for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.status import Status
from ..checking import fields
from ..ckan_adapter.core import NAMES, declared_fields, model, our_extras
from ..ckan_adapter.packages import (
    EXTRA,
    PACKAGE_EXTRAS,
    lock_packages,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..ckan_adapter.tables import existing_tables

_STATUSES = frozenset(status.value for status in Status)
_DAYS = "-?[0-9]{1,9}"


def are_the_sites(extras: Mapping[str, str]) -> bool:
    """Decide whether values under our names are the site's own, or another extension's.

    This extension writes a status, and with each but "unavailable" an update frequency. Where it has judged the
    dataset, the values are ours all the same.

    :param extras: all extras of a dataset
    """
    return not extras.keys().isdisjoint(NAMES.extras) and not _are_complete(extras)


def is_claim(sent: Mapping[str, str]) -> bool:
    """Decide whether values that a caller sends under our names are the site's own: none with a status of ours.

    :param sent: all extras that the caller sends
    """
    return not sent.keys().isdisjoint(NAMES.extras) and sent.get(NAMES.status) not in _STATUSES


def _are_complete(extras: Mapping[str, str]) -> bool:
    status, days = extras.get(NAMES.status), extras.get(NAMES.frequency) or ""
    return status in _STATUSES and (
        status == Status.UNAVAILABLE.value or re.fullmatch(_DAYS, days) is not None
    )


def as_mapping(extras: object) -> dict[str, str]:
    """Return a list of extras as actions take it by key; without malformed ones, which CKAN refuses."""
    found = {}
    for extra in extras if isinstance(extras, list) else ():
        if isinstance(extra, dict) and isinstance(key := extra.get("key"), str):
            found[key] = str(extra.get("value", ""))
    return found


def ours_among(extras: object) -> Collection[str]:
    """Return our names, unless a list of extras has values of the site's own under them."""
    return () if are_the_sites(as_mapping(extras)) else NAMES.extras


ARE_THE_SITES = f"""(coalesce({PACKAGE_EXTRAS} ?| CAST(:ours AS text[]), false)
    AND NOT (coalesce({EXTRA.format(key=":status")}, '') = ANY(CAST(:statuses AS text[])) AND (
        {EXTRA.format(key=":status")} = '{Status.UNAVAILABLE.value}'
        OR coalesce({EXTRA.format(key=":frequency")}, '') ~ '^{_DAYS}$')))"""
"""SQL: what :func:`are_the_sites` decides, of a package ``p``, with :data:`SQL_VALUES`."""
SQL_VALUES: Mapping[str, Any] = {
    "ours": list(NAMES.extras),
    "status": NAMES.status,
    "frequency": NAMES.frequency,
    "statuses": sorted(_STATUSES),
}
_KEPT = f"""
SELECT p.id, {PACKAGE_EXTRAS} AS extras, count(*) OVER () AS datasets FROM package p
WHERE p.type = ANY(:types) AND p.state <> 'deleted' AND {ARE_THE_SITES}
    AND NOT EXISTS (SELECT FROM freshness_dataset d WHERE d.package_id = p.id)
ORDER BY p.id LIMIT 1"""


def kept_in_words() -> str | None:
    """Return for people which datasets have values of their own under our names; None if there are none."""
    values = {**SQL_VALUES, "types": judged_types()}
    found = model.Session.execute(sa.text(_KEPT), values).first()
    if found is None:
        return None
    key = next(key for key in NAMES.extras if key in found.extras)
    datasets = "1 dataset has" if found.datasets == 1 else f"{found.datasets} datasets have"
    return (
        f"{datasets} extras of their own with names that ckanext-freshness uses, for example "
        f"{key} = {str(found.extras[key])[:60]!r} in {found.id}. They stay as they are, and these datasets "
        "have no status"
    )


KEPT_ADVICE = "Rename these extras, then: ckan freshness refresh"


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
    judged: set[str] = set()
    if "freshness_dataset" in existing_tables():
        judged.update(
            model.Session.execute(sa.text("SELECT package_id FROM freshness_dataset")).scalars()
        )
    found = {
        package_id: True
        for package_id, package_type, extras in packages_with_extras(NAMES.extras)
        if our_extras(package_type) and (package_id in judged or not are_the_sites(extras))
    }
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
