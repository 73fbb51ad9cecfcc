"""Finds a site's own fields under the names of ours, which are never overwritten."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.core import declared_fields, model, own_extras, site_names
from ..ckan_adapter.packages import packages_with_extras
from ..own_values import foreign

log = logging.getLogger(__name__)

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


_DECLARED = (
    "Fields that a dataset schema declares are never overwritten: ckan freshness doctor names them."
)


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


def find(
    ids: Sequence[str] | None = None, *, has_tables: bool = True, has_schemas: bool = True
) -> list[OwnField]:
    """Return the site's own fields that have names of ours.

    :param ids: look only at these datasets
    :param has_tables: whether this extension's tables exist; without them, it has not written anything yet
    :param has_schemas: whether to leave out fields that a schema declares, which are never overwritten
    """
    names = site_names()
    # At a start, schemas cannot be asked for yet.
    keys = {
        each: own_extras(each) if has_schemas else names.extras for each in settings.dataset_types()
    }
    return [
        OwnField(package_id, key, value)
        for package_id, package_type, extras in packages_with_extras(
            names.extras,
            types=list(keys),
            ids=ids,
            not_judged_with=names.prefix if has_tables else None,
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


def warn_at_first_start() -> None:
    """Log the site's own fields before this extension has written anything."""
    try:
        inspector = sa.inspect(model.Session.get_bind())
        if not inspector.has_table("package"):
            return
        has_tables = inspector.has_table("freshness_dataset")
        dataset = "SELECT 1 FROM freshness_dataset LIMIT 1"
        if has_tables and model.Session.execute(sa.text(dataset)).first():
            return
        if found := find(has_tables=has_tables, has_schemas=False):
            log.warning("%s. They are not overwritten. %s. %s", in_words(found), CHOICE, _DECLARED)
    except sa.exc.SQLAlchemyError:
        # Without a database, or with older tables, commands and pages say what is wrong.
        log.debug("The site's own fields were not looked for", exc_info=True)
    finally:
        model.Session.remove()
