"""Bot walls, and how reliable Last-Modified was, as tables."""

from __future__ import annotations

import pytest

from ckanext.freshness.checking.decisions import (
    Agreement,
    AnswerHeaders,
    KnownContent,
    agreement,
    hides_changes,
    is_bot_wall,
)


@pytest.mark.parametrize(
    ("status", "headers", "wall"),
    [
        (200, {}, False),
        (403, {"server": "cloudflare"}, False),
        # An origin that is down, as its cache tells.
        (503, {"server": "cloudflare"}, False),
        (403, {"cf-mitigated": "challenge"}, True),
        (200, {"cf-mitigated": " Challenge"}, True),
        (200, {"cf-mitigated": "no"}, False),
        (202, {"x-amzn-waf-action": "challenge"}, True),
        (405, {"x-amzn-waf-action": "captcha"}, True),
        (429, {"x-vercel-mitigated": "challenge"}, True),
        (403, {"x-vercel-mitigated": "deny"}, True),
        (999, {}, True),
    ],
)
def test_walls(status: int, headers: dict[str, str], wall: bool) -> None:
    assert is_bot_wall(status, headers) is wall


BEFORE = KnownContent(None, "Mon", "sha256:a")


@pytest.mark.parametrize(
    ("memory", "said", "digest", "worth"),
    [
        (BEFORE, "Mon", "sha256:a", Agreement.AGREED),
        (BEFORE, "Tue", "sha256:b", Agreement.AGREED),
        (BEFORE, "Mon", "sha256:b", Agreement.MISSED),
        (BEFORE, "Tue", "sha256:a", Agreement.MOVED),
        (BEFORE, None, "sha256:a", None),
        (BEFORE, "Tue", "xlsx:a", None),
        (BEFORE._replace(last_modified=None), "Tue", "sha256:b", None),
        (BEFORE._replace(hash=None), "Tue", "sha256:b", None),
        (BEFORE._replace(outdated=True), "Mon", "sha256:b", None),
    ],
)
def test_agreement(
    memory: KnownContent, said: str | None, digest: str, worth: Agreement | None
) -> None:
    assert agreement(memory, AnswerHeaders(200, None, said), digest) is worth


@pytest.mark.parametrize(
    ("memory", "etag", "modified", "digest", "hides"),
    [
        (BEFORE, None, "Mon", "sha256:b", True),
        (BEFORE, None, "Tue", "sha256:b", False),
        (BEFORE, '"new"', "Mon", "sha256:b", False),
        (BEFORE, None, None, "sha256:b", False),
        (BEFORE._replace(etag='"e"', last_modified=None), '"e"', None, "sha256:b", True),
        (BEFORE, None, "Mon", "sha256:a", None),
        (BEFORE, None, "Mon", "xlsx:b", None),
        (BEFORE._replace(last_modified=None), None, None, "sha256:b", None),
        (BEFORE._replace(hash=None), None, "Mon", "sha256:b", None),
        (BEFORE._replace(outdated=True), None, "Mon", "sha256:b", None),
    ],
)
def test_hidden_changes(
    memory: KnownContent, etag: str | None, modified: str | None, digest: str, hides: bool | None
) -> None:
    assert hides_changes(memory, AnswerHeaders(200, etag, modified), digest) is hides
