"""Realistic content for the demo: a fictional agency that publishes health, relief and statistics.

The datasets are in `tests/data/demo_catalogue.json`; their dates are made relative to a given day,
so that some are fresh and some are not, whenever the demo runs. The files they link to exist, on
the same server.
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.turtle import (
    Iri,
    Literal,
    Value,
    agent,
    checksum,
    contact,
    data_service,
    period,
)

if TYPE_CHECKING:
    from ckanext.freshness.tests.servers.fdp import FdpServer

DATA = Path(__file__).parent.parent / "data" / "demo_catalogue.json"

_AUTHORITY = "http://publications.europa.eu/resource/authority/"
_IANA = "https://www.iana.org/assignments/media-types/"
_NOON = datetime.time(12, 30, tzinfo=datetime.timezone.utc)
_MEDIA_TYPES: Mapping[str, str] = {
    "csv": "text/csv",
    "json": "application/json",
    "geojson": "application/geo+json",
    "xml": "application/xml",
    "zip": "application/zip",
    "pdf": "application/pdf",
    "api": "application/json",
}


def demo_catalogue(server: FdpServer, today: datetime.date) -> None:
    """Fill a server with the demo's catalogs, datasets, drafts and files; the same for a `today`.

    The files are served below `/files`, with ETag and Last-Modified, the services below `/api`.
    """
    content = json.loads(DATA.read_text(encoding="utf-8"))
    server.change(
        server.root,
        title="Meridian Observatory",
        description="A fictional agency that publishes health, relief and statistical data.",
    )
    catalogs = {
        name: server.add_catalog(
            name,
            title=_translated(row["title"]),
            description=_translated(row["description"]),
            publisher=agent("Meridian Observatory", "data@meridian.example.org"),
            theme_taxonomy=f"{_AUTHORITY}data-theme/{row['theme']}",
        )
        for name, row in content["catalogs"].items()
    }
    for number, row in enumerate(content["datasets"]):
        catalog = content["catalogs"][row["catalog"]]
        server.add_dataset(
            catalogs[row["catalog"]],
            row["slug"],
            draft=row.get("draft", False),
            distributions=[
                _distribution(server, row, format, today, number) for format in row["formats"]
            ],
            **_fields(row, catalog["theme"], content, today),
        )


REGIONAL = (
    "Bus stops and timetables",
    "Public libraries and their opening hours",
    "Bathing water quality",
    "Street trees",
    "Building permits by month",
    "Charging points for electric vehicles",
    "Noise map of main roads",
    "Kindergartens and free places",
    "Bicycle counts",
    "Budget of the region",
    "Recycling points",
    "Flood zones",
)
"""Titles of a small region's datasets."""


def regional_catalogue(server: FdpServer, count: int, today: datetime.date) -> None:
    """Fill a server with the first of a region's datasets; of fewer than all, the last is malformed."""
    server.change(server.root, title="Coastal Region", description="A fictional region.")
    catalog = server.add_catalog("open-data", title="Open data of the Coastal Region")
    for number, title in enumerate(REGIONAL):
        slug = title.lower().replace(" ", "-")
        # The files stay where they are, whatever the catalog lists.
        server.files[f"/files/{slug}.csv"] = Answer(
            200, _file(slug, "csv"), {"Content-Type": "text/csv"}
        )
        if number >= count:
            continue
        age = 7 * number + 2
        record = server.add_dataset(
            catalog,
            slug,
            title=[Literal(title, "en")],
            description=[Literal(f"{title}: what the region's administration knows.", "en")],
            publisher=agent("Coastal Region", "data@coastal.example.org"),
            frequency=f"{_AUTHORITY}frequency/{('MONTHLY', 'WEEKLY', 'ANNUAL')[number % 3]}",
            theme=[f"{_AUTHORITY}data-theme/{('TRAN', 'EDUC', 'ENVI')[number % 3]}"],
            language=[f"{_AUTHORITY}language/ENG", f"{_AUTHORITY}language/FRA"],
            modified=datetime.datetime.combine(_days_before(today, age), _NOON),
            distributions=[
                {
                    "title": f"{slug}.csv",
                    "download_url": f"{server.url}/files/{slug}.csv",
                    "format": "CSV",
                }
            ],
        )
    if count < len(REGIONAL):
        server.break_turtle(record)


