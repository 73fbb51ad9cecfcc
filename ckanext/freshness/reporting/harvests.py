"""Harvest sources and their jobs, and what became of records, in plain words.

Each code of a message has a sentence (:class:`~ckanext.freshness.harvesting.messages.MessageCode`). Messages
without a code, and those of other versions, are shown as they are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ..ckan_adapter.database import is_held
from ..ckan_adapter.harvest import CRON, FETCH_RESENT, GATHER_RESENT
from ..dates import aware, utc, utc_now, utc_text
from ..harvesting import messages
from ..harvesting.holds import source_lock
from ..harvesting.messages import MessageCode, from_column
from ..harvesting.record import Record, urls_in_guid
from ..harvesting.sources import source_type_named
from ..translation import N_, NN_
from . import harvest_sql
from .labels import JOBS, REASONS, State, counted
from .tables import Row, TableRequest, with_texts
from .visibility import edited_organizations, rows, sees_all

_BEGINNING = timedelta(seconds=30)
"""A consumer that took a job holds its lock within this time."""
_COUNTED = ("added", "updated", "deleted", "not modified", "errored", "held")


@dataclass(frozen=True, slots=True)
class PlainError:
    """An error of a harvest.

    :ivar text: a sentence for editors
    :ivar details: the whole message, if it says more
    """

    text: str
    details: str | None = None


@dataclass(frozen=True, slots=True)
class HarvestJob:
    """A job of a source.

    :ivar status: a key of :data:`.labels.JOBS`
    :ivar errors: number of faults of the source and of records with faults
    :ivar counts: numbers of records without zeros
    :ivar source_errors: faults of the source itself
    :ivar record_errors: the first faults of records, each an ``error`` with the ``title`` of its dataset, or at
        the source, the ``name`` and ``state`` of its dataset if it has one, and the ``url`` of the record;
        ``counts["errored"]`` has their number
    :ivar progress: what a job does that has begun and not ended: ``is_gathered`` (the source has been read),
        ``waiting`` (records that are still to be imported) and ``idle_since`` (since when nothing has happened
        that should have; None if all is well)
    """

    id: str
    source_id: str
    status: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    errors: int
    counts: Mapping[str, int]
    source_errors: Sequence[PlainError]
    record_errors: Sequence[Row]
    progress: Row | None

    @property
    def state(self) -> State:
        """The look of the status."""
        return JOBS[self.status]

    @property
    def figures(self) -> list[str]:
        """The numbers of records in words."""
        return job_counts(self.counts)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens in the job."""
        return self.status not in ("waiting", "running")

    def records(self, most: int) -> dict[str, list[Row]]:
        """Return the first records that the job wrote, by title, by what became of them.

        The titles are those that the records had then.

        :param most: how many of each kind
        :returns: rows with ``title``, ``url`` and ``guid``, and the ``name`` and ``state`` of the dataset if it
            is still there, by a key of :attr:`counts`
        """
        found: dict[str, list[Row]] = {}
        for row in rows(harvest_sql.WRITTEN_RECORDS, job=self.id, most=most).mappings():
            title = _title(row["content"]) or row["package_title"]
            written = {**row, "title": title, "url": urls_in_guid(row["guid"])[1]}
            found.setdefault(row["result"], []).append(written)
        return {
            result: sorted(written, key=lambda one: one["title"] or one["url"])
            for result, written in found.items()
        }


def jobs(
    sources: Iterable[str],
    most: int,
    *,
    job_id: str | None = None,
    errors: int = 2,
    now: datetime | None = None,
) -> list[HarvestJob]:
    """Return the newest jobs of sources, the newest first.

    :param most: how many of each source
    :param job_id: only this job
    :param errors: how many errors of each kind to name
    :param now: the current time, aware; by default the clock's
    """
    found = (
        rows(harvest_sql.NEWEST_JOBS, sources=list(sources), most=most, job=job_id).mappings().all()
    )
    named = [row["id"] for row in found if row["gather_errors"] or row["errored"] or row["held"]]
    of_sources, of_records = _errors(named, errors)
    return [
        HarvestJob(
            row["id"],
            row["source_id"],
            _status(row),
            aware(row["created"]),
            aware(row["gather_started"]),
            aware(row["finished"]),
            row["gather_errors"] + row["errored"],
            {key: row[key] for key in _COUNTED if row[key]},
            of_sources.get(row["id"], ()),
            of_records.get(row["id"], ()),
            _progress(row, now or utc_now()),
        )
        for row in found
    ]


