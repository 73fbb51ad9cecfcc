"""The doctor's check of sources and their cycles."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests import factories
from ckan.tests.helpers import changed_config

from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.doctor.conftest import NOW, findings
from ckanext.freshness_iati import doctor
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("kept_db", "store_folder")


@pytest.fixture
def source() -> Iterator[str]:
    """The id of a source of a registry."""
    package = factories.Dataset(name="iati-source")
    made = harvest_model.HarvestSource(
        id=package["id"], url="http://registry.example.org", type="iati_registry", active=True
    )
    model.Session.add(made)
    model.Session.query(CheckRun).delete()
    model.Session.commit()
    yield package["id"]
    model.Session.query(harvest_model.HarvestSource).filter_by(id=package["id"]).delete()
    model.Session.query(model.Package).filter_by(id=package["id"]).update({"name": package["id"]})
    model.Session.commit()


def add_cycle(source: str, hours: float, **more: Any) -> None:
    """Add a cycle that began and ended the given number of hours ago, unless ``more`` says otherwise."""
    at = (NOW - timedelta(hours=hours)).replace(tzinfo=None)
    options = {"source": source, "strict": False, "harvest": True}
    values = {"ended_at": at, "options": options, "kind": "iati", "version": "1", **more}
    model.Session.add(CheckRun(id=f"cycle {hours}", started_at=at, **values))
    model.Session.commit()


def test_a_cycle_that_failed(source: str) -> None:
    add_cycle(source, 3, error="long ago")
    assert "long ago" in findings(doctor.sources)[0].text
    add_cycle(source, 2)
    assert findings(doctor.sources) == []
    add_cycle(source, 1, error="the registry is away")
    (one,) = findings(doctor.sources)
    assert "iati-source of 2026-03-03 11:00 UTC failed: the registry is away" in one.text
    assert one.advice.endswith("ckan iati update iati-source")


def test_a_store_that_cannot_be_written(source: str, tmp_path: Path) -> None:
    add_cycle(source, 1)
    (tmp_path / "taken").write_text("a file")
    with changed_config("ckanext.freshness.copies.location", str(tmp_path / "taken")):
        (one,) = findings(doctor.sources)
    assert one.text.startswith("No copies can be kept: ") and str(tmp_path / "taken") in one.text
