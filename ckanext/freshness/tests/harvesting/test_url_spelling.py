"""A record keeps its identity if its URL is only spelled differently."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.record import Containers, CurrentRecords, KnownRecord
from ckanext.freshness.harvesting.strategy import must_ask
from ckanext.freshness.web.urls import loose_spelling, spelling

URL = "https://fdp.example/dataset/%C3%A4"


@pytest.mark.parametrize(
    ("other", "same", "loosely"),
    [
        (URL, True, True),
        (URL + "#", True, True),
        (URL + "#a", False, False),
        ("https://fdp.example/dataset/%c3%a4", True, True),
        ("https://fdp.example/dataset/ä", True, True),
        ("https://fdp.example/%64ata%73et/%C3%A4", True, True),
        ("HTTPS://FDP.example:443/dataset/%C3%A4", True, True),
        ("http://fdp.example/dataset/%C3%A4", False, True),
        ("https://fdp.example/Dataset/%C3%A4", False, False),
        ("https://fdp.example/dataset/%C3%A4?", False, False),
        ("https://www.fdp.example/dataset/%C3%A4", False, False),
        ("", False, False),
    ],
)
def test_spellings(other: str, same: bool, loosely: bool) -> None:
    assert (spelling(other) == spelling(URL)) is same
    assert (loose_spelling(other) == loose_spelling(URL)) is loosely
    found = CurrentRecords([KnownRecord(URL, "guid")]).of(other, {other})
    assert (found is not None) is loosely


def test_what_is_listed_itself_is_no_other_record() -> None:
    current = CurrentRecords([KnownRecord(URL, "guid")])
    assert current.of(URL + "/", {URL, URL + "/"}) is None
    assert current.of(URL, {URL, URL + "/"}) == KnownRecord(URL, "guid")


@pytest.mark.parametrize("catalog", ["http://fdp.example/c", "https://fdp.example/c/"])
def test_a_catalog_that_could_not_be_read_shields_its_records_in_any_spelling(catalog: str) -> None:
    containers = Containers("https://fdp.example", {catalog}, {catalog: "answers 503"})
    assert not must_ask(KnownRecord(URL, "guid", "https://fdp.example/c"), set(), containers)
    assert must_ask(KnownRecord(URL, "guid", "https://fdp.example/d"), set(), containers)
