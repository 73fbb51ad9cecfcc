"""What the stored counts of a run say: groups of outcomes, changed datasets."""

from __future__ import annotations

from ckanext.freshness.checking.decisions import OUTCOMES, Outcome
from ckanext.freshness.reporting.labels import FOUND, LABELS
from ckanext.freshness.reporting.runs import changed_datasets
from ckanext.freshness.status.judgement import UNDETERMINED


def test_each_outcome_has_its_row_and_words() -> None:
    assert list(OUTCOMES) == list(Outcome)
    assert {outcome.value for outcome in Outcome} <= LABELS["outcome"].keys()
    groups = {traits.group for traits in OUTCOMES.values()}
    assert groups == FOUND.keys()
    marks = {traits.undetermined for traits in OUTCOMES.values()} - {None}
    assert marks == set(UNDETERMINED) - {"adhoc"}


def test_datasets_with_changed_files() -> None:
    labels = {
        "0: Fresh, Updated hash": 1,
        "0: Fresh, Updated filestore,http header,hash": 2,
        "0: Fresh, Updated http header,error": 4,
        "1: Due, Updated nothing": 8,
        "Freshness Unavailable, Updated no resources": 16,
    }
    assert changed_datasets(labels) == 7
