"""The datasets that the pages of a catalogue describe, and which current records they are."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from rdflib import Graph
from rdflib.term import Node

from ...ckan_adapter.core import munge_title_to_name
from ...web.urls import loose_spelling
from ..messages import Message
from ..rdf.mapping import Mapper, mapped
from ..rdf.reader import DocumentReader, FetchedDocument, understood
from ..record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    Record,
    guid_of,
    lasting_part,
    resource_order,
)
from ..source_client import UnreadableDocument
from .catalogue import (
    CatalogueOutline,
    Description,
    named_distributions,
    nodes_by_identity,
)

_MOST_NAMED = 3
"""How many IRIs that several datasets share one message names."""


@dataclass(slots=True)
class FoundDataset:
    """A dataset as the best page describes it."""

    url: str
    """The first list that has it."""
    page: str
    reading: int
    """Which reading of the page's list had it."""
    description: Description
    memory: str = ""
    """What the next job compares: hashes of the description, the title and another name."""
    contents: bytes = b""
    """The record as compressed JSON; empty if it is unchanged, or could not be mapped."""
    named: Collection[str] = ()
    """The distributions that it names and that the page does not describe."""
    name_in_dcat: str = ""
    """What ckanext-dcat makes for a new dataset without IRI and identifier."""
    error: Message | None = None

    def is_apart_from(self, before: FoundDataset) -> bool:
        """Return whether two pages of one reading describe the dataset differently."""
        return before.reading == self.reading and self._differs(before)

    def is_another_than(self, before: FoundDataset, url: str) -> bool:
        """Return whether two pages describe different datasets, and not one that was edited or moved meanwhile.

        :param url: the list in which this one is.
        """
        return (
            (before.description.is_blank or self.description.is_blank)
            and self._differs(before)
            and (before.reading == self.reading or before.url != url)
        )

    def _differs(self, before: FoundDataset) -> bool:
        return before.page != self.page and before.description.digest != self.description.digest


