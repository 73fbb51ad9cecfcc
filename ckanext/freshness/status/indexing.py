"""The Solr documents of datasets: their fields and facets, and the sending of those that were written by SQL.

Searches, facets and lists use the stored status, so that the count of a facet is the number of datasets
that it finds.

To send: mark, lock, send, commit, unmark. The mark is written in the transaction that writes the extras. If
a run is killed, the next run finds its marks and sends these documents first.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from flask import has_request_context

from .. import settings
from ..aging.status import GROUPS, shown_status
from ..checking.observations import period_of
from ..ckan_adapter.core import (
    NAMES,
    REVIEW_KEY,
    SearchIndexError,
    model,
    our_extras,
)
from ..ckan_adapter.database import is_loss, missing_tables
from ..ckan_adapter.packages import (
    SEARCH_FAULTS,
    count_indexed_packages,
    index_package,
    indexed_packages,
    lock_packages,
    solr_commit,
    unindex_package,
)
from ..ckan_adapter.services import in_words, solr_answers
from ..dates import parse_date, utc_now
from ..model import Unindexed
from ..translation import N_
from .our_fields import are_the_sites

_GROUP_OF = {status: group for group, statuses in GROUPS.items() for status in statuses}

FACETS = {
    NAMES.group: N_("Freshness"),
    NAMES.status: N_("Freshness"),
    NAMES.source: N_("Harvest source"),
    NAMES.data: N_("Dates in the data"),
}
"""The titles of our facets. The first list also shows the statuses, under their groups."""

_MAX_TERM = 32766
"""Bytes of UTF-8 in one term, at most. Solr refuses a document with a longer term."""


def document(fields: dict[str, Any]) -> dict[str, Any]:
    """Give a dataset's document fields of our own for its freshness, and make Solr accept it.

    Our extras are removed from the full text, in which ``overdue`` would find each overdue dataset. The date
    of a review becomes a moment in UTC or is left out. An extra that is too long for a term is left to the
    full text.

    :param fields: the document that CKAN is about to send; changed in place
    """
    keys = judged_extras(fields.get("type"))
    stored = {key: fields.get(f"extras_{key}", fields.get(key)) for key in keys}
    extras = {key: str(value) for key, value in stored.items() if value is not None}
    # The site's own values are searched as before.
    if extras and not are_the_sites(extras):
        for key in keys:
            fields.pop(key, None)
            fields.pop(f"extras_{key}", None)
        fields |= _our_fields(extras)
    if REVIEW_KEY in fields:
        fields[REVIEW_KEY] = _solr_date(fields[REVIEW_KEY])
    for key in [key for key, value in fields.items() if fields.get(f"extras_{key}") == value]:
        if len(str(fields[key]).encode("utf-8", "replace")) > _MAX_TERM:
            del fields[key]
    return fields


def _our_fields(extras: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a document by our extras."""
    # Values that a harvester copied from another portal may be no dates. Solr refuses a whole document for one.
    found: dict[str, Any] = {
        NAMES.due_date: _solr_date(extras.get(NAMES.due)),
        NAMES.overdue_date: _solr_date(extras.get(NAMES.overdue)),
        NAMES.delinquent_date: _solr_date(extras.get(NAMES.delinquent)),
        NAMES.last_modified_date: _solr_date(extras.get(NAMES.last_modified)),
    }
    if period := period_of(extras.get(NAMES.data_until, "")):
        found[NAMES.data_until_date] = f"{min(period[0], utc_now().date())}T00:00:00Z"
    status = shown_status(extras.get(NAMES.status, ""), extras.get(NAMES.broken_since))
    if status in _GROUP_OF:
        found |= {NAMES.status: status, NAMES.group: _GROUP_OF[status]}
    if extras.get(NAMES.undetermined):
        found[NAMES.undetermined] = extras[NAMES.undetermined]
    if extras.get(NAMES.absent_since):
        found[NAMES.source] = "absent"
    if extras.get(NAMES.data_stands_since):
        found[NAMES.data] = "stands"
    return found


