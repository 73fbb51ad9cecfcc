"""A queue of Solr documents, which sends the documents of many packages with one request.

CKAN sends each document in a request of its own. The activity plugin then reads it back from Solr, where
it is not visible before a commit. Inside :func:`queued`, documents are queued and sent fifty at a time,
and queries for one of them are answered from the queue.

CKAN cannot index several packages with one request (https://github.com/ckan/ckan/issues/3482). Therefore
this module replaces ``make_connection`` in ``ckan.lib.search.index`` and ``.query``, which are not
public. On CKAN 2.12 it also replaces the function that validates packages for the index, see
:func:`.solr.validated_for_index`. It does so only on the tested CKAN versions (:data:`TRIED`). The
replacement holds for the whole process, so use it in consumers and commands, not in a web server.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pysolr
from ckan import logic
from ckan.lib.search import index as search_index
from ckan.lib.search import is_available as solr_answers
from ckan.lib.search import query as search_query

from .solr import validated_for_index
from .version import IS_2_12, version_is_among

log = logging.getLogger(__name__)

TRIED = ("2.11", "2.12")
"""The CKAN versions that this module was tested with."""
BATCH = 50

_ONE = re.compile(r'^name:"(?P<name>[^"]+)" OR id:"(?P=name)"$')


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A package whose document Solr refused, with the error."""

    package_id: str
    words: str


@dataclass(slots=True)
class DocumentQueue:
    """A queue of documents that have not been sent.

    CKAN indexes a package before its transaction is committed. Therefore documents are not sent before
    :meth:`settle` confirms the commit.

    :ivar refused: packages whose documents Solr refused
    """

    refused: list[RefusedDocument] = field(default_factory=list)
    _documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    _unsettled: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, documents: list[dict[str, Any]]) -> None:
        """Add the documents of packages whose transaction is still open."""
        self._unsettled.update((document["id"], document) for document in documents)

    def may_lack(self) -> bool:
        """Return whether the document of a package that was just written may be missing.

        CKAN 2.11 only logs the errors of hooks that it calls to index a package. It does not index a package
        either if only its time of modification has changed.
        """
        return not IS_2_12 and not self._unsettled

    def settle(self) -> None:
        """Release the added documents for sending, because their transaction was committed."""
        self._documents.update(self._unsettled)
        self._unsettled.clear()
        if len(self._documents) >= BATCH:
            self.send()

    def discard(self) -> None:
        """Drop the added documents, because their transaction was rolled back."""
        self._unsettled.clear()

    def find(self, reference: str) -> dict[str, Any] | None:
        """Return the queued document of a package by its id or name; None if there is none."""
        kept = {**self._documents, **self._unsettled}
        return kept.get(reference) or next(
            (document for document in kept.values() if document.get("name") == reference), None
        )

    def send(self) -> None:
        """Send the released documents. If Solr refuses the batch, send them one by one."""
        documents, self._documents = list(self._documents.values()), {}
        if not documents:
            return
        connection = _connect()
        try:
            connection.add(docs=documents, commit=False)
        except (pysolr.SolrError, OSError) as away:
            if not solr_answers():
                # Single requests would all run into the timeout.
                self.refused += [
                    RefusedDocument(each["id"], str(away)[:1000]) for each in documents
                ]
                return
            for document in documents:
                try:
                    connection.add(docs=[document], commit=False)
                except (pysolr.SolrError, OSError) as error:
                    self.refused.append(RefusedDocument(document["id"], str(error)[:1000]))


class _Writing:
    """A connection for index updates: it queues documents, and sends them before any other request.

    Documents of deleted packages are sent at once. If Solr refuses one, the deletion is rolled back:
    otherwise the record would not be current any more, and no later harvest would repeat the deletion.
    """

    def __init__(self, queue: DocumentQueue) -> None:
        self._queue = queue
        self.url = ""

    def add(self, docs: list[dict[str, Any]], **options: Any) -> None:
        if any(document.get("state") == "deleted" for document in docs):
            self._queue.send()
            _connect().add(docs=docs, **options)
        else:
            self._queue.add(docs)

    def __getattr__(self, name: str) -> Any:
        self._queue.send()
        return getattr(_connect(), name)


class _Reading:
    """A connection for queries, which answers a query for a queued document from the queue."""

    def __init__(self, queue: DocumentQueue, **options: Any) -> None:
        self._queue = queue
        self._options = options

    def search(self, q: str, **query: Any) -> Any:
        single = _ONE.match(q)
        if single:
            document = self._queue.find(single["name"])
            if document is not None:
                return SimpleNamespace(hits=1, docs=[document])
        return _connect(**self._options).search(q, **query)

    def __getattr__(self, name: str) -> Any:
        return getattr(_connect(**self._options), name)


_connect = search_index.make_connection


@contextlib.contextmanager
def queued() -> Iterator[DocumentQueue]:
    """Queue the documents of the packages that are written inside the block, and send them at its end.

    Afterwards, the queue's ``refused`` has the packages whose documents Solr refused. If the block raises
    an error, the queued documents are still sent, because their packages are in the database; the block
    discards those of a transaction that it rolled back.
    """
    queue = DocumentQueue()
    if not version_is_among(TRIED):
        yield queue
        return
    before = search_index.make_connection, search_query.make_connection
    search_index.make_connection = lambda *_args, **_options: _Writing(queue)
    search_query.make_connection = lambda *_args, **options: _Reading(queue, **options)
    if IS_2_12:
        both_before = logic.package_show_default_and_custom_schemas
        logic.package_show_default_and_custom_schemas = validated_for_index
    try:
        yield queue
    finally:
        search_index.make_connection, search_query.make_connection = before
        if IS_2_12:
            logic.package_show_default_and_custom_schemas = both_before
        queue.settle()
        queue.send()
