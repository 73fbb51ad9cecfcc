"""The documents at the own URLs of datasets, which tell whether a dataset that no list has is still there."""

from __future__ import annotations

from collections.abc import Container
from pathlib import PurePosixPath
from urllib.parse import urldefrag, urlsplit

from ...web.urls import loose_spelling
from ..rdf.reader import DocumentReader, understood
from ..rdf.record_graph import describes
from ..record import ReadOutcome
from ..source_client import UnreadableDocument
from .catalogue import nodes_by_identity

_RDF_ENDINGS = frozenset({".ttl", ".rdf", ".xml", ".jsonld", ".n3"})


async def ask(
    reader: DocumentReader, source_url: str, listed: Container[str], url: str
) -> ReadOutcome:
    """Return whether RDF at a dataset's own URL, or beside it, states anything of the dataset.

    The type does not matter: servers lose types, and other vocabularies have types of their own.

    :param listed: the identities of all listed datasets.
    """
    address = urldefrag(url).url
    # Datasets whose IRIs differ in their fragments share one document.
    get = reader.get if address == url else reader.get_once
    # CKANs with ckanext-dcat have the RDF of a dataset beside its page for people.
    ending = PurePosixPath(urlsplit(source_url).path).suffix
    suffix = ending if ending in _RDF_ENDINGS else ".ttl"
    for requested in (address, f"{address}{suffix}"):
        try:
            document = await get(requested)
            graph = await document.parsed()
            with understood(url):
                names = {loose_spelling(one) for one in nodes_by_identity(graph)}
                is_moved = document.base not in listed and loose_spelling(document.base) in names
                if is_moved or loose_spelling(url) in names or describes(graph, url):
                    return ReadOutcome.PRESENT
        except UnreadableDocument as failure:
            if requested == address and failure.outcome is not ReadOutcome.MALFORMED:
                return failure.outcome
    return ReadOutcome.MALFORMED
