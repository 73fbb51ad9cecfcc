"""Just enough of RDF 1.1 Turtle to write records: terms, and the fields that a record can have."""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Mapping, Sequence
from typing import cast

PREFIXES: Mapping[str, str] = {
    "dcterms": "http://purl.org/dc/terms/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "ldp": "http://www.w3.org/ns/ldp#",
}
#: The prefix lines that the reference implementation begins every document with.
HEAD = "".join(f"@prefix {prefix}: <{iri}> .\n" for prefix, iri in PREFIXES.items())

_VCARD = "http://www.w3.org/2006/vcard/ns#"
_SPDX = "http://spdx.org/rdf/terms#"
_ADMS = "http://www.w3.org/ns/adms#"
_HEALTH = "http://healthdataportal.eu/ns/health#"
_DCATAP = "http://data.europa.eu/r5r/"

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
_ESCAPED = re.compile(r'[\\"\n\r\t\x08]')
#: What an IRIREF must not contain (RDF 1.1 Turtle, production 18).
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')


class Iri(str):
    """A string that is written as an IRI, whatever the field."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Literal:
    """A literal with a language, or with a datatype given as an IRI or a prefixed name."""

    value: str
    lang: str | None = None
    datatype: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Raw:
    """Turtle that is written as it stands."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A node with properties: predicate (`dcterms:title`, or an IRI in `<>`) to value or values.

    Without an IRI it is a blank node, written in place; with one, its properties are a block of
    their own further down, as in the documents of the reference implementation.
    """

    properties: Mapping[str, Value]
    iri: str | None = None

    def inner(self) -> str:
        """The properties as Turtle, without the subject."""
        return ";\n      ".join(
            f"{predicate} {objects(value)}" for predicate, value in self.properties.items()
        )


Term = str | Iri | Literal | Raw | Node | int | float | bool | datetime.date | datetime.datetime
Value = Term | Sequence[Term]


def term(value: Term, as_iri: bool = False) -> str:
    """One value in Turtle. A plain string is a literal, or an IRI where the field says so."""
    match value:
        case Iri():
            return iri(value)
        case str():
            return iri(value) if as_iri else _quoted(value)
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case datetime.datetime():
            stamp = value.isoformat().replace("+00:00", "Z")
            return f'"{stamp}"^^xsd:dateTime'
        case datetime.date():
            return f'"{value.isoformat()}"^^xsd:date'
        case Literal(text, lang, datatype):
            if lang:
                return f"{_quoted(text)}@{lang}"
            if datatype:
                return f"{_quoted(text)}^^{iri(datatype) if '://' in datatype else datatype}"
            return _quoted(text)
        case Raw(text):
            return text
        case Node(_, None):
            return f"[ {value.inner()}\n    ]"
        case Node(_, str(node_iri)):
            return iri(node_iri)
    raise TypeError(f"{value!r} cannot be written as Turtle.")


def objects(value: Value, as_iri: bool = False) -> str:
    """One value or several, separated by commas."""
    return ", ".join(term(item, as_iri) for item in each(value))


def blocks(value: Value) -> str:
    """The blocks of those nodes in a value that have an IRI; usually none."""
    return "".join(
        f"\n{iri(node.iri)} {node.inner()} .\n"
        for node in each(value)
        if isinstance(node, Node) and node.iri is not None
    )


def each(value: Value) -> list[Term]:
    """A value as a list of single ones."""
    if isinstance(value, list | tuple):
        return list(value)
    return [cast(Term, value)]


def iri(text: str) -> str:
    """`<text>`. Characters that an IRI must not have are percent-encoded."""
    encoded = _NOT_IN_IRI.sub(lambda found: f"%{ord(found[0]):02X}", text)
    return f"<{encoded}>"


def _quoted(text: str) -> str:
    escaped = _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)
    return f'"{escaped}"'


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """How a record's field is written: its predicate, and whether a plain string is an IRI."""

    predicate: str
    is_iri: bool = False


