"""Documents in any encoding, with odd language tags and markup, and under odd media types, give one graph."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Iterator

import pytest
from rdflib import RDF, Literal, URIRef

from ckanext.freshness.harvesting.rdf.parsing import DocumentError
from ckanext.freshness.harvesting.rdf.triples import language_tag
from ckanext.freshness.tests.harvesting.fdp.parsed import parse

BASE = "http://fdp.example/dataset/1"
TITLE = URIRef("http://purl.org/dc/terms/title")
SUBJECT = URIRef(BASE)

TURTLE, N3, NT, NQ = "text/turtle", "text/n3", "application/n-triples", "application/n-quads"
XML, JSON_LD, TRIG = "application/rdf+xml", "application/ld+json", "application/trig"
NAMESPACES = (
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dct="http://purl.org/dc/terms/"'
)


def rdf_xml(properties: str, prolog: str = "") -> str:
    about = f'<rdf:Description rdf:about="{SUBJECT}">{properties}</rdf:Description>'
    return f"{prolog}<rdf:RDF {NAMESPACES}>{about}</rdf:RDF>"


def triple(text: str) -> str:
    return f"<{SUBJECT}> <{TITLE}> {text} ."


def json_ld(value: object) -> str:
    return json.dumps({"@id": SUBJECT, TITLE: value}, ensure_ascii=False)


def title(body: bytes, content_type: str | None, url: str = BASE) -> Literal:
    found = parse(body, content_type, url).value(SUBJECT, TITLE)
    assert isinstance(found, Literal)
    return found


# Language tags

TAGS = [
    ("EN-gb", "en-gb"),
    ("en_US", "en-us"),
    ("zh_Hant_TW", "zh-hant-tw"),
    ("français", None),
    ("", None),
    ("en-", None),
]
IN_TEXT_ONLY = [("en, fr", None), (" en ", "en"), ("unibo.it", None), ("\n", None)]
"""In Turtle, these end the tag."""


def with_tag(tag: str) -> Iterator[tuple[str, str]]:
    """Return documents with a title in a language, with their media types."""
    yield rdf_xml(f'<dct:title xml:lang="{tag}">t</dct:title>'), XML
    yield (
        rdf_xml(f'<dct:title xml:lang="{tag}"/>').replace("/></rdf:D", ">t</dct:title></rdf:D"),
        XML,
    )
    yield json_ld({"@value": "t", "@language": tag}), JSON_LD
    yield json.dumps({"@context": {"@language": tag}, "@id": SUBJECT, TITLE: "t"}), JSON_LD
    for media_type in (TURTLE, N3, NT, NQ, TRIG):
        yield triple(f'"t"@{tag}'), media_type


@pytest.mark.parametrize(("tag", "expected"), TAGS + IN_TEXT_ONLY)
def test_a_text_is_kept_whatever_its_language_tag(tag: str, expected: str | None) -> None:
    assert language_tag(tag) == (expected or "")
    for body, media_type in with_tag(tag):
        if media_type in (XML, JSON_LD) or (tag, expected) in TAGS:
            assert title(body.encode(), media_type) == Literal("t", lang=expected), body


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
def test_only_language_tags_are_mended(quote: str) -> None:
    said = "a @en_US # \\'it\\' \\\" <http://x/@de_DE>"
    body = f"""
        # "in a comment"@en_US '
        @prefix : <http://x/@nl_NL#> . @prefix dct: <http://purl.org/dc/terms/> .
        <{SUBJECT}> dct:title {quote}{said}{quote}@en_US, "b"@de, ""@fr_FR .
        """
    expected = [
        Literal(said.replace("\\", ""), lang="en-us"),
        Literal("b", lang="de"),
        Literal("", lang="fr-fr"),
    ]
    assert set(parse(body.encode(), TURTLE, BASE).objects(SUBJECT, TITLE)) == set(expected)


@pytest.mark.parametrize("media_type", [TURTLE, N3, NT, NQ, TRIG])
def test_half_a_character_costs_only_itself(media_type: str) -> None:
    said = r'"\uD83D\uDE00 \uD800 \\uD800 \udfff\u00e9"'
    assert title(triple(said).encode(), media_type) == Literal("😀 ? \\uD800 ?é")


@pytest.mark.parametrize("media_type", ["application/x-turtle", "application/x-trig"])
def test_a_media_type_that_was_never_registered(media_type: str) -> None:
    """Without a prefix or an absolute IRI, its beginning does not look like Turtle."""
    assert title(f"<> <{TITLE}> 't' .".encode(), media_type) == Literal("t")


# Encodings

TEXTS = {
    "windows-1252": "Preis in € „Größe“",
    "ISO-8859-1": "Größe",
    "KOI8-R": "Каталог данных",
    "Shift_JIS": "データ",
    "US-ASCII": "plain",
    "utf-8": "Zoë 日本 😀",
}
UNICODE = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-8": codecs.BOM_UTF8,
}


def declaration(encoding: str) -> str:
    return f'<?xml version="1.0" encoding="{encoding}" standalone="yes"?>\n'


def titled(text: str) -> dict[str, str]:
    """Return documents with a title, by media type."""
    return {
        XML: rdf_xml(f"<dct:title>{text}</dct:title>"),
        JSON_LD: json_ld(text),
        **dict.fromkeys((TURTLE, N3, NT, NQ, TRIG), triple(f'"{text}"')),
    }


@pytest.mark.parametrize(("encoding", "text"), TEXTS.items())
def test_a_declared_encoding_is_read(encoding: str, text: str) -> None:
    assert title(
        rdf_xml(f"<dct:title>{text}</dct:title>", declaration(encoding)).encode(encoding), XML
    ) == Literal(text)
    for media_type, document in titled(text).items():
        content_type = f'{media_type}; charset="{encoding}"'
        assert title(document.encode(encoding), content_type) == Literal(text)


@pytest.mark.parametrize("encoding", UNICODE)
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("parameter", ["", "; charset=ISO-8859-1"])
def test_unicode_is_recognized_by_its_first_bytes(
    encoding: str, marked: bool, parameter: str
) -> None:
    text = "Zoë 日本 😀"
    documents = list(titled(text).items())
    xml = titled(text)[XML]
    for declared in ("utf-8", "UTF-16", "windows-1252"):
        if marked or encoding != "utf-8" or declared == "utf-8":
            documents.append((XML, declaration(declared) + xml))
    for media_type, document in documents:
        body = (UNICODE[encoding] if marked else b"") + document.encode(encoding)
        assert title(body, media_type + parameter) == Literal(text), document


FALSE_DECLARATIONS = [
    # charset, XML declaration, encoding of the bytes, text
    ("ISO-8859-1", "UTF-8", "windows-1252", "Zoë"),
    ("utf-8", "windows-1252", "windows-1252", "Zoë"),
    ("", "ISO-8859-1", "windows-1252", "5 €"),
    ("", "UTF-16", "utf-8", "Zoë"),
    ("base64", "", "utf-8", "Zoë"),
]


@pytest.mark.parametrize(("charset", "declared", "encoding", "text"), FALSE_DECLARATIONS)
def test_false_declarations(charset: str, declared: str, encoding: str, text: str) -> None:
    content_type = f"{XML};charset={charset}" if charset else XML
    # An empty declaration is none.
    for prolog in (declaration(declared),) if declared else ("", declaration("")):
        body = rdf_xml(f"<dct:title>{text}</dct:title>", prolog).encode(encoding)
        assert title(body, content_type) == Literal(text)


@pytest.mark.parametrize(
    "encoding",
    [
        *("base64", "zlib", "rot13", "idna", "undefined", "unicode_escape", "utf-7", "cp037"),
        *("x-nothing", "../../x", "a" * 500, "utf-8\u00e9", "codecs.open"),
    ],
)
def test_an_encoding_that_is_no_text_encoding_of_the_web_is_refused(encoding: str) -> None:
    body = rdf_xml("<dct:title>t</dct:title>", declaration(encoding))
    with pytest.raises(DocumentError, match=r"its encoding '.*' is unknown"):
        parse(body.encode(), XML, BASE)


# RDF/XML

PIECES = [
    ("first<!-- of the editor --> last", "first last"),
    ('first <![CDATA[& <b>"last"</b> ]]>', 'first & <b>"last"</b> '),
    ("<![CDATA[<!-- no comment -->&nbsp;<?no pi?>]]>", "<!-- no comment -->&nbsp;<?no pi?>"),
    ("5&nbsp;&euro; f&uuml;r Caf&eacute;", "5\u00a0€ für Café"),
    ("tabs\t\r\nand\rlines\n&#13;", "tabs\t\nand\nlines\n\r"),
]


@pytest.mark.parametrize(("pieces", "text"), PIECES)
def test_a_text_of_pieces_is_one_text(pieces: str, text: str) -> None:
    assert title(rdf_xml(f"<dct:title>{pieces}</dct:title>").encode(), XML) == Literal(text)


@pytest.mark.parametrize(
    "content",
    ["a<!-- b", "a<?b", "a<![CDATA[b", "a &nosuch; b", "a & b", "<dct:x>", "a</dct:x>", "&#0;"],
)
def test_malformed_markup_is_malformed(content: str) -> None:
    with pytest.raises(DocumentError, match="syntax error"):
        parse(rdf_xml(f"<dct:title>{content}</dct:title>").encode(), XML, BASE)


HIDDEN = '<!ENTITY a "x"><!ENTITY b "&a;&a;">'


@pytest.mark.parametrize(
    ("dtd", "words"),
    [
        # The RDF parser alone would read these.
        (f'<!ENTITY a "y"><!-- {HIDDEN} -->', "syntax error"),
        (f'<!ENTITY a "y"><?pi {HIDDEN} ?>', "syntax error"),
        (f'<!ENTITY a "y"> junk {HIDDEN}', "syntax error: .*: syntax error"),
    ],
)
def test_entities_of_entities_are_never_expanded(dtd: str, words: str) -> None:
    body = rdf_xml("<dct:title>&b;</dct:title>", f"<!DOCTYPE rdf:RDF [{dtd}]>")
    with pytest.raises(DocumentError, match=words):
        parse(body.encode(), XML, BASE)


# Graphs

GRAPHS = {
    JSON_LD: json.dumps(
        [
            {"@id": "http://x/1", "@graph": [{"@id": SUBJECT, TITLE: "a"}]},
            {"@id": SUBJECT, "@graph": [{"@id": SUBJECT, TITLE: "b"}]},
            {"@id": SUBJECT, TITLE: "a"},
            {"@graph": [{"@id": SUBJECT, TITLE: "c"}]},
        ]
    ),
    TRIG: f'@prefix : <{TITLE}> . {{ <{SUBJECT}> : "a" }} GRAPH _:g {{ <{SUBJECT}> : "b" }}'
    f'<http://x/provenance> {{ <{SUBJECT}> : "a", "c" }}',
    NQ: "\n".join(
        f'<{SUBJECT}> <{TITLE}> "{text}" {graph}.'
        for text, graph in (
            ("a", ""),
            ("b", "<http://x/1> "),
            ("c", "_:g "),
            ("a", "<http://x/2> "),
        )
    ),
}


@pytest.mark.parametrize("media_type", GRAPHS)
def test_all_graphs_of_a_document_are_read_as_one(media_type: str) -> None:
    graph = parse(GRAPHS[media_type].encode(), media_type, BASE)
    assert sorted(map(str, graph.objects(SUBJECT, TITLE))) == ["a", "b", "c"]
    assert len(graph) == 3


# Media types

ANY_TYPE = (None, "", "text/plain", "application/octet-stream", "binary/octet-stream", "text/html")
_XML = [
    rdf_xml("<dct:title>t</dct:title>", prolog)
    for prolog in (
        *("", "\n\n", declaration("utf-8"), "<!-- <html> -->"),
        '<!DOCTYPE rdf:RDF [\n<!ENTITY e "http://x/">]>',
    )
]
_DEFAULT = [one.replace("rdf:RDF ", "RDF ").replace("/rdf:RDF", "/RDF") for one in _XML]
BEGINNINGS: dict[tuple[str, ...], list[str]] = {
    ("application/xml", "text/xml", "text/rdf", "application/rdf", "text/xml; charset=utf-8"): [
        *_XML,
        *(one.replace(NAMESPACES, f'xmlns="{RDF}" {NAMESPACES}') for one in _DEFAULT),
    ],
    ("application/json", "text/json"): [json_ld("t"), f"\n[{json_ld('t')}]"],
    ("text/rdf+n3", "application/turtle"): [
        before + triple('"t"')
        for before in (
            *("@prefix : <http://x/> .\n", "# c\n\n@base <http://x/> .", "PREFIX x: <http://x/>\n"),
            *("base <http://x/> ", "_:b <http://x/p> 1 . ", "<urn:a> a <urn:b> ; <urn:c> 1 . ", ""),
        )
    ],
}
"""Documents, and the media types under which servers send such documents."""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("media_types", BEGINNINGS)
def test_a_document_is_recognized_by_its_beginning(
    media_types: tuple[str, ...], encoding: str
) -> None:
    for media_type, text in itertools.product((*media_types, *ANY_TYPE), BEGINNINGS[media_types]):
        assert title(text.encode(encoding), media_type) == Literal("t"), (media_type, text)
