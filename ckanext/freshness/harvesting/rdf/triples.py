"""Parsing of RDF documents into plain values. It runs in a process of the sandbox.

First a document becomes strict UTF-8, and XML becomes plain, since the parser reads little else. These
functions are linear in the size of the document, and raise ValueError for what cannot be read.

pyoxigraph reads all formats. It opens no URL or file: it loads neither JSON-LD contexts nor external
entities. Literals keep the text that the server sent. RDF/XML that it refuses is read by rdflib, which takes
less strict documents.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from encodings import aliases
from functools import partial
from html.entities import name2codepoint
from io import BytesIO
from typing import Any, BinaryIO
from urllib.parse import quote
from xml.parsers import expat
from xml.sax import SAXException, expatreader

import pyoxigraph
import rdflib
from rdflib.plugins.parsers import rdfxml
from rdflib.plugins.stores.memory import SimpleMemory

from ...sandbox import Unopened
from .. import legal_values
from ..messages import HarvestMessage, MessageCode, code_of, too_large

# rdflib imports these only when it parses, and the parser's process can import nothing then.
_LATE_IMPORTS = (expatreader, rdfxml)

MOST_TRIPLES = 250_000
MOST_TEXT = 64 * 1024 * 1024
"""Characters in the terms of a document; each term counts once."""

LONGEST_TEXT = 4 * 1024 * 1024
"""Characters of one literal. Later parsers, such as JSON's, may take a hundred bytes for each."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_STRING = f"{_XSD}string"
_HUGE = re.compile(r"[eE][-+]?[0-9]{4}")
_LEGAL_IN_IRIS = "%:/?#[]@!$&'()*+,;=-._~"
_FORMATS = pyoxigraph.RdfFormat
_WITH_TAGS = (_FORMATS.TURTLE, _FORMATS.N3, _FORMATS.TRIG, _FORMATS.N_TRIPLES, _FORMATS.N_QUADS)
"""The formats whose grammar has language tags. The others take any text as a tag."""

_VAGUE = ("/plain", "/xml", "/json")
"""How media types end that say less than the format that they would be for a reader of RDF."""

Term = str | list[str] | None
"""An IRI; or a literal's text, language and datatype, the last two optional; or None for a blank node."""


def read(request: bytes, file: BinaryIO | None = None) -> bytes:
    """Return a document's triples as JSON: the distinct terms, three indices for each triple, and a warning.

    The warning is empty, or says where the document breaks the rules of its format.

    :param request: a line of JSON with media type, charset, base IRI and a size that multiplies the most
        triples and text, then the document
    :raises Unopened: the document is empty, not RDF, malformed or too large
    """
    header, _, body = request.partition(b"\n")
    options = json.loads(header)
    form = _format_of(body, options["media_type"])
    size = options.get("size", 1)
    is_xml = form == _FORMATS.RDF_XML
    warning = ""
    try:
        body = as_utf8(body, options["charset"], is_xml=is_xml)
        if is_xml:
            body = plain_xml(body)
        parts = as_json_ld(body) if form == _FORMATS.JSON_LD else [body]
        base = _legal_base(options["base"])
        try:
            triples = (one for part in parts for one in _strictly(part, form, base))
            terms, indices = _numbered(triples, size)
        except SyntaxError as error:
            if is_xml:
                terms, indices = _numbered(_tolerantly(body, options["base"], error), size)
                line = _line_of_error(body)
                warning = (
                    f"its RDF/XML breaks the rules near line {line} ({_words(error)}), and was read by a "
                    "more tolerant parser. Ask the publisher to correct it"
                )
            else:
                mended = with_mended_texts(body) if form in _WITH_TAGS else body
                if mended == body:
                    raise
                terms, indices = _numbered(_strictly(mended, form, base), size)
    except _TooLarge as error:
        raise Unopened(str(error), code_of(too_large(len(request)))) from error
    except SyntaxError as error:
        if "LoadDocumentCallback" in error.msg:
            raise _unopened(MessageCode.REMOTE_CONTEXT, "it names a remote @context") from error
        near = f"near line {error.lineno}: " if error.lineno else ""
        raise _malformed(near + _words(error)) from error
    except ValueError as error:
        raise _malformed(str(error)) from error
    return json.dumps([terms, indices, warning], ensure_ascii=False).encode()


