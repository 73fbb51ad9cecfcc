"""Tables of formats, geometries and dates."""

from __future__ import annotations

import json

import pytest

from ckanext.freshness.dates import iso_date, utc_moment
from ckanext.freshness.harvesting.rdf.graph_values import geojson
from ckanext.freshness.harvesting.rdf.mapping import FileFormat, file_format

EU = "http://publications.europa.eu/resource/authority/file-type/"
IANA = "https://www.iana.org/assignments/media-types/"
INSPIRE = "http://inspire.ec.europa.eu/media-types/"


@pytest.mark.parametrize(
    ("formats", "media_types", "format_", "mimetype"),
    [
        ([], [], None, None),
        (["CSV"], ["text/csv"], "CSV", "text/csv"),
        ([], ["text/csv"], "CSV", "text/csv"),
        ([f"{EU}CSV"], [], "CSV", "text/csv"),
        ([f"{EU}NEWTYPE"], [], "NEWTYPE", None),
        ([], [f"{IANA}application/json"], "JSON", "application/json"),
        ([], ["http://www.w3.org/ns/iana/media-types/text/csv#Resource"], "CSV", "text/csv"),
        ([], [f"{INSPIRE}application/gml+xml"], "GML", "application/gml+xml"),
        ([f"{INSPIRE}application/x-shapefile"], [], "SHP", "application/x-shapefile"),
        (["RDF/XML"], [], "RDF", "application/rdf+xml"),
        (["Esri Shapefile"], [], "SHP", None),
    ],
)
def test_formats(
    formats: list[str], media_types: list[str], format_: str | None, mimetype: str | None
) -> None:
    assert file_format(formats, media_types) == FileFormat(format_, mimetype)


@pytest.mark.parametrize(
    ("text", "geometry"),
    [
        ("POINT(5.12 52.09)", {"type": "Point", "coordinates": [5.12, 52.09]}),
        (
            "POLYGON((0 0, 1 0, 1 1, 0 0), (0 0, 1 1, 0 1, 0 0))",
            {
                "type": "Polygon",
                "coordinates": [
                    [[0, 0], [1, 0], [1, 1], [0, 0]],
                    [[0, 0], [1, 1], [0, 1], [0, 0]],
                ],
            },
        ),
        (
            "<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(1 2)",
            {"type": "Point", "coordinates": [1, 2]},
        ),
        ('{"type":"Point","coordinates":[1,2]}', {"type": "Point", "coordinates": [1, 2]}),
    ],
)
def test_geometries(text: str, geometry: dict[str, object]) -> None:
    assert json.loads(geojson(text)) == geometry


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Utrecht",
        "POINT(5.12)",
        "POINT(1e999 0)",
        "POLYGON((0 0, 1 0)",
        "<http://www.opengis.net/def/crs/EPSG/0/28992> POINT(136000 455000)",
        '{"type": "Point", "coordinates": [NaN, 1]}',
        "[" * 100_000,
        f"LINESTRING({'1 2,' * 70_000} 1 2)",
    ],
)
def test_what_is_no_geometry_stays_as_it_is(text: str) -> None:
    assert geojson(text) == text


@pytest.mark.parametrize(
    ("text", "date", "moment"),
    [
        ("2024", "2024", None),
        (" 2024-02-29 ", "2024-02-29", "2024-02-29"),
        ("2024-05-06T01:08:09+0200", "2024-05-06T01:08:09+02:00", "2024-05-05T23:08:09"),
        ("2024-05-06 07:08", "2024-05-06T07:08", "2024-05-06T07:08:00"),
        ("2023-02-29", None, None),
        ("0001-01-01T00:00:00+10:00", None, None),
    ],
)
def test_dates(text: str, date: str | None, moment: str | None) -> None:
    assert (iso_date(text), utc_moment(text)) == (date, moment)
