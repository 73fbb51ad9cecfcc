"""Conversion of geometries to GeoJSON, which CKAN's map extensions read."""

from __future__ import annotations

import json
import math
import re
from typing import Any

LONGEST = 256 * 1024
"""Characters of the longest geometry that is parsed. Longer ones take seconds and much memory."""

_CRS = re.compile(r"<(?P<crs>[^>]*)>\s*")
_LONGITUDE_FIRST = ("/CRS84", "/OGC/1.3/CRS84")
_WKT = re.compile(
    r"(?P<type>[A-Z]+)(?:\s+(?:ZM?|M))?\s*(?P<body>\(.*\))", re.IGNORECASE | re.DOTALL
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")

# Name in well-known text: (name in GeoJSON, nesting of the coordinates; 0 is a single position).
_TYPES = {
    "POINT": ("Point", 0),
    "LINESTRING": ("LineString", 1),
    "MULTIPOINT": ("MultiPoint", 1),
    "POLYGON": ("Polygon", 2),
    "MULTILINESTRING": ("MultiLineString", 2),
    "MULTIPOLYGON": ("MultiPolygon", 3),
}


def geojson(text: str) -> str:
    """Return a geometry, GeoJSON or well-known text, as GeoJSON text with sorted keys.

    Any other text is returned unchanged. So is a text that is too long, and well-known text with a
    reference system other than CRS84: its axes may be swapped, which only a projection library knows.
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
    """Return coordinates such as ``(30 10)`` or ``((30 10, 40 40))`` as nested lists, as in GeoJSON.

    :raises ValueError: parentheses or numbers are wrong.
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
    """Split a text at the commas outside of parentheses.

    :raises ValueError: parentheses do not match.
    """
    parts, level, start = [], 0, 0
    for index, character in enumerate(text):
        if character == "(":
            level += 1
        elif character == ")":
            level -= 1
        elif character == "," and level == 0:
            parts.append(text[start:index])
            start = index + 1
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
