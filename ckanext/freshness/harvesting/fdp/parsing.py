"""RDF documents from bytes to graph, whatever a server sends."""

from __future__ import annotations

import json

from rdflib import Graph
from rdflib.plugins.parsers.notation3 import BadSyntax

from ..legal import clean, one_line
from .odd_terms import unlogged
from .turtle import read_turtle

FORMATS = {
    "text/turtle": "turtle",
    "application/x-turtle": "turtle",
    "text/n3": "n3",
    "application/n-triples": "nt",
    "application/rdf+xml": "xml",
    "application/ld+json": "json-ld",
}
"""Content types that are read, and the parser for each."""

ACCEPT = "text/turtle, application/rdf+xml;q=0.8, application/ld+json;q=0.7"


class DocumentError(Exception):
    """A document that answered, but cannot be understood. The text says why, without the URL."""


def media_type(content_type: str | None) -> str:
    """The media type of a Content-Type header, without parameters; empty if there is none."""
    return (content_type or "").partition(";")[0].strip().lower()


@unlogged()
def parse(body: bytes, content_type: str | None, url: str) -> Graph:
    """The triples of a document.

    :param content_type: as the server sent it; decides the parser.
    :param url: base of relative IRIs.
    :raises DocumentError: empty, another content type, or not well-formed.
    """
    if not body.strip():
        raise DocumentError("the answer is empty")
    kind = media_type(content_type)
    if kind not in FORMATS:
        raise DocumentError(
            f"the answer is {kind or 'of no content type'}, not RDF (text/turtle, "
            "application/rdf+xml or application/ld+json)"
        )
    if FORMATS[kind] == "json-ld":
        _refuse_remote_contexts(body)
    try:
        if FORMATS[kind] == "turtle" and (fast := read_turtle(body, url)) is not None:
            return fast
        graph = Graph()
        graph.parse(data=body, format=FORMATS[kind], publicID=url)
    except BadSyntax as error:
        # str() of a BadSyntax quotes the whole document; its message alone is for people.
        where = f"near line {error.lines + 1}"
        raise DocumentError(f"the {kind} is malformed {where}: {brief(error._why)}") from error
    except RecursionError as error:
        raise DocumentError(f"the {kind} is nested too deeply to be read") from error
    except Exception as error:
        # Malformed input makes rdflib raise whatever it happens to run into, AttributeError and
        # bare Exceptions included; none of it may end the crawl of everything else.
        raise DocumentError(f"the {kind} is malformed: {brief(error)}") from error
    return graph


def _refuse_remote_contexts(body: bytes) -> None:
    """rdflib would load a remote context itself, past every limit and address guard."""
    try:
        pending = [json.loads(body)]
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the JSON-LD is malformed: {brief(error)}") from error
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, dict):
            contexts = one.get("@context", [])
            for context in contexts if isinstance(contexts, list) else [contexts]:
                if isinstance(context, str) or (isinstance(context, dict) and "@import" in context):
                    raise DocumentError("the JSON-LD names a remote @context, which is not loaded")
            pending.extend(one.values())


def brief(error: object) -> str:
    """What a library says of malformed input: on one line, not endless, fit for a database."""
    return one_line(clean(str(error)))[:200] or type(error).__name__
