"""Values that CKAN's validators have refused, left out of a package with CKAN's own words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..legal_values import as_list, one_line, stored

NOT_STATED = frozenset({"id", "name", "type", "owner_org", "state", "private", "groups"})
"""Keys of a package that do not come from the source's record."""

_ITEM_NAMES = {"tags": "name", "extras": "key"}
"""Lists whose items are left out as a whole, and the key of an item's name."""


def leave_out(
    package: dict[str, Any], stated: Mapping[str, Any], errors: Mapping[str, Any]
) -> list[str]:
    """Remove refused values from a package, as far as its record states them.

    :param stated: the values that come from the record.
    :param errors: CKAN's errors by key.
    :returns: a warning for each removed value.
    """
    warnings: list[str] = []
    for key in errors.keys() - NOT_STATED:
        if key in _ITEM_NAMES:
            _remove_items(key, package, stated, errors[key], warnings)
        else:
            _remove(package, stated, key, errors[key], key, warnings)
    return sorted(warnings)


def _remove(
    values: dict[str, Any],
    stated: Mapping[str, Any],
    key: str,
    wrong: Any,
    path: str,
    warnings: list[str],
) -> None:
    """Remove a value, or those of its parts that are wrong."""
    value: Any = values.get(key)
    own: Any = stated.get(key)
    if all(map(_is_list_of_dicts, (value, own, wrong))):
        parts = zip(value, own, wrong, strict=False)
        for number, (item, own_item, wrong_item) in enumerate(parts, start=1):
            place = f"{path}.{number}" if len(value) > 1 else path
            for name in wrong_item:
                _remove(item, own_item, name, wrong_item[name], f"{place}.{name}", warnings)
        values[key] = [item for item in value if item]
    elif key in values and key in stated and str(value) == str(own):
        warnings.append(_refusal(path, value, wrong))
        del values[key]


def _remove_items(
    key: str, package: dict[str, Any], stated: Mapping[str, Any], wrong: Any, warnings: list[str]
) -> None:
    """Remove wrong tags or extras."""
    name = _ITEM_NAMES[key]
    own = {item[name] for item in stated.get(key, ())}
    errors = dict(enumerate(wrong)) if _is_list_of_dicts(wrong) else {}
    kept = []
    for index, item in enumerate(package.get(key, ())):
        if errors.get(index) and item[name] in own:
            path = item[name] if key == "extras" else key
            warnings.append(_refusal(path, item.get("value", item[name]), errors[index]))
        else:
            kept.append(item)
    package[key] = kept


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _refusal(path: str, value: Any, wrong: Any) -> str:
    errors = wrong.values() if isinstance(wrong, dict) else [wrong]
    words = one_line("; ".join(str(text) for error in errors for text in as_list(error)))[:200]
    return f'{path}: "{(stored(value) or "")[:80]}" is left out, because CKAN refuses it: {words}'
