"""States of files: whatever is written is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings

from ckanext.freshness.checking.stored_values import read
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.checking.stored import values
from ckanext.freshness_iati import datasets
from ckanext.freshness_iati.model import IatiDataset
from ckanext.freshness_iati.rules import FileState

ID = "state"


@pytest.fixture
def stored(kept_db: None) -> Iterator[Callable[[], IatiDataset]]:
    """The row of a dataset whose file was never checked."""
    names = ("resource_id", "package_id", "source_id", "organisation_id", "organisation_name")
    model.Session.add(IatiDataset(**dict.fromkeys((*names, "dataset_id", "dataset_name"), ID)))
    model.Session.flush()
    yield lambda: model.Session.query(IatiDataset).populate_existing().get(ID)
    model.Session.rollback()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(state=values(FileState))
def test_every_state(stored: Callable[[], IatiDataset], state: FileState) -> None:
    assert datasets.write({ID: state, "gone": FileState()}) == {ID}
    row = stored()
    assert read(FileState, row.state) == state
    changed = state.content_modified_excluding_generated_timestamp
    assert row.failing_since == naive(state.failing_since)
    assert row.content_changed == naive(changed)


def naive(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=None)
