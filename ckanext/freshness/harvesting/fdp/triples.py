"""Parsing of RDF documents into plain values. It runs in a process of the sandbox.

pyoxigraph reads all formats. It opens no URL or file: it loads neither JSON-LD contexts nor external
entities. Literals keep the text that the server sent.
"""

from __future__ import annotations

import json
import re
from typing import BinaryIO
from xml.parsers import expat

import pyoxigraph

from ...sandbox import Unopened
from ..messages import HarvestMessage, MessageCode, code_of

MOST_TRIPLES = 250_000
MOST_TEXT = 64 * 1024 * 1024
"""Characters in the terms of a document; each term counts once."""

LONGEST_TEXT = 4 * 1024 * 1024
"""Characters of one literal. Later parsers, such as JSON's, may take a hundred bytes for each."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_HUGE = re.compile(r"[eE][-+]?[0-9]{4}")
_SINGLE_QUOTED = re.compile(rb"(<!ENTITY\s+[^\s%'\"<>]+\s+)'([^']*)'")
_PIECE = 4096

Term = str | list[str] | None
"""An IRI; or a literal's text, language and datatype, the last two optional; or None for a blank node."""


def read(request: bytes, file: BinaryIO | None = None) -> bytes:
    """Return a document's triples as JSON: the distinct terms, and three indices for each triple.

    :param request: a line of JSON with media type and base IRI, then the document
    :raises Unopened: the document is malformed or too large
    """
    header, _, body = request.partition(b"\n")
    options = json.loads(header)
    if options["media_type"] == "application/rdf+xml":
        body = _with_harmless_entities(body)
    quads = pyoxigraph.parse(
        body,
        format=pyoxigraph.RdfFormat.from_media_type(options["media_type"]),
        base_iri=options["base"],
        lenient=True,
    )
    try:
        terms, indices = _numbered(quads)
    except SyntaxError as error:
        if "LoadDocumentCallback" in error.msg:
            words = "names a remote @context, which is not loaded"
            raise _unopened(words, MessageCode.REMOTE_CONTEXT) from error
        # The message reads "Parser error at line 3 column 5: ...".
        _, _, why = error.msg.rpartition("Parser error at")
        why = why.partition(": ")[2] or error.msg
        if not error.lineno:
            raise _malformed(why) from error
        words = f"is malformed near line {error.lineno}: {why}"
        raise _unopened(words, MessageCode.MALFORMED_NEAR_LINE, line=error.lineno) from error
    except ValueError as error:
        raise _malformed(str(error)) from error
    return json.dumps([terms, indices], ensure_ascii=False).encode()


def _numbered(quads: pyoxigraph.QuadParser) -> tuple[list[Term], list[int]]:
    """Return the distinct terms of the default graph, and its triples as one flat list of their indices."""
    numbers: dict[object, int] = {}
    terms: list[Term] = []
    indices: list[int] = []
    text = 0
    for quad in quads:
        if not isinstance(quad.graph_name, pyoxigraph.DefaultGraph):
            continue
        for term in (quad.subject, quad.predicate, quad.object):
            number = numbers.get(term)
            if number is None:
                number = numbers[term] = len(terms)
                value = _plain(term)
                terms.append(value)
                text += len(value if isinstance(value, str) else value[0] if value else "")
            indices.append(number)
        if len(indices) > 3 * MOST_TRIPLES:
            raise Unopened(f"has more than {MOST_TRIPLES:,} triples")
        if text > MOST_TEXT:
            raise Unopened(f"has more than {MOST_TEXT:,} characters")
    return terms, indices


def _plain(term: object) -> Term:
    if isinstance(term, pyoxigraph.NamedNode):
        return term.value
    if isinstance(term, pyoxigraph.BlankNode):
        return None
    if not isinstance(term, pyoxigraph.Literal):
        raise Unopened(
            f"has a {type(term).__name__.lower()} as a term, which RDF 1.1 does not know"
        )
    if len(term.value) > LONGEST_TEXT:
        raise Unopened(f"has a text of more than {LONGEST_TEXT:,} characters")
    if term.language:
        return [term.value, term.language]
    datatype = term.datatype.value
    if datatype == _XSD + "string":
        return [term.value]
    if datatype == _XSD + "decimal" and _HUGE.search(term.value):
        # Its digits would not fit into memory.
        raise _malformed(f"{term.value[:40]!r} is no xsd:decimal")
    return [term.value, "", datatype]


def _with_harmless_entities(body: bytes) -> bytes:
    """Return an RDF/XML document with its entities in double quotes, as the RDF parser needs them.

    Internal entities with a plain text, as used for namespaces, are harmless. Expanding others may never
    end, so they are refused. Only the part before the first tag is read.

    :raises Unopened: the document declares an external entity, or one that names another
    """
    parser = expat.ParserCreate()
    tags: list[int] = []

    def declared(name: str, is_parameter: bool, value: str | None, *external: str | None) -> None:
        if is_parameter or value is None:
            raise _malformed("it declares an external or parameter entity")
        if "&" in value:
            raise _malformed("it declares an entity that names another one")

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = lambda *_: tags.append(parser.CurrentByteIndex)
    try:
        for start in range(0, len(body), _PIECE):
            parser.Parse(body[start : start + _PIECE], False)
            if tags:
                return _SINGLE_QUOTED.sub(_double_quoted, body[: tags[0]]) + body[tags[0] :]
    except (expat.ExpatError, LookupError):
        pass  # the RDF parser reports the error
    return body


def _malformed(why: str) -> Unopened:
    return _unopened(f"is malformed: {why}", MessageCode.MALFORMED)


def _unopened(words: str, code: MessageCode, **values: int) -> Unopened:
    # The parser quotes the document, with any character that it has.
    words = "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)
    return Unopened(words, code_of(HarvestMessage(words, code, **values)))


def _double_quoted(entity: re.Match[bytes]) -> bytes:
    return b'%s"%s"' % (entity[1], entity[2].replace(b'"', b"&#34;"))