class _TooLarge(Exception):
    """A document that exceeds a limit. The text says which."""


def _words(error: SyntaxError) -> str:
    # The message of most errors reads "Parser error at line 3 column 5: ...".
    _, has_place, why = error.msg.rpartition("Parser error at")
    return (why.partition(": ")[2] if has_place else "") or error.msg


def _format_of(body: bytes, media_type: str) -> pyoxigraph.RdfFormat | None:
    """Return the format of a document.

    :raises Unopened: the document is empty or not RDF
    """
    if not body.strip():
        raise _unopened(MessageCode.EMPTY)
    # Servers send RDF as text/plain, text/xml, application/octet-stream and many other types. If the type may
    # be that of another format, the document's beginning decides.
    form = _FORMATS.from_media_type(media_type)
    if form is None or media_type.endswith(_VAGUE):
        found = kind_by_content(body)
        if found is None:
            words = "not RDF (text/turtle, application/rdf+xml or application/ld+json)"
            raise _unopened(MessageCode.NOT_METADATA, words)
        form = _FORMATS.from_media_type(found)
    return form


def _legal_base(url: str) -> str | None:
    """Return the base IRI of a document's URL, which may have characters that no IRI may have."""
    for iri in (url, quote(url, _LEGAL_IN_IRIS, errors="replace")):
        try:
            return pyoxigraph.NamedNode(iri).value
        except ValueError:
            continue
    return None


_Triple = tuple[Any, Any, Any]


def _strictly(
    body: bytes, form: pyoxigraph.RdfFormat | None, base: str | None
) -> Iterator[_Triple]:
    """Yield the triples of a document.

    All graphs are read as one: portals give a catalog's graph, or each record's, a name. In N3, they are
    formulas, which state nothing.
    """
    for quad in pyoxigraph.parse(body, format=form, base_iri=base, lenient=True):
        if form != _FORMATS.N3 or isinstance(quad.graph_name, pyoxigraph.DefaultGraph):
            yield quad.subject, quad.predicate, quad.object


_FAULTS_OF_RDFLIB = (ValueError, LookupError, AssertionError, TypeError, AttributeError)
"""What rdflib raises where it does not expect what it reads, such as names without a namespace."""


def _tolerantly(body: bytes, base: str, error: SyntaxError) -> Iterable[_Triple]:
    """Return the triples that rdflib reads of RDF/XML.

    :raises SyntaxError: ``error``, if rdflib does not read the document either
    """
    # Otherwise "01.50" becomes "1.50".
    before, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    try:
        return rdflib.Graph(store=SimpleMemory()).parse(data=body, format="xml", publicID=base)
    except (SAXException, rdflib.exceptions.Error, *_FAULTS_OF_RDFLIB):
        raise error from None
    finally:
        rdflib.NORMALIZE_LITERALS = before