@dataclass(slots=True)
class FoundDatasets:
    """The datasets that the pages of a catalogue describe, each as the page that says most of it."""

    reader: DocumentReader
    mapper: Mapper
    known: CurrentRecords
    """The current records of the source."""
    most: int
    """The most datasets that are kept."""
    described: dict[str, FoundDataset] = field(default_factory=dict)
    """By identity."""
    contested: dict[str, str] = field(default_factory=dict)
    """By identity that several datasets have: the list that has one of them."""
    undescribed: dict[str, str] = field(default_factory=dict)
    """By identity of a dataset that a page only names: the list that has it."""
    _shared: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By IRI that several datasets seem to share: the list that has it, and which they are, for people."""

    async def take(
        self, url: str, page: FetchedDocument, number: int, outline: CatalogueOutline
    ) -> bool:
        """Keep the datasets of a page; return whether there was room for all.

        :param url: the list that the page belongs to.
        :param number: tells the readings of the list apart.
        """
        nodes: dict[str, list[Node]] = {}
        for identity, description in outline.records.items():
            before = self.described.get(identity)
            if before is None and len(self.described) >= self.most:
                return False
            found = FoundDataset(before.url if before else url, page.url, number, description)
            if before is not None and found.is_another_than(before, url):
                self.contested[identity] = url
            elif before is not None and found.is_apart_from(before):
                self._shared[identity] = url, f"one on {before.page}, one on {found.page}"
            if before is None or before.description.size < description.size:
                known = self.known.at(identity)
                # There may be many: a known dataset shares the text of its identity.
                self.described[identity if known is None else known.url] = found
                if self._is_unchanged(identity, found, known):
                    continue
                try:
                    graph = await page.parsed()
                    with understood(identity):
                        nodes = nodes or nodes_by_identity(graph)
                        self._map(found, graph, nodes[identity][0])
                except UnreadableDocument as failure:
                    found.error = failure.reason
        self.contested.update(dict.fromkeys(outline.contested, url))
        for identity, titles in outline.shared.items():
            self._shared[identity] = url, " and ".join(f'"{title}"' for title in titles[:2])
        self.undescribed.update(dict.fromkeys(outline.undescribed, url))
        return True

    def _is_unchanged(self, identity: str, found: FoundDataset, known: KnownRecord | None) -> bool:
        """Return whether a dataset is described as in the last job; note its memory."""
        found.memory = self.reader.hash(found.description.digest)
        if (
            known is None
            or known.content_hash is None
            or known.memory is None
            or not known.memory.startswith(found.memory)
            or known.guid != guid_of(identity, found.url)
        ):
            return False
        found.memory = known.memory
        return True

    def _map(self, found: FoundDataset, graph: Graph, node: Node) -> None:
        found.named = named_distributions(graph, node) or ()
        record = mapped(self.mapper, graph, node)
        found.contents = zlib.compress(record.as_json().encode("utf-8", "surrogatepass"))
        title = str(record.fields.get("title", ""))
        names = found.description.others[:1]
        found.memory = " ".join([found.memory, *map(self.reader.hash, [title, *names])])
        found.name_in_dcat = munge_title_to_name(title) if found.description.is_blank else ""

    def contents(self, found: FoundDataset, known: KnownRecord | None) -> Record | None:
        """Return a dataset's contents; None if it is unchanged.

        The resources of distributions stay that it names and that no page describes.
        """
        if not found.contents:
            return None
        record = Record.from_json(zlib.decompress(found.contents).decode())
        if record is not None and known is not None and found.named:
            before = self.known.resources_of(known, found.named)
            spelled = set(map(loose_spelling, found.named))
            kept = [one for one in before if loose_spelling(one.get("uri", "")) in spelled]
            record.resources = sorted([*record.resources, *kept], key=resource_order)
        return record

    def only_named(self) -> list[str]:
        """Return the identities of the datasets that no page describes."""
        return sorted(self.undescribed.keys() - self.described.keys() - self.contested.keys())

    def sharers(self, url: str) -> str:
        """Return, for people, which datasets of a list seem to share an IRI; "" if none do."""
        found = [
            f"; several datasets seem to share the IRI {identity}: {which}"
            for identity, (where, which) in sorted(self._shared.items())
            if where == url
        ]
        most = found[:_MOST_NAMED]
        advice = ". Ask the publisher to give each dataset an IRI of its own"
        return "".join([*most, advice]) if most else ""


class Identities:
    """Which current record each dataset of a catalogue is. Use this when all lists were read."""

    def __init__(self, known: CurrentRecords, found: FoundDatasets, containers: Containers) -> None:
        self._known = known
        self._found = found.described
        self._hash = found.reader.hash
        self._listed = containers.listed
        self._root = containers.root.rstrip("/")
        self._unreadable = containers.unreadable

    def of(self, identity: str) -> tuple[KnownRecord | None, str | None]:
        """Return the current record that a dataset is, and which other name of the dataset tells that.

        A record of a deleted source counts as none; the survey finds it by the name.
        """
        known = self._known.of(identity, self._listed)
        found = self._found.get(identity)
        if known is not None or found is None:
            return known, None
        in_dcat = f"{self._root}/{found.name_in_dcat}" if found.name_in_dcat else ""
        for records in (self._known, self._known.adoptable):
            for name in filter(None, (*found.description.others, in_dcat)):
                known = None if name in self._listed else records.of(name, self._listed)
                if known is not None and known.catalog_url in (None, found.url):
                    return (known if records is self._known else None), name
        known = self._moved(identity, found)
        return known, known.url if known is not None else None

    def _moved(self, identity: str, found: FoundDataset) -> KnownRecord | None:
        """Return the record that a dataset was before its IRI, or the catalogue's URL, was edited.

        No list has that record any more, and it has the same title and the same path or identifier. No other
        dataset has these.
        """
        same = {
            known.url: known
            for name in self._names(identity, found.memory)
            for known in self._former.get(name, ())
            if known.url not in self._listed and known.catalog_url not in self._unreadable
        }
        if len(same) != 1:
            return None
        (known,) = same.values()
        names = self._names(known.url, known.memory)
        claims = {other for name in names for other in self._claims.get(name, ())}
        return known if claims == {identity} else None

    @cached_property
    def _former(self) -> dict[tuple[str, str], list[KnownRecord]]:
        """The current records by each of their names."""
        former: dict[tuple[str, str], list[KnownRecord]] = {}
        for known in self._known:
            for name in self._names(known.url, known.memory):
                former.setdefault(name, []).append(known)
        return former

    @cached_property
    def _claims(self) -> dict[tuple[str, str], list[str]]:
        """The identities of the datasets by each of their names."""
        claims: dict[tuple[str, str], list[str]] = {}
        for identity, found in self._found.items():
            for name in self._names(identity, found.memory):
                claims.setdefault(name, []).append(identity)
        return claims

    def _names(self, identity: str, memory: str | None) -> set[tuple[str, str]]:
        """Return by what a dataset is known under another IRI: its title with its path, IRI or other name."""
        title, name = _title_and_name(memory)
        others = {lasting_part(identity), self._hash(identity), name} - {""}
        return {(title, one) for one in others} if title else set()


def _title_and_name(memory: str | None) -> tuple[str, str]:
    """Return the hashes of a dataset's title and of its other name from its memory; "" if it has none."""
    _, title, name, *_ = [*(memory or "").split(), "", "", ""]
    return title, name