def _fields(
    row: Mapping[str, Any], theme: str, content: Mapping[str, Any], today: datetime.date
) -> dict[str, Any]:
    publisher = content["publishers"][row["publisher"]]
    desk = content["contacts"][row["contact"]]
    modified = _days_before(today, row["modified_days_ago"])
    issued = _days_before(today, row["issued_days_ago"])
    languages = row.get("languages", "ENG").split()
    fields: dict[str, Any] = {
        "title": _translated(row["title"]),
        "description": _translated(row["description"]),
        "identifier": f"meridian-{row['slug']}",
        "version": f"{issued.year}.{row['issued_days_ago'] % 12 + 1}",
        "theme": [f"{_AUTHORITY}data-theme/{theme}"],
        "keyword": [
            Literal(word, "en") if word.isascii() else Literal(word) for word in row["keywords"]
        ],
        "issued": issued,
        "modified": datetime.datetime.combine(modified, _NOON),
        "language": [f"{_AUTHORITY}language/{code}" for code in languages],
        "spatial": [f"{_AUTHORITY}country/{code}" for code in row["places"]],
        "temporal": period(issued, None if row.get("draft") else modified),
        "landing_page": f"https://meridian.example.org/datasets/{row['slug']}",
        "access_rights": f"{_AUTHORITY}access-right/{row.get('access', 'PUBLIC')}",
        "publisher": agent(
            publisher["name"], publisher["email"], homepage=Iri(publisher["homepage"])
        ),
        "contact": contact(
            desk["name"],
            desk["email"],
            desk.get("url"),
            f"https://meridian.example.org/contacts#{row['contact']}",
        ),
        **row.get("health", {}),
    }
    if frequency := row["frequency"]:
        known = "://" in frequency
        fields["frequency"] = frequency if known else f"{_AUTHORITY}frequency/{frequency}"
    if license := row["license"]:
        fields["license"] = content["licenses"][license]
    return fields


def _distribution(
    server: FdpServer, row: Mapping[str, Any], format: str, today: datetime.date, number: int
) -> dict[str, Any]:
    slug = row["slug"]
    media_type = _MEDIA_TYPES[format]
    body = _file(slug, format)
    modified = _days_before(today, row["modified_days_ago"])
    if format == "api":
        path = f"/api/{slug}"
        server.files[path] = Answer(200, body, {"Content-Type": media_type})
        return {
            "title": f"{slug}: query service",
            "access_url": f"{server.url}{path}",
            "media_type": media_type,
            "access_service": data_service(f"{slug} API", f"{server.url}{path}"),
        }
    path = f"/files/{slug}.{format}"
    stamp = datetime.datetime.combine(modified, _NOON)
    server.files[path] = Answer(200, body, {"Content-Type": media_type})
    # Both ways of writing a media type and a format are common, so the demo has both.
    by_iri = number % 2 == 0
    file_type = f"{_AUTHORITY}file-type/{format.upper()}"
    return {
        "title": f"{slug}.{format}",
        "download_url": f"{server.url}{path}",
        "access_url": f"https://meridian.example.org/datasets/{slug}",
        "media_type": Iri(_IANA + media_type) if by_iri else media_type,
        "format": Iri(file_type) if by_iri else format.upper(),
        "byte_size": Literal(str(len(body)), datatype="xsd:nonNegativeInteger"),
        "checksum": checksum(hashlib.sha256(body).hexdigest(), "sha256"),
        "modified": stamp,
    }


def _file(slug: str, format: str) -> bytes:
    """A small table in one of the formats, the same for a slug at every start."""
    numbers = random.Random(slug)
    rows = {f"D{number:02d}": numbers.randrange(10_000) for number in range(1, 25)}
    table = "".join(f"{district},{value}\n" for district, value in rows.items())
    if format == "geojson":
        features = [
            {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [place, place]},
                "properties": {"district": district, "value": value},
            }
            for place, (district, value) in enumerate(rows.items())
        ]
        return json.dumps({"type": "FeatureCollection", "features": features}).encode()
    if format in ("json", "api"):
        return json.dumps({"dataset": slug, "rows": rows}, indent=1).encode()
    if format == "xml":
        lines = "".join(f'<row district="{name}" value="{value}"/>' for name, value in rows.items())
        return f'<?xml version="1.0"?>\n<table>{lines}</table>\n'.encode()
    if format == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            # ZipInfo's own date, so that the bytes are the same at every start.
            archive.writestr(zipfile.ZipInfo(f"{slug}.csv"), table)
        return packed.getvalue()
    if format == "pdf":
        return f"%PDF-1.4\n% {slug}\n%%EOF\n".encode()
    return table.encode()


def _translated(text: str | Mapping[str, str]) -> Value:
    texts = {"en": text} if isinstance(text, str) else text
    return [Literal(value, lang) for lang, value in texts.items()]


def _days_before(today: datetime.date, days: int) -> datetime.date:
    return today - datetime.timedelta(days=days)
