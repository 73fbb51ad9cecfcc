"""Writes the parts of the documentation that are tables in the code: options and mapping.

``./dev run python docs/generate.py`` writes them anew. What stands between the two comments of a part is
the script's; all else on these pages is written by people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rdflib import DCTERMS, FOAF, OWL, PROV, RDFS, SKOS, TIME, URIRef

from ckanext.freshness.harvesting.fdp import namespaces, tables, values

DOCS = Path(__file__).resolve().parent
DECLARATION = DOCS.parent / "ckanext" / "freshness" / "config_declaration.yaml"

PREFIXES = {
    "adms": namespaces.ADMS,
    "dcat": namespaces.DCAT,
    "dcatap": namespaces.DCATAP,
    "dct": DCTERMS,
    "dpv": namespaces.DPV,
    "dqv": namespaces.DQV,
    "foaf": FOAF,
    "healthdcatap": namespaces.HEALTHDCATAP,
    "locn": namespaces.LOCN,
    "oa": namespaces.OA,
    "owl": OWL,
    "prov": PROV,
    "rdfs": RDFS,
    "schema": namespaces.SCHEMA,
    "schemas": namespaces.SCHEMAS,
    "skos": SKOS,
    "spdx": namespaces.SPDX,
    "time": TIME,
    "vcard": namespaces.VCARD,
}

READERS: dict[Callable[..., Any], str] = {
    values.text: "text",
    values.line: "text on one line",
    values.named: "text, or the name of what is linked",
    values.literal: "text",
    values.texts: "list of texts",
    values.iris: "list of IRIs",
    values.standards: "list of texts",
    values.email: "e-mail address",
    values.integer: "whole number",
    values.boolean: "true or false",
    values.earliest: "date, the first of several",
    values.latest: "date, the last of several",
    values.geometries: "GeoJSON",
    tables.agents: "list of agents",
    tables.contacts: "list of contacts",
    tables.periods: "list of periods",
    tables.places: "list of places",
}
"""How a value is read, in words; whatever is not here is a list of descriptions."""

MAPPINGS: tuple[tuple[str, Iterable[values.Row]], ...] = (
    ("Datasets", tables.DATASET),
    ("Catalogs", tables.CATALOG),
    ("Distributions", tables.RESOURCE),
    ("Checksums of distributions", tables.CHECKSUM),
    ("Agents", tables.AGENT),
    ("Contacts", tables.CONTACT),
    ("Periods", tables.PERIOD),
    ("Places", tables.PLACE),
    ("Access services", tables.SERVICE),
    ("Qualified relations", tables.RELATION),
    ("Qualified attributions", tables.ATTRIBUTION),
    ("Provenance activities", tables.ACTIVITY),
    ("Quality annotations", tables.ANNOTATION),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A generated part of a page."""

    page: str
    name: str
    lines: Callable[[], Iterator[str]]


def options() -> Iterator[str]:
    """Every option of config_declaration.yaml, by its groups."""
    declared = yaml.safe_load(DECLARATION.read_text(encoding="utf-8"))
    for group in declared["groups"]:
        yield from heading(group["annotation"], "-")
        for option in group["options"]:
            yield f".. _{option['key']}:"
            yield ""
            yield from heading(f"``{option['key']}``", "~")
            yield " ".join(option["description"].split())
            yield ""
            yield f"* Default: {default_words(option.get('default'))}"
            if "example" in option:
                yield f"* Example: ``{option['example']}``"
            yield ""


def default_words(default: Any) -> str:
    """A default as it would be written in an ini file."""
    if default is None or default == [] or default == "":
        return "none"
    if isinstance(default, bool):
        return f"``{str(default).lower()}``"
    return f"``{default}``"


def mapping() -> Iterator[str]:
    """The tables of predicates and keys, and the prefixes that they use."""
    for title, rows in MAPPINGS:
        yield from heading(title, "-")
        cells = [
            (f"``{row.key}``", ", ".join(map(path_words, row.predicates)), reader_words(row))
            for row in rows
        ]
        yield from table(("Key", "Read from", "Value"), cells, "24 50 26")
    yield from heading("Prefixes", "-")
    spaces = [(f"``{prefix}``", f"``{space!s}``") for prefix, space in PREFIXES.items()]
    yield from table(("Prefix", "Namespace"), spaces, "20 80")


def path_words(path: URIRef | values.Path) -> str:
    """A predicate, or a path of several with slashes, with prefixes."""
    steps = path if isinstance(path, tuple) else (path,)
    return f"``{'/'.join(map(short, steps))}``"


def short(iri: URIRef) -> str:
    """An IRI with its prefix.

    :raises LookupError: none of the prefixes is its beginning; add one.
    """
    for prefix, space in PREFIXES.items():
        if iri.startswith(str(space)):
            return f"{prefix}:{iri[len(str(space)) :]}"
    raise LookupError(f"{iri} has no prefix in {__file__}")


def reader_words(row: values.Row) -> str:
    """What a row's value is."""
    words = READERS.get(row.read, "list of descriptions")
    return f"{words}; all languages in ``{row.key}_translated``" if row.translated else words


def heading(title: str, line: str) -> Iterator[str]:
    """A title, underlined."""
    yield from (title, line * len(title), "")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], widths: str) -> Iterator[str]:
    """A list-table."""
    yield from (".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", "")
    for row in (head, *rows):
        for number, cell in enumerate(row):
            yield f"   {'-' if number else '* -'} {cell}".replace("   - ", "     - ", 1)
    yield ""


PARTS = (
    Part("configuration.rst", "options", options),
    Part("fdp-mapping.rst", "mapping", mapping),
)


def filled(part: Part, page: str) -> str:
    """A page with its generated part as it should be now.

    :raises ValueError: one of the two comments is missing.
    """
    begin, end = f".. generated: {part.name}\n", f".. end of generated: {part.name}\n"
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"docs/{part.page} lacks the comments of its part {part.name}")
    return f"{before}{begin}\n" + "\n".join(part.lines()) + f"\n{end}{after}"


def main() -> None:
    for part in PARTS:
        path = DOCS / part.page
        path.write_text(filled(part, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