def _status(row: Mapping[str, Any]) -> str:
    """Return the status of a job, as a key of :data:`.labels.JOBS`.

    :param row: of :data:`.harvest_sql.NEWEST_JOBS`
    """
    if row["status"] == "Aborted":
        return "stopped"
    if row["status"] != "Finished":
        return "running" if row["gather_started"] else "waiting"
    if row["gather_errors"] and not row["has_records"]:
        return "failed"
    if row["held"]:
        return "held"
    return "errors" if row["gather_errors"] or row["errored"] else "finished"


def _progress(row: Mapping[str, Any], now: datetime) -> Row | None:
    if _status(row) != "running":
        return None
    gathered = row["gather_finished"]
    if gathered is None:
        last = row["gather_started"]
        # Our gathers hold a lock while they run. Those of other harvesters can only be judged by their age.
        limit = _BEGINNING if source_type_named(row["type"]) else GATHER_RESENT
        is_idle = utc(now) - last > limit and not is_held(source_lock(row["source_id"]))
    else:
        last = max(gathered, row["progress"] or gathered)
        # While a consumer imports other records, those of this job wait for their turn.
        is_idle = utc(now) - last > CRON and not (row["waiting"] and _is_importing(now))
    return {
        "is_gathered": gathered is not None,
        "waiting": row["waiting"],
        "idle_since": aware(last) if is_idle else None,
    }


def _is_importing(now: datetime) -> bool:
    """Decide whether a consumer imports records of any job, so that others wait for their turn."""
    last = rows(harvest_sql.LAST_IMPORT).scalar()
    return last is not None and utc(now) - last <= FETCH_RESENT


def _errors(
    job_ids: list[str], most: int
) -> tuple[dict[str, list[PlainError]], dict[str, list[Row]]]:
    of_sources: dict[str, list[PlainError]] = {}
    of_records: dict[str, list[Row]] = {}
    if not job_ids:
        return of_sources, of_records
    for job_id, message in rows(harvest_sql.FIRST_GATHER_ERRORS, jobs=job_ids, most=most):
        of_sources.setdefault(job_id, []).append(error(**from_column(message)))
    for row in rows(harvest_sql.FIRST_RECORD_ERRORS, jobs=job_ids, most=most).mappings():
        found = {
            "error": error(**from_column(row["message"])),
            "title": _title(row["content"]) or row["package_title"],
            **{key: row[key] for key in ("name", "state", "url")},
        }
        of_records.setdefault(row["job_id"], []).append(found)
    return of_sources, of_records


def _title(content: str | None) -> str | None:
    """Return the title that the source gives a record; None if the content is no record of ours."""
    record = Record.from_json(content)
    return str(record.fields.get("title") or "") or None if record else None


FILTERS = ("held", "errors")
"""Sources that hold deletions, and those whose last job had errors."""


