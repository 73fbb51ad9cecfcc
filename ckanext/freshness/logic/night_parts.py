"""The parts of a night's work, each as it is done by its own command."""

from __future__ import annotations

from datetime import datetime
from uuid import uuid4

import ckan.plugins.toolkit as tk

from .indexing import SolrAwayError
from .nightly import Part, Told
from .refresh import refresh


def statuses(now: datetime) -> Told:
    """Write the statuses that time has changed."""
    try:
        done = refresh(now, run_id=str(uuid4()))
    except SolrAwayError as error:
        words = tk._("Solr does not answer; the next refresh indexes what is missing: {error}")
        return Told(words.format(error=error), complete=False)
    words = tk._("Looked at {datasets} datasets: {changed} changed")
    told = words.format(datasets=done.datasets, changed=done.changed)
    if done.failures:
        words = tk._("{told}; {count} could not be indexed, the first {dataset}: {error}")
        first = done.failures[0]
        told = words.format(
            told=told, count=len(done.failures), dataset=first.package_id, error=first.words
        )
    return Told(told, complete=not done.failures)


PARTS = (Part("refresh", statuses),)
"""In the order in which they are done: what one finds, the next ones use."""
