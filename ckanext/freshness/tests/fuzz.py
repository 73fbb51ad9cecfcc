"""Searches, led by the code that each input reaches, for inputs that break what reads the data of strangers.

::

    pip --python .dev/2.12-py3.11/venv/bin/python install atheris
    ./dev run python -m ckanext.freshness.tests.fuzz reader /tmp/reader -max_total_time=3600

The folder keeps the inputs that reach new code. All other arguments are libFuzzer's. An input that raises an
exception, takes seconds or much memory ends the search, and is written to a file ``crash-...``,
``timeout-...`` or ``oom-...`` of the current folder: it becomes a row of the tests of what it breaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import atheris

with atheris.instrument_imports(include=["ckanext.freshness"], enable_loader_override=False):
    from ckanext.freshness.aging.evidence import script_date
    from ckanext.freshness.aging.frequency import parse
    from ckanext.freshness.checking import answers, content, formats, hasher
    from ckanext.freshness.dates import iso_date, parse_date, stated_date, utc_moment
    from ckanext.freshness.harvesting.rdf.parsing import charset, graph_of, media_type, request
    from ckanext.freshness.harvesting.rdf.triples import read
    from ckanext.freshness.sandbox import Unopened
    from ckanext.freshness.web.encodings import Decoder
    from ckanext.freshness.web.errors import Fault, FetchError
    from ckanext.freshness.web.exchange import parse_http_date, parse_retry_after
    from ckanext.freshness.web.second_look import MAX_HEAD_BYTES, read_body, read_head
    from ckanext.freshness.web.urls import display_url, join_url, parse_link, parse_url

NOW = datetime(2026, 11, 21, tzinfo=timezone.utc)
LIMITS = content.ContentLimits(max_members=1000, max_read=content.MIB)
DECODED = 1024 * 1024
FORMATS = sorted({*formats.FITS, *formats.MEDIA_TYPES, "RDF", "HTML", "WFS", "GML", ""})
READERS = ("csv", "json", "workbook")
TYPES = (
    "text/turtle",
    "application/rdf+xml",
    "application/ld+json",
    "text/n3",
    "application/trig",
    "",
)


def reader(data: bytes) -> None:
    """Read an answer as browsers do, and decode its body."""
    with contextlib.suppress(Fault):
        asyncio.run(_answer(data))


async def _answer(data: bytes) -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(data[1:])
    stream.feed_eof()
    head = await read_head(stream)
    assert 200 <= head.status <= 999
    assert sum(map(len, head.headers)) <= MAX_HEAD_BYTES
    method = "HEAD" if data[:1] == b"H" else "GET"
    decoder = Decoder(head.headers.get("Content-Encoding", ""))
    received = decoded = 0
    async for piece in read_body(stream, head, method):
        received += len(piece)
        for part in decoder.pieces(piece):
            decoded += len(part)
            if decoded > DECODED:
                return
    decoder.end()
    assert received <= len(data)


def contents(data: bytes) -> None:
    """Judge the kind of a file, and read its hash and its tables."""
    number, rest = int.from_bytes(data[:2], "big"), data[2:]
    promised = formats.promise(FORMATS[number % len(FORMATS)], None)
    first = rest[: formats.FIRST_BYTES]
    last = formats.outline(rest[::-1], 10 * len(rest)) if number & 1 else None
    formats.verdict(promised, first, len(rest), last=last, was_coded=bool(number & 2))
    answers.wall_of_page(first)
    for detector in hasher.DETECTORS:
        if detector.takes(first):
            with contextlib.suppress(content.Unreadable):
                detector.fingerprint(io.BytesIO(rest), LIMITS)
    for how in READERS:
        content.shape_of(how, io.BytesIO(rest))


def words(data: bytes) -> None:
    """Read dates, frequencies, formats and URLs as people write them."""
    text = data.decode("utf-8", "surrogateescape")
    parse(text)
    for date in (parse_date, stated_date, script_date, iso_date, utc_moment, parse_http_date):
        date(text)
    parse_retry_after(text, NOW)
    formats.promise(text, text)
    display_url(text)
    for url in (parse_url, parse_link, lambda text: join_url(BASE, text)):
        with contextlib.suppress(FetchError):
            target = url(text)
            assert parse_url(target.url).url == target.url
            assert target.path.startswith("/") and target.authority


BASE = parse_url("http://example.org/a/b?c")


def rdf(data: bytes) -> None:
    """Read a document as in the sandbox, and make a graph of what comes out."""
    kind = f"{TYPES[data[0] % len(TYPES)] if data else ''}; charset={data[1:2]!r}"
    header = media_type(kind), charset(kind)
    assert header[0] in TYPES
    with contextlib.suppress(Unopened):
        graph_of(
            read(request(data[2:], kind if data[:1] > b"\x7f" else header[0], "http://x.example/"))
        )


class Target(NamedTuple):
    """What is searched, and the inputs to begin with."""

    search: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]


def _answers() -> Iterable[bytes]:
    from ckanext.freshness.tests.checking.answers import CASES, Asked

    for case in CASES:
        for night in range(3):
            yield b"G" + case.answer(Asked(night, 0, "/0", b""))


def _files() -> Iterable[bytes]:
    for answer in _answers():
        yield b"\0\0" + answer.partition(b"\r\n\r\n")[2]


def _words() -> Iterable[bytes]:
    from ckanext.freshness.aging.vocabularies import term_lists

    for terms in term_lists().values():
        yield from (term.encode() for term in list(terms.terms)[:20])
    for text in (
        *("2020-01-31T10:20:30.5+01:00", "20200131T102030Z", "Wed, 21 Oct 2015 07:28:00 GMT"),
        *("HDX Scraper: WHO (2021-03-05T10:20:30.123456)", "R5/2020-01-01/P3M", "R/P0.33W"),
        *("every two weeks", "three times a year", "http://u:p@[::1]:8080/a?b=c&token=d#e"),
        *(
            "//0x7f.1/%7e",
            "http://b\u00fccher.example/\u00e4",
            "../x?y",
            "ftp://x/y",
            "text/csv;charset=x",
        ),
    ):
        yield text.encode()


def _documents() -> Iterable[bytes]:
    turtle = b'@prefix a: <http://a/> . <> a a:B ; a:c "d"@en , "e"@e_n , 1.0 , [ a:f """g""" ] .'
    xml = (
        b'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE r [<!ENTITY e "f">]><rdf:RDF xmlns:rdf='
        b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/"><rdf:Description rdf:about="">'
        b"<a:b>&e;<!-- c --><![CDATA[<d>]]>&eacute;</a:b></rdf:Description></rdf:RDF>"
    )
    json = b'{"@context": {"a": "http://a/"}, "@id": "", "a:b": [{"@value": "c", "@language": "en"}, 1.5]}'
    for number, document in enumerate((turtle, xml, json, turtle, turtle)):
        yield bytes([number, 0]) + document
        yield bytes([5, 0]) + document.decode().encode("utf-16")


TARGETS: Mapping[str, Target] = {
    "reader": Target(reader, _answers),
    "contents": Target(contents, _files),
    "words": Target(words, _words),
    "rdf": Target(rdf, _documents),
}


def main(name: str, folder: str, *arguments: str) -> None:
    """Search until an input breaks something, or libFuzzer's limit of time is over."""
    target = TARGETS[name]
    for number, seed in enumerate(target.seeds()):
        path = Path(folder, f"seed-{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(seed)
    limits = "-timeout=10", "-rss_limit_mb=1500", "-max_len=20000"
    atheris.Setup([sys.argv[0], *limits, *arguments, folder], target.search)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
