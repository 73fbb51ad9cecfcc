"""Turtle in the other forms of RDF."""

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
