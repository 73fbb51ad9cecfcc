"""Words for statuses, evidence, causes and frequencies, and dates and numbers, in the reader's language.

:func:`label` has the words for single values, by the kind of value. The other functions write sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from http import HTTPStatus
from typing import Any

import ckan.plugins.toolkit as tk
from babel import Locale
from babel.dates import format_date, format_datetime, format_skeleton, format_timedelta
from babel.numbers import format_decimal, format_percent
from dateutil.parser import isoparse
from flask import has_request_context

from ..aging import frequency
from ..aging.evidence import Evidence
from ..aging.status import GROUPS, NO_WORKING_LINK, Status
from ..checking.checkers import link_problems
from ..checking.decisions import Outcome, outcomes_that
from ..checking.observations import Precision, period_of
from ..checking.selection import LeftOut
from ..ckan_adapter.core import NAMES
from ..dates import aware, parse_date, utc_now
from ..status.indexing import judged_extras
from ..status.our_fields import are_the_sites, as_mapping
from ..translation import N_, NN_
from ..web.errors import FailureReason


@dataclass(frozen=True, slots=True)
class State:
    """The look of a status or of a link: colour, icon and words.

    :ivar colour: the value of ``data-state`` in ``freshness.css``
    :ivar icon: the name of an icon of Font Awesome, without its prefix
    :ivar label: the words, to be translated where they are shown
    """

    colour: str
    icon: str
    label: str


STATUSES = {
    Status.FRESH.value: State("fresh", "circle-check", N_("Up to date")),
    Status.DUE.value: State("due", "clock", N_("Due")),
    Status.OVERDUE.value: State("overdue", "triangle-exclamation", N_("Overdue")),
    Status.DELINQUENT.value: State("delinquent", "calendar-xmark", N_("Long overdue")),
    NO_WORKING_LINK: State("broken", "link-slash", N_("No working link")),
    Status.UNAVAILABLE.value: State("unknown", "circle-question", N_("Freshness unknown")),
}
"""The states of a dataset by what :func:`..aging.status.shown_status` says of it."""

BY_RHYTHM = {
    Status.FRESH.value: N_("Up to date by its own rhythm"),
    Status.DUE.value: N_("Due by its own rhythm"),
    Status.OVERDUE.value: N_("Overdue by its own rhythm"),
    Status.DELINQUENT.value: N_("Long overdue by its own rhythm"),
}
"""The labels of states of a dataset whose update frequency was learned."""


def state_of(shown: str, frequency_from: str | None) -> State:
    """Return the state of a dataset as all pages and mails name it.

    :param shown: what :func:`..aging.status.shown_status` says of it
    :param frequency_from: where its update frequency comes from
    """
    state = STATUSES[shown]
    own = BY_RHYTHM.get(shown) if frequency_from == "rhythm" else None
    return state if own is None else replace(state, label=own)


LINKS = {
    "works": State("ok", "link", N_("Link works")),
    "failing": State("warn", "bolt", N_("Link failing")),
    "broken": State("bad", "link-slash", N_("Broken link")),
    "unchecked": State("unknown", "ban", N_("Couldn't be checked")),
    "waiting": State("unknown", "hourglass", N_("Not checked yet")),
    "excluded": State("unknown", "circle-minus", N_("Not checked")),
    "internal": State("unknown", "house", N_("On this portal")),
    "elsewhere": State("unknown", "globe", N_("Checked separately")),
}
"""The states of a resource's link. Only lists have the last one, of links that other plugins check: pages show
what they found."""

LINK_MARKS = {
    "undetectable": State("unknown", "eye-slash", N_("Changes can't be detected")),
    "wrong_format": State("warn", "file-circle-exclamation", N_("Wrong formats")),
}
"""What else may be known of links, whatever their state, so that lists show them by it."""

JOBS = {
    "finished": State("ok", "check", N_("Finished")),
    "errors": State("warn", "triangle-exclamation", N_("With errors")),
    "failed": State("bad", "plug-circle-xmark", N_("Failed")),
    "held": State("bad", "hand", N_("Deletions on hold")),
    "running": State("unknown", "spinner", N_("Running")),
    "waiting": State("unknown", "hourglass", N_("Waiting")),
    "stopped": State("unknown", "ban", N_("Stopped")),
}
"""The states of a harvest job."""

RUNS = {
    "finished": State("ok", "circle-check", N_("Finished")),
    "incomplete": State("warn", "triangle-exclamation", N_("Finished with problems")),
    "failed": State("bad", "circle-xmark", N_("Failed")),
    "running": State("unknown", "hourglass-half", N_("Running")),
    "interrupted": State("bad", "plug-circle-xmark", N_("Interrupted")),
}
"""The states of a run."""

_API = N_(
    "This link returns different content on every request (typical of an API), so updates can't be detected."
)
_PAGE = N_("This link leads to a web page or a service, so updates of the data can't be detected.")
_AD_HOC = N_("The host generates this file on request, so it has no modification date.")
BLOCKED = N_("The server blocks automated checks. The link may still work in a browser.")

FOUND = {
    "unchanged": ("ok", N_("Not changed")),
    "changed": ("ok", N_("Changed")),
    "first": ("ok", N_("Read, with nothing to compare yet")),
    "undetectable": ("unknown", N_("Changes can't be detected")),
    "page": ("ok", N_("Web pages and services")),
    "blocked": ("unknown", N_("Couldn't be checked")),
    "failed": ("bad", N_("Failed")),
}
"""The colours and the words of the groups of outcomes, in the order of the page of runs."""

LABELS: Mapping[str, Mapping[str, str]] = {
    "status": {status: state.label for status, state in STATUSES.items()},
    "meaning": {
        Status.FRESH.value: N_("The data changed, or was confirmed, within its update frequency."),
        Status.DUE.value: N_("The next update is expected now."),
        Status.OVERDUE.value: N_("The update is late."),
        Status.DELINQUENT.value: N_("The update is so late that the dataset may be abandoned."),
        NO_WORKING_LINK: N_("All links of this dataset are broken."),
        Status.UNAVAILABLE.value: N_(
            "We don't know how often this dataset should change, or when it did."
        ),
    },
    "group": {
        "up_to_date": N_("Up to date"),
        "needs_update": N_("Need an update"),
        NO_WORKING_LINK: N_("No working link"),
        "unknown": N_("Freshness unknown"),
    },
    "data": {
        "stands": N_("File changes, data do not"),
    },
    "source": {
        "absent": N_("No longer in the source"),
    },
    "evidence": {
        Evidence.UPLOAD.value: N_("A file was uploaded, or dated by hand"),
        Evidence.URL.value: N_("The resource got another link, which works"),
        Evidence.CREATED.value: N_("The resource was added"),
        Evidence.HARVEST.value: N_("Modification date from the harvest source"),
        Evidence.HTTP_HEADER.value: N_("The file (by the server's date)"),
        Evidence.HASH.value: N_("The file has changed since the previous check"),
        Evidence.REVIEW.value: N_("An editor confirmed that the data are accurate"),
        Evidence.SCRIPT.value: N_("A date that a script has given"),
    },
    "undetermined": {
        "api": _API,
        "page": _PAGE,
        "adhoc": _AD_HOC,
        "blocked": BLOCKED,
    },
    "outcome": {
        Outcome.NOT_MODIFIED.value: N_("The server says that the file has not changed."),
        Outcome.HEADER.value: N_("The server says that the file has changed."),
        Outcome.SAME_HASH.value: N_("The file is the same as before."),
        Outcome.FIRST_HASH.value: N_("The file was read. There is nothing to compare it with yet."),
        Outcome.REPEAT_HASH.value: N_("The file is the same as an earlier one."),
        Outcome.CHANGED.value: N_("The file has changed since the previous check."),
        Outcome.API.value: _API,
        Outcome.PAGE.value: _PAGE,
        Outcome.UNCONFIRMED.value: N_("The file may have changed. The next check confirms it."),
        Outcome.ERROR.value: N_("The file could not be read."),
        Outcome.CANNOT_TELL.value: BLOCKED,
        # Of other plugins' checks.
        "downloaded": N_("The file was downloaded."),
    },
    "not checked": {
        LeftOut.INTERNAL.value: N_(
            "This file is hosted on this portal. There is no link to check."
        ),
        LeftOut.AD_HOC.value: _AD_HOC,
        LeftOut.ARCHIVED.value: N_("This dataset is archived. Its links are no longer checked."),
        LeftOut.REQUESTABLE.value: N_(
            "This data is only available on request. There is no link to check."
        ),
    },
    "given by": {
        "source": N_("assumed for all datasets of the harvest source"),
        "organization": N_("assumed for all datasets of the organization"),
        "site": N_("assumed for all datasets of this site"),
        "rhythm": N_("by its own rhythm"),
    },
    "cause": {
        "edit": N_("The dataset was changed"),
        "frequency": N_("The update frequency was changed"),
        "confirmation": N_("The data were confirmed as accurate"),
        "withdrawal": N_("A confirmation was undone"),
        "time": N_("Not updated in time"),
        "check": N_("The links were checked"),
        "recompute": N_("The status was computed again"),
    },
    "found": {group: words for group, (_, words) in FOUND.items()},
}
"""Words by the kind of value and by the value as it is stored, marked for translation."""


def label(kind: str, value: str) -> str:
    """Return a value in words; an unknown value as it is.

    :param kind: a key of :data:`LABELS`
    """
    words = LABELS[kind].get(value)
    return value if words is None else str(tk._(words))


def counted(forms: tuple[str, str], count: int, **values: object) -> str:
    """Return a translated text with a number in it, in the singular or plural.

    :param forms: the two forms, marked by :func:`~ckanext.freshness.translation.NN_`, with the
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
        "Computed the status of {count} dataset: {statuses} new, {dates} with new dates only",
        "Computed the statuses of {count} datasets: {statuses} new, {dates} with new dates only",
    )
    return counted(forms, datasets, statuses=statuses, dates=changed - statuses)