class _Lines(BytesIO):
    """A document that is read line by line."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        line = self.readline(size)
        self.count += line.endswith(b"\n")
        return line


def _line_of_error(body: bytes) -> int:
    """Return the line at which the strict parser gives up a document."""
    lines = _Lines(body)
    with contextlib.suppress(SyntaxError):
        for _ in pyoxigraph.parse(lines, format=_FORMATS.RDF_XML, lenient=True):
            pass
    return max(1, lines.count)


def _numbered(triples: Iterable[_Triple], size: int) -> tuple[list[Term], list[int]]:
    """Return distinct terms, and triples as one flat list of their indices."""
    numbers: dict[object, int] = {}
    terms: list[Term] = []
    indices: list[int] = []
    text = 0
    for triple in triples:
        for term in triple:
            number = numbers.get(term)
            if number is None:
                number = numbers[term] = len(terms)
                value = _term(term)
                terms.append(value)
                text += len(value if isinstance(value, str) else value[0] if value else "")
            indices.append(number)
        if len(indices) > 3 * MOST_TRIPLES * size:
            raise _TooLarge(f"has more than {MOST_TRIPLES * size:,} triples")
        if text > MOST_TEXT * size:
            raise _TooLarge(f"has more than {MOST_TEXT * size:,} characters")
    return terms, indices


def _term(term: object) -> Term:
    if isinstance(term, pyoxigraph.NamedNode):
        return term.value
    if isinstance(term, (pyoxigraph.BlankNode, rdflib.BNode)):
        return None
    if isinstance(term, pyoxigraph.Literal):
        return _literal(term.value, term.language, term.datatype.value)
    if isinstance(term, rdflib.Literal):
        return _literal(str(term), term.language, str(term.datatype or _STRING))
    if isinstance(term, rdflib.URIRef):
        return str(term)
    raise Unopened(f"has a {type(term).__name__.lower()} as a term, which RDF 1.1 does not know")


def _literal(text: str, language: str | None, datatype: str) -> Term:
    if len(text) > LONGEST_TEXT:
        raise _TooLarge(f"has a text of more than {LONGEST_TEXT:,} characters")
    if language is not None:
        # rdflib refuses malformed tags.
        tag = language_tag(language)
        return [text, tag] if tag else [text]
    if datatype == _STRING:
        return [text]
    if datatype == _XSD + "decimal" and _HUGE.search(text):
        # Its digits would not fit into memory.
        raise _malformed(f"{text[:40]!r} is no xsd:decimal")
    return [text, "", datatype]


def _malformed(why: str) -> Unopened:
    return _unopened(MessageCode.MALFORMED, why)


def _unopened(code: MessageCode, words: str = "") -> Unopened:
    # The parser quotes the document, with any character that it has.
    words = "".join(c if c.isprintable() else repr(c)[1:-1] for c in words)
    return Unopened(words, code_of(HarvestMessage(code)))


# Encodings

_UTF_8 = "utf-8"
_MARKS = tuple(
    (encoding, re.compile(pattern))
    for encoding, pattern in {
        "utf-32-le": rb"\xff\xfe\0\0|[^\0]\0\0\0",
        "utf-32-be": rb"\0\0\xfe\xff|\0\0\0[^\0]",
        "utf-16-le": rb"\xff\xfe|[^\0]\0[^\0]\0",
        "utf-16-be": rb"\xfe\xff|\0[^\0]\0[^\0]",
        _UTF_8: rb"\xef\xbb\xbf",
    }.items()
)
"""First bytes of documents in Unicode: a byte order mark, or ASCII characters of two or four bytes each."""

_CODECS = {
    # What these names promise is UTF-8 too, or would have shown in the first bytes.
    **dict.fromkeys(("ascii", "utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be"), _UTF_8),
    **dict.fromkeys(("utf_32", "utf_32_le", "utf_32_be"), _UTF_8),
    # The supersets that browsers use, since these names are often wrong (WHATWG Encoding Standard).
    **{"latin_1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"},
    **{"shift_jis": "cp932", "euc_kr": "cp949", "iso8859_9": "cp1254"},
    **{f"cp{n}": f"cp{n}" for n in (437, 850, 852, 855, 866, 874, *range(1250, 1259))},
    **{f"iso8859_{n}": f"iso8859_{n}" for n in (*range(2, 9), 10, 13, 14, 15, 16)},
    **{name: name for name in ("koi8_r", "koi8_u", "mac_roman", "mac_cyrillic")},
    **{name: name for name in ("big5", "cp932", "cp949", "euc_jp", "gb18030")},
}
"""The encodings that are read, by Python's names. All others are refused: some codecs decompress, or run
other code."""

for _codec in {*_CODECS.values(), *dict(_MARKS)}:
    codecs.lookup(_codec)  # the parser's process can import nothing later

_BYTE_ORDER_MARKS = re.compile(rb"(?:\xef\xbb\xbf)*")
_XML_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*>")
_XML_ENCODING = re.compile(rb"""\sencoding\s*=\s*["']([^"']*)""")


def as_utf8(body: bytes, charset: str, *, is_xml: bool) -> bytes:
    """Return a document in UTF-8, without byte order mark and XML declaration.

    A byte order mark decides, then the charset, then the XML declaration (RFC 7303, section 3). But many
    servers add a charset to whatever they send. If only one of charset and document is UTF-8, the bytes
    decide. A document that is not XML is UTF-8 by itself.

    :param charset: the parameter of the Content-Type header; may be empty
    :raises ValueError: the encoding is unknown, or the bytes are not of that encoding
    """
    encoding = next((encoding for encoding, mark in _MARKS if mark.match(body)), None)
    labels = [] if encoding else [label for label in (charset, _declared(body, is_xml)) if label]
    known = [encoding] if encoding else list(filter(None, map(_codec_of, labels)))
    if not known:
        raise ValueError(f"its encoding {labels[0][:40]!r} is unknown or not allowed")
    # The parser's own message about malformed UTF-8 names the line.
    if set(known) != {_UTF_8}:
        body = _decoded(body, sorted(known, key=lambda codec: codec != _UTF_8))
    body = body[_BYTE_ORDER_MARKS.match(body).end() :]  # type: ignore[union-attr]
    declaration = _XML_DECLARATION.match(body) if is_xml else None
    return body[declaration.end() :] if declaration else body


def _declared(body: bytes, is_xml: bool) -> str:
    """Return the encoding that a document declares itself, or by its kind."""
    declaration = _XML_DECLARATION.match(body) if is_xml else None
    encoding = _XML_ENCODING.search(declaration[0]) if declaration else None
    return (encoding[1].decode("ascii", "replace") if encoding else "") or _UTF_8


def _codec_of(label: str) -> str | None:
    name = re.sub("[^a-z0-9]+", "_", label.strip().lower())
    return _CODECS.get(aliases.aliases.get(name, name))


def _decoded(body: bytes, encodings: list[str]) -> bytes:
    for encoding in encodings:
        try:
            return body.decode(encoding).encode()
        except UnicodeError:
            continue
    raise ValueError(f"its bytes are not {encodings[0]} as declared")


# RDF/XML

_MARKUP = re.compile(
    rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[(.*?)(?:\]\]>|\Z)|&([A-Za-z0-9]+);", re.DOTALL
)
"""A comment, a processing instruction, a CDATA section, or an entity."""

