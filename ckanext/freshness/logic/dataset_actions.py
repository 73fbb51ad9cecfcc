"""Actions about a dataset or a resource: show how fresh it is, confirm its data, have its URLs checked,
and leave it out of the tasks of editors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..aging import frequency
from ..aging.evidence import DatedEvidence, Evidence
from ..aging.status import status_at
from ..aging.vocabularies import Reason
from ..checking.data_changes import choose_column
from ..checking.decisions import KnownContent
from ..checking.observations import DateColumn, Silence, newest, period_text
from ..checking.stored_values import read
from ..ckan_adapter.core import REVIEW_KEY, is_member, may, model, same_user
from ..ckan_adapter.packages import lock_packages
from ..dates import EARLIEST, exact_text, stated_date, utc, utc_now, utc_text
from ..model import FreshnessEvidence, FreshnessTransition, ResourceCheck
from ..reporting import changes, labels, links, visibility, worklist
from ..reporting.tables import TableRequest
from ..runs import requested
from ..status import frequencies, indexing, judgement, snapshot
from ..status.assessment import update_packages
from ..status.changes import Occasion, TransitionCause
from ..status.frequencies import StatedFrequency, write_field
from ..status.snapshot import DatasetSnapshot, ResourceSnapshot
from ..web.urls import display_url
from .validators import count_costly

log = logging.getLogger(__name__)

_AT_ONCE = timedelta(minutes=1)
"""If a user confirms a dataset again within this time, it is one confirmation."""
_TRANSITIONS = 20
_MAX_TEXT = 80


@tk.side_effect_free
def freshness_show(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Return how fresh a dataset is now, why, and when an update is due.

    :param id: id or name of the dataset
    :type id: string
    :returns: a dictionary with

        * ``id``, ``name``, ``title`` (strings)
        * ``status`` (string): ``fresh``, ``due``, ``overdue``, ``delinquent`` or ``unavailable`` (not known)
        * ``last_modified`` (moment): when the data last changed
        * ``evidence`` (string): why this date is believed
        * ``frequency`` (dictionary): ``days`` (number), and ``from`` what it comes (``dataset``, ``source``,
          ``organization``, ``site``, or ``rhythm``: learned from its changes)
        * ``observed_frequency`` (dictionary; null if fewer than three updates are known): ``days`` (the
          median), ``lowest_days``, ``highest_days``, ``at_least`` (boolean: they may change more often),
          ``changes`` (their number), ``basis`` (``files``, ``newer`` data in them, or dates in the ``record``),
          ``suggested_days``
        * ``boundaries`` (dictionary of moments; null if there are none): ``due``, ``overdue``, ``delinquent``
        * ``undetermined`` (string): why changes cannot be seen: ``api``, ``adhoc``, ``blocked`` or ``page``
        * ``absent_since`` (moment): since when its harvest source has been without it
        * ``data_until`` (dictionary): up to when the data reach by the dates in them: ``period``
          (``2026-08-31``, ``2026-08``, ``2026-W35``, ``2026-Q3`` or ``2026``), ``until`` (its last day),
          ``changed_at`` (when its file last changed), ``lag`` (null if fewer than three updates brought newer
          data: ``days`` behind, the median, ``lowest_days``, ``highest_days``, ``step_days`` between periods,
          ``updates``, ``next_expected``),
          ``column``, ``sheet``, ``resource_id`` and ``resource_name``, or a null ``period`` and the ``reason``
          (``none``, ``schedule``, ``unclear``: day, month or year first, ``several`` columns),
          ``stands_since``: when a check first saw it, if the file has changed long after that, and
          ``questions``: files of which several columns may be meant (``resource_id``, ``columns``, each with
          its ``column`` for ``freshness_date_column`` and its newest ``period``, and the ``answer`` of an
          editor or null)
        * ``broken_since`` (moment): since when all of its links have been broken, whatever its ``status`` says
        * ``pieces`` (list of dictionaries): all evidence, the newest first: ``resource_id``,
          ``resource_name``, ``evidence``, ``date``, ``claimed`` (the original date if it was in the future)
        * ``stated_date`` (dictionary): ``value``, ``since``, ``stands_still`` (boolean)
        * ``confirmation`` (dictionary): ``date``, ``author`` (only for members of the organization),
          ``is_own`` (boolean)
        * ``problems`` (list of strings): sentences
        * ``transitions`` (list of dictionaries): the newest 20 changes of the status or the update frequency:
          ``from``, ``to``, ``at``, ``evidence``, ``cause``, ``explanation``
        * ``data_changes`` (list of dictionaries): the newest 20: ``seen_at``, ``resource_id``,
          ``resource_name``, ``evidence``, ``what``
        * ``links`` (dictionary): ``total`` (number) and ``resources``, at most 100, failing links first, each
          with ``id``, ``name``, ``url`` (without secrets), ``format``, ``state`` (``works``, ``failing``,
          ``broken``, ``unchecked``: the last check could not tell, ``waiting``: not checked yet, ``excluded``:
          never checked, ``internal``: hosted here) and its ``explanation``; of the last check ``tried_at``,
          ``outcome``, ``status`` (of HTTP), ``words`` (what went wrong), ``final_url``; ``promised`` and
          ``found`` (if the file is of another kind than its format), ``failures`` in a row,
          ``failing_since``, ``failed_at``, ``succeeded_at``, ``changed_at``;
          of the last good copy ``cached_url``, ``cached_zip_url``, ``cached_at`` and ``cached_size`` (bytes)
        * ``may_confirm`` and ``may_check`` (booleans): what the user may do
    :rtype: dictionary
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    """
    package = judged_package(tk.get_or_bust(data_dict, "id"))
    datasets = snapshot.take([package.id], settings.dataset_types())
    if not datasets:
        raise tk.ObjectNotFound(tk._("Dataset not found"))
    return _shown(context, package, datasets[0], utc_now())


