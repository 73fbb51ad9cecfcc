"""Records made from a registry's entries."""

from __future__ import annotations

import pytest

from ckanext.freshness.iati.registries import organisation_entry


@pytest.mark.parametrize(
    ("image", "kept"),
    [
        ("https://a.org/logo.png", "https://a.org/logo.png"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
    ],
)
def test_the_image_of_an_organisation(image: str, kept: str | None) -> None:
    raw = {"id": "1", "image_display_url": image}
    found = organisation_entry(raw, "https://registry.org/1", name="a", title="A")
    assert found.record is not None
    assert found.record.fields.get("image_url") == kept