_TAG = re.compile(rb"""<(/?)[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*(?:(?<=(/)))?>""")
_OPENING, _CLOSING = (b"", b""), (b"/", b"")

_OF_XML = frozenset({"amp", "lt", "gt", "quot", "apos"})
_ESCAPES = ((b"&", b"&#38;"), (b"<", b"&#60;"), (b">", b"&#62;"), (b'"', b"&#34;"))
_PIECE = 4096


def plain_xml(body: bytes) -> bytes:
    """Return an RDF/XML document that the parser reads whole, or not at all.

    The parser takes comments, processing instructions and CDATA sections inside a text for the end of the
    text, so they are removed or become text. It takes entities from comments, too, and only in double
    quotes, so all declarations are written anew. It does not notice that a document has no end.

    :param body: UTF-8, without XML declaration
    :raises ValueError: an element is not closed, or the document declares an entity that is not a plain text
    """
    start, entities = _prolog(body)
    lines = b"\n" * body.count(b"\n", 0, start)
    body = body[start:].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if _MARKUP.search(body):
        body = _MARKUP.sub(partial(_as_text, entities.keys()), body)
    tags = Counter(_TAG.findall(body))
    if tags[_OPENING] != tags[_CLOSING]:
        raise ValueError("it ends before all of its elements are closed")
    declarations = b"".join(
        b'<!ENTITY %s "%s">' % (name.encode(), _escaped(text.encode()))
        for name, text in entities.items()
    )
    document = b"<!DOCTYPE rdf:RDF [%s]>%s" % (declarations, body) if declarations else body
    return lines + document  # so that errors name the line of the document as it was sent


def _prolog(body: bytes) -> tuple[int, dict[str, str]]:
    """Return the position of the first tag, and the entities that are declared before it.

    Internal entities with a plain text, as used for namespaces, are harmless. Expanding others may never
    end, so they are refused.
    """
    parser = expat.ParserCreate(_UTF_8)
    tags: list[int] = []
    entities: dict[str, str] = {}

    def declared(name: str, is_parameter: bool, value: str | None, *external: str | None) -> None:
        if is_parameter or value is None:
            raise ValueError("it declares an external or parameter entity")
        if "&" in value:
            raise ValueError("it declares an entity that names another one")
        entities.setdefault(name, value)

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = lambda *_: tags.append(parser.CurrentByteIndex)
    try:
        start, size = 0, _PIECE
        while start < len(body):
            parser.Parse(body[start : start + size], False)
            if tags:
                return tags[0], entities
            # Some versions of expat begin anew at the start of an unfinished tag.
            start, size = start + size, 2 * size
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        if not tags:
            raise ValueError(expat.errors.messages[error.code]) from error
    return tags[0], entities


