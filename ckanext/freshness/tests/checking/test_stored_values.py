"""Values that the database keeps as JSON."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from ckanext.freshness.checking.stored_values import as_json
from ckanext.freshness.ckan_adapter.core import model


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\0b", "a\ufffdb"), ("\udc80", "\ufffd"), ("\udcc3\udca9", "é"), ("\ud800", "?")],
    ids=["NUL", "illegal byte", "UTF-8", "surrogate"],
)
def test_texts_that_postgresql_refuses(kept_db: None, text: str, kept: str) -> None:
    query = sa.text("SELECT CAST(:value AS jsonb)")
    stored = model.Session.execute(query, {"value": as_json({text: [text]})}).scalar()
    assert stored == {kept: [kept]}
