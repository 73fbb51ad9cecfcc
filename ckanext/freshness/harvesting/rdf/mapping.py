"""Mapping of the RDF of a dataset or catalog to a record, by the site's profiles of ckanext-dcat.

A profile sees a small graph: one record with its distributions, without what the record's server adds, and in
one order for the same triples, whatever the names of blank nodes. The last profile is always ours
(``ckanext/freshness/dcat.py``). Nothing here uses the network.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

import ckan.plugins.toolkit as tk
from rdflib import DCTERMS as DCT
from rdflib import FOAF, RDF, RDFS, SDO, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ...ckan_adapter.core import scheming_schema
from ..legal_values import BIGGEST_INTEGER, EMPTY, brief, clean_all, json_list
from ..record import Record, resource_order
from ..source_client import unexpected
from .parsing import DCAT, HEALTHDCATAP, LOCN, OUR_PROFILE, VCARD, DocumentError, present_url
from .record_graph import descriptions, is_made_by_server, is_profile_of_server, label_of

log = logging.getLogger(__name__)

Mapper = Callable[[Graph, Node], Record]

GROUP = "ckan.rdf.profiles"
"""The group of entry points for profiles of ckanext-dcat and other extensions."""

DCAT_DISTRIBUTION = "ckanext-dcat"
"""Profiles of other extensions are subclasses of its classes, too."""

MOST_TEXT = 8 * 1024 * 1024
"""Characters in a record's literals. For each million, ckanext-dcat takes 4 seconds and 40 MB."""
LONGEST_GEOMETRY = 256 * 1024
"""Characters of the longest geometry that is read. Longer ones take seconds and much memory."""
_SLOW = 10
"""How many characters each one of keywords and geometries counts for, which take that much longer."""

_GEOMETRIES = frozenset({LOCN.geometry, DCAT.bbox, DCAT.centroid})
_NUMBERS = frozenset(
    [
        *(DCAT.byteSize, SDO.position),
        *(HEALTHDCATAP[name] for name in ("minTypicalAge", "maxTypicalAge")),
        *(HEALTHDCATAP[name] for name in ("numberOfRecords", "numberOfUniqueIndividuals")),
    ]
)
_TEXTS = frozenset({DCAT.keyword, RDFS.label})
_PLACEHOLDER = re.compile(r"\s*\{\{[^{}]*\}\}\s*")
"""The name of a field that the publisher's template could not fill, such as
``{{extent:computeSpatialProperty}}`` of ArcGIS Hub."""
_MAIL = re.compile(r"[^@\s]+@[^@\s]+")
_AGENTS: dict[Node, tuple[URIRef, URIRef]] = {
    DCT.publisher: (FOAF.name, FOAF.mbox),
    DCT.creator: (FOAF.name, FOAF.mbox),
    DCAT.contactPoint: (VCARD.fn, VCARD.hasEmail),
}
"""Properties that lead to agents. A text in place of an agent becomes its name or its e-mail address."""


