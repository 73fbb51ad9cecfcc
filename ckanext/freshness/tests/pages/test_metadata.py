"""Additional info on the pages of datasets that were harvested."""

from __future__ import annotations

import json

from ckan.tests import factories

from ckanext.freshness.tests.pages.conftest import Read

EU = "http://publications.europa.eu/resource/authority/"
HOSTILE = "<script>alert(1)</script>"


def make_world() -> None:
    """Create a dataset as a harvest does, with a hostile value."""
    extras = {
        "contact": [{"name": HOSTILE, "email": "a@x.org"}],
        "publisher": [{"name": "Desk", "url": "javascript:alert(1)"}],
        "theme": [f"{EU}data-theme/HEAL"],
        "language": [f"{EU}language/ENG"],
        "guid": "catalog=a;dataset=" + "b" * 200,
        "colour": "green",
        "frequency": f"{EU}frequency/WEEKLY",
        "review_date": "2026-11-10T11:51:02",
        "harvest_source_id": "0c4f",
        "harvest_source_title": HOSTILE,
    }
    factories.Dataset(
        name="harvested",
        resources=[{"url": "http://x.org/data.csv"}],
        extras=[
            {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}
            for key, value in extras.items()
        ],
    )


def test_harvested_metadata_are_words_and_links(read: Read, world: None) -> None:
    page = read("/dataset/harvested")
    table = page.select_one(".additional-info table")
    assert table is not None
    rows = {
        row.select("th")[0].get_text(strip=True): row.select("td")[0]
        for row in table.select("tbody tr:has(> th)")
    }
    (contact,) = rows["Contact"].select("a")
    assert (contact.get_text(strip=True), contact["href"]) == (HOSTILE, "mailto:a@x.org")
    assert rows["Publisher"].get_text(strip=True) == "Desk"
    assert rows["colour"].get_text(strip=True) == "green"
    assert rows["Update frequency"].get_text(strip=True) == "Weekly"
    assert rows["Last confirmed"].get_text(strip=True) == "10 Nov 2026"
    # The date of the metadata is not called that of the data.
    assert {"Data last changed", "Update expected by", "Metadata edited"} < rows.keys()
    assert not {"Last Updated", "review_date"} & rows.keys()
    assert rows["Themes"].get_text(strip=True) == "Health"
    (source,) = rows["Harvested from"].select("a")
    assert (source.get_text(strip=True), source["href"]) == (HOSTILE, "/harvest/0c4f")
    (fold,) = table.select("details")
    assert fold.select("dt")[0].get_text(strip=True) == "Identifier in the harvest"
    assert "javascript:" not in str(table.select("a"))
    assert table.select("script") == []
    german = read("/de/dataset/harvested").select_one(".additional-info table")
    assert german is not None and "Gesundheit" in german.get_text()
    assert "Englisch" in german.get_text()
