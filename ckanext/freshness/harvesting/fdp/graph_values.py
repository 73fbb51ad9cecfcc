"""How single values are read from a graph: texts by language, dates, numbers, nested descriptions.

A mapping is a table of `Row`: key, predicates, reader. `describe` runs a node through a table. The depth
of tables is fixed, so blank nodes that point at each other are followed no further than the table goes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote

from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, RDFS, SKOS, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ...dates import iso_date
from ..legal_values import BIGGEST_INTEGER, clean, is_email, one_line
from . import geometry
from .rdf import SCHEMA, SCHEMAS, VCARD

Objects = Sequence[Node]
Reader = Callable[["RecordView", Objects, str], Any]
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

_MADE_BY_SERVER = ("#identifier", "#accessRights")
_NOTHING: Mapping[Node, list[Node]] = {}


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One line of a mapping: where a key's value is found, and how it is read."""

    key: str
    predicates: tuple[URIRef | Path, ...]
    """The first that gives a value is used; a tuple is a path through nodes in between."""
    read: Reader
    translated: bool = False
    """Also keep all languages, under ``<key>_translated``."""
    paths: tuple[Path, ...] = field(init=False)
    """The predicates, each as a path."""

    def __post_init__(self) -> None:
        paths = tuple(one if isinstance(one, tuple) else (one,) for one in self.predicates)
        object.__setattr__(self, "paths", paths)


class RecordView:
    """One graph seen from one record.

    :ivar left: objects that the reader at work could not use
    :ivar warnings: values that could not be used, in words for the source's editor
    """

    __slots__ = ("_nodes", "_read", "_record", "_where", "language", "left", "warnings")

    def __init__(self, graph: Graph, language: str | None) -> None:
        self._nodes: dict[Node, dict[Node, list[Node]]] = {}
        for node, predicate, value in graph:
            self._nodes.setdefault(node, {}).setdefault(predicate, []).append(value)
        self._read: set[tuple[Node, Node, Node | None]] = set()
        self._record = ""
        self._where = ""
        self.language = (language or "").lower()
        self.left: set[Node] = set()
        self.warnings: list[str] = []

    def of(self, node: Node) -> Mapping[Node, list[Node]]:
        """The node's objects by predicate; empty for what is not described."""
        return self._nodes.get(node, _NOTHING)

    def warn(self, key: str, words: str) -> None:
        """Remember that a value could not be used."""
        self.warnings.append(f"{self._where}{key}: {words}")

    def look_at(self, record: Node, where: str = "") -> None:
        """Read the next values as this record's; warnings begin with `where`."""
        self._where = where
        self._record = str(record)

    def is_own_profile(self, iri: str) -> bool:
        """Whether an IRI is a profile (SHACL shapes) on the server of the record itself."""
        place = iri.find("/profile/")
        return place > 0 and self._record.startswith(iri[: place + 1])

    def objects(self, node: Node, path: Path) -> list[Node]:
        """Return the nodes that a path of predicates leads to, without server noise."""
        nodes = [
            found for found in self.of(node).get(path[0], ()) if not is_made_by_server(node, found)
        ]
        rest = path[1:]
        return [found for start in nodes for found in self.objects(start, rest)] if rest else nodes

    # Which triples have been read

    def mark(self, node: Node, path: Path, left: Collection[Node] = ()) -> bool:
        """Note that the triples of a path have been read, but for those that lead to nodes that are left.

        :returns: whether there are any.
        """
        predicate, rest = path[0], path[1:]
        values = self.of(node).get(predicate, ())
        if rest:
            left = [one for one in values if not self.mark(one, rest, left)]
        if not left:
            self._read.add((node, predicate, None))
            return bool(values)
        read = {(node, predicate, one) for one in values if one not in left}
        self._read |= read
        return bool(read)

    def unread(self, node: Node, predicate: Node) -> list[Node]:
        """Return the objects of a predicate that are in no triple that has been read."""
        if (node, predicate, None) in self._read:
            return []
        return [one for one in self.of(node)[predicate] if (node, predicate, one) not in self._read]


def is_made_by_server(node: Node, value: Node) -> bool:
    """Whether a node is one that the reference implementation adds to every record by itself."""
    return (
        isinstance(value, URIRef)
        and value.endswith(_MADE_BY_SERVER)
        and value.rpartition("#")[0] == str(node)
    )


def describe(view: RecordView, node: Node, table: Iterable[MappingRow]) -> dict[str, Any]:
    """The values of a table's rows that a node has."""
    out: dict[str, Any] = {}
    known = view.of(node)
    if not known:
        return out
    outer = view.left
    for row in table:
        paths = [path for path in row.paths if path[0] in known]
        if not paths:
            continue
        if row.read in LISTS or isinstance(row.read, Nested):
            _read_all(view, node, row, paths, out)
        else:
            _read_first(view, node, row, paths, out)
    view.left = outer
    return out


