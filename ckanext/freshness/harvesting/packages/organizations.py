"""The organizations and groups of a source's datasets. No harvest deletes one.

Organizations are found, made or updated once in a job, groups when a dataset is imported.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ...ckan_adapter.core import model
from ...ckan_adapter.database import is_loss
from ...ckan_adapter.harvest import harvesting_user
from ...ckan_adapter.packages import rebuild
from ...model import HarvestDocument
from ...web.urls import display_url
from .. import known_records, legal_values
from ..messages import Message, about
from ..record import Record, lasting_part
from ..source_client import unexpected
from ..source_config import Source
from ..source_memory import ORGANIZATION, SourceMemory
from ..source_type import CrawlEnd
from . import ckan_actions
from .ckan_actions import ImportFailed

log = logging.getLogger(__name__)

_COLUMNS = ("description", "image_url", "title")
"""The record's fields that are columns in CKAN. The others become extras."""

_BATCH = 100
"""How many packages to index at a time after the title of their organization changed."""

_document = HarvestDocument.__table__


@dataclass(frozen=True, slots=True)
class KnownOrganization:
    """An organization in the memory of a source."""

    id: str
    is_made: bool
    """A harvest made it. If not, this site had it before the source, and it stays as it is."""
    digest: str = ""
    """A hash of what the source last said of it; "" if that could not be written."""
    stated: Mapping[str, str] = field(default_factory=dict)
    """The values that the source last stated. All others are the editors'."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The settings of a source that decide to which organization and groups its datasets belong."""

    source: Source
    owner_org: str | None
    """The id of the source's own organization."""
    has_organizations: bool
    """The source's catalogs are organizations."""

    def add_to(self, package: dict[str, Any], record: Record, catalog_url: str) -> None:
        """Add the organization and the groups of a dataset to its package.

        :param catalog_url: the catalog of the record; "" for a catalog
        :raises ImportFailed: its organization could not be made here.
        """
        if owner := self._owner_of(record, catalog_url):
            package["owner_org"] = owner
        if groups := self._groups_of(record):
            package["groups"] = [*package.get("groups", []), *groups]

    def is_of_source(self, record: Record) -> bool:
        """Return whether the source says which organization owns a dataset, at each harvest."""
        return self.has_organizations or record.owner is not None

    def _owner_of(self, record: Record, catalog_url: str) -> str | None:
        """Return the organization that owns a dataset: the source's, or its own at the source."""
        if record.owner is not None:
            return ckan_actions.local_group(record.owner, organizations=True) or self.owner_org
        if not self.has_organizations or catalog_url == self.source.url:
            return self.owner_org
        statement = sa.select(_document.c.outline["id"].astext).where(
            _document.c.source_id == self.source.id, _document.c.url == _key(catalog_url)
        )
        found: str | None = model.Session.execute(statement).scalar()
        if found is None:
            raise ImportFailed(
                f"its organization {catalog_url} could not be made; the job's report says why"
            )
        return found

    def _groups_of(self, record: Record) -> list[dict[str, str]]:
        """Return the groups of this site that a record belongs to, and make those that it asks for."""
        default = set(self.source.config.default_groups)
        found: dict[str, dict[str, str]] = {}
        for group in record.groups:
            names = (group["id"], group["name"])
            group_id = next(filter(None, map(ckan_actions.local_group, names)), None)
            if group_id is None and "title" in group:
                # CKAN refuses a name that is taken, or not legal.
                with contextlib.suppress(tk.ValidationError):
                    group_id = tk.get_action("group_create")(_context(), dict(group))["id"]
            if group_id is not None and not default & {group_id, group["name"]}:
                found[group_id] = {"id": group_id}
        return list(found.values())


def ensure_organizations(
    source_id: str,
    memory: SourceMemory,
    crawl: CrawlEnd,
) -> Iterator[Message]:
    """Find, make or update the organizations of a source's datasets. Commit each.

    An organization is found by its id: that of an earlier job, of a deleted source that a source of the same
    organization replaces, or one that this site has under the id that it has at the source.

    :param crawl: has what the source says of them, and those that own datasets and could not be read.
    :yields: for people, what could not be kept of an organization, or why it could not be written.
    """
    for url in crawl.containers.catalogs - crawl.organizations.keys():
        memory.recall(_key(url), ORGANIZATION)  # what no job asks for is forgotten
    for url, record in crawl.organizations.items():
        outline = memory.recall(_key(url), ORGANIZATION)
        known = KnownOrganization(**outline) if outline else None
        model.Session.commit()
        try:
            found, warnings = _ensure(source_id, url, record, known)
        except Exception as error:
            if is_loss(error):
                raise
            model.Session.rollback()
            log.exception("The organization %s could not be written", display_url(url))
            # Another error's own words may hold a secret.
            words: Message = unexpected("the organization could not be written", error)
            if isinstance(error, tk.ValidationError):
                summary = error.error_summary or error.error_dict
                words = "CKAN refuses the organization: " + "; ".join(
                    f"{key}: {value}" for key, value in summary.items()
                )
            yield about(display_url(url), words)
        else:
            yield from (about(display_url(url), warning) for warning in warnings)
            memory.remember(_key(url), ORGANIZATION, asdict(found))


