"""Parsing of RDF documents into plain values. It runs in a process of the sandbox.

pyoxigraph reads all formats. It opens no URL or file: it loads neither JSON-LD contexts nor external
entities. Literals keep the text that the server sent.
"""

from __future__ import annotations

import json
import re
from typing import BinaryIO
from urllib.parse import quote

import pyoxigraph

from ...sandbox import Unopened
from ..messages import HarvestMessage, MessageCode, code_of
from . import document_text

MOST_TRIPLES = 250_000
MOST_TEXT = 64 * 1024 * 1024
"""Characters in the terms of a document; each term counts once."""

LONGEST_TEXT = 4 * 1024 * 1024
"""Characters of one literal. Later parsers, such as JSON's, may take a hundred bytes for each."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_HUGE = re.compile(r"[eE][-+]?[0-9]{4}")
_LEGAL_IN_IRIS = "%:/?#[]@!$&'()*+,;=-._~"
_FORMATS = pyoxigraph.RdfFormat
_WITH_TAGS = (_FORMATS.TURTLE, _FORMATS.N3, _FORMATS.TRIG, _FORMATS.N_TRIPLES, _FORMATS.N_QUADS)
"""The formats whose grammar has language tags. The others take any text as a tag."""

Term = str | list[str] | None
"""An IRI; or a literal's text, language and datatype, the last two optional; or None for a blank node."""


def read(request: bytes, file: BinaryIO | None = None) -> bytes:
    """Return a document's triples as JSON: the distinct terms, and three indices for each triple.

    :param request: a line of JSON with media type and base IRI, then the document
    :raises Unopened: the document is malformed or too large
    """
    header, _, body = request.partition(b"\n")
    options = json.loads(header)
    form = _FORMATS.from_media_type(options["media_type"])
    is_xml = form == _FORMATS.RDF_XML
    try:
        body = document_text.as_utf8(body, options["charset"], is_xml=is_xml)
        if is_xml:
            body = document_text.plain_xml(body)
        base = _legal_base(options["base"])
        try:
            terms, indices = _numbered(body, form, base)
        except SyntaxError:
            mended = document_text.with_language_tags(body) if form in _WITH_TAGS else body
            if mended == body:
                raise
            terms, indices = _numbered(mended, form, base)
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


def _legal_base(url: str) -> str | None:
    """Return the base IRI of a document's URL, which may have characters that no IRI may have."""
    for iri in (url, quote(url, _LEGAL_IN_IRIS, errors="replace")):
        try:
            return pyoxigraph.NamedNode(iri).value
        except ValueError:
            continue
    return None


def _numbered(
    body: bytes, form: pyoxigraph.RdfFormat | None, base: str | None
) -> tuple[list[Term], list[int]]:
    """Return the distinct terms of a document, and its triples as one flat list of their indices.

    All graphs are read as one: portals give a catalog's graph, or each record's, a name. In N3, they are
    formulas, which state nothing.
    """
    quads = pyoxigraph.parse(body, format=form, base_iri=base, lenient=True)
    numbers: dict[object, int] = {}
    terms: list[Term] = []
    indices: list[int] = []
    text = 0
    is_n3 = form == _FORMATS.N3
    for quad in quads:
        if is_n3 and not isinstance(quad.graph_name, pyoxigraph.DefaultGraph):
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
    if term.language is not None:
        # rdflib refuses malformed tags.
        tag = document_text.language_tag(term.language)
        return [term.value, tag] if tag else [term.value]
    datatype = term.datatype.value
    if datatype == _XSD + "string":
        return [term.value]
    if datatype == _XSD + "decimal" and _HUGE.search(term.value):
        # Its digits would not fit into memory.
        raise _malformed(f"{term.value[:40]!r} is no xsd:decimal")
    return [term.value, "", datatype]


def _malformed(why: str) -> Unopened:
    return _unopened(f"is malformed: {why}", MessageCode.MALFORMED)


def _unopened(words: str, code: MessageCode, **values: int) -> Unopened:
    # The parser quotes the document, with any character that it has.
    words = "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)
    return Unopened(words, code_of(HarvestMessage(words, code, **values)))
