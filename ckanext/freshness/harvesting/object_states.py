"""The states of harvest objects on their way through an import."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from ..ckan_adapter import harvest_tables, model
from ..dates import utc, utc_now
from .object_writer import PAGED, RESOURCE_IDS, set_extras
from .url_spelling import loose_spelling, spellings

_object = harvest_tables.OBJECT
_extra = harvest_tables.OBJECT_EXTRA
_error = harvest_tables.OBJECT_ERROR


@dataclass(frozen=True, slots=True)
class PendingObject:
    """An object that is to be imported, with all that its import needs to know of the tables."""

    id: str
    guid: str
    url: str
    content: str | None
    package_id: str | None
    extras: dict[str, str]

    @property
    def is_deletion(self) -> bool:
        return self.extras.get("status") == "delete"

    @property
    def is_new(self) -> bool:
        """Not so where only the package is new, because the record's old one was purged."""
        return self.extras.get("status") == "new"

    @property
    def package_type(self) -> str:
        return "dataset" if "dataset_url" in self.extras else "catalog"


def load(object_ids: Sequence[str]) -> list[PendingObject]:
    """Objects in the order given, with one query for all."""
    extras = (
        sa.select(
            _extra.c.harvest_object_id.label("id"),
            sa.func.jsonb_object_agg(_extra.c.key, _extra.c.value).label("extras"),
        )
        .where(_extra.c.harvest_object_id.in_(object_ids))
        .group_by(_extra.c.harvest_object_id)
        .subquery()
    )
    columns = (_object.c.id, _object.c.guid, _object.c.content, _object.c.package_id)
    rows = model.Session.execute(
        sa.select(*columns, extras.c.extras)
        .select_from(_object.outerjoin(extras, extras.c.id == _object.c.id))
        .where(_object.c.id.in_(object_ids))
    )
    found = {}
    for object_id, guid, content, package_id, more in rows:
        more = more or {}
        url = more.get("dataset_url") or more.get("catalog_url") or guid
        found[object_id] = PendingObject(object_id, guid, url, content, package_id, more)
    return [found[object_id] for object_id in object_ids if object_id in found]