def _as_text(declared: Collection[str], markup: re.Match[bytes]) -> bytes:
    """Return a piece of markup as plain text; nothing for a comment or an instruction."""
    whole = markup[0]
    if whole.startswith(b"&"):
        # Many tools write HTML's entities without declaring them.
        name = markup[2].decode()
        is_html = name in name2codepoint and name not in _OF_XML and name not in declared
        return chr(name2codepoint[name]).encode() if is_html else whole
    if markup[1] is not None:
        return _escaped(markup[1]) if whole.endswith(b"]]>") else whole
    return b"" if whole.endswith((b"-->", b"?>")) else whole


def _escaped(text: bytes) -> bytes:
    for character, reference in _ESCAPES:
        text = text.replace(character, reference)
    return text


# data.json: catalogues of DCAT-US, versions 1.1 and 3

_TERMS = {
    "dcat": "dataset distribution keyword theme byteSize mediaType version catalog contactPoint",
    "dct": "title description identifier issued modified accrualPeriodicity language license rights spatial "
    "temporal publisher format",
    "foaf": "name",
    "vcard": "fn hasEmail",
}
"""By vocabulary, the keys that have the names of its properties."""
_LINKS = "dcat:landingPage dct:conformsTo dcat:accessURL dcat:downloadURL dcat:inSeries"
"""Properties whose values are links."""

_CONTEXT: dict[str, Any] = {
    # A key without a property stays, as a property without a field of its own.
    "@vocab": "https://resources.data.gov/resources/dcat-us/#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "org": "http://www.w3.org/ns/org#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    **{key: f"{space}:{key}" for space, keys in _TERMS.items() for key in keys.split()},
    **{one.partition(":")[2]: {"@id": one, "@type": "@id"} for one in _LINKS.split()},
    "references": {"@id": "foaf:page", "@type": "@id"},
    "accessLevel": "dct:accessRights",
    # Classes, as DCAT-US 3 names them
    **{kind: f"dcat:{kind}" for kind in ("Catalog", "Dataset", "DatasetSeries")},
}
"""The keys' own JSON-LD context is at a URL, which is not loaded."""
_OF_TEXTS = ("@value", "@language")
"""The keys of a text with its language."""
_PART = 1000
"""Datasets that are parsed at a time."""


def as_json_ld(body: bytes) -> Iterator[bytes]:
    """Yield a ``data.json`` in parts, each with the context inside; any other document unchanged.

    The parser takes some 30 times the memory of a document, so each part has few datasets.

    :param body: JSON in UTF-8.
    """
    try:
        found = legal_values.read_json(body, _stated)
    except RecursionError as error:
        # The parser would end the process.
        raise _malformed("it is nested too deeply") from error
    except ValueError:
        found = None  # the parser says what is wrong, and where
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("dataset"), list)
        or "@context" in found
    ):
        yield body
        return
    datasets = found.pop("dataset")
    catalog = {"@id": "_:catalog", **found, "@context": _CONTEXT, "@type": "dcat:Catalog"}
    for start in range(0, max(1, len(datasets)), _PART):
        # Any entry may stand for a dataset that is known: one that says nothing counts as one without identity.
        part = [
            {"@type": "dcat:Dataset", **(one if isinstance(one, dict) else {})}
            for one in datasets[start : start + _PART]
        ]
        # Half a pair of surrogates is no character: it becomes a question mark.
        document = json.dumps({**catalog, "dataset": part}, ensure_ascii=False)
        yield document.encode("utf-8", "replace")
        catalog = {key: catalog[key] for key in ("@id", "@context", "@type")}


