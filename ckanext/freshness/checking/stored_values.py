"""Values that the database keeps whole, as JSON: what is known of a file, and what its checks found.

Their classes are dataclasses, stored as objects; named tuples in them are stored as arrays. A field that a
stored value lacks has its default.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from ..web.headers import storable

Value = TypeVar("Value")

_DOUBTFUL = re.compile(r"\\u(?:0000|d[89a-f])")
"""JSON with texts that PostgreSQL may refuse: those with NUL or a surrogate."""


def as_json(value: Any) -> str:
    """Return a value as JSON. PostgreSQL takes every text in it: see :func:`..web.headers.storable`.

    :param value: a dataclass, or containers of them
    """
    plain = msgspec.to_builtins(value)
    text = json.dumps(plain)
    return json.dumps(_storable(plain)) if _DOUBTFUL.search(text) else text


def read(kind: type[Value], stored: Any) -> Value:
    """Return the value that a column has.

    :param kind: a dataclass
    :param stored: the JSON as Python's own objects
    """
    return msgspec.convert(stored, kind)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(name): _storable(one) for name, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, (list, tuple)) else value