#: What a record can say of itself, by the names that DCAT's terms have in Python.
FIELDS: Mapping[str, Field] = {
    "title": Field("dcterms:title"),
    "description": Field("dcterms:description"),
    "version": Field("dcat:version"),
    "identifier": Field("dcterms:identifier"),
    "alternate_identifier": Field(f"<{_ADMS}identifier>"),
    "theme": Field("dcat:theme", is_iri=True),
    "keyword": Field("dcat:keyword"),
    "issued": Field("dcterms:issued"),
    "modified": Field("dcterms:modified"),
    "frequency": Field("dcterms:accrualPeriodicity", is_iri=True),
    "contact": Field("dcat:contactPoint", is_iri=True),
    "temporal": Field("dcterms:temporal", is_iri=True),
    "spatial": Field("dcterms:spatial", is_iri=True),
    "access_rights": Field("dcterms:accessRights", is_iri=True),
    "license": Field("dcterms:license", is_iri=True),
    "landing_page": Field("dcat:landingPage", is_iri=True),
    "language": Field("dcterms:language", is_iri=True),
    "publisher": Field("dcterms:publisher", is_iri=True),
    "creator": Field("dcterms:creator", is_iri=True),
    "provenance": Field("dcterms:provenance"),
    "type": Field("dcterms:type", is_iri=True),
    "source": Field("dcterms:source", is_iri=True),
    "relation": Field("dcterms:relation", is_iri=True),
    "documentation": Field("foaf:page", is_iri=True),
    "is_referenced_by": Field("dcterms:isReferencedBy", is_iri=True),
    "conforms_to": Field("dcterms:conformsTo", is_iri=True),
    "in_series": Field("dcat:inSeries", is_iri=True),
    "sample": Field(f"<{_ADMS}sample>", is_iri=True),
    "analytics": Field(f"<{_HEALTH}analytics>", is_iri=True),
    "theme_taxonomy": Field("dcat:themeTaxonomy", is_iri=True),
    "download_url": Field("dcat:downloadURL", is_iri=True),
    "access_url": Field("dcat:accessURL", is_iri=True),
    "access_service": Field("dcat:accessService", is_iri=True),
    "media_type": Field("dcat:mediaType"),
    "format": Field("dcterms:format"),
    "byte_size": Field("dcat:byteSize"),
    "checksum": Field(f"<{_SPDX}checksum>", is_iri=True),
    "rights": Field("dcterms:rights"),
    "status": Field(f"<{_ADMS}status>", is_iri=True),
    "availability": Field(f"<{_DCATAP}availability>", is_iri=True),
    "number_of_records": Field(f"<{_HEALTH}numberOfRecords>"),
    "number_of_unique_individuals": Field(f"<{_HEALTH}numberOfUniqueIndividuals>"),
    "min_typical_age": Field(f"<{_HEALTH}minTypicalAge>"),
    "max_typical_age": Field(f"<{_HEALTH}maxTypicalAge>"),
    "health_theme": Field(f"<{_HEALTH}healthTheme>", is_iri=True),
    "health_category": Field(f"<{_HEALTH}healthCategory>", is_iri=True),
    "population_coverage": Field(f"<{_HEALTH}populationCoverage>"),
}


def agent(name: str, email: str | None = None, iri: str | None = None, **more: Value) -> Node:
    """A foaf:Agent for `publisher` and `creator`; `more` are further terms of foaf."""
    properties: dict[str, Value] = {"a": Raw("foaf:Agent"), "foaf:name": name}
    if email:
        properties["foaf:mbox"] = Iri(f"mailto:{email}")
    properties |= {f"foaf:{key}": value for key, value in more.items()}
    return Node(properties, iri)


def contact(name: str, email: str, url: str | None = None, iri: str | None = None) -> Node:
    """A vcard:Kind for `contact`."""
    properties: dict[str, Value] = {
        "a": Iri(f"{_VCARD}Kind"),
        f"<{_VCARD}fn>": name,
        f"<{_VCARD}hasEmail>": Iri(f"mailto:{email}"),
    }
    if url:
        properties[f"<{_VCARD}hasURL>"] = Iri(url)
    return Node(properties, iri)


def period(start: datetime.date, end: datetime.date | None = None) -> Node:
    """A dcterms:PeriodOfTime for `temporal`."""
    properties: dict[str, Value] = {"a": Raw("dcterms:PeriodOfTime"), "dcat:startDate": start}
    if end:
        properties["dcat:endDate"] = end
    return Node(properties)


def checksum(value: str, algorithm: str = "sha1") -> Node:
    """An spdx:Checksum for `checksum`, of a hexadecimal digest."""
    return Node(
        {
            "a": Iri(f"{_SPDX}Checksum"),
            f"<{_SPDX}algorithm>": Iri(f"{_SPDX}checksumAlgorithm_{algorithm}"),
            f"<{_SPDX}checksumValue>": Literal(value, datatype="xsd:hexBinary"),
        }
    )


def data_service(title: str, endpoint: str) -> Node:
    """A dcat:DataService for `access_service`."""
    return Node(
        {
            "a": Raw("dcat:DataService"),
            "dcterms:title": title,
            "dcat:endpointURL": Iri(endpoint),
        }
    )
