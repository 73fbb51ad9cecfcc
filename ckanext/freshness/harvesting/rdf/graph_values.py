"""Readers of values in a graph: texts by language, dates, numbers, nested descriptions.

A mapping is a table of :class:`MappingRow`: key, predicates, reader. :func:`describe` reads a node by a
table. Tables are nested to a fixed depth, so that a circle of blank nodes has an end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property, partial
from typing import Any
from urllib.parse import unquote

from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, RDFS, SKOS, BNode, Literal, URIRef
from rdflib.term import Node

from ...dates import iso_date
from ..legal_values import BIGGEST_INTEGER, clean, is_email, one_line, split_keywords
from .parsing import SCHEMA, SCHEMAS, VCARD
from .record_graph import Path, RecordView

MOST_NAMED = 10
"""How many values a warning names."""

Objects = Sequence[Node]
Warn = Callable[[str], None]
Reader = Callable[[RecordView, Objects, str], Any]

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
"""Predicates that name a node without an IRI, the best first."""

_EU_CODE = re.compile(
    r"https?://publications\.europa\.eu/(?:mdr/)?(?:resource/)?authority/(?P<code>[\w-]+/.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MappingRow:
    """A row of a mapping table: a key, the predicates of its value, and the reader of the value."""

    key: str
    predicates: tuple[URIRef | Path, ...]
    """The first with a value is used. A tuple is a path through nodes in between."""
    read: Reader
    translated: bool = False
    """Also keep all languages, under ``<key>_translated``."""

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """The predicates, each as a path."""
        return tuple(path if isinstance(path, tuple) else (path,) for path in self.predicates)


def describe(
    view: RecordView, node: Node, table: Iterable[MappingRow], within: str = ""
) -> dict[str, Any]:
    """Return the values that a node has for a table's rows, by key.

    :param within: the keys that lead to the node, for warnings.
    """
    known = view.properties(node)
    reader = _NodeReader(view, node, within)
    unused_outside = view.unused
    for row in table if known else ():
        paths = [path for path in row.paths if path[0] in known]
        if row.read in LISTS or isinstance(row.read, Nested):
            reader.read_all(row, paths)
        else:
            reader.read_first(row, paths)
    view.unused = unused_outside
    return reader.out


class _NodeReader:
    """A reader of the values of one node."""

    def __init__(self, view: RecordView, node: Node, within: str) -> None:
        self._view = view
        self._node = node
        self._within = within
        self.out: dict[str, Any] = {}

    def read_all(self, row: MappingRow, paths: Sequence[Path]) -> None:
        """Read a list of values from all of the paths."""
        objects = [found for path in paths for found in self._view.objects(self._node, path)]
        if self._read(row, paths, objects) is not None and row.translated:
            self._add_translations(row, objects)

    def read_first(self, row: MappingRow, paths: Sequence[Path]) -> None:
        """Read one value from the first path that has one; warn if there are others."""
        view, node = self._view, self._node
        for index, path in enumerate(paths):
            objects = view.objects(node, path)
            value = self._read(row, [path], objects)
            if value is None:
                continue
            kept = [value]
            if row.translated:
                kept += self._add_translations(row, objects)
            if len(objects) > max(1, len(kept) - 1):
                others = {str(read) for read in self._readings(row, objects) if read not in kept}
                if others:
                    words = ", ".join(f'"{text[:80]}"' for text in sorted(others)[:MOST_NAMED])
                    if len(others) > MOST_NAMED:
                        words += f" and {len(others) - MOST_NAMED} more"
                    words = f'"{str(value)[:80]}" is kept; left out: {words}'
                    view.warn(self._within + row.key, words)
            for later in paths[index + 1 :]:
                # A later path without a value of its own counts as read.
                others_there = [
                    value for value in view.objects(node, later) if value not in objects
                ]
                unused = [
                    value
                    for value in others_there
                    if not any(read in kept for read in self._readings(row, [value]))
                ]
                view.mark_read(node, later, unused)
            return

    def _read(self, row: MappingRow, paths: Sequence[Path], objects: Objects) -> Any:
        """Read a row's value and mark the triples that it was read from."""
        if not objects:
            return None
        self._view.unused = set()
        value = row.read(self._view, objects, self._within + row.key)
        if value is not None:
            self.out[row.key] = value
        for path in paths:
            self._view.mark_read(self._node, path, self._view.unused)
        return value

    def _readings(self, row: MappingRow, objects: Objects) -> list[Any]:
        """Return a row's value for each object alone, without adding warnings."""
        before = len(self._view.warnings)
        values = [row.read(self._view, [node], row.key) for node in objects]
        del self._view.warnings[before:]
        return [value for value in values if value is not None]

    def _add_translations(self, row: MappingRow, objects: Objects) -> list[str]:
        """Add the texts in all languages under ``<key>_translated``, and return them."""
        translations = by_language(objects)
        if any(translations):
            self.out[f"{row.key}_translated"] = translations
        return list(translations.values())


