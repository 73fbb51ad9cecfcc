"""Words for the reasons why a run checked a link, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_
from ..checking.selection import SelectionReason
from . import frequency_words

_WHY = {
    SelectionReason.VISIT_ASKED: N_("somebody asked for the check"),
    SelectionReason.VISIT_UNCONFIRMED: N_("the check before could not confirm a change"),
    SelectionReason.VISIT_FAILING: N_("it failed at the check before"),
    SelectionReason.VISIT_NEW: N_("new link"),
    SelectionReason.VISIT_DAILY: N_("daily data"),
    SelectionReason.VISIT_NO_DATE: N_("no change of the data is known"),
    SelectionReason.VISIT_DUE: N_("the dataset is due for an update"),
    SelectionReason.VISIT_EXPECTED: N_("expected to have changed"),
    SelectionReason.VISIT_BOUND: N_("not checked for the longest time allowed"),
    SelectionReason.VISIT_ROTATION: N_("in the rotation of all links"),
}
_LABELS = {reason.label: words for reason, words in _WHY.items()}

COUNTED = {reason.value: words for reason, words in _WHY.items()}
"""The reasons as the figures of a run count them, with their words, marked for translation."""


def why(check: Mapping[str, Any]) -> str:
    """Return why a run checked a link: "expected to have changed: about every 9 days"; empty if unknown.

    :param check: with ``why`` and ``every_days``, as ``freshness_show`` returns them
    """
    label = check["why"]
    if label not in _LABELS:
        return ""
    words = tk._(_LABELS[label])
    if check["every_days"] is None:
        return str(words)
    text = tk._("{reason}: {every}")
    return str(text).format(reason=words, every=frequency_words.every(check["every_days"]))


def chosen(sums: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return in words why a run checked links, with the number of links, the most frequent reason first.

    :param sums: figures of all hosts of a run
    """
    found = [(str(tk._(words)), int(sums[key])) for key, words in COUNTED.items() if sums.get(key)]
    return sorted(found, key=lambda one: -one[1])
