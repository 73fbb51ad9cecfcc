"""Tables of formats, geometries and dates."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckanext.freshness.dates import iso_date, utc_moment
from ckanext.freshness.harvesting.rdf.graph_values import geojson, present_url
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
        ([], ["text/csv; charset=utf-8"], "CSV", "text/csv"),
        ([f"{EU}CSV"], [], "CSV", "text/csv"),
        ([f"{EU}NEWTYPE"], [], "NEWTYPE", None),
        ([], [f"{IANA}application/json"], "JSON", "application/json"),
        ([f"{IANA}application/zip"], [f"{IANA}text/csv"], "ZIP", "application/zip"),
        (["http://purl.org/NET/mediatypes/text/csv"], [], "CSV", "text/csv"),
        ([], ["http://www.iana.org/assignments/media-types/text/csv/"], "CSV", "text/csv"),
        ([], ["http://www.w3.org/ns/iana/media-types/text/csv#Resource"], "CSV", "text/csv"),
        ([], [f"{INSPIRE}application/gml+xml"], "GML", "application/gml+xml"),
        ([f"{INSPIRE}application/x-shapefile"], [], "SHP", "application/x-shapefile"),
        (["RDF/XML"], [], "RDF", "application/rdf+xml"),
        (["application/x-unheard-of"], [], "application/x-unheard-of", "application/x-unheard-of"),
        (["Esri Shapefile"], [], "SHP", None),
        (["http://edamontology.org/format_3752"], [], "http://edamontology.org/format_3752", None),
        (["WFS"], [f"{IANA}application/gml+xml"], "WFS", "application/gml+xml"),
    ],
)
def test_formats(
    formats: list[str], media_types: list[str], format_: str | None, mimetype: str | None
) -> None:
    assert file_format(formats, media_types) == FileFormat(format_, mimetype)


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("http://publications.europa.eu/mdr/authority/file-type/CSV", f"{EU}CSV"),
        ("https://publications.europa.eu/MDR/authority/file-type/CSV", f"{EU}CSV"),
        ("http://publications.europa.eu/mdr/resource/authority/file-type/CSV", f"{EU}CSV"),
        ("https://publications.europa.eu/resource/authority/file-type/CSV", f"{EU}CSV"),
        (f"{EU}CSV", f"{EU}CSV"),
        (
            "http://publications.europa.eu/mdr/authority/",
            "http://publications.europa.eu/mdr/authority/",
        ),
        ("see http://publications.europa.eu/mdr/authority/language/ENG", None),
        ("http://publications.europa.eu/webapi/rdf/sparql", None),
    ],
)
def test_former_urls_of_the_eus_authority_tables(former: str, present: str | None) -> None:
    assert present_url(former) == (present or former)


@pytest.mark.parametrize(
    ("text", "geometry"),
    [
        ("POINT(5.12 52.09)", {"type": "Point", "coordinates": [5.12, 52.09]}),
        ("point z (5 52 -3.5)", {"type": "Point", "coordinates": [5, 52, -3.5]}),
        ("MULTIPOINT((1 2), (3 4))", {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]}),
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
            "MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)), ((5 5, 6 5, 6 6, 5 5)))",
            {
                "type": "MultiPolygon",
                "coordinates": [
                    [[[0, 0], [1, 0], [1, 1], [0, 0]]],
                    [[[5, 5], [6, 5], [6, 6], [5, 5]]],
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
        "POINT(a b)",
        "POINT(1e999 0)",
        "POLYGON((0 0, 1 0)",
        "POLYGON(0 0, 1 0))",
        "CIRCLE((0 0))",
        "<http://www.opengis.net/def/crs/EPSG/0/28992> POINT(136000 455000)",
        "[1, 2]",
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
        ("2024-05", "2024-05", None),
        ("2024-05-06", "2024-05-06", "2024-05-06"),
        ("2024-05-06T07:08:09", "2024-05-06T07:08:09", "2024-05-06T07:08:09"),
        ("2024-05-06T01:08:09+0200", "2024-05-06T01:08:09+02:00", "2024-05-05T23:08:09"),
        ("2024-05-06 07:08", "2024-05-06T07:08", "2024-05-06T07:08:00"),
        (" 2024-02-29 ", "2024-02-29", "2024-02-29"),
        ("2024-05-06T07:08:09.770918184Z", "2024-05-06T07:08:09.770918184Z", "2024-05-06T07:08:09"),
        ("2023-02-29", None, None),
        ("0001-01-01T00:00:00+10:00", None, None),
        ("2024-05-06T07:08:09+99:00", None, None),
        ("2024-05-06T24:00:00", None, None),
        ("٢٠٢٤", None, None),
        ("", None, None),
    ],
)
def test_dates(text: str, date: str | None, moment: str | None) -> None:
    assert (iso_date(text), utc_moment(text)) == (date, moment)


@settings(deadline=None)
@given(st.datetimes(timezones=st.none()))
def test_every_moment_of_python_is_a_date(moment) -> None:  # type: ignore[no-untyped-def]
    assert iso_date(moment.isoformat()) == moment.isoformat()
    assert utc_moment(moment.isoformat()) == moment.isoformat(timespec="seconds")