# Why a link failed, in words.

_BY_STATUS = {
    202: N_("The server has not finished the file yet ({answer})."),
    **dict.fromkeys((401, 498, 499), N_("The server asks for a login ({answer}).")),
    403: N_("The server blocks automated checks ({answer}). The link may still work in a browser."),
    404: N_("The file is gone ({answer})."),
    407: N_("A proxy asks for a login ({answer})."),
    410: N_("The file was removed for good ({answer})."),
    **dict.fromkeys(
        (420, 429, 430),
        N_("The server limits the number of requests ({answer}). The link may work in a browser."),
    ),
    451: N_("The server withholds the file for legal reasons ({answer})."),
    511: N_("The network of this portal asks for a login ({answer})."),
}
"""Sentences by status; ``answer`` is the status with its standard phrase."""

_SERVER_ERROR = N_("The server reports an error ({answer}).")
_OTHER_STATUS = N_("The server does not return the file ({answer}).")
_UNKNOWN = N_("The file could not be read.")
_BLOCKED = outcomes_that(lambda it: it.group == "blocked")

_BUSY = N_("The server asked us to wait. We check it again later.")
_OURS = N_("The check failed because of an error of this portal. We check the link again.")
_REDIRECTS = N_("The link redirects too often, or in a circle.")
_REFUSED_CERTIFICATE = N_(
    "This portal does not accept the server's security certificate. The link may still work in a browser."
)

