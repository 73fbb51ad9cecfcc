"""Solr documents of one page of datasets, sent together.

CKAN sends each document in a request of its own, and the activity plugin at once asks Solr for it
again, in vain while nothing is committed. Inside :func:`queued` documents are kept and sent fifty at a
time, and whoever asks for one of them gets it from the queue.

It replaces ``make_connection`` in ``ckan.lib.search.index`` and ``.query``, which are not public, because
CKAN has no way to index several packages with one request (https://github.com/ckan/ckan/issues/3482). It does
so on the CKAN versions that it was tried on (:data:`TRIED`) and does nothing on others. The whole process
sees the replacement, so it is for consumers and commands, not for a web server.
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
from ckan.lib.search import index as search_index
from ckan.lib.search import is_available as solr_answers
from ckan.lib.search import query as search_query

from .version import version_is_among

log = logging.getLogger(__name__)

TRIED = ("2.11", "2.12")
BATCH = 50

_ONE = re.compile(r'^name:"(?P<name>[^"]+)" OR id:"(?P=name)"$')


@dataclass(slots=True)
class RefusedDocument:
    """A package whose document Solr did not take."""

    package_id: str
    words: str


@dataclass(slots=True)
class DocumentQueue:
    """Documents that were not sent yet, by package id.

    CKAN indexes a package before its transaction is committed: until :meth:`settle` is called, what
    was added may still be undone, and is not sent.
    """

    refused: list[RefusedDocument] = field(default_factory=list)
    _documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    _unsettled: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, documents: list[dict[str, Any]]) -> None:
        """Keep documents of packages that are being written."""
        self._unsettled.update((document["id"], document) for document in documents)

    def settle(self) -> None:
        """The packages whose documents were added have been committed."""
        self._documents.update(self._unsettled)
        self._unsettled.clear()
        if len(self._documents) >= BATCH:
            self.send()

    def discard(self) -> None:
        """The packages whose documents were added have been rolled back."""
        self._unsettled.clear()

    def find(self, reference: str) -> dict[str, Any] | None:
        """The document of a package by its id or name."""
        kept = {**self._documents, **self._unsettled}
        return kept.get(reference) or next(
            (one for one in kept.values() if one.get("name") == reference), None
        )

    def send(self) -> None:
        """Send what is settled; a batch that is refused goes one by one, to find out for which."""
        documents, self._documents = list(self._documents.values()), {}
        if not documents:
            return
        connection = _connect()
        try:
            connection.add(docs=documents, commit=False)
        except (pysolr.SolrError, OSError) as away:
            if not solr_answers():
                # Each of them would wait for the time-out once more.
                self.refused += [RefusedDocument(one["id"], str(away)[:1000]) for one in documents]
                return
            for document in documents:
                try:
                    connection.add(docs=[document], commit=False)
                except (pysolr.SolrError, OSError) as error:
                    self.refused.append(RefusedDocument(document["id"], str(error)[:1000]))


class _Writing:
    """A connection of the index: documents are kept, anything else first sends them.

    Those of deleted packages are sent at once: a deletion that Solr does not take is rolled back, since
    no later harvest would find it among what is current.
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
    """A connection of a query: what is kept is answered from the queue."""

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
    """Keep the documents of the packages written inside, and send them when the block ends.

    Afterwards ``refused`` of the queue tells which packages Solr has not taken. If the block fails,
    what is kept is sent all the same, unless the block has discarded it: their packages are in the
    database.
    """
    queue = DocumentQueue()
    if not version_is_among(TRIED):
        yield queue
        return
    before = search_index.make_connection, search_query.make_connection
    search_index.make_connection = lambda *_args, **_options: _Writing(queue)
    search_query.make_connection = lambda *_args, **options: _Reading(queue, **options)
    try:
        yield queue
    finally:
        search_index.make_connection, search_query.make_connection = before
        queue.settle()
        queue.send()
