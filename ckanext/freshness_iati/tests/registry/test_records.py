"""Records made from the entries of index files."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness_iati.source_type import dataset_record, organisation_record

URL = "https://registry.org/1"
DATASET: dict[str, Any] = {
    "id": "1",
    "short_name": "a-act",
    "reporting_org_id": "o",
    "source_url": "https://a.org/act.xml",
    "licence_id": "cc-by",
    "hash": "of the file that the service has",
}


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        ("https://a.org/logo.png", "https://a.org/logo.png"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
    ],
)
def test_the_image_of_an_organisation(image: str, kept: str | None) -> None:
    raw = {"id": "1", "short_name": "a", "image_url": image}
    assert organisation_record(raw, URL).fields.get("image_url") == kept


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("short_name", "None", "no name"),
        ("short_name", "  ", "no name"),
        ("reporting_org_id", None, "no organisation"),
        ("source_url", None, "no URL of a file"),
        ("source_url", "javascript:alert(1)", "the URL of its file"),
    ],
)
def test_a_dataset_that_lacks_something(key: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataset_record({**DATASET, key: value}, URL)
