"""Pages of a site with more broken links than are counted."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from bs4 import BeautifulSoup
from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.reporting.tables import MOST_COUNTED
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset

pytestmark = pytest.mark.usefixtures("with_plugins")

_COLUMNS = """
SELECT string_agg(column_name, ', ') FROM information_schema.columns
WHERE table_name = 'freshness_check' AND column_name <> 'resource_id'"""
_RESOURCES = """
INSERT INTO resource (id, package_id, url, state, extras, position, name)
SELECT :prefix || n, package_id, url, state, extras, n, 'Part ' || n
FROM resource, generate_series(1, :more) n WHERE id = :id"""


def copy_link(resource_id: str, more: int, prefix: str = "r") -> None:
    """Make copies of a resource and its check."""
    values = {"id": resource_id, "more": more, "prefix": prefix}
    model.Session.execute(sa.text(_RESOURCES), values)
    columns = model.Session.execute(sa.text(_COLUMNS)).scalar_one()
    statement = f"""
    INSERT INTO freshness_check (resource_id, {columns})
    SELECT :prefix || n, {columns} FROM freshness_check, generate_series(1, :more) n
    WHERE resource_id = :id"""
    model.Session.execute(sa.text(statement), values)
    model.Session.commit()


def words(page: BeautifulSoup) -> str:
    return " ".join(page.get_text(" ").split())


def test_more_broken_links_than_are_counted(read: Any, clean_site: None) -> None:
    editor = dict(factories.UserWithToken(name="editor"))
    factories.Organization(name="relief", users=[{"name": "editor", "capacity": "editor"}])
    dataset = make_dataset(Status.FRESH, "wells", owner_org="relief")
    copy_link(break_link(dataset), MOST_COUNTED - 1)
    page = read("/freshness/broken?page=2")
    assert "51 to 100 of 1,000" in words(page) and "Page 2 of 20" in words(page)
    assert "1,000 broken links" in words(read("/freshness", editor)).replace("1000", "1,000")
    assert "1 of your 1 dataset needs your attention" in words(read("/freshness/mine", editor))

    copy_link("r1", 1, "s")
    page = read("/freshness/broken?page=20")
    assert "951 to 1,000 of more than 1,000" in words(page)
    assert "Page 20 " in words(page) and "Page 20 of" not in words(page)
    assert "Broken links 1,000+" in words(page.select_one(".fr-filters"))
    assert len(read("/freshness/broken?page=21").select("tbody tr")) == 1
    assert "1000+ broken links" in words(read("/freshness", editor))
    assert "More than 1,000" in words(read("/freshness"))
    mine = words(read("/freshness/mine", editor))
    assert "More than 0 of your 1 datasets need your attention" in mine
    assert "All 1,000+" in mine and "Broken links 1,000+" in mine
    assert read("/freshness/mine?group=broken&page=20", editor).select("a[rel=next]")
    assert not read("/freshness/mine?group=broken&page=21", editor).select("a[rel=next]")