def _stated(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object without keys that say nothing. An empty link would lead to the document itself.

    Of the keys of JSON-LD, those remain that DCAT-US has: one entry with a context of its own, or with another
    value where JSON-LD wants a text, would stop the whole document. A list of distributions has an order, which
    RDF knows only as a statement about each of them.
    """
    if isinstance(found.get("@value"), str):
        return {key: found[key] for key in _OF_TEXTS if isinstance(found.get(key), str)}
    is_catalog = isinstance(found.get("dataset"), list)
    stated = {
        key: value
        for key, value in found.items()
        if value not in (None, "")
        and (key[:1] != "@" or _is_keyword(key, value, is_catalog=is_catalog))
    }
    if isinstance(distributions := stated.get("distribution"), list):
        stated["distribution"] = [_placed(*one) for one in enumerate(distributions)]
    return stated


def _is_keyword(key: str, value: Any, *, is_catalog: bool) -> bool:
    """Return whether a key of JSON-LD has a value that it may have. Only catalogs have a context."""
    if key == "@context":
        return is_catalog and not isinstance(value, str)
    texts = value if key == "@type" and isinstance(value, list) else [value]
    return key in ("@id", "@type") and all(isinstance(one, str) for one in texts)


def _placed(position: int, distribution: Any) -> Any:
    """Return a distribution with its position, unless it is only named: then it stays undescribed."""
    if not isinstance(distribution, dict) or distribution.keys() <= {"@id", "@type"}:
        return distribution
    return {**distribution, rdflib.SDO.position: position}


# Texts of Turtle

_LANGUAGE = re.compile("(?:[a-z]{2,8}|[ix](?=-))(?:-[a-z0-9]{1,8})*")
_TEXT_WITH_TAG = re.compile(
    rb"""<[^<>"\s]*>|\#[^\n]*|(
        "{3}[^"\\]*(?:(?:\\.?|"(?!""))[^"\\]*)*(?:"{3}|\Z)
        | '{3}[^'\\]*(?:(?:\\.?|'(?!''))[^'\\]*)*(?:'{3}|\Z)
        | "[^"\\\n]*(?:\\.?[^"\\\n]*)*(?:"|(?=\n)|\Z)
        | '[^'\\\n]*(?:\\.?[^'\\\n]*)*(?:'|(?=\n)|\Z)
    )(?:@([^\s"'<>()\[\]{},;.]*))?""",
    re.DOTALL | re.VERBOSE,
)
"""An IRI, a comment, or a text and its language tag, in Turtle and its relatives."""
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)|\\.")
"""An escaped character in a text. The group is half of a pair of surrogates."""


def language_tag(text: str) -> str:
    """Return a language tag in lower case, with hyphens; "" if it has not the form of BCP 47."""
    tag = text.strip().replace("_", "-").lower()
    return tag if _LANGUAGE.fullmatch(tag) else ""


def with_mended_texts(body: bytes) -> bytes:
    """Return a document in Turtle or a relative of it without malformed language tags and half characters."""
    return _TEXT_WITH_TAG.sub(_mended, body)


def _mended(token: re.Match[bytes]) -> bytes:
    text, found = token[1], token[2]
    if text is None:
        return token[0]
    text = _ESCAPE.sub(lambda escape: b"?" if escape[1] else escape[0], text)
    if found is None:
        return text
    tag = language_tag(found.decode("utf-8", "replace")).encode()
    if tag and tag == found.lower():
        return text + b"@" + found
    return text + b"@" + tag if tag else text


# What a document is, whatever its server says

_NOT_ELEMENTS = re.compile(rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_FIRST_ELEMENT = re.compile(rb"[^<]*(?:<![^<]*)*<(?:[\w.-]+:)?RDF[\s>]")
_TURTLE = re.compile(
    rb"(?:\s|\#[^\n]*\n)*(?:@(?:prefix|base)\s|(?i:prefix\s+[\w.-]*:\s*<|base\s+<)"
    rb"|(?:<[a-zA-Z][\w+.-]*:[^<>\s]*>|_:\w+)\s*(?:<\w|a\s))"
)
_LOOKED_AT = 64 * 1024


def kind_by_content(body: bytes) -> str | None:
    """Return the media type of a document that looks like RDF/XML, JSON-LD or Turtle."""
    # Without zeros, ASCII in UTF-16 is ASCII.
    start = body[:_LOOKED_AT].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xfe\xff").lstrip()
    # A data.json needs no key of JSON-LD.
    if start.startswith((b"{", b"[")) and (b'"@' in start or b'"dataset"' in start):
        return "application/ld+json"
    if _TURTLE.match(start):
        return "text/turtle"
    return "application/rdf+xml" if _FIRST_ELEMENT.match(_NOT_ELEMENTS.sub(b"", start)) else None
