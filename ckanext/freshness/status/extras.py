"""A dataset's freshness in its extras: written in the transaction of the change, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..ckan_adapter import model, package_extras, write_extras, write_extras_in_session
from ..field_names import own_extras
from . import resource_fields
from .assessment import AssessedDataset, TransitionCause, outcomes
from .resource_notes import DatasetEdit


def write_in_hook(package_id: str, now: datetime, *, writer: str | None, edit: DatasetEdit) -> None:
    """Judge a package that an action has just written, and put the outcome into its extras.

    In the action's transaction and before it indexes, so that there is one write to Solr, and neither
    ``metadata_modified`` nor an activity of its own.
    """
    # What other plugins' hooks have changed in the session is to be seen too.
    model.Session.flush()
    for outcome in outcomes(
        [package_id], now, cause=TransitionCause.EDIT, writer=writer, edit=edit
    ):
        if outcome.changes_extras:
            package = model.Session.get(model.Package, package_id)
            write_extras_in_session(package, outcome.stored, outcome.wanted, outcome.keys)
        if missing := outcome.missing_fields():
            resource_fields.write_in_session(missing)


def write_by_sql(changed: Iterable[AssessedDataset]) -> None:
    """Put what was just thought of packages into their extras, outside of any action.

    To be called in the transaction that has judged them, which holds their rows. Neither hooks, nor
    activities, nor ``metadata_modified``; the caller commits and then indexes.
    """
    values: dict[Sequence[str], dict[str, Mapping[str, str]]] = {}
    for one in changed:
        values.setdefault(one.keys, {})[one.package_id] = one.wanted
    for keys, wanted in values.items():
        write_extras(wanted, keys)


def protected(data_dict: Mapping[str, Any], package: Any) -> dict[str, Any]:
    """What an action is to write of a package: with the values of ours that it has, not the caller's.

    Callers who leave them out, as forms and harvesters do, would take them out and put them in again at
    each write, and CKAN 2.12 would see a change where nothing changed.

    :param package: the package as it is; None if it is new.
    """
    package_type = package.type if package is not None else data_dict.get("type") or "dataset"
    keys = own_extras(package_type)
    result = {key: value for key, value in data_dict.items() if key not in keys}
    stored = package_extras(package) if package is not None else {}
    ours = {key: stored[key] for key in keys if key in stored}
    extras = data_dict.get("extras")
    if extras is None and ours:
        extras = []
    if isinstance(extras, list):
        result["extras"] = _merged(extras, ours, keys)
    return result


def _merged(extras: list[Any], ours: Mapping[str, str], keys: Sequence[str]) -> list[Any]:
    """A caller's extras with our values in their places: CKAN takes another order for a change."""
    result = []
    missing = dict(ours)
    for one in extras:
        key = _key(one)
        if key not in keys:
            result.append(one)
        elif key in missing:
            result.append({"key": key, "value": missing.pop(key)})
    for key, value in missing.items():
        place = next((at for at, one in enumerate(result) if _key(one) > key), len(result))
        result.insert(place, {"key": key, "value": value})
    return result


def _key(extra: Any) -> str:
    key = extra.get("key") if isinstance(extra, dict) else None
    return key if isinstance(key, str) else ""
