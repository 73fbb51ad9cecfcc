"""How Last-Modified is read, and which servers hide changes, as tables."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from multidict import CIMultiDict, CIMultiDictProxy

from ckanext.freshness.checking.answers import AnswerHeaders, read_headers
from ckanext.freshness.checking.decisions import (
    Digest,
    KnownContent,
    hides_changes,
)
from ckanext.freshness.web.exchange import Answer


@pytest.mark.parametrize(
    ("text", "is_date"),
    [
        ("Wed, 21 Oct 2015 07:28:00 GMT", True),
        ("Thu, 01 Jan 1970 00:00:00 GMT", False),
        ("Mon, 01 Jan 0001 00:00:00 GMT", False),
    ],
)
def test_last_modified_is_sent_back_even_if_it_states_no_date(text: str, is_date: bool) -> None:
    url = "http://example.org/data.csv"
    answer = Answer(200, url, url, CIMultiDictProxy(CIMultiDict({"Last-Modified": text})))
    headers = read_headers(answer)
    assert headers.last_modified_text == text
    assert (headers.last_modified is not None) is is_date


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