def _solr_date(value: Any) -> str | None:
    when = parse_date(value)
    return None if when is None else f"{when.replace(tzinfo=None).isoformat()}Z"


def with_facet(titles: dict[str, Any], package_type: str | None) -> dict[str, Any]:
    """Add our facets to a page's facets, if the page lists packages that are judged and the tables are there.

    :param titles: the facets' titles by field, in the order of the page; changed in place
    :param package_type: None on the pages of organizations and groups, which list all types
    """
    is_judged = package_type is None or package_type in settings.dataset_types()
    if is_judged and not missing_tables():
        # CKAN draws a list for each title, and ours stand in one place. A chosen value is shown with its title.
        titles |= {
            field: tk._(title)
            for field, title in FACETS.items()
            if field == NAMES.group or field in tk.request.args
        }
        tk.g.freshness_has_facets = True
    return titles


def with_facet_fields(search_params: dict[str, Any]) -> dict[str, Any]:
    """Add our other facets to the search of a page: it shows them in the place of ``freshness_group``.

    :param search_params: of ``package_search``; changed in place
    """
    fields = search_params.get("facet.field") or ()
    if NAMES.group in fields and has_request_context() and tk.g.get("freshness_has_facets"):
        search_params["facet.field"] = list(dict.fromkeys((*fields, *FACETS)))
    return search_params


def judged_extras(package_type: str | None) -> Sequence[str]:
    """Return our extras for packages of a type; none if packages of this type are not judged."""
    return our_extras(package_type or "dataset") if settings.is_judged(package_type) else ()


log = logging.getLogger(__name__)

BATCH = 100
"""Datasets of one transaction, and of one Solr commit."""


class SolrAwayError(Exception):
    """Solr does not answer. The next run indexes the datasets that are marked."""


@dataclass(frozen=True, slots=True)
class IndexFailure:
    """A dataset whose document could not be sent to Solr. Each run tries again."""

    package_id: str
    error: Exception

    @property
    def words(self) -> str:
        """The error for operators. It may hold a secret, so it is no text for pages."""
        return f"{type(self.error).__name__}: {self.error}"[:1000]

    def in_words(self) -> str:
        """Return the failure for people."""
        words = tk._("Dataset {dataset} could not be indexed: {error}")
        return str(words.format(dataset=self.package_id, error=self.words))


def solr_away_in_words(error: object) -> str:
    """Return for people that Solr does not answer, and what follows."""
    words = tk._("Solr does not answer; the next refresh indexes what is missing: {error}")
    return str(words.format(error=error))


def mark(ids: Sequence[str]) -> dict[str, datetime]:
    """Mark datasets as not indexed, in the transaction that writes them; return the marks by id."""
    if not ids:
        return {}
    rows = model.Session.execute(
        sa.text(
            "INSERT INTO freshness_unindexed (package_id, since) "
            "SELECT id, now() AT TIME ZONE 'utc' FROM unnest(CAST(:ids AS text[])) AS id ORDER BY id "
            "ON CONFLICT (package_id) DO UPDATE SET since = excluded.since "
            "RETURNING package_id, since"
        ),
        {"ids": list(ids)},
    )
    return {package_id: since for package_id, since in rows}


def unmark(marks: Mapping[str, datetime]) -> None:
    """Remove marks, except of datasets that another run has marked again since."""
    model.Session.execute(
        sa.text(
            "DELETE FROM freshness_unindexed u "
            "USING unnest(CAST(:ids AS text[]), CAST(:since AS timestamp[])) AS m (id, since) "
            "WHERE u.package_id = m.id AND u.since = m.since"
        ),
        {"ids": list(marks), "since": list(marks.values())},
    )


