"""All values that the database may keep of a class: see :mod:`ckanext.freshness.checking.stored_values`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from ckanext.freshness.web.headers import storable

TEXTS = st.text().map(storable)
_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    NoneType: st.none(),
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: TEXTS,
    # Nothing writes a time without a zone, but one must not stop a run.
    datetime: st.datetimes(timezones=st.sampled_from([timezone.utc, None])),
    Any: st.none() | st.booleans() | st.integers() | TEXTS | st.dictionaries(TEXTS, TEXTS),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return the values of a class or of a field's type."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if get_origin(kind) is tuple:
        return st.lists(values(arguments[0]), max_size=7).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(values(arguments[0]), values(arguments[1]), max_size=7)
    return st.builds(kind, **{name: values(hint) for name, hint in get_type_hints(kind).items()})
