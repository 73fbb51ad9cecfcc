"""Geometries as one GeoJSON text, which is what CKAN's map extensions read."""

from __future__ import annotations

import json
import math
import re
from typing import Any

LONGEST = 256 * 1024
"""Characters of a geometry that is read: parsers take seconds and hundreds of bytes for each more."""

_CRS = re.compile(r"<(?P<crs>[^>]*)>\s*")
_LONGITUDE_FIRST = ("/CRS84", "/OGC/1.3/CRS84")
_WKT = re.compile(
    r"(?P<type>[A-Z]+)(?:\s+(?:ZM?|M))?\s*(?P<body>\(.*\))", re.IGNORECASE | re.DOTALL
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")

# Well-known text -> (GeoJSON's name, how deep its coordinates are nested; 0 is one position).
_TYPES = {
    "POINT": ("Point", 0),
    "LINESTRING": ("LineString", 1),
    "MULTIPOINT": ("MultiPoint", 1),
    "POLYGON": ("Polygon", 2),
    "MULTILINESTRING": ("MultiLineString", 2),
    "MULTIPOLYGON": ("MultiPolygon", 3),
}


def geojson(text: str) -> str:
    """The geometry as GeoJSON text, keys sorted; the text itself where it is neither GeoJSON nor WKT.

    Well-known text with a reference system other than CRS84 stays as it is: its axes may be swapped,
    and only a projection library could tell. So does a text that is too long.
    """
    if len(text) > LONGEST:
        return text
    try:
        data = json.loads(text, parse_constant=_refuse)
    except ValueError:
        data = _from_wkt(text.strip())
    except RecursionError:
        return text
    if not isinstance(data, dict) or "type" not in data:
        return text
    return json.dumps(data, sort_keys=True, ensure_ascii=False)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _from_wkt(text: str) -> dict[str, Any] | None:
    crs = _CRS.match(text)
    if crs is not None:
        if not crs["crs"].endswith(_LONGITUDE_FIRST):
            return None
        text = text[crs.end() :]
    match = _WKT.fullmatch(text)
    known = match and _TYPES.get(match["type"].upper())
    if not match or not known:
        return None
    name, depth = known
    try:
        coordinates = _coordinates(match["body"], depth)
    except ValueError:
        return None
    return {"type": name, "coordinates": coordinates}


def _coordinates(body: str, depth: int) -> list[Any]:
    """The numbers of ``(30 10)``, ``((30 10, 40 40))`` and deeper, nested as GeoJSON nests them.

    Raises ValueError where parentheses or numbers are wrong.
    """
    body = body.strip()
    if not (body.startswith("(") and body.endswith(")")):
        if depth == 0:
            return _position(body)
        raise ValueError("a group of coordinates is not in parentheses")
    inside = body[1:-1]
    if depth == 0:
        return _position(inside)
    return [_coordinates(part, depth - 1) for part in _split(inside)]


def _split(text: str) -> list[str]:
    """The parts between the commas that are outside of any parentheses."""
    parts, level, start = [], 0, 0
    for place, character in enumerate(text):
        if character == "(":
            level += 1
        elif character == ")":
            level -= 1
        elif character == "," and level == 0:
            parts.append(text[start:place])
            start = place + 1
        if level < 0:
            raise ValueError("a parenthesis closes that was never opened")
    if level:
        raise ValueError("a parenthesis is never closed")
    return [*parts, text[start:]]


def _position(text: str) -> list[Any]:
    words = text.split()
    if not 2 <= len(words) <= 4 or not all(_NUMBER.fullmatch(word) for word in words):
        raise ValueError("a position has two to four numbers")
    numbers = [float(word) for word in words[:3]]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a coordinate is beyond all numbers")
    return [int(number) if number.is_integer() else number for number in numbers]