def _read_all(
    view: RecordView, node: Node, row: MappingRow, paths: Sequence[Path], out: dict[str, Any]
) -> None:
    """Read a list of values, from all of a row's paths that a node has."""
    objects = [found for path in paths for found in view.objects(node, path)]
    if _read(view, node, row, paths, objects, out) is not None and row.translated:
        _add_translations(row, objects, out)


def _read_first(
    view: RecordView, node: Node, row: MappingRow, paths: Sequence[Path], out: dict[str, Any]
) -> None:
    """Read one value, from the first path that has one, and warn of others beside it."""
    for index, path in enumerate(paths):
        objects = view.objects(node, path)
        value = _read(view, node, row, [path], objects, out)
        if value is None:
            continue
        kept = [value]
        if row.translated:
            kept += _add_translations(row, objects, out)
        if len(objects) > max(1, len(kept) - 1):
            others = {str(one) for one in _readings(view, row, objects) if one not in kept}
            if others:
                words = ", ".join(f'"{one[:80]}"' for one in sorted(others)[:3])
                view.warn(row.key, f'"{str(value)[:80]}" is kept; left out: {words}')
        for later in paths[index + 1 :]:
            rest = [one for one in view.objects(node, later) if one not in objects]
            view.mark(node, later, [one for one in rest if not _says(view, row, one, kept)])
        return


def _read(
    view: RecordView,
    node: Node,
    row: MappingRow,
    paths: Sequence[Path],
    objects: Objects,
    out: dict[str, Any],
) -> Any:
    """Read a row's value and note which triples have become part of it."""
    if not objects:
        return None
    view.left = set()
    value = row.read(view, objects, row.key)
    if value is not None:
        out[row.key] = value
    for path in paths:
        view.mark(node, path, view.left)
    return value


def _readings(view: RecordView, row: MappingRow, objects: Objects) -> list[Any]:
    """What a reader makes of each of some objects, without warnings."""
    before = len(view.warnings)
    found = [row.read(view, [one], row.key) for one in objects]
    del view.warnings[before:]
    return [one for one in found if one is not None]


def _says(view: RecordView, row: MappingRow, node: Node, kept: Collection[Any]) -> bool:
    """Whether a node says no more than the values that are kept."""
    return any(one in kept for one in _readings(view, row, [node]))


def _add_translations(row: MappingRow, objects: Objects, out: dict[str, Any]) -> list[str]:
    """Add the translations of a row, and return all texts that are kept."""
    translations = by_language(objects)
    if any(translations):
        out[f"{row.key}_translated"] = translations
    return list(translations.values())


# Texts


def lexical(node: Node) -> str:
    """A literal's or IRI's text without what no database takes; "" for blank nodes."""
    return "" if isinstance(node, BNode) else clean(str(node)).strip()


def label(view: RecordView, node: Node) -> str:
    """The name that the graph gives a node that is not a literal, or ""."""
    known = view.of(node)
    for predicate in _LABELS:
        texts = [value for value in known.get(predicate, ()) if isinstance(value, Literal)]
        if texts:
            name = best(view, texts)
            view.mark(node, (predicate,), [one for one in known[predicate] if lexical(one) != name])
            return name
    return ""


def best(view: RecordView, objects: Objects) -> str:
    """One text of many: the preferred language, then none, then English, then by the alphabet.

    A text wins over an IRI, an IRI over a blank node's name; among equals the first in sorted order.
    """
    ranked = sorted(_rank(view, node) for node in objects)
    return next((text for _, _, text in ranked if text), "")


def _rank(view: RecordView, node: Node) -> tuple[int, str, str]:
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


def _words(view: RecordView, node: Node) -> str:
    """A literal's or IRI's text, or a blank node's name; a node without any is left."""
    words = label(view, node) if isinstance(node, BNode) else lexical(node)
    if not words and not isinstance(node, Literal):
        view.left.add(node)
    return words


def text(view: RecordView, objects: Objects, key: str) -> str | None:
    """One text, or an IRI as text, or a blank node's name."""
    for node in objects:
        if isinstance(node, BNode):
            _words(view, node)
    return best(view, objects) or None


def line(view: RecordView, objects: Objects, key: str) -> str | None:
    """The same on one line: titles and names."""
    found = text(view, objects, key)
    return one_line(found) or None if found else None


