"""Update cycles in words, for the pages of runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import NN_
from ..ckan_adapter.database import is_held
from ..dates import utc_now
from ..reporting import display
from ..reporting.run_summary import RunKind
from .cycle import cycle


def _is_whole(options: Mapping[str, Any]) -> bool:
    """Decide whether a cycle read the registry, so that it checked all files."""
    return options.get("harvest") is not False


def _title(options: Mapping[str, Any]) -> str:
    return str(tk._("IATI cycle") if _is_whole(options) else tk._("Check of IATI files"))


def _is_alive(run: Any, now: datetime) -> bool:
    return is_held(cycle.lock(str((run.options or {}).get("source"))))


_SENTENCES = (
    (
        "total_number_of_datasets",
        *NN_("The registry lists {number} dataset.", "The registry lists {number} datasets."),
    ),
    (
        "datasets_with_download",
        *NN_("{number} of them has a copy.", "{number} of them have a copy."),
    ),
    ("datasets_added", *NN_("{number} is new.", "{number} are new.")),
    ("changed", *NN_("{number} file changed.", "{number} files changed.")),
    ("failed", *NN_("{number} file failed.", "{number} files failed.")),
    (
        "datasets_unregistered",
        *NN_(
            "{number} dataset was unregistered, and its copy was removed.",
            "{number} datasets were unregistered, and their copies were removed.",
        ),
    ),
    (
        "datasets_expired",
        *NN_(
            "{number} copy expired because its file had failed for too long.",
            "{number} copies expired because their files had failed for too long.",
        ),
    ),
)
"""Sentences about the figures of a cycle, by figure."""


def sentences(figures: Mapping[str, Any]) -> list[str]:
    """Return what a cycle did, in sentences; those about zeros are left out."""
    locale = display.locale_of(tk.h.lang())
    told = [
        tk.ungettext(one, many, count).format(number=display.number(count, locale))
        for key, one, many in _SENTENCES
        if (count := int(figures.get(key) or 0))
    ]
    if (seconds := float(figures.get("zipper_run_duration") or 0)) >= 1:
        now = utc_now()
        duration = display.lasting(now - timedelta(seconds=seconds), now, locale)
        words = tk._("Index files and ZIPs were written in {duration}.")
        told.append(words.format(duration=duration))
    return [str(sentence) for sentence in told]


RUNS = RunKind(_title, "globe", _is_alive, sentences, _is_whole)
"""The kind of runs of update cycles."""