def sources(request: TableRequest) -> Iterator[Row]:
    """Yield harvest sources with their last ``job``: those that hold deletions first, then by errors.

    Only those who may edit a source learn how many deletions it holds: some may be of private datasets.
    """
    if not p.plugin_loaded("harvest"):
        return
    context, organization = request.context, request.organization
    found = rows(harvest_sql.SOURCES, context, organization=organization).mappings().all()
    last = {job.source_id: job for job in jobs([row["id"] for row in found], 1, errors=1)}
    numbers = dict(map(tuple, rows(harvest_sql.DATASETS_OF_SOURCES, context)))
    is_sysadmin, edited = sees_all(context), edited_organizations(context)
    listed = [
        {
            **with_texts(row),
            "held": row["held"] if is_sysadmin or row["owner_org"] in edited else None,
            "job": job,
            "errors": job.errors if job else 0,
            "state": _state(job, is_kept=row["is_kept"]),
            "created": utc_text(job.created) if job else None,
            "finished": utc_text(job.finished) if job else None,
            "datasets": numbers.get(row["id"], 0),
        }
        for row in found
        for job in (last.get(row["id"]),)
    ]
    if request.status:
        listed = [row for row in listed if row[request.status]]
    yield from sorted(
        listed, key=lambda row: (not row["held"] and not row["approved"], -row["errors"])
    )


def _state(job: HarvestJob | None, *, is_kept: bool) -> str | None:
    """Return the state of a source's last job, in which nothing is held any more that an editor keeps."""
    if job is None:
        return None
    if job.status == "held" and is_kept:
        return "errors" if job.errors else "finished"
    return job.status


def in_trouble(listed: Iterable[Row]) -> list[Row]:
    """Return the sources that hold deletions, will make approved ones or had errors.

    A source that was cleared has no job: its datasets are deleted already.

    :param listed: of :func:`sources`
    """
    return [
        row for row in listed if row["job"] and (row["held"] or row["approved"] or row["errors"])
    ]


def datasets_of(source_id: str) -> list[Row]:
    """Return name and title of all datasets that "clear" deletes, by title."""
    return list(map(dict, rows(harvest_sql.TITLES_OF_SOURCE, owner=source_id).mappings()))