# Texts


def lexical(node: Node) -> str:
    """Return a literal's or IRI's text without characters that a database refuses; "" for blank nodes."""
    return "" if isinstance(node, BNode) else present_url(clean(str(node)).strip())


def present_url(text: str) -> str:
    """Return the present URL of a code of the EU's authority tables; any other text is returned unchanged.

    Catalogues still have the URLs of the former Metadata Registry (mdr).
    """
    code = _EU_CODE.fullmatch(text)
    return f"http://publications.europa.eu/resource/authority/{code['code']}" if code else text


def label(view: RecordView, node: Node) -> str:
    """Return the name that the graph gives an IRI or a blank node, or ""."""
    known = view.properties(node)
    for predicate in _LABELS:
        texts = [value for value in known.get(predicate, ()) if isinstance(value, Literal)]
        if texts:
            name = best(view, texts)
            others = [value for value in known[predicate] if lexical(value) != name]
            view.mark_read(node, (predicate,), others)
            return name
    return ""


def best(view: RecordView, objects: Objects) -> str:
    """Return one text: in the preferred language, else without language, in English, or in any other.

    A text wins over an IRI, and an IRI over a blank node's name. Among equals, the first in sorted order
    wins.
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
    """Return the literals by language; if a language has several, the first in sorted order."""
    found: dict[str, str] = {}
    for literal in objects:
        if isinstance(literal, Literal) and (words := lexical(literal)):
            language = (literal.language or "").lower()
            found[language] = min(words, found.get(language, words))
    return found


def _words(view: RecordView, node: Node) -> str:
    """Return a literal's or IRI's text, or a blank node's name. A node without any is unused."""
    words = label(view, node) if isinstance(node, BNode) else lexical(node)
    if not words and not isinstance(node, Literal):
        view.unused.add(node)
    return words


