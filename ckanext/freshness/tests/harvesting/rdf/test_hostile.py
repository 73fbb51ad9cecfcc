"""Hostile documents: they open no URL, hang no parser and fill no memory. They are malformed records."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import replace

import pytest

from ckanext.freshness.harvesting.rdf import parsing as rdf
from ckanext.freshness.harvesting.rdf.parsing import DocumentError, RdfParser
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.sandbox.processes import ProcessLimits
from ckanext.freshness.tests.harvesting.fdp.crawling import LIMITS, Site
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.hostile import Canary

TURTLE, N3 = "text/turtle", "text/n3"
XML, JSON_LD = "application/rdf+xml", "application/ld+json"
MIB = 1024 * 1024

RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {}>{}</rdf:RDF>'
ENTITIES = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
ESCAPES = b'<http://a> <http://b> "' + b"\\u0041" * (20 * MIB // 6) + b'" .'
NO_LOADER = "(names a remote @context|syntax error)"


def context(value: object) -> bytes:
    """Return a dataset in JSON-LD with a context."""
    return json.dumps({"@context": value, "@id": "http://x/", "http://p/": "v"}).encode()


def with_dtd(dtd: str, text: str = "&e9;") -> bytes:
    about = (
        f'<rdf:Description rdf:about="http://x/"><rdf:value>{text}</rdf:value></rdf:Description>'
    )
    return f"<!DOCTYPE rdf:RDF [{dtd}]>{RDF.format('', about)}".encode()


HOSTILE: dict[str, tuple[str, bytes, str]] = {
    # {canary} is the URL of a listener that must get no request.
    "context": (JSON_LD, context("{canary}"), NO_LOADER),
    "import": (JSON_LD, context({"@import": "{canary}"}), NO_LOADER),
    "scoped context": (
        JSON_LD,
        context({"http://p/": {"@id": "http://p/", "@context": [["{canary}"]]}}),
        NO_LOADER,
    ),
    "local file": (JSON_LD, context("file:///etc/passwd"), NO_LOADER),
    "external entity": (XML, with_dtd('<!ENTITY e9 SYSTEM "{canary}">'), "external"),
    "external DTD": (XML, with_dtd('<!ENTITY % d SYSTEM "{canary}"> %d;'), "external"),
    "nested entities": (XML, with_dtd('<!ENTITY e0 "x">' + ENTITIES), "names another one"),
    "a long entity many times": (
        XML,
        with_dtd(f'<!ENTITY e9 "{"x" * MIB}">', "&e9;" * 2000),
        "512 MiB of memory",
    ),
    "decimal": (
        TURTLE,
        b'<a> <b> "1e999999999"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
        "'1e999999999' is no xsd:decimal",
    ),
    "error at the end": (TURTLE, b"<a> <b> <c> .\n" * (20 * MIB // 14) + b"<a>", "triples"),
    "escapes in N3": (N3, ESCAPES, "512 MiB of memory"),
    "a text of 5 MB": (TURTLE, b'<a> <b> "' + b"[]," * 1_700_000 + b'" .', "a text of more than"),
    "contexts that name one another": (
        JSON_LD,
        context({f"t{n}": f"t{n + 1}:x" for n in range(20_000)} | {"http://p/": "t0"}),
        "ends the process",
    ),
}


def test_hostile_documents_are_malformed_and_the_job_goes_on() -> None:
    """One job reads them all, each as the document of a record, and then a healthy record."""
    with FdpServer() as server, Canary() as canary:
        catalog = server.add_catalog()
        records = {name: server.add_dataset(catalog) for name in HOSTILE}
        healthy = server.add_dataset(catalog)
        for name, (content_type, body, _) in HOSTILE.items():
            body = body.replace(b"{canary}", f"http://127.0.0.1:{canary.port}/x".encode())
            server.faults[records[name].path] = faults.Body(body, content_type)
        limits = replace(LIMITS, max_bytes=64 * MIB)
        job = Site(server, limits=limits, make_parser=RdfParser).job()
        assert canary.visitors() == 0
        assert job.of(RecordClass.NEW) == {server.url_of(healthy)}
        assert job.record_errors.keys() == {server.url_of(one) for one in records.values()}
        for name, (content_type, _, words) in HOSTILE.items():
            error = job.record_errors[server.url_of(records[name])]
            assert re.search(
                f"{re.escape(content_type)}.*{words}|{words}.*{re.escape(content_type)}", error
            ), (name, error)


def errors(limits: ProcessLimits, *bodies: bytes) -> list[str]:
    """Return the errors of one parser for RDF/XML documents."""

    async def run() -> list[str]:
        said = []
        with contextlib.closing(RdfParser(limits)) as parser:
            for body in bodies:
                with pytest.raises(DocumentError) as caught:
                    await parser.parse(body, XML, "http://x/")
                said.append(str(caught.value.reason))
        return said

    return asyncio.run(run())


def test_a_document_that_never_ends_is_ended() -> None:
    attributes = " ".join(f'xmlns:n{n}="http://n/{n}"' for n in range(200_000))
    (error,) = errors(replace(rdf.USUAL, cpu_seconds=1), RDF.format(attributes, "").encode())
    assert error.startswith("Its metadata file (some 6 MiB) takes more memory or time to read")
    assert error.endswith(": the application/rdf+xml takes more than 1 seconds of processor time")


def test_a_source_of_such_documents_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise each document would delay the queue of all sources."""
    monkeypatch.setattr(rdf, "MOST_EXCEEDED", 2)
    document = with_dtd("", "x")
    *first, last = errors(replace(rdf.USUAL, answer=10), *[document] * 3)
    assert all("gives more than 0 MiB" in error for error in first)
    assert "was not parsed: 2 documents of this source have taken more time" in last