def of_packages(package_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return ``id`` and ``title`` of the harvest source of each dataset that is harvested, by its id.

    Whoever edits such a dataset here loses the edit at the next harvest.
    """
    ids = sorted(set(package_ids))
    if not ids or not p.plugin_loaded("harvest"):
        return {}
    found = rows(harvest_sql.SOURCES_OF_PACKAGES, ids=ids)
    return {row.package_id: {"id": row.id, "title": row.title} for row in found}


# Words.

OWN_URL: dict[str | None, str] = {
    "present": N_("Its web address still answers."),
    "malformed": N_("Its web address answers, but not with this record."),
    "failed": N_("Its web address gives no usable answer at the moment."),
    "unavailable": N_("Its server asks to try again later."),
    "forbidden": N_("Its web address refuses access."),
    "gone": N_("Its web address says that it is gone."),
    None: N_("We have not asked whether its web address still answers."),
}
"""What the own URL of a record answered that would be deleted, by the value of a ReadOutcome."""

_SAY_IT_ALREADY = frozenset(
    code.key for code in (MessageCode.GONE, MessageCode.UNLISTED_ANSWERS, MessageCode.WITHDRAWN)
)

FIELDS = {
    "access_rights": N_("Access rights"),
    "author_email": N_("Author's e-mail address"),
    "accrual_periodicity": N_("Update frequency"),
    "download_url": N_("Download link"),
    "frequency": N_("Update frequency"),
    "issued": N_("Published"),
    "landing_page": N_("Landing page"),
    "license_id": N_("License"),
    "license_url": N_("License"),
    "maintainer_email": N_("Maintainer's e-mail address"),
    "mimetype": N_("File type"),
    "notes": N_("Description"),
    "resources": N_("Files"),
    "rights": N_("Rights"),
    "spatial": N_("Place"),
    "spatial_coverage": N_("Place"),
    "tags": N_("Keywords"),
    "temporal_coverage": N_("Period"),
    "temporal_end": N_("End of the period"),
    "temporal_start": N_("Start of the period"),
    "theme": N_("Theme"),
    "url": N_("Link"),
}
"""Words for fields whose keys say too little. CKAN and other pages translate the words of all others."""


def error(message: str, message_code: Mapping[str, Any] | None = None) -> PlainError:
    """Return an error of a harvest in words. Only its details name the URL of its record or container.

    :param message_code: see :func:`..harvesting.messages.code_of`
    """
    words = sentence(message_code)
    if words is not None:
        return PlainError(words, message)
    url, _, rest = message.partition(": ")
    names_url = url.startswith(("http://", "https://")) and rest
    plain, details = (rest, message) if names_url else (message, None)
    return PlainError(plain[:1].upper() + plain[1:], details)


def reason(message: str, code: Mapping[str, Any] | None) -> str:
    """Return why a record is on a list; empty if the list's name says it."""
    words = sentence(code)
    return message if words is None else words


def deletion(record: Mapping[str, Any]) -> str:
    """Return why a record would be deleted, and what its own URL answered.

    :param record: of a preview or of a held list
    """
    code = record.get("reason_code")
    words = reason(record["reason"], code)
    if code is not None and code["code"] in _SAY_IT_ALREADY:
        return words
    answer = tk._(OWN_URL.get(record.get("own_url"), OWN_URL[None]))
    return f"{words} {answer}".lstrip()


def sentence(code: Mapping[str, Any] | None) -> str | None:
    """Return a message in the reader's language; None if this version has no sentence for it.

    :param code: see :func:`..harvesting.messages.code_of`
    """
    # Tables keep the messages of other versions, whose codes may have had other values.
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        if code is not None:
            found, values = MessageCode.named(code["code"]), code["values"]
            if found is MessageCode.NO_ANSWER:
                words = REASONS[values["failure"]]
                return str(tk._(words))
            return messages.sentence(found, values, tk._, tk.ungettext)
    return None


def change(found: dict[str, Any]) -> str:
    """Return in words how a field of a record changed.

    :param found: a :class:`~ckanext.freshness.harvesting.record_changes.FieldChange` as plain data
    """
    key = found["field"]
    name = tk._(FIELDS.get(key) or key.replace("_", " ").capitalize())
    if found["language"]:
        name = f"{name} ({found['language']})"
    if found["resource"]:
        name = tk._("{field} of {resource}").format(field=name, resource=quoted(found["resource"]))
    before, after = found["before"], found["after"]
    parts = []
    if found["added"]:
        parts.append(tk._("{values} added").format(values=_list(found["added"])))
    if found["removed"]:
        parts.append(tk._("{values} removed").format(values=_list(found["removed"])))
    if parts:
        text = "; ".join(parts)
    elif before and after:
        text = tk._("{after} (was {before})").format(after=quoted(after), before=quoted(before))
    elif after:
        text = tk._("{after} (was not given)").format(after=quoted(after))
    elif before:
        text = tk._("removed (was {before})").format(before=quoted(before))
    else:
        text = tk._("details changed")
    return str(tk._("{field}: {change}").format(field=name, change=text))


_KINDS = {
    "draft": N_("Drafts, which nobody can read yet"),
    "dcat:Dataset without a URL": N_("Datasets without a web address"),
    "dcat:DataService": N_("Data services"),
    "of no known type": N_("Records of no known type"),
}


def kind(name: str) -> str:
    """Return the kind of records that a source lists and that are not harvested, in words."""
    if name in _KINDS:
        return str(tk._(_KINDS[name]))
    return str(tk._("Records of the type {type}").format(type=name))


def job_counts(counts: Mapping[str, int]) -> list[str]:
    """Return the numbers of a job in words, without zeros."""
    forms = {
        "added": NN_("{count} new", "{count} new"),
        "updated": NN_("{count} changed", "{count} changed"),
        "deleted": NN_("{count} deleted", "{count} deleted"),
        "not modified": NN_("{count} unchanged", "{count} unchanged"),
        "errored": NN_("{count} with an error", "{count} with errors"),
        "held": NN_("{count} on hold", "{count} on hold"),
    }
    return [counted(forms[key], counts[key]) for key in forms if counts.get(key)]


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the reader's language."""
    return str(tk._("“{text}”").format(text=text))


def _list(values: list[str]) -> str:
    return ", ".join(quoted(value) for value in values)
