"""Generated content of realistic size for the benchmarks, made fast."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.servers.turtle import Literal, agent, contact, period

if TYPE_CHECKING:
    from ckanext.freshness.tests.servers.fdp import FdpServer

_AUTHORITY = "http://publications.europa.eu/resource/authority/"
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "ANNUAL", "IRREG")
_THEMES = ("HEAL", "SOCI", "ECON", "ENVI", "AGRI", "EDUC", "TRAN")
_COUNTRIES = ("NLD", "KEN", "MOZ", "FRA", "COL", "NPL")
_WORDS = ("cohort", "registry", "survey", "prices", "rainfall", "mobility", "genomics", "enquête")
_FORMATS = (("CSV", "text/csv"), ("JSON", "application/json"), ("XML", "application/xml"))
_SENTENCE = (
    "The records are collected by partners in the field, checked for completeness, and released "
    "with the code list of the year; earlier releases remain available on request. "
)
_FIRST_DAY = datetime.date(2015, 1, 1)


def bench_catalogue(
    server: FdpServer, datasets: int = 500, distributions: int = 2, catalogs: int = 5
) -> list[Record]:
    """Fill a server with so many datasets, spread over its catalogs; they are returned.

    A dataset has about what a well-kept one has in the wild: 20 fields, 600 characters of
    description, five keywords, a contact, a publisher. The same arguments give the same content.
    """
    parents = [
        server.add_catalog(f"bench-{number}", title=f"Bench catalog {number}")
        for number in range(catalogs)
    ]
    return [
        server.add_dataset(
            parents[number % catalogs],
            f"bench-{number:06d}",
            distributions=[_distribution(number, which) for which in range(distributions)],
            **_fields(number),
        )
        for number in range(datasets)
    ]


def _fields(number: int) -> dict[str, Any]:
    modified = _FIRST_DAY + datetime.timedelta(days=number % 3650)
    organisation = number % 17
    return {
        "title": Literal(f"Bench dataset {number:06d}: {_WORDS[number % len(_WORDS)]}", "en"),
        "description": Literal(f"Dataset {number}. {_SENTENCE * 4}".rstrip(), "en"),
        "identifier": f"bench-{number:06d}",
        "version": f"1.{number % 10}",
        "theme": f"{_AUTHORITY}data-theme/{_THEMES[number % len(_THEMES)]}",
        "keyword": [f"{_WORDS[(number + n) % len(_WORDS)]} {n}" for n in range(5)],
        "issued": _FIRST_DAY,
        "modified": modified,
        "frequency": f"{_AUTHORITY}frequency/{_FREQUENCIES[number % len(_FREQUENCIES)]}",
        "language": f"{_AUTHORITY}language/ENG",
        "spatial": f"{_AUTHORITY}country/{_COUNTRIES[number % len(_COUNTRIES)]}",
        "temporal": period(_FIRST_DAY, modified),
        "license": "http://creativecommons.org/licenses/by/4.0/",
        "access_rights": f"{_AUTHORITY}access-right/PUBLIC",
        "landing_page": f"https://example.org/datasets/{number}",
        "provenance": "Collected by the partners of the network.",
        "publisher": agent(f"Institute {organisation}", f"info{organisation}@example.org"),
        "contact": contact(f"Desk {organisation}", f"desk{organisation}@example.org"),
    }


def _distribution(number: int, which: int) -> dict[str, Any]:
    format, media_type = _FORMATS[which % len(_FORMATS)]
    url = f"https://example.org/files/{number}/{which}.{format.lower()}"
    return {
        "title": Literal(f"{format} of dataset {number}", "en"),
        "description": "As released.",
        "download_url": url,
        "access_url": f"https://example.org/datasets/{number}",
        "media_type": media_type,
        "format": format,
        "byte_size": 1024 * (number + which + 1),
        "license": "http://creativecommons.org/licenses/by/4.0/",
    }
