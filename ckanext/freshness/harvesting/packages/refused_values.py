"""Values that CKAN's validators refuse, left out of a package, so that none of them costs its record.

``package_layout`` and ``schema_fields`` know the rules of CKAN and the usual validators of schemas. A site's
schema and other extensions may have any others.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.core import model
from ..legal_values import one_line
from .schema_fields import stored

_OWN = frozenset({"id", "name", "type", "owner_org", "state", "private", "groups"})
"""Keys that do not come from the source's record."""

_ITEM_NAMES = {"tags": "name", "extras": "key"}
"""Lists whose items are left out as a whole, and the key of an item's name."""


def write(
    action: str,
    context: Callable[[], dict[str, Any]],
    package: dict[str, Any],
    stated: Mapping[str, Any],
    warnings: list[str],
) -> None:
    """Write a package or an organization; leave out values of its record that CKAN refuses.

    :param context: begins the transaction and returns the context. It is called at each attempt.
    :param package: is passed to the action. Refused values are removed from it.
    :param stated: the values that come from the record. No others are removed.
    :param warnings: gets a line for each removed value.
    :raises tk.ValidationError: CKAN refuses something else.
    """
    refused: dict[str, Any] = {}
    while True:
        try:
            tk.get_action(action)(context(), copy.deepcopy(package))
            return
        except tk.ValidationError as error:
            model.Session.rollback()
            errors = error.error_dict
            removed = leave_out(package, stated, errors)
            if not removed:
                # A required value that was removed is missing now, because it was refused before.
                known = {key: refused.get(key, errors[key]) for key in errors}
                raise tk.ValidationError(known) from error
            refused |= {key: errors[key] for key in errors.keys() - _OWN}
            warnings += removed


def leave_out(
    package: dict[str, Any], stated: Mapping[str, Any], errors: Mapping[str, Any]
) -> list[str]:
    """Remove refused values from a package, as far as its record states them.

    :returns: a warning for each removed value.
    """
    warnings: list[str] = []
    for key in errors.keys() - _OWN:
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
            for name in wrong_item:
                place = f"{path}.{number}.{name}" if len(value) > 1 else f"{path}.{name}"
                _remove(item, own_item, name, wrong_item[name], place, warnings)
        values[key] = [item for item in value if item]
    elif key in values and key in stated and str(value) == str(own):
        warnings.append(_warning(path, value, wrong))
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
            warnings.append(_warning(path, item.get("value", item[name]), errors[index]))
        else:
            kept.append(item)
    package[key] = kept


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _warning(path: str, value: Any, wrong: Any) -> str:
    errors = wrong.values() if isinstance(wrong, dict) else [wrong]
    texts = [text for error in errors for text in (error if isinstance(error, list) else [error])]
    words = one_line("; ".join(map(str, texts)))[:200]
    return f'{path}: "{(stored(value) or "")[:80]}" is left out, because CKAN refuses it: {words}'
