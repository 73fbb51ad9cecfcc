"""How single values are read from a graph: texts by language, dates, numbers, nested descriptions.

A mapping is a table of `Row`: key, predicates, reader. `describe` runs a node through a table. The depth
of tables is fixed, so blank nodes that point at each other are followed no further than the table goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote

from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, RDFS, SKOS, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ..dates import iso_date
from ..legal import BIGGEST_INTEGER, clean, is_email, one_line
from . import geometry
from .namespaces import SCHEMA, SCHEMAS, VCARD

Objects = Sequence[Node]
Reader = Callable[["View", Objects, str], Any]
Path = tuple[URIRef, ...]

_LABELS = (
    RDFS.label,
    SKOS.prefLabel,
    DCT.title,
    FOAF.name,
    VCARD.fn,
    SCHEMA.name,
    SCHEMAS.name,
    DCT.description,
    SKOS.notation,
    RDF.value,
    DCT.identifier,
)
"""What names a node that has no IRI, the best first."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a mapping: where a key's value is found, and how it is read."""

    key: str
    predicates: tuple[URIRef | Path, ...]
    """The first that gives a value is used; a tuple is a path through nodes in between."""
    read: Reader
    translated: bool = False
    """Also keep all languages, under ``<key>_translated``."""


class View:
    """One graph seen from one record: each node's triples are looked up once."""

    __slots__ = ("_graph", "_nodes", "_noise", "_record", "_where", "language", "warnings")

    def __init__(self, graph: Graph, language: str | None) -> None:
        self._graph = graph
        self._nodes: dict[Node, dict[Node, list[Node]]] = {}
        self._noise: frozenset[str] = frozenset()
        self._record = ""
        self._where = ""
        self.language = (language or "").lower()
        self.warnings: list[str] = []

    def of(self, node: Node) -> dict[Node, list[Node]]:
        """The node's objects by predicate; empty for literals and for what is not described."""
        known = self._nodes.get(node)
        if known is None:
            known = {}
            if not isinstance(node, Literal):
                for predicate, value in self._graph.predicate_objects(node):
                    known.setdefault(predicate, []).append(value)
            self._nodes[node] = known
        return known

    def warn(self, key: str, words: str) -> None:
        """Remember that a value could not be used."""
        self.warnings.append(f"{self._where}{key}: {words}")

    def look_at(self, record: Node, where: str = "") -> None:
        """Read the next values as this record's: its own noise is left out, warnings begin so."""
        self._where = where
        self._record = str(record)
        # The reference implementation adds these nodes to every record by itself.
        self._noise = frozenset({f"{record}#identifier", f"{record}#accessRights"})

    def is_own_profile(self, iri: str) -> bool:
        """Whether an IRI is a profile (SHACL shapes) on the server of the record itself."""
        place = iri.find("/profile/")
        return place > 0 and self._record.startswith(iri[: place + 1])

    def objects(self, node: Node, step: URIRef | Path) -> list[Node]:
        """What a predicate, or a path of them, leads to, without what the server made by itself."""
        if isinstance(step, tuple):
            nodes = [node]
            for predicate in step:
                nodes = [found for start in nodes for found in self.of(start).get(predicate, ())]
        else:
            nodes = self.of(node).get(step, [])
        if not nodes or not self._noise:
            return nodes
        return [found for found in nodes if str(found) not in self._noise]


def describe(view: View, node: Node, table: Iterable[Row]) -> dict[str, Any]:
    """The values of a table's rows that a node has."""
    out: dict[str, Any] = {}
    known = view.of(node)
    for row in table:
        for step in row.predicates:
            if (step[0] if isinstance(step, tuple) else step) not in known:
                continue
            objects = view.objects(node, step)
            value = row.read(view, objects, row.key) if objects else None
            if value is None:
                continue
            out[row.key] = value
            if row.translated:
                translations = by_language(objects)
                if any(translations):
                    out[f"{row.key}_translated"] = translations
            break
    return out


# Texts


def lexical(node: Node) -> str:
    """A literal's or IRI's text without what no database takes; "" for blank nodes."""
    return "" if isinstance(node, BNode) else clean(str(node)).strip()


def label(view: View, node: Node) -> str:
    """The name that the graph gives a node that is not a literal, or ""."""
    known = view.of(node)
    for predicate in _LABELS:
        texts = [value for value in known.get(predicate, ()) if isinstance(value, Literal)]
        if texts:
            return best(view, texts)
    return ""


def best(view: View, objects: Objects) -> str:
    """One text of many: the preferred language, then none, then English, then by the alphabet.

    A text wins over an IRI, an IRI over a blank node's name; among equals the first in sorted order.
    """
    ranked = sorted(_rank(view, node) for node in objects)
    return next((text for _, _, text in ranked if text), "")


def _rank(view: View, node: Node) -> tuple[int, str, str]:
    if isinstance(node, Literal):
        language = (node.language or "").lower()
        return _language_rank(language, view.language), language, lexical(node)
    if isinstance(node, BNode):
        return 6, "", label(view, node)
    return 5, "", lexical(node)


def _language_rank(language: str, preferred: str) -> int:
    if preferred and language == preferred:
        return 0
    if preferred and language.split("-")[0] == preferred.split("-")[0]:
        return 1
    if not language:
        return 2
    return 3 if language.split("-")[0] == "en" else 4


def by_language(objects: Objects) -> dict[str, str]:
    """All literals by language; the first in sorted order where a language has several."""
    found: dict[str, str] = {}
    for literal in objects:
        if isinstance(literal, Literal) and (words := lexical(literal)):
            language = (literal.language or "").lower()
            found[language] = min(words, found.get(language, words))
    return found


