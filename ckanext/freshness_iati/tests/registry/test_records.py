"""Records made from a registry's entries. The rows are those of a CKAN and of index files alike."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.harvesting.ckan.api import site_of
from ckanext.freshness_iati.source_type import ckan_dataset, organisation_record

URL = "https://registry.org/1"
DATASET: dict[str, Any] = {
    "id": "1",
    "name": "a-act",
    "title": "Activities",
    "owner_org": "o",
    "resources": [{"url": "https://a.org/act.xml"}],
    "extras": [{"key": "secondary_publisher", "value": "b"}, {"key": "freshness", "value": "due"}],
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
    raw = {"id": "1", "name": "a", "image_display_url": image}
    assert organisation_record(raw, URL).fields.get("image_url") == kept


def record(raw: dict[str, Any]) -> Any:
    return ckan_dataset(raw, site_of("https://registry.org/api/3"))


def test_a_dataset() -> None:
    found = record(DATASET)
    assert found.fields == {
        "title": "Activities",
        "uri": "https://registry.org/dataset/1",
        "registry_id": "1",
        "registry_name": "a-act",
        "secondary_publisher": "b",
    }
    (resource,) = found.resources
    assert (resource["url"], resource["format"]) == ("https://a.org/act.xml", "IATI-XML")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        *(("name", missing, "no name") for missing in (None, "None", "", "  ")),
        ("owner_org", None, "no organisation"),
        ("resources", None, "no URL of a file"),
        ("resources", [None], "no URL of a file"),
        ("resources", [{"url": "  "}], "no URL of a file"),
        ("resources", [{"url": "javascript:alert(1)"}], "the URL of its file"),
        ("resources", [{"url": "file:///etc/passwd"}], "the URL of its file"),
    ],
)
def test_a_dataset_that_lacks_something(key: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        record({**DATASET, key: value})
