"""How Last-Modified is read, and which servers hide changes, as tables."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ckanext.freshness.checking.answers import AnswerHeaders
from ckanext.freshness.checking.decisions import (
    Digest,
    KnownContent,
    hides_changes,
)

BEFORE = KnownContent(None, "Mon", "sha256:a")


@pytest.mark.parametrize(
    ("known", "etag", "modified", "digest", "hides"),
    [
        (BEFORE, None, "Mon", "sha256:b", True),
        (BEFORE, None, "Tue", "sha256:b", False),
        (BEFORE, '"new"', "Mon", "sha256:b", False),
        (BEFORE, None, None, "sha256:b", False),
        (replace(BEFORE, etag='"e"', last_modified=None), '"e"', None, "sha256:b", True),
        (BEFORE, None, "Mon", "sha256:a", None),
        (BEFORE, None, "Mon", "xlsx:x", None),
        (replace(BEFORE, outdated=True), None, "Mon", "sha256:b", None),
    ],
)
def test_hidden_changes(
    known: KnownContent, etag: str | None, modified: str | None, digest: str, hides: bool | None
) -> None:
    assert (
        hides_changes(
            known, AnswerHeaders(200, etag, modified), Digest(digest, digest.partition(":")[2])
        )
        is hides
    )