def freshness_confirm(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Confirm that the data of a dataset are up to date now: set its ``review_date``.

    This is an edit of the dataset like any other, with its activity. If the same user confirms twice within
    a minute, it counts once.

    :param id: id or name of the dataset
    :type id: string
    :param withdraw: withdraw the last confirmation instead, so that an earlier one counts again (optional,
        default: false)
    :type withdraw: boolean
    :param date: of the confirmation to withdraw, as ``freshness_show`` returns it (optional, default: of the
        last confirmation, whoever made it)
    :type date: string
    :returns: the same as ``freshness_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, CKAN refuses it as it is, there is no confirmation to
        withdraw, or somebody has confirmed the data again after ``date``
    """
    package_id = active_package(tk.get_or_bust(data_dict, "id")).id
    lock_packages([package_id])
    if data_dict.get("withdraw"):
        _withdraw(context, package_id, data_dict.get("date"))
    else:
        _confirm(context, package_id, utc(utc_now()).replace(microsecond=0))
    shown: dict[str, Any] = tk.get_action("freshness_show")(
        same_user(context), {"id": data_dict["id"]}
    )
    return shown


def judged_package(name_or_id: str) -> Any:
    """Return the row of a dataset whose freshness is judged.

    :raises tk.ObjectNotFound: there is no such dataset, or its package type is not judged (a harvest source)
    """
    package = model.Package.get(name_or_id)
    if package is None:
        raise tk.ObjectNotFound(tk._("Dataset not found"))
    if package.type not in settings.dataset_types():
        words = tk._("The freshness of packages of the type {type} is not judged")
        raise tk.ObjectNotFound(words.format(type=package.type))
    return package


def active_package(name_or_id: str) -> Any:
    """Return the row of a dataset whose freshness is judged, unless it was deleted.

    :raises tk.ObjectNotFound: as of :func:`judged_package`
    :raises tk.ValidationError: it was deleted
    """
    package = judged_package(name_or_id)
    if package.state != model.State.ACTIVE:
        words = tk._("Nothing was changed: this dataset was deleted. Restore it first.")
        raise tk.ValidationError({"id": [words]})
    return package


def _confirm(context: dict[str, Any], package_id: str, now: datetime) -> None:
    """Confirm the data of a dataset by an edit, unless the same user has just done so, as by a double click.

    If both counted, the first one would keep the dataset fresh after the user withdraws the second.

    :param now: in UTC, without zone, as CKAN's own dates are
    """
    review = _review(package_id)
    if (
        review is not None
        and review.author is not None
        and review.author == context.get("user")
        and abs(now - review.happened_at) < _AT_ONCE
    ):
        # Release the lock.
        model.Session.commit()
    else:
        write_field(context, package_id, REVIEW_KEY, exact_text(now))


def _withdraw(context: dict[str, Any], package_id: str, date: str | None) -> None:
    """Withdraw the last confirmation of a dataset, in the transaction of an edit.

    :param date: of the confirmation, if only that one may be withdrawn
    """
    review = _review(package_id)
    newest = "" if review is None else str(utc_text(review.happened_at))
    if not newest or (date and date != newest):
        # Release the lock.
        model.Session.commit()
        if date and date > newest:
            words = tk._("This can no longer be undone: it is undone already.")
        elif newest:
            words = tk._("The data have been confirmed again since then. That confirmation stays.")
        else:
            words = tk._("Nobody has confirmed the data of this dataset")
        raise tk.ValidationError({"withdraw": [words]})
    earlier = review.previous_at
    if earlier is None:
        model.Session.delete(review)
    else:
        review.happened_at, review.claimed_at = earlier, None
        review.author = review.previous_author
        review.previous_at = review.previous_author = None
    model.Session.flush()
    write_field(context, package_id, REVIEW_KEY, "" if earlier is None else exact_text(earlier))
    # If the dataset had lost its review_date before, that was no edit, and no hook has judged it.
    _judge_anew(context, package_id)


def _judge_anew(context: dict[str, Any], package_id: str) -> None:
    """Judge a dataset after an edit of our own tables, commit, and send its document."""
    user = context.get("user") or None
    changed = update_packages([package_id], Occasion(utc_now(), TransitionCause.EDIT, writer=user))
    marks = indexing.mark([dataset.package_id for dataset in changed])
    model.Session.commit()
    indexing.index(marks)


def _shown(
    context: dict[str, Any], package: Any, dataset: DatasetSnapshot, now: datetime
) -> dict[str, Any]:
    row, judged = judgement.current(dataset, now)
    bounds = snapshot.boundaries(row)
    status = row.status if bounds is None else status_at(bounds, now).value
    names = {
        resource.id: resource.name or display_url(resource.url) for resource in dataset.resources
    }
    is_active = package.state == model.State.ACTIVE
    reader = context.get("user") or ""
    knows_people = may("freshness_confirm", context, id=package.id) or is_member(
        reader, package.owner_org
    )
    return {
        "id": package.id,
        "name": package.name,
        "title": package.title or package.name,
        "status": status,
        "last_modified": utc_text(row.last_modified),
        "evidence": row.evidence,
        "frequency": {
            "days": judged.frequency.days,
            "from": judged.frequency.stated_by.value if judged.frequency.stated_by else None,
        },
        "observed_frequency": changes.observed(package.id, _declared(row), now),
        "boundaries": None
        if bounds is None
        else {name: utc_text(getattr(bounds, name)) for name in ("due", "overdue", "delinquent")},
        "undetermined": row.undetermined,
        "absent_since": utc_text(dataset.absent_since),
        "data_until": {
            **_data_until(dataset),
            "stands_since": utc_text(row.data_stands_since),
            "questions": list(_questions(dataset)),
        },
        "broken_since": utc_text(row.broken_since),
        "pieces": [_piece(piece, names) for piece in sorted(judged.pieces, key=_newest_first)],
        "stated_date": _stated(row),
        "confirmation": _confirmation(package.id, reader, knows_people=knows_people),
        "problems": list(_problems(dataset, judged.frequency, judged.pieces)),
        "transitions": _transitions(dataset.id, knows_people=knows_people),
        "data_changes": _data_changes(package.id, now),
        "links": links.of_dataset(package.id),
        "may_confirm": is_active and may("freshness_confirm", context, id=package.id),
        "may_check": is_active and may("freshness_check", context, id=package.id),
    }


def _data_until(dataset: DatasetSnapshot) -> dict[str, Any]:
    found = judgement.data_reached(dataset)
    if isinstance(found, Silence):
        return {"period": None, "reason": found.value}
    resource, column = found
    return {
        "period": period_text(column),
        "until": column.until,
        "changed_at": utc_text(resource.changed_at),
        "lag": changes.lag(resource.id, date.fromisoformat(column.until or "")),
        "column": column.name,
        "sheet": column.sheet,
        "resource_id": resource.id,
        "resource_name": resource.name or display_url(resource.url),
    }


def _declared(row: Any) -> int | None:
    return (
        None
        if row.frequency_from == frequencies.FrequencySource.RHYTHM.value
        else row.frequency_days
    )


def _questions(dataset: DatasetSnapshot) -> Iterator[dict[str, Any]]:
    """Yield the files of which only an editor can tell which column says up to when their data reach."""
    for one in dataset.resources:
        columns = _candidates(one)
        if columns and (one.date_column is not None or newest(one.dates) is Silence.SEVERAL):
            shown = [{"column": [*each[:2]], "period": period_text(each)} for each in columns]
            yield {"resource_id": one.id, "columns": shown, "answer": one.date_column}


def _candidates(resource: ResourceSnapshot) -> list[DateColumn]:
    return [one for one in resource.dates if one.until is not None and not one.is_schedule]


def _piece(piece: DatedEvidence, names: dict[str, str]) -> dict[str, Any]:
    return {
        "resource_id": piece.resource,
        "resource_name": names.get(piece.resource or ""),
        "evidence": piece.evidence.value,
        "date": utc_text(piece.when),
        "claimed": utc_text(piece.claimed),
    }


def _newest_first(piece: DatedEvidence) -> tuple[float, str, str]:
    return (-piece.when.timestamp(), piece.evidence.value, piece.resource or "")


def _stated(row: Any) -> dict[str, Any] | None:
    if row.stated_date is None:
        return None
    stands_still = False
    if row.last_modified is not None and row.frequency_days and row.frequency_days > 0:
        # A difference cannot overflow; the sum of a date in the year 9999 and the frequency could.
        age = row.last_modified - row.stated_since
        stands_still = age > timedelta(days=row.frequency_days)
    return {
        "value": row.stated_date,
        "since": utc_text(row.stated_since),
        "stands_still": stands_still,
    }


def _problems(
    dataset: DatasetSnapshot, stated: StatedFrequency, pieces: list[DatedEvidence]
) -> Iterator[str]:
    """Yield sentences about mistakes in the dataset, with advice."""
    reading = stated.reading
    # That none is given is no mistake; the page says it where it explains the status.
    if isinstance(reading, frequency.UnknownFrequency) and reading.reason is not Reason.NOT_GIVEN:
        yield frequencies.explained(reading)
    reviewed = (dataset.extras.get(REVIEW_KEY) or "").strip()
    if reviewed and stated_date(reviewed) is None:
        words = tk._(
            "The {key} '{text}' is no date. Write it as 2026-01-31 or 2026-01-31T10:20:30Z."
        )
        yield words.format(key=REVIEW_KEY, text=reviewed[:_MAX_TEXT])
    for piece in pieces:
        if piece.claimed is not None:
            words = tk._(
                "The date {claimed} ({evidence}) lay in the future when it was first seen, on {date}, "
                "which counts instead. Correct it."
            )
            yield words.format(
                claimed=utc_text(piece.claimed),
                evidence=piece.evidence.value,
                date=utc_text(piece.when),
            )


def _transitions(package_id: str, *, knows_people: bool) -> list[dict[str, Any]]:
    own = FreshnessTransition.__table__
    rows = model.Session.execute(
        sa.select(own)
        .where(own.c.package_id == package_id)
        .order_by(own.c.changed_at.desc(), own.c.id.desc())
        .limit(_TRANSITIONS)
    )
    return [
        {
            "from": row.from_status,
            "to": row.to_status,
            "at": utc_text(row.changed_at),
            "evidence": row.evidence,
            "cause": row.cause,
            "explanation": labels.transition_label(
                row, _display_name(row.author) if knows_people else None
            ),
        }
        for row in rows
    ]


def _data_changes(package_id: str, now: datetime) -> list[dict[str, Any]]:
    request = TableRequest(
        visibility.SITE, now, dataset=package_id, since=EARLIEST, limit=_TRANSITIONS
    )
    keys = ("seen_at", "resource_id", "evidence", "what")
    return [
        {**{key: row[key] for key in keys}, "resource_name": row["resource"] or row["url"]}
        for row in changes.DATA.read(request)
    ]


def _confirmation(package_id: str, reader: str, *, knows_people: bool) -> dict[str, Any] | None:
    row = _review(package_id)
    if row is None:
        return None
    return {
        "date": utc_text(row.happened_at),
        "author": _display_name(row.author) if knows_people else None,
        "is_own": row.author is not None and row.author == reader,
    }


def _display_name(user_name: str | None) -> str | None:
    user = model.User.get(user_name) if user_name else None
    return user_name if user is None else str(user.display_name)


def _review(package_id: str) -> Any:
    # Evidence is written by SQL, which the session does not see.
    key = (package_id, "", Evidence.REVIEW.value)
    return model.Session.get(FreshnessEvidence, key, populate_existing=True)


def freshness_check(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Have a background worker check the URLs of a dataset's resources soon, due or not.

    If a check of the dataset is waiting already, no second check is queued.

    :param id: id or name of the dataset
    :type id: string
    :returns: a dictionary with

        * ``package_id`` (string): id of the dataset
        * ``queued`` (boolean): false if a check was waiting already
    :rtype: dictionary
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, the background workers cannot be reached, or the user has
        asked for 60 checks and previews in this hour; no check is queued
    """
    package = active_package(tk.get_or_bust(data_dict, "id"))
    count_costly(context, utc_now())
    try:
        queued = requested.enqueue_dataset(package.id, package.title or package.name)
    except requested.RedisAwayError as error:
        # Only the log may tell the address of Redis.
        log.error("Dataset %s is not checked: %s", package.name, error)
        words = tk._("The background workers cannot be reached now. Try again later.")
        raise tk.ValidationError({"queue": [words]}) from error
    return {"package_id": package.id, "queued": queued}


@tk.side_effect_free
def freshness_resource_history(
    context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Return the stored results of the checks of a resource's URL, with the last five checks.

    :param id: id of the resource
    :type id: string
    :returns: a dictionary with

        * ``id``, ``package_id`` (strings), ``url`` (string, without secrets)
        * ``broken`` (boolean)
        * ``undetermined`` (string): why changes cannot be seen: ``api``, ``adhoc``, ``page`` or ``blocked``
        * ``unconfirmed`` (boolean): a change waits for its confirmation; the next run checks again
        * ``promised``, ``found`` (strings), if the file is of another kind than its format
        * ``failures`` (number): failed checks in a row
        * ``failing_since``, ``failed_at``, ``tried_at``, ``succeeded_at``, ``hashed_at``, ``changed_at``
          (moments)
        * ``hash``, ``etag``, ``last_modified`` (strings, as stored)
        * ``attempts`` (list of dictionaries): the last five checks, the newest first, each with the known
          values among ``at``, ``method``, ``outcome``, ``status`` (of HTTP), ``reason`` (why there is no
          answer), ``words`` (what went wrong), ``received`` (bytes), ``seconds``, ``final_url``, ``etag``,
          ``last_modified``, ``modified`` (a Last-Modified that counts)
        * ``evidence`` (list of dictionaries): the dates that count: ``evidence``, ``date``, ``claimed`` (the
          original date if it was in the future)
    :rtype: dictionary
    :raises ObjectNotFound: there is no such resource
    """
    resource_id = tk.get_or_bust(data_dict, "id")
    link = links.of_resource(resource_id)
    if link is None:
        raise tk.ObjectNotFound(tk._("Resource not found"))
    resource = model.Resource.get(resource_id)
    row = model.Session.query(ResourceCheck).get(resource_id)
    # The facts about another URL than the present one do not count.
    known: Any = row if row is not None and row.url == resource.url else ResourceCheck()
    file = read(KnownContent, known.known or {})
    return {
        "id": resource.id,
        "package_id": resource.package_id,
        "url": link["url"],
        "broken": link["state"] == "broken",
        "unconfirmed": file.unconfirmed is not None,
        "promised": link["promised"],
        "found": link["found"],
        "failures": known.failures or 0,
        "undetermined": known.undetermined,
        **{name: getattr(file, name) for name in ("hash", "etag", "last_modified")},
        **{name: utc_text(getattr(known, name)) for name in _MOMENTS},
        "attempts": known.attempts or [],
        "evidence": _evidence(resource_id),
    }


_MOMENTS = ("failing_since", "failed_at", "tried_at", "succeeded_at", "hashed_at", "changed_at")


def _evidence(resource_id: str) -> list[dict[str, Any]]:
    evidence = FreshnessEvidence
    rows = (
        model.Session.query(evidence)
        .filter(evidence.resource_id == resource_id)
        .order_by(evidence.happened_at.desc(), evidence.evidence)
    )
    return [
        {
            "evidence": row.evidence,
            "date": utc_text(row.happened_at),
            "claimed": utc_text(row.claimed_at),
        }
        for row in rows
    ]


def freshness_date_column(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Say which column of a file says up to when its data reach, where several may be meant.

    The answer counts at once, and for the files that later checks find, as long as they have such a column. It
    stays if the link changes, or if the resource is made anew. Another answer replaces it.

    :param id: id or name of the dataset
    :type id: string
    :param resource_id: id of the resource
    :type resource_id: string
    :param column: the sheet (null if it has no name) and the name of the column, as ``questions`` of
        ``freshness_show`` has them; an empty list if none of them says it (optional; without it, an earlier
        answer no longer counts)
    :type column: list of strings
    :returns: the same as ``freshness_show``
    :rtype: dictionary
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, or its file has no such column
    """
    package_id = active_package(tk.get_or_bust(data_dict, "id")).id
    answer = data_dict.get("column")
    lock_packages([package_id])
    taken = snapshot.take([package_id], settings.dataset_types())
    known = {one.id: _candidates(one) for each in taken for one in each.resources}
    columns = known.get(tk.get_or_bust(data_dict, "resource_id"))
    if columns is None or (answer and answer not in [[*one[:2]] for one in columns]):
        # Release the lock.
        model.Session.commit()
        if columns is None:
            raise tk.ValidationError({"resource_id": [tk._("The dataset has no such resource.")]})
        words = tk._("The last check found no such column of dates. It found: {columns}")
        names = ", ".join(sorted({one.name for one in columns})) or tk._("none")
        raise tk.ValidationError({"column": [words.format(columns=names)]})
    if not choose_column(data_dict["resource_id"], answer):
        # The resource was never assessed, so that there was no row for the answer.
        _judge_anew(context, package_id)
        choose_column(data_dict["resource_id"], answer)
    _judge_anew(context, package_id)
    shown: dict[str, Any] = tk.get_action("freshness_show")(same_user(context), {"id": package_id})
    return shown


_LONGEST = 300
"""Characters of a reason."""


def freshness_ignore(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    """Ignore a dataset or one of its links: nobody is asked to work on it, in lists of tasks or by mail.

    Its status and all figures stay as they are. An ignored dataset's links are ignored one by one. If the URL
    of a link changes, the link is no longer ignored.

    :param id: id or name of the dataset
    :type id: string
    :param resource_id: id of the resource whose link is ignored (optional; without it, the dataset is)
    :type resource_id: string
    :param reason: why, for other editors; at most 300 characters are kept (required unless ``stop``)
    :type reason: string
    :param until: the last day, such as ``2027-01-31`` (optional, default: without end)
    :type until: string
    :param stop: ignore it no longer (optional, default: false)
    :type stop: boolean
    :returns: a dictionary with

        * ``package_id`` (string), ``resource_id`` (string; null if the dataset is ignored)
        * ``ignored`` (dictionary; null if it is not ignored): ``at`` (moment), ``by`` (name of the user),
          ``reason``, ``until`` (day)
    :rtype: dictionary
    :raises ObjectNotFound: there is no such dataset, or its package type is not judged
    :raises ValidationError: the dataset was deleted, there is no reason, the day is past, or nothing is known
        of the link or the dataset yet
    """
    package = active_package(tk.get_or_bust(data_dict, "id"))
    given = data_dict.get("resource_id")
    resource_id = None if given is None else str(given)
    ignored = None if data_dict.get("stop") else _decision(context, data_dict)
    if not worklist.ignore(package.id, resource_id, ignored):
        words = tk._("Nothing is known of this link yet, so there is nothing to ignore.")
        raise tk.ValidationError({"resource_id": [words]})
    model.Session.commit()
    return {"package_id": package.id, "resource_id": resource_id, "ignored": ignored}


def _decision(context: dict[str, Any], data_dict: dict[str, Any]) -> dict[str, Any]:
    reason = str(data_dict.get("reason") or "").strip()[:_LONGEST]
    if not reason:
        raise tk.ValidationError({"reason": [tk._("Give a reason, so that others understand it.")]})
    now, until = utc_now(), None
    if data_dict.get("until"):
        try:
            until = date.fromisoformat(str(data_dict["until"]))
        except ValueError:
            words = tk._("Write the day as 2027-01-31.")
            raise tk.ValidationError({"until": [words]}) from None
        if until < now.date():
            raise tk.ValidationError({"until": [tk._("Choose a day that is not past.")]})
    by = context.get("user") or None
    return {"at": utc_text(now), "by": by, "reason": reason, "until": until and until.isoformat()}