REASONS = {
    FailureReason.INVALID_URL.value: N_("This is not a valid web address."),
    FailureReason.SCHEME_REFUSED.value: N_(
        "Only links that begin with http:// or https:// can be checked."
    ),
    FailureReason.INSIDE_ADDRESS.value: N_(
        "The link leads into a private network, where this portal sends no requests."
    ),
    FailureReason.HOST_NOT_ALLOWED.value: N_("This portal may not contact this server."),
    FailureReason.HOST_DEFERRED.value: _BUSY,
    FailureReason.HOST_SILENT.value: N_(
        "The server answers no requests at the moment. We check it again later."
    ),
    FailureReason.TOO_LARGE.value: N_("The file is too large to be checked."),
    FailureReason.NO_ROOM.value: _OURS,
    FailureReason.INVALID_REQUEST.value: N_("No request can be sent to this web address."),
    FailureReason.UNFORESEEN.value: _OURS,
    FailureReason.NAME_NOT_FOUND.value: N_("There is no server of this name."),
    FailureReason.NAME_LOOKUP_FAILED.value: N_("The server's name could not be looked up."),
    FailureReason.CONNECTION_REFUSED.value: N_("The server refused the connection."),
    FailureReason.CONNECTION_RESET.value: N_("The server broke off the connection."),
    FailureReason.UNREACHABLE.value: N_("The server cannot be reached."),
    FailureReason.NO_ROUTE.value: _OURS,
    FailureReason.PROXY.value: _OURS,
    FailureReason.OUT_OF_SOCKETS.value: _OURS,
    FailureReason.TLS_EXPIRED.value: N_("The server's security certificate is out of date."),
    FailureReason.TLS_SELF_SIGNED.value: N_("The server's security certificate is self-signed."),
    FailureReason.TLS_WRONG_NAME.value: N_(
        "The server's security certificate belongs to another address."
    ),
    FailureReason.TLS_UNTRUSTED.value: N_(
        "The server's security certificate could not be verified: its issuer is not known here, perhaps "
        "because an intermediate certificate is missing. The link may still work in a browser."
    ),
    FailureReason.TLS_WEAK.value: _REFUSED_CERTIFICATE,
    FailureReason.TLS_REFUSED.value: _REFUSED_CERTIFICATE,
    FailureReason.TLS_FAILED.value: N_("A secure connection to the server failed."),
    FailureReason.CONNECT_TIMEOUT.value: N_("The server took too long to answer."),
    FailureReason.READ_TIMEOUT.value: N_("The server took too long to answer."),
    FailureReason.TOTAL_TIMEOUT.value: N_("The server took too long to answer."),
    FailureReason.UNFINISHED.value: N_("The download takes too long for a check."),
    FailureReason.REDIRECT_LOOP.value: _REDIRECTS,
    FailureReason.TOO_MANY_REDIRECTS.value: _REDIRECTS,
    FailureReason.TRUNCATED.value: N_("The download ended before the file was complete."),
    FailureReason.DAMAGED.value: N_(
        "The file arrived damaged. The link may still work in a browser."
    ),
    FailureReason.MALFORMED.value: N_("The server's answer could not be read."),
    # Reasons that are not a failed request
    "format": N_("The server sent something else instead of the file, such as a web page."),
    "error text": N_("The server sent a text that may be an error message instead of the file."),
    "unopened": N_(
        "The file could be opened at only one of two downloads. The next check shows whether it has changed."
    ),
    "not public": N_("The file is gone or not public any more, or the link to it has expired."),
    "leads on": N_("The server sent a web page that may lead to the file in a browser."),
    "landing page": N_("The link leads to a web page, perhaps with the file to download there."),
}
"""Sentences by the reason that is stored with a check."""


