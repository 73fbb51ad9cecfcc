"""Values that the database keeps whole, as JSON: what is known of a file, and what its checks found.

Their classes are Structs of msgspec, stored as objects; named tuples in them are stored as arrays. A field that
a stored value lacks has its default.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

import msgspec

from ..web.headers import storable

Value = TypeVar("Value")


def as_json(value: Any) -> str:
    """Return a value as JSON. PostgreSQL takes every text in it: see :func:`..web.headers.storable`.

    :param value: a Struct, or containers of them
    """
    # A lone surrogate has no UTF-8.
    with contextlib.suppress(UnicodeEncodeError):
        text = msgspec.json.encode(value).decode()
        if "\\u0000" not in text:
            return text
    return msgspec.json.encode(_storable(msgspec.to_builtins(value))).decode()


def read(kind: type[Value], stored: Any) -> Value:
    """Return the value that a column has.

    :param kind: a Struct
    :param stored: the JSON as a text, which takes a third of the time, or as Python's own objects
    """
    if isinstance(stored, str):
        return msgspec.json.decode(stored, type=kind)
    return msgspec.convert(stored, kind)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(name): _storable(one) for name, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, (list, tuple)) else value
