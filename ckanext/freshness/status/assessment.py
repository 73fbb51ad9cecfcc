"""Assesses datasets, many at once, and stores the result in our tables and in the datasets' extras.

Hooks, refreshes and checks all come here. Our tables hold the truth; the extras are written from them.
Solr is not written, and nothing is committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from .. import settings
from ..aging.evidence import DatedEvidence
from ..ckan_adapter.core import model, own_extras, site_names
from ..ckan_adapter.packages import lock_packages, write_extras, write_extras_in_session
from ..field_names import with_prefix
from ..own_values import foreign
from . import edit_changes, observation, resource_fields, snapshot
from .judgement import judge, row_of, site_rules
from .snapshot import DatasetSnapshot, ResourceSnapshot
from .table_changes import TableChanges
from .transitions import DatasetEdit, TransitionCause, completed, replaced_resource, transitions


@dataclass(frozen=True, slots=True)
class AssessedDataset:
    """A dataset that was assessed, and the extras that it should have."""

    package_id: str
    stored: Mapping[str, str]
    """All its extras, as the database has them."""
    wanted: Mapping[str, str]
    """The values that this extension's extras should have."""
    keys: tuple[str, ...]
    """The extras to write: all names of this extension except names that a schema declares. Empty while the
    extension is being uninstalled."""
    resources: Sequence[ResourceSnapshot]
    """Its resources, as the database has them; none if this extension is being uninstalled."""
    changes_status: bool
    """Whether it had another status before."""

    @property
    def changes_extras(self) -> bool:
        return {key: self.stored[key] for key in self.keys if key in self.stored} != self.wanted


def update_in_action(
    package_id: str, now: datetime, *, writer: str | None, edit: DatasetEdit
) -> None:
    """Assess a package that an action has just written, and write its extras in the same transaction.

    The action indexes the package afterwards. So there is one write to Solr, and neither
    ``metadata_modified`` nor the activities change.
    """
    # Write to the database what other plugins' hooks have changed in the session.
    model.Session.flush()
    for dataset in assess_packages(
        [package_id], now, cause=TransitionCause.EDIT, writer=writer, edit=edit
    ):
        if dataset.changes_extras:
            package = model.Session.get(model.Package, package_id)
            write_extras_in_session(package, dataset.stored, dataset.wanted, dataset.keys)
        resource_fields.restore_in_session(dataset.resources, settings.resource_fields())


def update_packages(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: TransitionCause,
    run_id: str | None = None,
    writer: str | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages outside of their actions, and write their extras by SQL.

    Calls no hooks, and changes neither activities nor ``metadata_modified``. The caller commits, and then
    indexes. See :func:`assess_packages` for the parameters.

    :returns: the datasets whose extras have changed
    """
    changed = [
        dataset
        for dataset in assess_packages(
            package_ids, now, cause=cause, run_id=run_id, writer=writer, found=found
        )
        if dataset.changes_extras
    ]
    values: dict[tuple[str, ...], dict[str, Mapping[str, str]]] = {}
    for dataset in changed:
        values.setdefault(dataset.keys, {})[dataset.package_id] = dataset.wanted
    for keys, wanted in values.items():
        write_extras(wanted, keys)
    return changed


def assess_packages(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: TransitionCause,
    run_id: str | None = None,
    writer: str | None = None,
    edit: DatasetEdit | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Assess packages and write our tables, with a number of statements that does not grow.

    The packages' rows stay locked until the transaction ends. Missing packages, and packages of types that
    are not judged, are left out. The extras are not written.

    :param now: the moment to judge, with its zone
    :param cause: why statuses change, unless time alone explains it
    :param run_id: the run that asks, outside of edits
    :param writer: the user who has just written the packages; None outside edits
    :param edit: the writer's edit, if there is only one package
    :param found: evidence by package that the datasets themselves do not have: the results of checks
    """
    rules = site_rules()
    now = now.astimezone(timezone.utc).replace(microsecond=0)
    lock_packages(package_ids)
    changes = TableChanges()
    assessed = []
    names = _NamesOfTypes()
    for dataset in snapshot.take(package_ids, rules.aging.dataset_types):
        if names.own_fields(dataset):
            # They are the site's, which sets a prefix for ours.
            continue
        own_edit = None if edit is None else completed(edit, dataset)
        found_pieces = (found or {}).get(dataset.id, ())
        judgement = judge(
            dataset,
            [
                *observation.observed(dataset, now, writer, replaced_resource(own_edit)),
                *found_pieces,
            ],
            now,
            rules,
        )
        row = row_of(dataset, judgement, now, rules)
        changes.add(dataset, judgement.pieces, row, now, writer)
        changes.of_data += edit_changes.of_dataset(dataset, judgement.pieces, found_pieces, now)
        changes.transitions += transitions(
            dataset,
            judgement,
            row,
            now,
            rules,
            cause=cause,
            writer=writer,
            edit=own_edit,
            run_id=run_id,
        )
        keys = names.to_write(dataset)
        assessed.append(
            AssessedDataset(
                dataset.id,
                stored=dataset.extras,
                wanted={key: value for key, value in row.extras().items() if key in keys},
                keys=keys,
                resources=dataset.resources,
                changes_status=dataset.row is not None and dataset.row.status != row.status,
            )
        )
    changes.write()
    return assessed


class _NamesOfTypes:
    """The names of extras that are this extension's, in datasets of each type."""

    def __init__(self) -> None:
        self.names = site_names()
        self._keys: dict[tuple[str, str], tuple[str, ...]] = {}

    def own_fields(self, dataset: DatasetSnapshot) -> dict[str, str]:
        """Return a dataset's values under these names, if this extension has not written them."""
        if dataset.row is not None and dataset.row.field_prefix == self.names.prefix:
            return {}
        return foreign(dataset.extras, self.names, self._of(dataset.type, self.names.prefix))

    def to_write(self, dataset: DatasetSnapshot) -> tuple[str, ...]:
        """Return the names to write: with the site's prefix, and to remove those with an earlier prefix."""
        keys = self._of(dataset.type, self.names.prefix)
        if dataset.row is None or dataset.row.field_prefix == self.names.prefix:
            return keys
        return (*keys, *self._of(dataset.type, dataset.row.field_prefix))

    def _of(self, package_type: str, prefix: str) -> tuple[str, ...]:
        if (package_type, prefix) not in self._keys:
            self._keys[package_type, prefix] = own_extras(package_type, with_prefix(prefix))
        return self._keys[package_type, prefix]