def differences() -> list[str]:
    """Return the ids of active packages without a document in Solr, and of documents without an active package.

    Those that another process is writing at this moment may be among them.

    :raises SolrAwayError: Solr does not answer
    """
    with _telling_that_solr_is_away():
        return sorted(indexed_packages().symmetric_difference(_active_packages()))


@contextmanager
def _telling_that_solr_is_away() -> Iterator[None]:
    try:
        yield
    except (*SEARCH_FAULTS, SearchIndexError) as error:
        raise SolrAwayError(in_words(error)) from error


def _active_packages() -> set[str]:
    return set(model.Session.execute(sa.select(model.Package.id).where(_IS_ACTIVE)).scalars())


_IS_ACTIVE = model.Package.state == "active"


def heal() -> tuple[int, list[IndexFailure]]:
    """Index the datasets that earlier runs have marked and not indexed.

    :returns: the number of datasets indexed, and those that failed again
    :raises SolrAwayError: Solr does not answer
    """
    marks = _marked()
    model.Session.commit()
    return _index_all(marks)


def heal_differences(*, compares_all: bool) -> tuple[int, list[IndexFailure]]:
    """Index packages that are only in the database, and remove documents that are only in Solr.

    A document can get lost if a process is killed, or if Solr is restored from a backup. Call :func:`heal`
    before: what it could not index is left out here.

    :param compares_all: compare all ids. Otherwise only if Solr has more or fewer documents than there are
        packages
    :returns: the number of packages indexed or removed, and those that failed
    :raises SolrAwayError: Solr does not answer
    """
    if not compares_all:
        statement = sa.select(sa.func.count()).select_from(model.Package).where(_IS_ACTIVE)
        with _telling_that_solr_is_away():
            if count_indexed_packages() == model.Session.execute(statement).scalar():
                return 0, []
    failed_before = _marked()
    marks = mark([id_ for id_ in differences() if id_ not in failed_before])
    model.Session.commit()
    return _index_all(marks)


def _marked() -> dict[str, datetime]:
    mark = Unindexed
    rows = model.Session.execute(sa.select(mark.package_id, mark.since).order_by(mark.package_id))
    return {package_id: since for package_id, since in rows}


def _index_all(marks: Mapping[str, datetime]) -> tuple[int, list[IndexFailure]]:
    rest = iter(marks.items())
    failures: list[IndexFailure] = []
    while batch := dict(islice(rest, BATCH)):
        failures += index(batch)
    return len(marks) - len(failures), failures


def confirm(marks: Mapping[str, datetime]) -> None:
    """Commit Solr, and remove the marks of packages whose documents CKAN's actions have sent.

    :raises SolrAwayError: Solr does not answer
    """
    with _telling_that_solr_is_away():
        solr_commit()
    unmark(marks)
    model.Session.commit()


def index(marks: Mapping[str, datetime]) -> list[IndexFailure]:
    """Send the documents of datasets, commit Solr, and remove the marks.

    :returns: the datasets that failed
    :raises SolrAwayError: Solr does not answer
    """
    if not marks:
        return []
    # The session may hold packages from before we wrote by SQL.
    model.Session.expire_all()
    failures: list[IndexFailure] = []
    for package_id in sorted(marks):
        try:
            _send(package_id)
        except Exception as error:
            if is_loss(error):
                raise
            model.Session.rollback()
            if not solr_answers():
                raise SolrAwayError(in_words(error)) from error
            # A plugin's hook or the dataset itself failed: send the other documents all the same.
            log.exception("Dataset %s could not be indexed", package_id)
            failures.append(IndexFailure(package_id, error))
    failed = {failure.package_id for failure in failures}
    confirm({id_: since for id_, since in marks.items() if id_ not in failed})
    return failures


def _send(package_id: str) -> None:
    """Send a document while no other process can write its package: whoever writes later sends a newer one."""
    lock_packages([package_id])
    try:
        index_package(package_id)
    except tk.ObjectNotFound:
        # The dataset was purged, perhaps after its document was sent.
        unindex_package(package_id)
    model.Session.commit()
