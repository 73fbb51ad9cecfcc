"""The doctor's checks of datasets and organizations that only people can correct."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories

from ckanext.freshness.doctor import datasets
from ckanext.freshness.tests.doctor.conftest import NOW, findings

pytestmark = pytest.mark.usefixtures("clean_site")


def make(name: str, **columns: Any) -> None:
    """Create a dataset. Its contacts may have forms that only harvesters and older versions produce."""
    made = factories.Dataset(name=name, owner_org=columns.pop("owner_org", None))
    empty = {"maintainer": "", "maintainer_email": "", "author_email": ""}
    table = model.Package.__table__
    values = {**empty, "metadata_created": datetime(2026, 1, 1), **columns}
    model.Session.execute(sa.update(table).where(table.c.id == made["id"]).values(**values))
    model.Session.commit()


def told(words: str) -> list[str]:
    return [one.text for one in findings(datasets.datasets) if words in one.text]


def test_people_without_an_address() -> None:
    admin = factories.User(email="admin@example.org")["name"]
    users = [{"name": admin, "capacity": "admin"}]
    office = factories.Organization(name="office", users=users)["id"]
    lost = factories.Organization(name="lost")["id"]
    model.Session.query(model.Member).filter_by(group_id=lost, table_name="user").delete()
    factories.Organization(name="empty")
    make("maintained", maintainer_email="Ann <ann@example.org>")
    make("authored", author_email="ann@example.org")
    make("owned", owner_org=office)
    make("lost-owner", owner_org=lost)
    make("gone", state="deleted")
    (found,) = told("address")
    assert found.startswith("No admin of 1 organization") and found.endswith(": lost")
    make("unreachable", maintainer_email="ann at example.org", owner_org=office)
    make("named", maintainer="Ann", owner_org=office)
    make("nobodys")
    assert told("address")[0].endswith(": named, nobodys, unreachable")
    for number in range(12):
        make(f"a-{number:02}")
    assert told("address")[0].endswith("a-08, a-09 and 5 more")


def test_datasets_without_resources() -> None:
    make("recent", metadata_created=NOW.replace(tzinfo=None))
    assert told("no resources") == []
    make("empty")
    factories.Resource(package_id=factories.Dataset(name="full")["id"])
    factories.Dataset(name="asked", extras=[{"key": "is_requestdata_type", "value": "true"}])
    model.Session.execute(
        sa.text("UPDATE package SET metadata_created = '2026-01-01' WHERE name <> 'recent'")
    )
    model.Session.commit()
    (found,) = told("no resources")
    assert found == "1 dataset has no resources, so there is nothing to download: empty"


def test_update_frequencies_that_are_not_understood() -> None:
    for value in ("mai", " mai ", "\x1b[31mred", "x" * 250, "101 years"):
        factories.Dataset(extras=[{"key": "frequency", "value": value}])
    # The first of the keys decides.
    both = {"update_frequency": "seldom", "data_update_frequency": "now and then"}
    factories.Dataset(extras=[{"key": key, "value": value} for key, value in both.items()])
    (found,) = told("update frequency")
    start, _, values = found.partition(": ")
    assert start.startswith("6 datasets have an update frequency that is not understood")
    assert values.split(", ")[0] == "'mai' (2)"
    assert sorted(values.split(", ")[1:]) == [
        "'101 years' (1)",
        r"'\x1b[31mred' (1)",
        "'now and then' (1)",
        f"'{'x' * 80}...' (1)",
    ]
    for number in range(20):
        factories.Dataset(extras=[{"key": "frequency", "value": f"sometimes {number}"}])
    (found,) = told("update frequency")
    assert found.endswith(" and 15 more")