def earlier_packages(source_id: str, names: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The packages that records of a source had before, by key of ``names``: the current, else the last.

    By URL and not by guid: a record may come back in another catalog. Not what is another record's by
    now, which went on with the package under another URL.

    :param names: for each record's URL, the URLs by which its earlier objects may be known, the best
        first: its own and the one that its document has.
    """
    wanted = {one for each in names.values() for url in each for one in spellings(url)}
    other = _extra.alias()
    of_a_dataset = sa.exists().where(
        other.c.harvest_object_id == _object.c.id, other.c.key == "dataset_url"
    )
    # A dataset's object names its catalog too, which is then not the object's own URL.
    own = sa.case((of_a_dataset, "dataset_url"), else_="catalog_url")
    objects_of_records = (
        sa.select(_extra.c.value, _object.c.package_id)
        .select_from(_object.join(_extra, _extra.c.harvest_object_id == _object.c.id))
        .where(_object.c.harvest_source_id == source_id)
    )
    rows = model.Session.execute(
        objects_of_records.where(
            sa.or_(_extra.c.key == own, _extra.c.key == "subject"),
            _extra.c.value.in_(wanted),
            _object.c.package_id.is_not(None),
        ).order_by(_object.c.current, _object.c.import_finished.asc().nulls_first())
    )
    by_name = {loose_spelling(url): package_id for url, package_id in rows}
    found = {
        url: package_id
        for url, each in names.items()
        for package_id in [
            next(filter(None, (by_name.get(loose_spelling(one)) for one in each)), None)
        ]
        if package_id is not None
    }
    if not found:
        return {}
    held_by = {
        package_id: url
        for url, package_id in model.Session.execute(
            objects_of_records.where(
                _extra.c.key == own,
                _object.c.current.is_(True),
                _object.c.package_id.in_(found.values()),
            )
        )
    }
    taken: set[str] = set()
    free = {}
    for url, package_id in found.items():
        if held_by.get(package_id, url) == url and package_id not in taken:
            taken.add(package_id)
            free[url] = package_id
    return free


def earlier_contents(object_ids: Sequence[str]) -> dict[str, str]:
    """The contents of the current objects of the same packages, or with the same guids, by object id."""
    before = _object.alias()
    found: dict[str, str] = {}
    for same in (
        before.c.guid == _object.c.guid,
        before.c.package_id == _object.c.package_id,
    ):
        rows = model.Session.execute(
            sa.select(_object.c.id, before.c.content)
            .select_from(
                _object.join(
                    before,
                    sa.and_(
                        same,
                        before.c.harvest_source_id == _object.c.harvest_source_id,
                        before.c.current.is_(True),
                        before.c.id != _object.c.id,
                    ),
                )
            )
            .where(_object.c.id.in_(object_ids), before.c.content.is_not(None))
        )
        found |= {object_id: content for object_id, content in rows}
    return found


def in_state(object_ids: Sequence[str], state: str) -> list[str]:
    """Those of the objects that are in a state, in the order given."""
    if not object_ids:
        return []
    found = set(
        model.Session.execute(
            sa.select(_object.c.id).where(_object.c.id.in_(object_ids), _object.c.state == state)
        ).scalars()
    )
    return [object_id for object_id in object_ids if object_id in found]


def of_package(package_id: str, among: Sequence[str]) -> list[str]:
    """Those of some objects that are the given package's."""
    return list(
        model.Session.execute(
            sa.select(_object.c.id).where(
                _object.c.package_id == package_id, _object.c.id.in_(among)
            )
        ).scalars()
    )


def urls_of(object_ids: Sequence[str]) -> list[str]:
    """The URLs of the records of some objects."""
    url = sa.func.max(_extra.c.value)
    return list(
        model.Session.execute(
            sa.select(sa.func.coalesce(url.filter(_extra.c.key == "dataset_url"), url))
            .where(
                _extra.c.harvest_object_id.in_(object_ids),
                _extra.c.key.in_(("dataset_url", "catalog_url")),
            )
            .group_by(_extra.c.harvest_object_id)
        ).scalars()
    )


def packages_of(object_ids: Sequence[str]) -> list[str]:
    """The packages that some objects already have, those that they are to take over among them."""
    return list(
        model.Session.execute(
            sa.select(_object.c.package_id)
            .where(_object.c.id.in_(object_ids), _object.c.package_id.is_not(None))
            .distinct()
        ).scalars()
    )


def make_current(
    object_id: str, source_id: str, guid: str, package_id: str | None, *, is_new: bool
) -> None:
    """Make an object the current one of its record, in the transaction that writes its package.

    The package may not exist yet: the foreign key is looked at when the transaction ends. There is none
    where the record becomes an organization.

    :param is_new: neither the record nor the package has another object that could be current.
    """
    statements = [_DEFER, _MAKE_CURRENT]
    if not is_new:
        statements = [_DEFER, _REMEMBER_IDS, _TAKE_OVER, _CLEAR, _MAKE_CURRENT]
    model.Session.execute(
        sa.text(";".join(statements)),
        {
            "id": object_id,
            "source_id": source_id,
            "guid": guid,
            "package_id": package_id,
            "now": utc(utc_now()),
            "resource_ids": RESOURCE_IDS,
        },
    )


# One round trip for each package instead of four.
_DEFER = "SET CONSTRAINTS ALL DEFERRED"
# Who clears a source's history leaves the current objects and what they remember.
_REMEMBER_IDS = """
UPDATE harvest_object_extra SET harvest_object_id = :id
WHERE key = :resource_ids AND harvest_object_id IN (
SELECT id FROM harvest_object WHERE package_id = :package_id)"""
# Clearing a source removes every dataset that any object of it names, current or not: one that was
# taken over must not go with the source it came from.
_TAKE_OVER = """
UPDATE harvest_object SET current = false, package_id = NULL
WHERE package_id = :package_id AND harvest_source_id <> :source_id
AND harvest_source_id IN (SELECT id FROM harvest_source WHERE NOT active)"""
_CLEAR = """
UPDATE harvest_object SET current = false
WHERE harvest_source_id = :source_id AND current AND id <> :id
AND (package_id = :package_id OR guid = :guid)"""
_MAKE_CURRENT = """
UPDATE harvest_object SET current = true, package_id = :package_id, import_finished = :now
WHERE id = :id"""


def retire(object_id: str, source_id: str, guid: str, package_id: str | None) -> None:
    """Clear ``current`` of a deleted record: of its objects of this source only. No commit."""
    same = _object.c.guid == guid
    if package_id:
        same = sa.or_(same, _object.c.package_id == package_id)
    model.Session.execute(
        sa.update(_object)
        .where(sa.or_(_object.c.id == object_id, sa.and_(_object.c.current.is_(True), same)))
        .where(_object.c.harvest_source_id == source_id)
        .values(current=False)
    )


def is_current_elsewhere(package_id: str, source_id: str, *, active_only: bool = False) -> bool:
    """Whether another source has the package too: it is then not this source's to delete.

    :param active_only: sources that were deleted do not count: what they have may be taken over.
    """
    has_it = sa.exists().where(
        _object.c.package_id == package_id,
        _object.c.current.is_(True),
        _object.c.harvest_source_id != source_id,
    )
    if active_only:
        source = harvest_tables.SOURCE
        has_it = has_it.where(source.c.id == _object.c.harvest_source_id, source.c.active.is_(True))
    return bool(model.Session.execute(sa.select(has_it)).scalar())


def is_of_an_ended_job(object_id: str) -> bool:
    """Whether an object's job is over: it was aborted, and a later one may have found otherwise."""
    job = harvest_tables.JOB
    statement = (
        sa.select(job.c.status)
        .select_from(_object.join(job, job.c.id == _object.c.harvest_job_id))
        .where(_object.c.id == object_id)
    )
    return model.Session.execute(statement).scalar() == "Finished"


def add_error(object_id: str, message: str) -> None:
    """Note why an object could not be imported; its record counts as changed until it is."""
    model.Session.execute(
        sa.insert(_error).values(
            id=str(uuid.uuid4()),
            harvest_object_id=object_id,
            message=message,
            stage="Import",
            created=utc(utc_now()),
        )
    )
    set_extras([(object_id, "content_hash", None), (object_id, "fingerprint", None)])
    model.Session.commit()


def finish(done: Sequence[str], failed: Sequence[str]) -> None:
    """Write the states of the followers of a page, by the rules that ckanext-harvest has for leads."""
    sibling = _object.alias()
    again = (
        sa.select(sa.func.count())
        .select_from(sibling)
        .where(sibling.c.package_id == _object.c.package_id)
        .scalar_subquery()
    )
    # What becomes an organization has no package to count by.
    changed = sa.exists().where(
        _object.c.package_id.is_(None),
        _extra.c.harvest_object_id == _object.c.id,
        _extra.c.key == "status",
        _extra.c.value == "change",
    )
    report = sa.case(
        (_object.c.current.is_(False), "deleted"),
        (sa.or_(again > 1, changed), "updated"),
        else_="added",
    )
    for ids, state, status in ((done, "COMPLETE", report), (failed, "ERROR", "errored")):
        if ids:
            model.Session.execute(
                sa.update(_object)
                .where(_object.c.id.in_(ids))
                .values(state=state, report_status=status, import_finished=utc(utc_now()))
            )
    model.Session.commit()


def hand_on(object_ids: Sequence[str]) -> None:
    """Make the first of some followers the lead of the others."""
    lead, *followers = object_ids
    set_extras([(lead, "page", json.dumps(followers))])
    model.Session.execute(sa.update(_object).where(_object.c.id == lead).values(state="WAITING"))
    model.Session.commit()


def wake_orphans() -> int:
    """Let followers wait for a consumer themselves whose lead has ended without them; how many.

    A lead that killed its consumer five times is given up by the queue; the rest of its page is not.
    """
    lead, page = _object.alias("lead"), _extra.alias("page")
    followers = (
        sa.select(sa.func.jsonb_array_elements_text(sa.cast(page.c.value, JSONB)))
        .select_from(page.join(lead, lead.c.id == page.c.harvest_object_id))
        .where(page.c.key == "page", lead.c.state.in_(("COMPLETE", "ERROR")))
    )
    found = model.Session.execute(
        sa.update(_object)
        .where(_object.c.state == PAGED, _object.c.id.in_(followers))
        .values(state="WAITING")
        .execution_options(synchronize_session=False)
    )
    model.Session.commit()
    return found.rowcount