def new_organizations(
    source_id: str, memory: SourceMemory, organizations: Mapping[str, Record]
) -> list[str]:
    """Return the titles of the organizations that :func:`ensure_organizations` would make."""
    return sorted(
        str(record.fields.get("title") or url)
        for url, record in organizations.items()
        if memory.recall(_key(url), ORGANIZATION) is None
        and _find(source_id, url, record, None) is None
    )


def _key(url: str) -> str:
    return f"{ORGANIZATION} {lasting_part(url)}"


def _find(
    source_id: str, url: str, record: Record, known: KnownOrganization | None
) -> KnownOrganization | None:
    """Return the organization of a record as it is in CKAN; None if there is none."""
    former = model.Session.execute(
        sa.select(_document.c.outline).where(
            _document.c.url == _key(url),
            _document.c.source_id.in_(known_records.deleted_peers(source_id)),
            _document.c.outline["is_made"].as_boolean(),
        )
    ).scalars()
    made = KnownOrganization(ckan_actions.organization_id(source_id, url), is_made=True)
    candidates = [known, made, *(KnownOrganization(**outline) for outline in former)]
    for one in filter(None, candidates):
        if model.Group.get(one.id) is not None:
            return one
    own = ckan_actions.local_group(record.id, organizations=True) if record.id else None
    return KnownOrganization(own, is_made=False) if own else None


def _ensure(
    source_id: str, url: str, record: Record, known: KnownOrganization | None
) -> tuple[KnownOrganization, list[str]]:
    """Return the organization of a record, and a warning for each value that CKAN refuses."""
    if known is not None and (not known.is_made or known.digest == record.digest()):
        group = model.Group.get(known.id)
        if group is not None and group.state == "active":
            return known, []
    found = _find(source_id, url, record, known)
    if found is None:
        made = KnownOrganization(ckan_actions.organization_id(source_id, url), is_made=True)
        warnings = _create(source_id, url, record, made.id)
    elif not found.is_made:
        return found, []
    else:
        made = found
        warnings = _update(record, found)
    stated = {**_columns(record), **_extras(record)}
    return KnownOrganization(made.id, True, record.digest(), stated), warnings


def _create(source_id: str, url: str, record: Record, organization_id: str) -> list[str]:
    wanted: dict[str, Any] = {
        "id": organization_id,
        **_columns(record),
        "extras": [{"key": key, "value": value} for key, value in _extras(record).items()],
    }
    plain = ckan_actions.own_name(record.name or "")
    names = ckan_actions.new_names(plain, url, source_id, organizations=True)
    return ckan_actions.write("organization_create", _context, wanted, wanted, names)


def _update(record: Record, known: KnownOrganization) -> list[str]:
    parts = ("datasets", "users", "groups", "tags", "followers", "dataset_count")
    shown = tk.get_action("organization_show")(
        _context(), {"id": known.id, **{f"include_{part}": False for part in parts}}
    )
    # Before it had the values, the memory had a list of keys: nothing tells which values were an editor's.
    stated = known.stated if isinstance(known.stated, dict) else {}
    extras = _extras(record)
    stored = {extra["key"]: extra["value"] for extra in shown.get("extras", [])}
    kept = {key: value for key, value in stored.items() if stated.get(key) != value}
    wanted: dict[str, Any] = {
        key: value
        for key, value in _columns(record).items()
        if (value or stated.get(key) == shown.get(key)) and (shown.get(key) or "") != value
    }
    if (merged := {**kept, **extras}) != stored:
        wanted["extras"] = [{"key": key, "value": value} for key, value in merged.items()]
    if shown["state"] != "active":
        wanted["state"] = "active"
    if not wanted:
        return []
    wanted["id"] = known.id
    refused = ckan_actions.write("organization_patch", _context, wanted, wanted)
    if "title" in wanted:
        # A dataset's document in Solr contains the title of its organization.
        owned = _active_packages(known.id)
        for start in range(0, len(owned), _BATCH):
            rebuild(owned[start : start + _BATCH])
    return refused


def _context() -> dict[str, Any]:
    return ckan_actions.context_of(harvesting_user())


def _columns(record: Record) -> dict[str, str]:
    return {key: str(record.fields.get(key) or "") for key in _COLUMNS}


def _extras(record: Record) -> dict[str, str]:
    return {
        key: legal_values.shorten(str(value))
        for key, value in sorted(record.fields.items())
        if key not in _COLUMNS and key.strip()
    }


def _active_packages(organization_id: str) -> list[str]:
    """Return the ids of all packages that an organization owns and that are not deleted."""
    package = model.Package.__table__
    return list(
        model.Session.execute(
            sa.select(package.c.id)
            .where(package.c.owner_org == organization_id, package.c.state != "deleted")
            .order_by(package.c.id)
        ).scalars()
    )
