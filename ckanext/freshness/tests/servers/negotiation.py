"""Content negotiation (RFC 9110, 12.5.1), and Turtle in the other forms of RDF."""

from __future__ import annotations

import json
from collections.abc import Mapping

#: Media types that the reference implementation answers with, to rdflib's names of the formats.
FORMATS: Mapping[str, str] = {
    "text/turtle": "turtle",
    "application/ld+json": "json-ld",
    "application/rdf+xml": "xml",
    "text/n3": "n3",
}
TURTLE = "text/turtle"
JSON_LD = "application/ld+json"


def negotiate(accept: str) -> str | None:
    """The media type of `FORMATS` that an Accept header likes best; None if it takes none.

    Among equals the first named wins; `*/*`, `text/*` and an empty header mean Turtle.
    """
    best: tuple[float, str] | None = None
    for item in accept.split(",") if accept.strip() else ["*/*"]:
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        found = TURTLE if name in ("*/*", "text/*") else name
        if name == "application/*":
            found = "application/ld+json"
        quality = _quality(parameters)
        if found in FORMATS and quality > 0 and (best is None or quality > best[0]):
            best = quality, found
    return best[1] if best else None


def converted(turtle: str, media_type: str) -> bytes:
    """A Turtle document in another of `FORMATS`. Takes milliseconds, so it is for tests only."""
    if media_type in (TURTLE, "text/n3"):
        return turtle.encode()
    # Half the start-up time of a server that mostly does without.
    import rdflib

    graph = rdflib.Graph().parse(data=turtle, format="turtle")
    return graph.serialize(format=FORMATS[media_type], encoding="utf-8")


def in_named_graph(turtle: str, subject: str) -> bytes:
    """A Turtle document as JSON-LD: the subject's types as usual, all else in a graph of its name."""
    nodes = json.loads(converted(turtle, JSON_LD))
    types = [kind for node in nodes if node["@id"] == subject for kind in node.pop("@type", [])]
    return json.dumps({"@id": subject, "@type": types, "@graph": nodes}).encode()


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