def named(view: RecordView, objects: Objects, key: str) -> str | None:
    """One text; what the graph calls an IRI rather than the IRI itself."""
    texts = [node for node in objects if isinstance(node, Literal)]
    names = sorted(filter(None, (label(view, node) for node in objects)))
    return best(view, texts) or next(iter(names), None) or text(view, objects, key)


def texts(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """All texts and IRIs, sorted, each once."""
    return sorted({_words(view, node) for node in objects} - {""}) or None


def text_or_texts(view: RecordView, objects: Objects, key: str) -> str | list[str] | None:
    """One text, or a list where there are several: a licence."""
    found = texts(view, objects, key)
    return found[0] if found and len(found) == 1 else found


def standards(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """All texts and IRIs but the profiles that the reference implementation adds by itself."""
    return texts(view, [node for node in objects if not view.is_own_profile(str(node))], key)


def iris(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """All IRIs, sorted; literals are something else under this predicate."""
    view.left.update(node for node in objects if not isinstance(node, URIRef))
    return sorted({lexical(node) for node in objects if isinstance(node, URIRef)} - {""}) or None


def literal(view: RecordView, objects: Objects, key: str) -> str | None:
    """One literal; IRIs are something else under this predicate."""
    view.left.update(node for node in objects if not isinstance(node, Literal))
    return best(view, [node for node in objects if isinstance(node, Literal)]) or None


def email(view: RecordView, objects: Objects, key: str) -> str | None:
    """One address, without ``mailto:`` and its query."""
    view.left.update(node for node in objects if isinstance(node, BNode))
    found = (_address(lexical(node)) for node in objects if not isinstance(node, BNode))
    return min(filter(None, found), default=None)


def telephone(view: RecordView, objects: Objects, key: str) -> str | None:
    """One telephone number, without ``tel:``."""
    found = text(view, objects, key)
    return found[4:] if found and found[:4].lower() == "tel:" else found


def _address(words: str) -> str:
    if words[:7].lower() != "mailto:":
        return words
    return clean(unquote(words[7:].partition("?")[0])).strip()


# Numbers, dates, truth


def integer(view: RecordView, objects: Objects, key: str) -> int | None:
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


def boolean(view: RecordView, objects: Objects, key: str) -> bool | None:
    """Truth, as XML Schema writes it; true where a record says both."""
    known = {"true": True, "1": True, "false": False, "0": False}
    found = [known.get(words.lower()) for words in filter(None, map(lexical, objects))]
    if None in found:
        view.warn(key, "neither true nor false; left out")
    return max((value for value in found if value is not None), default=None)


def earliest(view: RecordView, objects: Objects, key: str) -> str | None:
    """The first of the dates."""
    return min(_dates(view, objects, key), default=None)


def latest(view: RecordView, objects: Objects, key: str) -> str | None:
    """The last of the dates."""
    return max(_dates(view, objects, key), default=None)


def _dates(view: RecordView, objects: Objects, key: str) -> list[str]:
    dates = []
    for words in filter(None, map(lexical, objects)):
        date = iso_date(words)
        if date is None:
            view.warn(key, f'"{words[:80]}" is not a date (YYYY, YYYY-MM, YYYY-MM-DD...); left out')
        else:
            dates.append(date)
    return dates


def geometries(view: RecordView, objects: Objects, key: str) -> str | None:
    """One geometry as GeoJSON text."""
    return min(map(geometry.geojson, filter(None, map(lexical, objects))), default=None)


# Nested descriptions


@dataclass(frozen=True, slots=True)
class Nested:
    """A reader of nodes that are described by a table of their own: agents, places, periods."""

    table: Sequence[MappingRow]
    from_text: Callable[[str], dict[str, Any]]
    """Reads a literal where a description belongs."""
    iri_key: str | None = "uri"
    """Takes the node's IRI."""

    def __call__(self, view: RecordView, objects: Objects, key: str) -> list[dict[str, Any]] | None:
        """Return a sorted list of dictionaries without empty ones, or None."""
        found: dict[str, dict[str, Any]] = {}
        for node in objects:
            if isinstance(node, Literal):
                item = self.from_text(lexical(node))
            else:
                item = describe(view, node, self.table)
                if isinstance(node, URIRef):
                    item = _identified(item, lexical(node), self.iri_key)
            if item:
                found[json.dumps(item, sort_keys=True)] = item
            elif words := lexical(node):
                view.warn(key, f'"{words[:80]}" says nothing that could be used; left out')
            elif isinstance(node, BNode):
                view.left.add(node)
        return [found[text] for text in sorted(found)] or None


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


LISTS: frozenset[Reader] = frozenset({texts, text_or_texts, iris, standards})
"""Readers that keep every value, from all predicates of a row; others keep one."""
