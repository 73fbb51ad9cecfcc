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


def test_a_dataset() -> None:
    found = dataset_record(DATASET, URL)
    assert found.fields == {
        "title": "a-act",
        "license": "cc-by",
        "uri": URL,
        "registry_id": "1",
        "registry_name": "a-act",
    }
    (resource,) = found.resources
    assert (resource["url"], resource["format"]) == ("https://a.org/act.xml", "IATI-XML")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        *(("short_name", missing, "no name") for missing in (None, "None", "", "  ")),
        ("reporting_org_id", None, "no organisation"),
        ("source_url", None, "no URL of a file"),
        ("source_url", "  ", "no URL of a file"),
        ("source_url", "javascript:alert(1)", "the URL of its file"),
        ("source_url", "file:///etc/passwd", "the URL of its file"),
    ],
)
def test_a_dataset_that_lacks_something(key: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataset_record({**DATASET, key: value}, URL)
