"""Words for statuses, evidence, outcomes and causes, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging import frequency
from ..aging.evidence import Evidence
from ..aging.messages import N_, NN_
from ..aging.status import Status
from ..checking.decisions import Outcome
from ..checking.selection import SelectionReason
from ..ckan_adapter.site_names import site_names
from . import link_words
from .counts import StatusCounts
from .display import STATUSES
from .host_groups import OTHERS, TOTAL

_MEANING = {
    Status.FRESH: N_("The data changed, or was confirmed, within its update frequency."),
    Status.DUE: N_("The next update is expected now."),
    Status.OVERDUE: N_("The update is late."),
    Status.DELINQUENT: N_("The update is so late that the dataset may be abandoned."),
    Status.UNAVAILABLE: N_("We don't know how often this dataset should change, or when it did."),
}

_GROUPS = {
    "up_to_date": N_("Up to date"),
    "needs_update": N_("Needs update"),
    "unknown": N_("Freshness unknown"),
}

_EVIDENCE = {
    Evidence.UPLOAD: N_("A file was uploaded, or dated by hand"),
    Evidence.URL: N_("The resource's URL was changed"),
    Evidence.CREATED: N_("The resource was added"),
    Evidence.HARVEST: N_("Modification date from the harvest source"),
    Evidence.HTTP_HEADER: N_("Last-Modified header of the server"),
    Evidence.HASH: N_("The file has changed since the previous check"),
    Evidence.REVIEW: N_("An editor confirmed that the data are accurate"),
    Evidence.SCRIPT: N_("The script that updates the data gave this date"),
    Evidence.METADATA: N_("The metadata were edited"),
}

_UNDETERMINED = {
    "api": N_(
        "This link returns different content on every request (typical of an API), so updates can't "
        "be detected."
    ),
    "adhoc": N_("The host generates this file on request, so it has no modification date."),
    "blocked": N_("The server blocks automated checks; the link may still work in a browser."),
}

_OUTCOME = {
    Outcome.NOT_MODIFIED: N_("The server says that the file has not changed."),
    Outcome.HEADER: N_("The server says that the file has changed."),
    Outcome.SAME_HASH: N_("The file is the same as before."),
    Outcome.FIRST_HASH: N_("The file was read for the first time."),
    Outcome.REPEAT_HASH: N_("The file is the same as an earlier one."),
    Outcome.CHANGED: N_("The file has changed since the previous check."),
    Outcome.API: N_(
        "This link returns different content on every request (typical of an API), so updates can't "
        "be detected."
    ),
    Outcome.UNCONFIRMED: N_("The file may have changed. The next check confirms it."),
    Outcome.ERROR: N_("The file could not be read."),
    Outcome.CANNOT_TELL: link_words.BLOCKED,
}

_CYCLE_OUTCOME = {
    "verified": N_("The server says that the file has not changed."),
    "downloaded": N_("The file was downloaded."),
}
"""Outcomes of update cycles."""

_NOT_VISITED = {
    SelectionReason.INTERNAL.value: N_(
        "This file is hosted on this portal. There is no link to check."
    ),
    SelectionReason.AD_HOC.value: N_(
        "The host generates this file on request, so it has no modification date."
    ),
    SelectionReason.ARCHIVED.value: N_(
        "This dataset is archived. Its links are no longer checked."
    ),
    SelectionReason.REQUESTABLE.value: N_(
        "This data is only available on request. There is no link to check."
    ),
}

_GIVEN_BY = {
    "source": N_("assumed for all datasets of the harvest source"),
    "organization": N_("assumed for all datasets of the organization"),
    "site": N_("assumed for all datasets of this site"),
}

_CAUSES = {
    "edit": N_("The dataset was changed"),
    "frequency": N_("The update frequency was changed"),
    "time": N_("Not updated in time"),
    "check": N_("The links were checked"),
    "recompute": N_("The status was computed again"),
}

_RESOURCE_CHANGES = {
    "added": N_("The resource {name} was added"),
    "replaced": N_("The resource {name} was replaced"),
    "edited": N_("The resource {name} was edited"),
    "removed": N_("The resource {name} was removed"),
}

_LINES_OF_HOSTS = {name: name for name in (OTHERS, TOTAL)}

_VALUES = {status.value for status in Status}


def status_label(status: Status) -> str:
    """Return the words for a status."""
    return str(tk._(STATUSES[status.value].label))


def name_facet_values(search_facets: dict[str, Any]) -> None:
    """Give the values of our facets their labels, in place."""
    for field in (site_names().group, site_names().status):
        for item in search_facets.get(field, {}).get("items", []):
            item["display_name"] = facet_label(field, item["name"])


def facet_label(field: str, value: str) -> str:
    """Return the words for a value of one of our facets; an unknown value as it is."""
    if field == site_names().group:
        return _translated(_GROUPS, value)
    return status_label(Status(value)) if value in _VALUES else value


def status_meaning(status: Status) -> str:
    """Return a sentence about the meaning of a status."""
    return str(tk._(_MEANING[status]))


def evidence_label(evidence: Evidence) -> str:
    """Return the reason why a date is believed."""
    return str(tk._(_EVIDENCE[evidence]))


def undetermined_label(reason: str) -> str:
    """Return the reason why changes of a dataset cannot be detected; an unknown reason as it is."""
    return _translated(_UNDETERMINED, reason)


def outcome_label(outcome: Outcome) -> str:
    """Return a sentence about the outcome of a check."""
    return str(tk._(_OUTCOME[outcome]))


def link_reason(link: Mapping[str, Any], since: str) -> str:
    """Return why a link has its state, in one or two sentences.

    :param link: a resource of ``freshness_show``
    :param since: the day when it began to fail, as text; empty if it does not fail
    """
    if link["failures"]:
        return f"{_failure(link)} {_failing(link, since)}"
    if link["not_visited"]:
        return not_visited_label(link["not_visited"])
    if link["outcome"] is None:
        return str(tk._("One of the next nightly runs checks it."))
    if link["state"] == "unchecked":
        return link_problem(link)
    if link["outcome"] in _CYCLE_OUTCOME:
        return str(tk._(_CYCLE_OUTCOME[link["outcome"]]))
    return outcome_label(Outcome(link["outcome"]))


def _failure(link: Mapping[str, Any]) -> str:
    """Return why the last failed check failed. Checks after it may have been blocked."""
    failed = (one for one in link["attempts"] if one["outcome"] == Outcome.ERROR.value)
    return link_problem(next(failed, link))


def _failing(link: Mapping[str, Any], since: str) -> str:
    if link["state"] == "broken":
        forms = NN_(
            "It has failed since {since}, {count} check.",
            "It has failed since {since}, {count} checks in a row.",
        )
    else:
        forms = NN_(
            "It failed on {since}. We check it again before we call it broken.",
            "It has failed since {since}, {count} checks in a row. We check it again before we call it "
            "broken.",
        )
    return counted(forms, link["failures"], since=since)


def link_problem(check: Mapping[str, Any]) -> str:
    """Return why a check failed or could not be made, in a sentence.

    :param check: the ``outcome``, ``status`` and ``reason`` of a check
    """
    blocked = check["outcome"] == Outcome.CANNOT_TELL.value
    text, answer = link_words.problem(check["status"], check["reason"], blocked=blocked)
    return str(tk._(text)).format(answer=answer)


def strip_label(strip: str) -> str:
    """Return the numbers of a strip of checks: "30 checks: 20 worked, 10 failed"."""
    total = counted(NN_("{count} check", "{count} checks"), len(strip))
    counts = [
        (tk._("{count} worked"), strip.count("w")),
        (tk._("{count} failed"), strip.count("f")),
        (tk._("{count} could not be made"), strip.count("u")),
    ]
    parts = [words.format(count=count) for words, count in counts if count]
    return str(tk._("{total}: {parts}")).format(total=total, parts=", ".join(parts))


def not_visited_label(reason: str) -> str:
    """Return a sentence about the reason why a URL is never checked; an unknown reason as it is."""
    return _translated(_NOT_VISITED, reason)


def given_by_label(origin: str) -> str:
    """Return the origin of an assumed update frequency: the source, the organization or the site."""
    return _translated(_GIVEN_BY, origin)


def cause_label(cause: str) -> str:
    """Return the cause of a status change."""
    return _translated(_CAUSES, cause)


def transition_label(transition: Mapping[str, Any]) -> str:
    """Return the cause of a status change, with the changed thing and its author if they are known."""
    change, frequencies = transition["change"], transition["frequency"]
    if frequencies is not None:
        text = tk._("The update frequency was changed from {before} to {after}").format(
            **{
                key: tk._("unknown") if days is None else frequency_label(days)
                for key, days in frequencies.items()
            }
        )
    elif change in _RESOURCE_CHANGES:
        text = tk._(_RESOURCE_CHANGES[change]).format(name=transition["resource_name"])
    else:
        text = cause_label(transition["cause"])
    author = transition["author"]
    if author is not None:
        text = tk._("{what}, by {author}").format(what=text, author=author)
    return str(text)


def counted(forms: tuple[str, str], count: int, **values: object) -> str:
    """Return a translated text with a number in it, in the singular or plural.

    :param forms: the two forms, marked by :func:`~ckanext.freshness.aging.messages.NN_`, with the
        placeholders ``count`` and the names of the values
    """
    return str(tk.ungettext(*forms, count)).format(count=count, **values)


def refresh_summary(datasets: int, changed: int, statuses: int) -> str:
    """Return a sentence about a refresh.

    :param datasets: number of datasets whose status was computed
    :param changed: number of datasets whose extras changed
    :param statuses: number of these that have another status
    """
    forms = NN_(
        "Computed the status of {count} dataset: {changed} changed, {statuses} with a new status",
        "Computed the statuses of {count} datasets: {changed} changed, {statuses} with a new status",
    )
    return counted(forms, datasets, changed=changed, statuses=statuses)


def fresh_share(counts: StatusCounts) -> str:
    """Return the share of fresh datasets among those with known freshness, in a sentence."""
    forms = NN_(
        "{fresh} of {count} dataset with known freshness is up to date ({percent} percent)",
        "{fresh} of {count} datasets with known freshness are up to date ({percent} percent)",
    )
    fresh = counts.statuses[Status.FRESH.value]
    return counted(forms, counts.known, percent=round(counts.fresh_percent, 1), fresh=fresh)


def hosts_label(name: str) -> str:
    """Return the name of a row of the table of hosts: the site's name of a group, or a translated one."""
    return _translated(_LINES_OF_HOSTS, name)


def frequency_label(days: int) -> str:
    """Return an update frequency in words.

    :raises ValueError: the number of days is no update frequency
    """
    return frequency.label(days, tk._)


def _translated(table: dict[str, str], key: str) -> str:
    return str(tk._(table[key])) if key in table else key
