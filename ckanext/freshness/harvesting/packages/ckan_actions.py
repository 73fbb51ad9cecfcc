"""CKAN's actions that write records: under names that stay once given, without values that CKAN refuses."""

from __future__ import annotations

import copy
import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ...ckan_adapter.core import model, munge_title_to_name
from ..legal_values import as_list, one_line, stored
from ..messages import Message
from ..record import lasting_part

Begin = Callable[[], dict[str, Any]]
"""Begins the transaction of an action and returns its context. It is called at each attempt."""

_LEGAL_NAME = re.compile("[a-z0-9_-]{2,100}")
_RESERVED_NAMES = frozenset({"new", "edit", "search"})

DELETED_AS_OF = "deleted_as_of"
"""Harvest object extra: the ``metadata_modified`` of a package when a job deleted it."""

_FREE_NAME = """
UPDATE package p SET name = left(p.name, 91) || '-' || left(md5(p.id), 8)
WHERE p.name = :name AND p.state = 'deleted' AND EXISTS (
SELECT FROM harvest_object o JOIN harvest_object_extra x ON x.harvest_object_id = o.id
WHERE o.package_id = p.id AND o.harvest_source_id = :source_id
AND x.key = :key AND x.value::timestamp = p.metadata_modified)"""
"""SQL: take ``:name`` from a dataset that a job of ``:source_id`` deleted and nobody has changed since."""

_ORGANIZATIONS = uuid.UUID("0c2c6f0e-5b1e-4d0b-9a3e-3b8c1d6f7e21")
"""Namespace of the organization ids."""


class ImportFailed(Exception):
    """A record that cannot be imported. The message says why, for people."""

    def __init__(self, message: Message) -> None:
        super().__init__(message)
        self.message = message


def context_of(user: Any) -> dict[str, Any]:
    """Return a context for one call of an action in the name of the user who writes packages."""
    return {
        "model": model,
        "session": model.Session,
        "user": user.name,
        "auth_user_obj": user,
        "ignore_auth": True,
    }


def plain_name(title: str) -> str | None:
    """Return the name that a title suggests; None if fewer than two letters or digits are left of it."""
    name = munge_title_to_name(title).strip("-_")
    return name if sum(character.isalnum() for character in name) >= 2 else None


def drop_taken_ids(package: dict[str, Any], package_id: str | None = None) -> None:
    """Remove the ids from a package and its resources that other datasets of this site have or had.

    :param package_id: the dataset that the package updates; None if it is new.
    """
    with_id = [one for one in (package, *package["resources"]) if one.get("id")]
    if not with_id:
        return
    ids = [one["id"] for one in with_id]
    packages, resources = model.Package.__table__, model.Resource.__table__
    is_other = resources.c.package_id.is_distinct_from(package_id)
    statement = sa.union_all(
        sa.select(packages.c.id).where(packages.c.id.in_(ids)),
        sa.select(resources.c.id).where(resources.c.id.in_(ids), is_other),
    )
    taken: set[str] = set(model.Session.execute(statement).scalars())
    for one in with_id:
        if one["id"] in taken:
            del one["id"]


def local_group(name_or_id: str, *, organizations: bool = False) -> str | None:
    """Return the id of an active group of this site; None if there is none.

    :param organizations: look at organizations instead of groups.
    """
    group = model.Group.get(name_or_id)
    fits = group is not None and group.state == "active" and group.is_organization is organizations
    return str(group.id) if fits else None


def own_name(name: str) -> str | None:
    """Return a source's own name for a record if CKAN accepts it, otherwise a legal name made of it."""
    return name if _LEGAL_NAME.fullmatch(name) else plain_name(name)


def new_names(
    plain: str | None, url: str, source_id: str, *, organizations: bool = False
) -> list[str]:
    """Return names for a new dataset or organization, the best first. Commits if it frees the first.

    The plain name is followed by two with a suffix. The first suffix is made of the URL, the second of source
    and URL, because two sources may harvest the same server. They are the same at every attempt. So two
    consumers never count up each other's names.

    :param plain: the name that the record suggests. It is left out if it is taken.
    """
    base = ("organization" if organizations else "dataset") if plain is None else plain[:91]
    names = [f"{base}-{_digest(url)}", f"{base}-{_digest(source_id, url)}"]
    if plain is None or plain in _RESERVED_NAMES:
        return names
    column = (model.Group if organizations else model.Package).__table__.c.name
    is_taken = model.Session.execute(sa.select(sa.exists().where(column == plain))).scalar()
    if is_taken and (organizations or not _free_name(plain, source_id)):
        return names
    return [plain, *names]


def _free_name(name: str, source_id: str) -> bool:
    """Take a name from a dataset that a source has deleted, so that another one can have it. Commits.

    CKAN's deleted datasets keep their names. One that an editor has deleted or restored is not touched. If its
    record comes back, the dataset has its name with a suffix.

    :returns: whether there was such a dataset
    """
    values = {"name": name, "source_id": source_id, "key": DELETED_AS_OF}
    found = model.Session.execute(sa.text(_FREE_NAME), values)
    model.Session.commit()
    return bool(found.rowcount)


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()[:8]


def organization_id(source_id: str, url: str) -> str:
    """Return the id for a new organization: the same at every attempt, and when its server moves.

    :param url: its URL at the source.
    """
    return str(uuid.uuid5(_ORGANIZATIONS, f"{source_id} {lasting_part(url)}"))


def write(
    action: str,
    begin: Begin,
    package: dict[str, Any],
    stated: Mapping[str, Any],
    names: Sequence[str] = (),
    *,
    instead: Mapping[str, Any] | None = None,
) -> list[str]:
    """Write a package or an organization; leave out values of its record that CKAN refuses.

    :param package: is passed to the action. Refused values are removed from it.
    :param stated: the values that come from the record. No others are removed.
    :param names: names for a new package, the best first. The first one that is free becomes its name.
    :param instead: values to write in place of refused ones, by key. CKAN may refuse these, too.
    :returns: a warning for each removed value.
    :raises tk.ValidationError: CKAN refuses something else.
    """
    warnings: list[str] = []
    refused: dict[str, Any] = {}
    replacing = dict(instead or {})
    untried = list(names)
    if untried:
        package["name"] = untried.pop(0)
    while True:
        try:
            tk.get_action(action)(begin(), copy.deepcopy(package))
            return warnings
        except tk.ValidationError as error:
            model.Session.rollback()
            errors = error.error_dict
            if untried and set(errors) == {"name"}:
                # It has been taken since we looked.
                package["name"] = untried.pop(0)
                continue
            removed = leave_out(package, stated, errors)
            if not removed:
                # A required value that was removed is missing now, because it was refused before.
                known = {key: refused.get(key, errors[key]) for key in errors}
                raise tk.ValidationError(known) from error
            left_out = replacing.keys() & errors.keys() - package.keys()
            replaced = {key: replacing.pop(key) for key in left_out}
            package.update(replaced)
            stated = {**stated, **replaced}
            refused |= {key: errors[key] for key in errors.keys() - NOT_STATED}
            warnings += removed


# Values that CKAN has refused

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
