"""When the documents of what a run writes are sent."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ckanext.freshness.status.indexing import BATCH, COLLECTING, PATIENCE, DocumentBatch

MARKED = datetime(2026, 1, 1)
LATER = MARKED + timedelta(minutes=1)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_document_waits_for_the_last_visit_to_its_dataset(clock: Clock) -> None:
    documents = DocumentBatch(["a", "a", "b"], clock)
    documents.add({"a": MARKED})
    documents.ended(["a"])
    clock.now += COLLECTING
    assert documents.take() == {}
    documents.add({"a": LATER})
    documents.ended(["a"])
    assert documents.take() == {"a": LATER}, "by the newer mark, which goes with all of the dataset"
    assert documents.take() == documents.rest() == {}


def test_a_document_does_not_wait_for_ever(clock: Clock) -> None:
    documents = DocumentBatch(["a", "a"], clock)
    documents.add({"a": MARKED})
    documents.ended(["a"])
    clock.now += PATIENCE - 1
    documents.add({"a": LATER})
    assert documents.take() == {}
    clock.now += 1
    assert documents.take() == {"a": LATER}


def test_documents_are_sent_together(clock: Clock) -> None:
    many = [str(number) for number in range(BATCH)]
    documents = DocumentBatch(many, clock)
    documents.add(dict.fromkeys(many[1:], MARKED))
    documents.ended(many[1:])
    assert documents.take() == {}
    documents.add({"0": MARKED})
    documents.ended(["0"])
    assert documents.take().keys() == set(many)


def test_a_few_are_sent_after_a_while(clock: Clock) -> None:
    documents = DocumentBatch(["a", "b"], clock)
    documents.add({"a": MARKED})
    documents.ended(["a"])
    clock.now += COLLECTING
    documents.add({"b": MARKED})
    assert documents.take() == {"a": MARKED}
    assert documents.rest() == {"b": MARKED}