@cache
def installed_profiles() -> Mapping[str, EntryPoint]:
    """Return the installed profiles by name. Each look reads the files of all distributions."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def profile_versions(names: Collection[str]) -> list[str]:
    """Return name and version of each distribution that has one of some profiles, and of ckanext-dcat."""
    found = {
        f"{entry.dist.name} {entry.dist.version}"
        for name, entry in installed_profiles().items()
        if name in names and entry.dist is not None
    }
    return sorted({*found, f"{DCAT_DISTRIBUTION} {version(DCAT_DISTRIBUTION)}"})


def check_profiles(names: Sequence[str]) -> None:
    """Check that all profiles are installed.

    :raises ValueError: the message names the key and the allowed values.
    """
    known = installed_profiles()
    if unknown := sorted(set(names) - known.keys()):
        words = f"profiles: unknown: {', '.join(unknown)}; known: {', '.join(sorted(known))}"
        raise ValueError(words)


@dataclass(frozen=True)
class ProfileMapper:
    """A mapper by a chain of profiles. It looks up profiles and schema once."""

    profiles: tuple[str, ...]
    """Names of profiles. Ours follows them."""
    language: str = ""
    """The language tag of preferred texts; if empty, that of the site."""

    def __call__(self, graph: Graph, subject: Node) -> Record:
        """Map a dataset or catalog, with the distributions that the graph describes.

        Its type does not matter: a list may say what it is.

        :param graph: may describe other records, too; not changed.
        :raises DocumentError: the graph does not describe the subject, or describes it at too great length.
        """
        if (subject, None, None) not in graph:
            raise DocumentError("the record is not described in the server's answer")
        warnings: list[str] = []
        own = self._prepared(graph, subject, warnings)
        # With a licence in the package, profiles do not read the site's register for each record.
        package: dict[str, Any] = {"license_id": ""}
        for profile in self._classes:
            profile(own).parse_dataset(package, subject)
        record = _record(package, is_ordered=(None, SDO.position, None) in own)
        record.fields["uri"] = "" if isinstance(subject, BNode) else str(subject)
        record.warnings = sorted(warnings)
        return record

    @cached_property
    def _classes(self) -> list[Any]:
        check_profiles(self.profiles)
        found = installed_profiles()
        return [found[name].load() for name in dict.fromkeys([*self.profiles, OUR_PROFILE])]

    @cached_property
    def _is_multilingual(self) -> bool:
        """True if the site's schema has fields for texts in several languages."""
        schema = scheming_schema("dataset") or {}
        fields = [*schema.get("dataset_fields", ()), *schema.get("resource_fields", ())]
        return any(field["field_name"].endswith("_translated") for field in fields)

    @cached_property
    def _preferred(self) -> str:
        locale = tk.config.get("ckan.locale_default") or "en"
        return (self.language or locale.replace("_", "-")).lower()

    def _prepared(self, graph: Graph, subject: Node, warnings: list[str]) -> Graph:
        """Return the record's own graph, in a fixed order and without values that stop a profile.

        :raises DocumentError: its literals exceed the limit.
        """
        members = [node for node in graph.objects(subject, DCAT.distribution)]
        for node in members:
            if (node, None, None) not in graph:
                warnings.append(f"distribution: {brief(node)} is not described; left out")
        described = [node for node in members if (node, None, None) in graph]
        kept: list[tuple[Node, Node, Node]] = [(subject, RDF.type, DCAT.Dataset)]
        kept += [(subject, DCAT.distribution, node) for node in described]
        length = 0
        for node, statements in descriptions(graph, subject, described).items():
            for predicate, value in statements:
                if _is_of_server(subject, node, predicate, value):
                    continue
                found = _readable(graph, predicate, value)
                if found is None:
                    continue
                kept.append((node, predicate, found))
                if isinstance(found, Literal):
                    is_slow = predicate in _GEOMETRIES or predicate == DCAT.keyword
                    length += len(found) * (_SLOW if is_slow else 1)
        if length > MOST_TEXT:
            raise DocumentError(f"the record has more than {MOST_TEXT:,} characters")
        return self._in_order(_with_nodes(kept))

    def _in_order(self, triples: list[tuple[Node, Node, Node]]) -> Graph:
        """Return a graph that gives its triples in one order: by stated positions, preferred language first.

        Without a multilingual schema, a field has one text: texts in other languages are left out.
        """
        about: dict[Node, list[tuple[Node, Node]]] = {}
        places: dict[Node, int] = {}
        for subject, predicate, value in triples:
            about.setdefault(subject, []).append((predicate, value))
            if predicate == SDO.position:
                places[subject] = min(int(str(value)), places.get(subject, BIGGEST_INTEGER))
        keys: dict[Node, Any] = {}

        def key(node: Node, depth: int = 2) -> Any:
            if isinstance(node, Literal):
                language = (node.language or "").lower()
                return (0, self._rank(language), str(node), language, str(node.datatype or ""))
            if isinstance(node, URIRef):
                return (1, str(node))
            if not depth:
                return (2,)
            if depth < 2 or node not in keys:
                inside = sorted((str(p), key(o, depth - 1)) for p, o in about.get(node, ()))
                if depth < 2:
                    return (2, *inside)
                keys[node] = (2, *inside)
            return keys[node]

        graph = Graph(store="SimpleMemory")  # it keeps the order
        add = graph.store.add
        spoken: dict[tuple[Node, Node], int] = {}

        def place(triple: tuple[Node, Node, Node]) -> Any:
            return [(places.get(node, 0), key(node)) for node in triple]

        for triple in sorted(triples, key=place):
            subject, predicate, value = triple
            if isinstance(value, Literal) and predicate != DCAT.keyword:
                rank = self._rank((value.language or "").lower())
                best = spoken.setdefault((subject, predicate), rank)
                if value.language and rank > best and not self._is_multilingual:
                    continue
            add(triple, graph)
        return graph

    def _rank(self, language: str) -> int:
        """Return the place of a language: the preferred one, a variant of it, none, English, others."""
        if language == self._preferred:
            return 0
        if language.split("-")[0] == self._preferred.split("-")[0]:
            return 1
        if not language:
            return 2
        return 3 if language.split("-")[0] == "en" else 4


def mapped(mapper: Mapper, graph: Graph, subject: Node) -> Record:
    """Map a graph to a record; set ``dcat_type`` if it is a dcat:DatasetSeries.

    :raises DocumentError: the graph cannot be mapped.
    """
    try:
        record = mapper(graph, subject)
        if (subject, RDF.type, DCAT.DatasetSeries) in graph:
            record.fields["dcat_type"] = str(DCAT.DatasetSeries)
        return record
    except DocumentError:
        raise
    except Exception as error:
        # Profiles of other extensions may raise anything. That is an error of one record, and the
        # crawl goes on.
        log.exception("The record %s could not be mapped", subject)
        reason = unexpected("the mapping or a profile cannot map the record", error)
        raise DocumentError(reason) from error


