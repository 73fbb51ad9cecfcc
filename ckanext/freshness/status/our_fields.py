"""This extension's fields in CKAN's tables, and schemas that declare fields with these names.

Where the plugin is not enabled any more, everything is removed that this extension wrote: the extras of
packages, and the fields of links that checks filled in. Its options are not declared then, and are not read
for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .. import settings
from ..aging.status import Status
from ..checking import fields
from ..ckan_adapter.core import NAMES, declared_fields, model, our_extras
from ..ckan_adapter.packages import (
    lock_packages,
    packages_with_extras,
    rebuild,
    solr_commit,
    write_extras,
)
from ..ckan_adapter.tables import existing_tables


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
    found = {
        package_id: True
        for package_id, package_type, extras in packages_with_extras(NAMES.extras)
        if our_extras(package_type) and _are_ours(extras)
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


def _are_ours(extras: Mapping[str, str]) -> bool:
    """Decide whether this extension wrote extras: a site may use the plain name ``freshness`` for itself."""
    return extras.keys() != {NAMES.status} or extras[NAMES.status] in {
        status.value for status in Status
    }
