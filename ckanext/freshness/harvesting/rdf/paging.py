"""Pages of a list in RDF: what each says of the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rdflib import RDF, BNode, Graph, Namespace, URIRef
from typing_extensions import Self

from .parsing import LDP

_HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")
_NEXT_PAGE = (
    # Hydra's terms of today and of before 2014
    *(_HYDRA["next"], _HYDRA.nextPage),
    # TREE, ActivityStreams, XHTML, and LDP of before 2014
    URIRef("https://w3id.org/tree#node"),
    URIRef("https://www.w3.org/ns/activitystreams#next"),
    URIRef("http://www.w3.org/1999/xhtml/vocab#next"),
    LDP.nextPage,
)
"""Predicates by which documents name further pages."""


@dataclass(frozen=True, slots=True)
class PageOutline:
    """What a crawl needs of a document with a list; kept so that unchanged bytes are not parsed again."""

    next_pages: list[str] = field(default_factory=list)
    """Further pages of the list, as the document writes them."""
    last_pages: list[str] = field(default_factory=list)
    """Pages that the document names as the last one, and that are not this page itself."""
    totals: list[int] = field(default_factory=list)
    """Numbers of records in the whole list that the document states. Several contradict each other."""
    has_marks: bool = False
    """The document says something of pages, even if only that this one is the first and the last."""

    @property
    def identities(self) -> Sequence[str]:
        """Return the identities of the listed records."""
        return ()

    @property
    def further(self) -> Sequence[str]:
        """Return the identities of listed members of other kinds. A total may include them."""
        return ()

    @property
    def others(self) -> int:
        """Return the number of members without an identity that are no records. A total may include them."""
        return 0

    @property
    def nameless(self) -> int:
        """Return the number of listed records without an identity."""
        return 0

    @property
    def length(self) -> int:
        """Return how many records the document lists."""
        return len(self.identities) + self.nameless

    def as_json(self) -> str:
        """Return the outline as JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def shape(cls) -> str:
        """Return the names of all fields. It is part of the digest, so a new version reads outlines anew."""
        return " ".join(one.name for one in fields(cls))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the outline that :meth:`as_json` wrote."""
        return cls.from_plain(json.loads(text))

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the outline with these values of fields."""
        return cls(**plain)


def paging_of(graph: Graph) -> PageOutline:
    """Return what a document says of the pages of its list. Totals and last pages are Hydra's."""
    pages = {
        str(node)
        for predicate in _NEXT_PAGE
        for node in graph.objects(None, predicate)
        if not isinstance(node, BNode) and node != RDF.nil
    }
    totals = {
        int(text)
        for node in graph.objects(None, _HYDRA.totalItems)
        if (text := str(node).strip()).isdecimal() and len(text) < 10
    }
    lasts = [
        (str(page), str(last))
        for name in ("last", "lastPage")
        for page, last in graph.subject_objects(_HYDRA[name])
    ]
    firsts = {
        str(first) for name in ("first", "firstPage") for first in graph.objects(None, _HYDRA[name])
    }
    # If the last page is the first one, this is the only page, whatever its own URL.
    last_pages = sorted({last for _, last in lasts} - {page for page, _ in lasts} - firsts)
    has_marks = bool(pages or lasts or totals)
    return PageOutline(sorted(pages), last_pages, sorted(totals), has_marks)
