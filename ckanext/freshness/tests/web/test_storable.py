"""Text as PostgreSQL takes it."""

from __future__ import annotations

import pytest

from ckanext.freshness.web.headers import storable


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("übel", "übel"),
        ("a\0b", "a\ufffdb"),
        # "ü" in UTF-8, read as ASCII with surrogateescape
        ("\udcc3\udcbc", "ü"),
        ("\udcff", "\ufffd"),
        # A surrogate that stands for no byte
        ("\ud800\udcff", "??"),
    ],
)
def test_storable(text: str, stored: str) -> None:
    assert storable(text) == stored
