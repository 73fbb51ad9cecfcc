"""Which results of checks show that data have changed."""

from __future__ import annotations

from datetime import datetime

import pytest

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.checking import data_changes
from ckanext.freshness.checking.decisions import (
    KnownContent,
    Outcome,
)
from ckanext.freshness.tests.checking.rows import NOW, finding, visit

KNOWN = KnownContent(hash="sha256:a")

TABLE = [
    *((outcome, KNOWN, None, None) for outcome in Outcome if outcome is not Outcome.CHANGED),
    (Outcome.CHANGED, KNOWN, None, Evidence.HASH),
    (Outcome.CHANGED, KNOWN, NOW, Evidence.HASH),
    (Outcome.HEADER, KNOWN, NOW, Evidence.HTTP_HEADER),
    (Outcome.FIRST_HASH, KNOWN, NOW, Evidence.HTTP_HEADER),
    (Outcome.FIRST_HASH, KnownContent(), NOW, None),
    (Outcome.SAME_HASH, KNOWN, NOW, None),
    (Outcome.REPEAT_HASH, KNOWN, NOW, None),
    (Outcome.UNCONFIRMED, KNOWN, NOW, None),
    (Outcome.API, KNOWN, NOW, None),
]
"""The outcome, what was known before, a newer Last-Modified, and how the check shows a change."""


@pytest.mark.parametrize(("outcome", "before", "modified", "expected"), TABLE)
def test_results_that_show_a_change(
    outcome: Outcome, before: KnownContent, modified: datetime | None, expected: Evidence | None
) -> None:
    result = finding(outcome, resource=visit(known=before), known=KNOWN, modified=modified)
    assert data_changes.evidence_of(result) is expected
