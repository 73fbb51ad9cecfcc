"""Sets update frequencies: of one dataset, or of many from a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.frequency import UnknownFrequency, parse
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import lock_packages
from ..ckan_adapter.extras import package_extras
from ..ckan_adapter.forms import declared_fields
from ..model import DatasetFreshness
from . import frequencies, package_fields

COLUMNS = ("dataset", "frequency")


class TableError(ValueError):
    """A table that cannot be read; the text says why, and how to write it."""


@dataclass(frozen=True, slots=True)
class FrequencyLine:
    """A line of the table."""

    number: int
    dataset: str
    """Name or id."""
    frequency: str


def read(lines: Iterable[str]) -> list[FrequencyLine]:
    """Return the lines of a CSV file with the columns ``dataset`` and ``frequency``; ignore other columns.

    :raises TableError: a column is missing, or the file is no CSV
    """
    reader = csv.DictReader(lines)
    try:
        found = list(reader)
    except csv.Error as error:
        raise TableError(tk._("This is no CSV: {error}").format(error=error)) from error
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        words = tk._("The first line must name the columns dataset and frequency; missing: {names}")
        raise TableError(words.format(names=", ".join(missing)))
    return [
        FrequencyLine(number, (row["dataset"] or "").strip(), (row["frequency"] or "").strip())
        for number, row in enumerate(found, start=2)
    ]


def problems(lines: Iterable[FrequencyLine]) -> Iterator[tuple[FrequencyLine, str]]:
    """Yield the lines that cannot be written, each with the reason."""
    vocabularies = frequencies.vocabularies()
    types = settings.dataset_types()
    for line in lines:
        package = model.Package.get(line.dataset)
        reading = parse(line.frequency, vocabularies)
        if package is None:
            yield line, tk._("There is no such dataset")
        elif package.type not in types:
            words = tk._("The freshness of packages of the type {type} is not judged")
            yield line, words.format(type=package.type)
        elif isinstance(reading, UnknownFrequency):
            yield line, frequencies.explained(reading)


def write(context: dict[str, Any], line: FrequencyLine) -> bool:
    """Write the frequency of one line into its dataset.

    :returns: whether the dataset had another frequency
    :raises tk.ValidationError: CKAN refuses the dataset with this frequency
    """
    package = model.Package.get(line.dataset)
    key = _key(package)
    if package_extras(package).get(key) == line.frequency:
        return False
    package_fields.write_field(context, package.id, key, line.frequency)
    return True


def change(
    context: dict[str, Any],
    package: Any,
    wanted: str,
    *,
    expected: str | None = None,
    expected_days: str | None = None,
) -> str | None:
    """Change the update frequency of a dataset as a user, and return the one before.

    :param wanted: a text that the dataset then states; empty to state none
    :param expected: the present text, if another one must stay as it is
    :param expected_days: the present number of days as text, if another one must stay as it is
    :returns: None if the dataset states this already, as after a double click
    :raises tk.ValidationError: CKAN refuses the dataset with this frequency, or another one was expected
    """
    lock_packages([package.id])
    model.Session.refresh(package)
    key = _key(package)
    present = package_extras(package).get(key) or ""
    if present == wanted:
        # Release the lock.
        model.Session.commit()
        return None
    if (expected is not None and present != expected) or (
        expected_days is not None and expected_days != _days(package.id)
    ):
        # Release the lock.
        model.Session.commit()
        words = tk._("Somebody has changed the update frequency since then. It stays as it is.")
        raise tk.ValidationError({"frequency": [words]})
    package_fields.write_field(context, package.id, key, wanted)
    return present


def _days(package_id: str) -> str:
    """Return the number of days of a dataset's present frequency as text; empty if it has none."""
    row = model.Session.get(DatasetFreshness, package_id, populate_existing=True)
    return "" if row is None or row.frequency_days is None else str(row.frequency_days)


def _key(package: Any) -> str:
    """Return the key to write: one that the dataset has, else one of the site's schema, else the first."""
    keys = settings.frequency_keys()
    extras = package_extras(package)
    declared = declared_fields(package.type)
    candidates = (
        *(key for key in keys if (extras.get(key) or "").strip()),
        *(key for key in keys if key in declared),
        keys[0],
    )
    return candidates[0]