def text(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one text, an IRI as text, or a blank node's name."""
    for node in objects:
        if isinstance(node, BNode):
            _words(view, node)
    return best(view, objects) or None


def line(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one text on one line, for titles and names."""
    found = text(view, objects, key)
    return one_line(found) or None if found else None


def named(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one text. For an IRI, prefer its name in the graph to the IRI itself."""
    texts = [node for node in objects if isinstance(node, Literal)]
    names = sorted(filter(None, (label(view, node) for node in objects)))
    return best(view, texts) or next(iter(names), None) or text(view, objects, key)


def texts(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """Read all texts and IRIs, sorted, each once."""
    return sorted({_words(view, node) for node in objects} - {""}) or None


def keywords(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """Read all keywords, also if a text has several, sorted, each once."""
    found = texts(view, objects, key) or []
    return sorted({word for text in found for word in split_keywords(text)}) or None


def text_or_texts(view: RecordView, objects: Objects, key: str) -> str | list[str] | None:
    """Read one text, or a list if there are several, for licences."""
    found = texts(view, objects, key)
    return found[0] if found and len(found) == 1 else found


def standards(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """Read all texts and IRIs except the profiles that the reference implementation adds."""
    return texts(view, [node for node in objects if not view.is_own_profile(str(node))], key)


def iris(view: RecordView, objects: Objects, key: str) -> list[str] | None:
    """Read all IRIs, sorted. Literals of this predicate have another meaning and are unused."""
    view.unused.update(node for node in objects if not isinstance(node, URIRef))
    return sorted({lexical(node) for node in objects if isinstance(node, URIRef)} - {""}) or None


def literal(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one literal. IRIs of this predicate have another meaning and are unused."""
    view.unused.update(node for node in objects if not isinstance(node, Literal))
    return best(view, [node for node in objects if isinstance(node, Literal)]) or None


def email(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one e-mail address, without ``mailto:`` and its query."""
    view.unused.update(node for node in objects if isinstance(node, BNode))
    found = (_address(lexical(node)) for node in objects if not isinstance(node, BNode))
    return min(filter(None, found), default=None)


def telephone(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one telephone number, without ``tel:``."""
    found = text(view, objects, key)
    return found[4:] if found and found[:4].lower() == "tel:" else found


def _address(words: str) -> str:
    if words[:7].lower() != "mailto:":
        return words
    return clean(unquote(words[7:].partition("?")[0])).strip()


# Numbers, dates, truth


def _given(view: RecordView, objects: Objects) -> Iterator[str]:
    """Return the texts of literals and IRIs. Blank nodes are unused."""
    for node in objects:
        if isinstance(node, BNode):
            view.unused.add(node)
        elif words := lexical(node):
            yield words


def integer(view: RecordView, objects: Objects, key: str) -> int | None:
    """Read the smallest whole number, also if it is written ``2048.0`` or ``2e3``."""
    numbers = []
    for words in _given(view, objects):
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
    # Compare before converting: int() of 1e999999999 would fill the memory.
    if not number.is_finite() or number != number.to_integral_value():
        return None
    return int(number) if 0 <= number <= BIGGEST_INTEGER else None


def boolean(view: RecordView, objects: Objects, key: str) -> bool | None:
    """Read a boolean of XML Schema; true if a record has both values."""
    known = {"true": True, "1": True, "false": False, "0": False}
    found = []
    for words in _given(view, objects):
        if words.lower() in known:
            found.append(known[words.lower()])
        else:
            view.warn(key, f'"{words[:80]}" is neither true nor false; left out')
    return max(found, default=None)


def earliest(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read the first of the dates."""
    return min(_dates(view, objects, key), default=None)


def latest(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read the last of the dates."""
    return max(_dates(view, objects, key), default=None)


def _dates(view: RecordView, objects: Objects, key: str) -> list[str]:
    dates = []
    for words in _given(view, objects):
        date = iso_date(words)
        if date is None:
            view.warn(key, f'"{words[:80]}" is not a date (YYYY, YYYY-MM, YYYY-MM-DD...); left out')
        else:
            dates.append(date)
    return dates


def geometries(view: RecordView, objects: Objects, key: str) -> str | None:
    """Read one geometry as GeoJSON text."""
    return min(map(geojson, _given(view, objects)), default=None)


# Geometries as GeoJSON, which CKAN's map extensions read

LONGEST_GEOMETRY = 256 * 1024
"""Characters of the longest geometry that is parsed. Longer ones take seconds and much memory."""

_CRS = re.compile(r"<(?P<crs>[^>]*)>\s*")
_LONGITUDE_FIRST = ("/CRS84", "/OGC/1.3/CRS84")
_WKT = re.compile(
    r"(?P<type>[A-Z]+)(?:\s+(?:ZM?|M))?\s*(?P<body>\([-+.,()\seE\d]*\))", re.IGNORECASE
)
_BETWEEN = re.compile(r"[^,\[\]]+")
"""What stands between commas and brackets: a position, or blanks."""

# Name in well-known text: (name in GeoJSON, nesting of the coordinates; 1 is a single position).
_GEOMETRIES = {
    "POINT": ("Point", 1),
    "LINESTRING": ("LineString", 2),
    "MULTIPOINT": ("MultiPoint", 2),
    "POLYGON": ("Polygon", 3),
    "MULTILINESTRING": ("MultiLineString", 3),
    "MULTIPOLYGON": ("MultiPolygon", 4),
}


def geojson(text: str) -> str:
    """Return a geometry, GeoJSON or well-known text, as GeoJSON text with sorted keys.

    Any other text is returned unchanged. So is a text that is too long, and well-known text with a
    reference system other than CRS84: its axes may be swapped, which only a projection library knows.
    """
    if len(text) > LONGEST_GEOMETRY:
        return text
    try:
        data = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        data = _from_wkt(text.strip())
    if not isinstance(data, dict) or "type" not in data:
        return text
    return json.dumps(data, sort_keys=True, ensure_ascii=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _from_wkt(text: str) -> dict[str, Any] | None:
    crs = _CRS.match(text)
    if crs is not None and crs["crs"].endswith(_LONGITUDE_FIRST):
        text = text[crs.end() :]
    match = _WKT.fullmatch(text)
    name, depth = _GEOMETRIES.get(match["type"].upper(), ("", 0)) if match else ("", 0)
    if match is None or not depth:
        return None
    try:
        # Parentheses become brackets, and each position a list of its own.
        brackets = match["body"].replace("(", "[").replace(")", "]")
        coordinates = json.loads(_BETWEEN.sub(_position, brackets))
        if name == "Point":
            (coordinates,) = coordinates
    except (ValueError, RecursionError):
        return None
    if name == "MultiPoint":
        coordinates = [one[0] if len(one) == 1 else one for one in coordinates]
    return {"type": name, "coordinates": coordinates} if _depths(coordinates) == {depth} else None


def _position(match: re.Match[str]) -> str:
    """Return a position of two to four numbers as JSON.

    :raises ValueError: it has others, or a word that is no finite number.
    """
    words = match[0].split()
    if not words:
        return ""
    if not 2 <= len(words) <= 4:
        raise ValueError("a position has two to four numbers")
    numbers = [float(word) for word in words[:3]]
    return json.dumps(
        [int(number) if number.is_integer() else number for number in numbers], allow_nan=False
    )


def _depths(value: Any) -> set[int]:
    """Return how deep the numbers in nested lists are."""
    if not isinstance(value, list):
        return {0}
    return {depth + 1 for one in value for depth in _depths(one)}


# Nested descriptions


@dataclass(frozen=True, slots=True)
class Nested:
    """A reader of nodes with a mapping table of their own, such as agents, places and periods."""

    table: Sequence[MappingRow]
    from_text: Callable[[str, Warn], dict[str, Any]]
    """Makes a description of a literal, and warns about parts that it leaves out."""
    iri_key: str | None = "uri"
    """The key for the node's IRI; None if the IRI is left out."""
    only_described: bool = False
    """Leave out IRIs that the graph does not describe: another row of the table has them."""

    def __call__(self, view: RecordView, objects: Objects, key: str) -> list[dict[str, Any]] | None:
        """Read the descriptions as a sorted list without empty ones; None if there are none."""
        found: dict[str, dict[str, Any]] = {}
        for node in objects:
            if isinstance(node, Literal):
                item = self.from_text(lexical(node), partial(view.warn, key))
            else:
                item = describe(view, node, self.table, f"{key}.")
                if isinstance(node, URIRef) and (item or not self.only_described):
                    item = _identified(item, lexical(node), self.iri_key)
            if item:
                found[json.dumps(item, sort_keys=True)] = item
            elif self.only_described and not isinstance(node, BNode):
                continue
            elif words := lexical(node):
                view.warn(key, f'"{words[:80]}" says nothing that could be used; left out')
            elif isinstance(node, BNode):
                view.unused.add(node)
        return [found[text] for text in sorted(found)] or None


def _identified(item: dict[str, Any], iri: str, iri_key: str | None) -> dict[str, Any]:
    if iri[:7].lower() == "mailto:":
        return {"email": _address(iri), **item} if _address(iri) else item
    return {iri_key: iri, **item} if iri_key and iri else item


def name_or_email(words: str, warn: Warn) -> dict[str, Any]:
    """Return the description of an agent that is only a text."""
    if not words:
        return {}
    address = _address(words)
    return {"email": address} if is_email(address) else {"name": one_line(words)}


def only_text(key: str) -> Callable[[str, Warn], dict[str, Any]]:
    """Return a function that describes by a text alone, under a key."""
    return lambda words, warn: {key: words} if words else {}


def nothing(words: str, warn: Warn) -> dict[str, Any]:
    """Ignore a literal in place of a description."""
    return {}


LISTS: frozenset[Reader] = frozenset({texts, keywords, text_or_texts, iris, standards})
"""Readers that keep the values of all predicates of a row; other readers keep one value."""