def text(view: View, objects: Objects, key: str) -> str | None:
    """One text, or an IRI as text, or a blank node's name."""
    return best(view, objects) or None


def line(view: View, objects: Objects, key: str) -> str | None:
    """The same on one line: titles and names."""
    return one_line(best(view, objects)) or None


def named(view: View, objects: Objects, key: str) -> str | None:
    """One text; what the graph calls an IRI rather than the IRI itself."""
    texts = [node for node in objects if isinstance(node, Literal)]
    names = sorted(filter(None, (label(view, node) for node in objects)))
    return best(view, texts) or next(iter(names), None) or best(view, objects) or None


def texts(view: View, objects: Objects, key: str) -> list[str] | None:
    """All texts and IRIs, sorted, each once."""
    found = {label(view, node) if isinstance(node, BNode) else lexical(node) for node in objects}
    return sorted(found - {""}) or None


def standards(view: View, objects: Objects, key: str) -> list[str] | None:
    """All texts and IRIs but the profiles that the reference implementation adds by itself."""
    return texts(view, [node for node in objects if not view.is_own_profile(str(node))], key)


def iris(view: View, objects: Objects, key: str) -> list[str] | None:
    """All IRIs, sorted; literals are something else under this predicate."""
    return sorted({lexical(node) for node in objects if isinstance(node, URIRef)} - {""}) or None


def literal(view: View, objects: Objects, key: str) -> str | None:
    """One literal; IRIs are something else under this predicate."""
    return best(view, [node for node in objects if isinstance(node, Literal)]) or None


def email(view: View, objects: Objects, key: str) -> str | None:
    """One address, without ``mailto:`` and its query."""
    found = (_address(lexical(node)) for node in objects if not isinstance(node, BNode))
    return min(filter(None, found), default=None)


def _address(words: str) -> str:
    if words[:7].lower() != "mailto:":
        return words
    return clean(unquote(words[7:].partition("?")[0])).strip()


# Numbers, dates, truth


def integer(view: View, objects: Objects, key: str) -> int | None:
    """The smallest whole number, also where it is written ``2048.0`` or ``2e3``."""
    numbers = []
    for words in filter(None, map(lexical, objects)):
        number = _whole(words)
        if number is None:
            view.warn(key, f'"{words[:80]}" is not a whole number; left out')
        else:
            numbers.append(number)
    return min(numbers, default=None)


def _whole(words: str) -> int | None:
    try:
        number = Decimal(words)
    except InvalidOperation:
        return None
    # In this order: int() of 1e999999999 would fill the memory.
    if not number.is_finite() or number != number.to_integral_value():
        return None
    return int(number) if 0 <= number <= BIGGEST_INTEGER else None


def boolean(view: View, objects: Objects, key: str) -> bool | None:
    """Truth, as XML Schema writes it; true where a record says both."""
    known = {"true": True, "1": True, "false": False, "0": False}
    found = [known.get(words.lower()) for words in filter(None, map(lexical, objects))]
    if None in found:
        view.warn(key, "neither true nor false; left out")
    return max((value for value in found if value is not None), default=None)


def earliest(view: View, objects: Objects, key: str) -> str | None:
    """The first of the dates."""
    return min(_dates(view, objects, key), default=None)


def latest(view: View, objects: Objects, key: str) -> str | None:
    """The last of the dates."""
    return max(_dates(view, objects, key), default=None)


def _dates(view: View, objects: Objects, key: str) -> list[str]:
    dates = []
    for words in filter(None, map(lexical, objects)):
        date = iso_date(words)
        if date is None:
            view.warn(key, f'"{words[:80]}" is not a date (YYYY, YYYY-MM, YYYY-MM-DD...); left out')
        else:
            dates.append(date)
    return dates


def geometries(view: View, objects: Objects, key: str) -> str | None:
    """One geometry as GeoJSON text."""
    return min(map(geometry.geojson, filter(None, map(lexical, objects))), default=None)


# Nested descriptions


def nested(
    table: Sequence[Row],
    from_text: Callable[[str], dict[str, Any]],
    *,
    iri_key: str | None = "uri",
) -> Reader:
    """A reader of nodes that are described by a table of their own: agents, places, periods.

    `from_text` is what a literal says where a description belongs; `iri_key` takes the node's IRI. The
    result is a sorted list of dictionaries without empty ones, or None.
    """

    def read(view: View, objects: Objects, key: str) -> list[dict[str, Any]] | None:
        found: dict[str, dict[str, Any]] = {}
        for node in objects:
            if isinstance(node, Literal):
                item = from_text(lexical(node))
            else:
                item = describe(view, node, table)
                if isinstance(node, URIRef):
                    item = _identified(item, lexical(node), iri_key)
            if item:
                found[json.dumps(item, sort_keys=True)] = item
            elif words := lexical(node):
                view.warn(key, f'"{words[:80]}" says nothing that could be used; left out')
        return [found[text] for text in sorted(found)] or None

    return read


def _identified(item: dict[str, Any], iri: str, iri_key: str | None) -> dict[str, Any]:
    if iri[:7].lower() == "mailto:":
        return {"email": _address(iri), **item}
    return {iri_key: iri, **item} if iri_key and iri else item


def name_or_email(words: str) -> dict[str, Any]:
    """An agent that is only a text."""
    if not words:
        return {}
    address = _address(words)
    return {"email": address} if is_email(address) else {"name": one_line(words)}


def nothing(words: str) -> dict[str, Any]:
    """A text where only a description makes sense."""
    return {}