def _answer(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def link_problem(check: Mapping[str, Any]) -> str:
    """Return why a check failed or could not be made, in a sentence.

    :param check: the ``outcome``, ``status`` and ``reason`` of a check; the status decides if no sentence of
        :data:`REASONS` or of another plugin is about the reason
    """
    status: int | None = check.get("status")
    reason = check.get("reason") or ""
    text = REASONS.get(reason) or link_problems().get(reason)
    if text is None:
        # What was blocked may still exist.
        blocked = check.get("outcome") in _BLOCKED
        text = _UNKNOWN if status is None else _text_of(status, blocked=blocked)
    return str(tk._(text)).format(answer=status and _answer(status))


def _text_of(status: int, *, blocked: bool) -> str:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if blocked:
        return _BUSY if status == 503 else BLOCKED
    return _SERVER_ERROR if status >= 500 else _OTHER_STATUS


# Changes of a status, and frequencies.

_RESOURCE_CHANGES = {
    "added": N_("The resource {name} was added"),
    "replaced": N_("The resource {name} was replaced"),
    "edited": N_("The resource {name} was edited"),
    "removed": N_("The resource {name} was removed"),
}


def transition_label(transition: Any, author: str | None) -> str:
    """Return the cause of a status change, with the changed thing if it is known.

    :param transition: a row of ``freshness_transition``
    :param author: who did it; None if the reader may not know
    """
    before, after = transition.frequency_before, transition.frequency_after
    if before is not None or after is not None:
        text = tk._("The update frequency was changed from {before} to {after}").format(
            before=tk._("unknown") if before is None else frequency_label(before),
            after=tk._("unknown") if after is None else frequency_label(after),
        )
    elif transition.change in _RESOURCE_CHANGES:
        text = tk._(_RESOURCE_CHANGES[transition.change]).format(name=transition.resource_name)
    else:
        text = label("cause", transition.cause)
    if author is not None:
        text = tk._("{what}, by {author}").format(what=text, author=author)
    return str(text)


def frequency_label(days: int) -> str:
    """Return an update frequency in words.

    :raises ValueError: the number of days is no update frequency
    """
    return frequency.label(days, tk._)


_ABOUT = NN_("about every day", "about every {number} days")
_AT_LEAST = NN_("at least every day", "at least every {number} days")
_CHANGES = {
    "files": NN_("{number} change of the files", "{number} changes of the files"),
    "newer": NN_("{number} change with newer data", "{number} changes with newer data"),
    "record": NN_("{number} date in the metadata", "{number} dates in the metadata"),
}


def every(days: float, *, at_least: bool = False) -> str:
    """Return an observed average time: "about every 92 days"."""
    number = max(round(days), 1)
    return counted(_AT_LEAST if at_least else _ABOUT, number, number=number)


def changes(seen: Mapping[str, Any]) -> str:
    """Return the number and the kind of the changes that were seen: "5 changes of the files".

    :param seen: with ``changes`` and ``basis``, as ``freshness_show`` returns them
    """
    return counted(_CHANGES[seen["basis"]], seen["changes"], number=seen["changes"])


def observed(seen: Mapping[str, Any]) -> str:
    """Return an observed frequency in a sentence, with its range.

    :param seen: as ``freshness_show`` returns it
    """
    words = {"every": every(seen["days"], at_least=seen["at_least"]), "changes": changes(seen)}
    lowest, highest = (max(round(seen[key]), 1) for key in ("lowest_days", "highest_days"))
    if lowest == highest or seen["at_least"]:
        return str(tk._("Observed: {every} (from {changes}).")).format(**words)
    text = tk._("Observed: {every} (from {changes}; {lowest} to {highest} days apart).")
    return str(text).format(**words, lowest=lowest, highest=highest)


_BEHIND = {
    False: NN_(
        "Usually {count} day behind; the next are expected about {day}.",
        "Usually {count} days behind; the next are expected about {day}.",
    ),
    True: NN_(
        "Usually {count} day behind; the next were expected about {day}.",
        "Usually {count} days behind; the next were expected about {day}.",
    ),
}
"""By whether the day has passed."""


def lag(seen: Mapping[str, Any]) -> str:
    """Return how far data usually lie behind and when the next are expected, in a sentence.

    :param seen: as ``freshness_show`` returns it
    """
    day = seen["next_expected"]
    has_passed = date.fromisoformat(day) < utc_now().date()
    return counted(_BEHIND[has_passed], seen["days"], day=in_words(day, "year"))


def data_stand(changed_at: str | datetime, until: str) -> str:
    """Return in a sentence that a file changes while its data end with the same period.

    :param changed_at: when the file last changed
    :param until: the period, as ``freshness_show`` returns it
    """
    words = tk._("The file changed on {day}, but its data still end with {period}.")
    return str(words.format(day=in_words(changed_at, "year"), period=period(until)))


# The facet, and the status on CKAN's own pages.


def our_facts(package: Mapping[str, Any]) -> dict[str, str]:
    """Return what a dataset's extras say of its data, by label."""
    values = our_values(package)
    dates = {
        tk._("Data last changed"): parse_date(values.get(NAMES.last_modified)),
        tk._("Update expected by"): parse_date(values.get(NAMES.due)),
    }
    found = {name: in_words(date, "year") for name, date in dates.items() if date is not None}
    if NAMES.data_until in values:
        found[tk._("Data up to")] = period(values[NAMES.data_until])
    days = values.get(NAMES.frequency, "")
    if days.removeprefix("-").isdigit():
        given = values.get(NAMES.frequency_from)
        more = f" ({label('given by', given)})" if given else ""
        found[tk._("Update frequency")] = frequency_label(int(days)) + more
    return found


def our_values(package: Mapping[str, Any]) -> Mapping[str, str]:
    """Return our extras, with a status among them; empty if the dataset has none."""
    extras = as_mapping(package.get("extras"))
    ours = {key: extras[key] for key in judged_extras(package.get("type")) if key in extras}
    return ours if NAMES.status in ours and not are_the_sites(ours) else {}


def name_facet_values(search_facets: dict[str, Any]) -> None:
    """Give the values of our facets their labels, in place."""
    for kind in ("group", "status", "source", "data"):
        for item in search_facets.get(getattr(NAMES, kind), {}).get("items", []):
            item["display_name"] = label(kind, item["name"])


def facet_levels(
    groups: Sequence[Mapping[str, Any]], statuses: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the groups of the facet with the statuses ``under`` them, in the order in which data age.

    A group of one status stands alone, unless the search has the status. The statuses stand alone while
    some documents have no group yet, so that no number is too small.

    :param groups: values of the facet as CKAN's templates have them: ``name``, ``count``, ``active``
    """
    by_status = {item["name"]: item for item in statuses}
    by_group = {item["name"]: item for item in groups}
    found: list[Mapping[str, Any]] = []
    for group, members in GROUPS.items():
        under = [by_status[one] for one in members if one in by_status]
        item = by_group.get(group)
        if sum(one["count"] for one in under) != (item["count"] if item else 0):
            return [by_status[one] for one in STATUSES if one in by_status]
        if item is not None:
            is_shown = len(members) > 1 or any(one["active"] for one in under)
            found.append({**item, "under": under if is_shown else []})
    return found


# Dates and numbers.


def reader() -> tuple[Locale, tzinfo]:
    """Return the locale and the time zone of the reader; those of the site for commands."""
    # A request that CKAN did not receive has no language.
    language = tk.h.lang() if has_request_context() else None
    locale = locale_of(language or tk.config["ckan.locale_default"])
    return locale, tk.h.get_display_timezone()


def in_words(moment: datetime | date | str, style: str) -> str:
    """Return a moment in the reader's language, in a style of :func:`when`.

    :param moment: a moment of our API (UTC, ISO 8601), a datetime (UTC if it has no zone) or a day
    """
    if isinstance(moment, str):
        moment = (
            date.fromisoformat(moment) if len(moment) == len("2026-01-31") else isoparse(moment)
        )
    if isinstance(moment, datetime) and moment.tzinfo is None:
        moment = aware(moment)
    locale, zone = reader()
    try:
        return when(moment, style, utc_now(), zone, locale)
    except (OverflowError, ValueError):
        # Some zones leave the range of Python's dates in the first and the last year.
        return str(moment)


def period(text: str) -> str:
    """Return a period of data as its last day or as a whole: "31 August 2026", "August 2026", "2026"."""
    found = period_of(text)
    if found is None:
        return text
    day, precision = found
    locale, _zone = reader()
    if precision not in _PERIODS:
        return format_date(day, "long", locale=locale)
    return format_skeleton(_PERIODS[precision], day, locale=locale)


_PERIODS = {Precision.MONTH: "yMMMM", Precision.QUARTER: "yQQQ", Precision.YEAR: "y"}


def locale_of(language: str) -> Locale:
    """Return the locale of one of CKAN's languages; English dates put the day before the month."""
    return Locale.parse("en_GB" if language == "en" else language)


def when(moment: datetime | date, style: str, now: datetime, zone: tzinfo, locale: Locale) -> str:
    """Return a moment in words.

    :param moment: aware; a day only for the styles ``year`` and ``month``
    :param style: ``ago`` ("3 days ago", "in 2 days"), ``lasting`` ("9 days"), ``day`` ("12 Nov", with its year
        if that is not the present one), ``time`` ("12 Nov, 02:13", where several things happen on a day),
        ``year`` ("12 Nov 2026"), ``month`` ("Nov 2026") or ``exact`` ("12 Nov
        2026, 02:13 UTC")
    """
    if not isinstance(moment, datetime):
        return format_skeleton(_SKELETONS[style], moment, locale=locale)
    if style == "ago":
        return _in_words(moment - now, locale, with_direction=True)
    if style == "lasting":
        return lasting(moment, now, locale)
    local = moment.astimezone(zone)
    if style == "time":
        return f"{when(moment, 'day', now, zone, locale)}, {format_datetime(local, 'HH:mm', locale=locale)}"
    if style == "day" and local.year == now.astimezone(zone).year:
        text = format_skeleton("MMMd", local, tzinfo=zone, locale=locale)
        if not text.endswith("."):
            return text
        # At the end of a sentence, the period of an abbreviated month would stand before another one.
        return format_skeleton("MMMMd", local, tzinfo=zone, locale=locale)
    text = format_skeleton(_SKELETONS.get(style, "yMMMd"), local, tzinfo=zone, locale=locale)
    if style == "exact":
        return f"{text}, {format_datetime(local, 'HH:mm z', tzinfo=zone, locale=locale)}"
    return text


_SKELETONS = {"year": "yMMMd", "month": "yMMM"}


def lasting(since: datetime, now: datetime, locale: Locale) -> str:
    """Return the time that has passed since a moment: "9 days". It is at least a second."""
    return _in_words(max(now - since, timedelta(seconds=1)), locale)


def _in_words(delta: timedelta, locale: Locale, *, with_direction: bool = False) -> str:
    if abs(delta) < timedelta(days=1):
        return format_timedelta(delta, add_direction=with_direction, locale=locale)
    # By default, Babel also counts in weeks, and calls ten months a year.
    if abs(delta) < timedelta(days=30.5):
        return format_timedelta(
            delta, granularity="day", threshold=31, add_direction=with_direction, locale=locale
        )
    return format_timedelta(
        delta, granularity="month", threshold=2, add_direction=with_direction, locale=locale
    )


def number(value: int) -> str:
    """Return a whole number with the separators of the reader's language."""
    return format_decimal(value, locale=reader()[0])


def percent(part: int, whole: int) -> str:
    """Return a share as whole percent. Only an exact 0 gives "0 %", and only an exact 1 gives "100 %"."""
    locale, _zone = reader()
    if not whole:
        return format_percent(0, locale=locale)
    share = Decimal(part * 100) / whole
    rounded = int(share.quantize(Decimal(1), ROUND_HALF_UP))
    if 0 < part < whole:
        rounded = min(max(rounded, 1), 99)
    return format_percent(Decimal(rounded) / 100, locale=locale)