def _is_of_server(subject: Node, node: Node, predicate: Node, value: Node) -> bool:
    """Return whether a triple is one that the record's server adds, or makes of another node a dataset."""
    if predicate == RDF.type and value == DCAT.Dataset:
        return True
    if predicate == DCT.conformsTo and is_profile_of_server(str(subject), str(value)):
        return True
    return is_made_by_server(node, value)


def _readable(graph: Graph, predicate: Node, value: Node) -> Node | None:
    """Return a value in the form that profiles read; None if it would stop them, or says nothing."""
    # In a link, it follows the URL of the document.
    text = str(value).rpartition("/")[2] if isinstance(value, URIRef) else str(value)
    if _PLACEHOLDER.fullmatch(text):
        return None
    if predicate in _TEXTS and not isinstance(value, Literal):
        # With translations, profiles ask each of these for its language.
        name = label_of(graph, value) or ("" if isinstance(value, BNode) else str(value))
        return Literal(name) if name else None
    if isinstance(value, URIRef):
        return None if predicate in _GEOMETRIES else URIRef(present_url(str(value)))
    if predicate in _GEOMETRIES and (
        isinstance(value, BNode) or len(str(value)) > LONGEST_GEOMETRY
    ):
        return None
    if predicate in _NUMBERS:
        number = None if isinstance(value, BNode) else _whole(str(value))
        return None if number is None else Literal(str(number))
    return value


def _whole(words: str) -> int | None:
    try:
        number = Decimal(words.strip())
    except InvalidOperation:
        return None
    # Compare before converting: int() of 1e999999999 would fill the memory.
    if not number.is_finite() or not 0 <= number <= BIGGEST_INTEGER:
        return None
    return int(number) if number == number.to_integral_value() else None


def _with_nodes(
    triples: Sequence[tuple[Node, Node, Node]],
) -> list[tuple[Node, Node, Node]]:
    """Return triples with nodes in place of texts for agents and periods, as ``data.json`` has them."""
    found: list[tuple[Node, Node, Node]] = []
    for subject, predicate, value in triples:
        if predicate == DCT.spatial and not isinstance(value, Literal):
            # Profiles read only places that have their type, which many servers leave out.
            found.append((value, RDF.type, DCT.Location))
        statements = list(_statements(predicate, value)) if isinstance(value, Literal) else []
        node = BNode() if statements else value
        found.append((subject, predicate, node))
        found += [(node, *statement) for statement in statements]
    return found


def _statements(predicate: Node, text: Literal) -> Iterator[tuple[Node, Node]]:
    """Yield the statements that a text makes which stands for an agent or for a period."""
    if predicate in _AGENTS:
        name, address = _AGENTS[predicate]
        yield address if _MAIL.fullmatch(text) else name, text
    elif predicate == DCT.temporal and str(text).count("/") == 1:
        start, end = str(text).split("/")
        yield from ((DCAT.startDate, Literal(start)), (DCAT.endDate, Literal(end)))


def _record(package: Mapping[str, Any], *, is_ordered: bool) -> Record:
    """Return the record of a package that profiles have filled.

    :param is_ordered: the source states the order of the resources, as in ``data.json``
    """
    given = {extra["key"]: extra["value"] for extra in package.get("extras", ())}
    given |= {key: package[key] for key in package.keys() - _APART}
    resources = [clean_all(_values(one)) for one in package.get("resources", ())]
    tags = sorted({tag["name"] for tag in package.get("tags", ())})
    if not is_ordered:
        resources.sort(key=resource_order)
    return Record(clean_all(_values(given)), resources, tags)


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a dataset or resource: lists in place of their JSON, and translations beside a text.

    ckanext-dcat fills a plain field from the site's own language only, or with all translations. The first of
    them is in the preferred language.
    """
    values: dict[str, Any] = {}
    for key, value in given.items():
        plain = key.removesuffix("_translated")
        if isinstance(value, dict) and value:
            values[f"{plain}_translated"] = value
            if plain not in _APART:
                values.setdefault(plain, next(filter(None, value.values()), ""))
        elif value not in EMPTY:
            values[key] = _opened(value)
    return values


_APART = frozenset({"extras", "tags", "resources"})


def _opened(value: Any) -> Any:
    """Parse a JSON list that ckanext-dcat wrote as text; return anything else, as GeoJSON, unchanged."""
    if not isinstance(value, str) or not value.startswith("["):
        return value
    items = json_list(value)
    return value if items is None else items
