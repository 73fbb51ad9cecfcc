"""Datasets for mails, and the people who may be told about them, read from CKAN and ckanext-harvest."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..aging.status import Status, status_at
from ..ckan_adapter import harvest_tables
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.database import hold_packages
from ..ckan_adapter.extras import ORGANIZATION_EXTRA
from ..dates import aware_to_second
from ..status.snapshot import boundaries
from . import addresses
from .rules import Contacts, MailDataset, keepers

WISH_KEY = "freshness_notify"
"""An organization's extra. ``false`` switches off mails about its datasets."""
_CONSENT_KEY = "notify_contacts"
"""A key of a harvest source's config. ``true`` permits mails to the contacts in its datasets."""
_AT_ONCE = 1000
"""Datasets whose packages are in memory at a time."""
_NO = frozenset({"false", "no", "off", "0", "n", "f"})


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """A dataset as mails present it.

    :ivar organization: the title of its organization
    :ivar organization_name: the organization's name in URLs
    :ivar maintainer: the name of the maintainer or author, for people who look for a contact
    :ivar named: the addresses in its fields
    :ivar is_harvested: whether its data come from a harvest source, which overwrites edits
    :ivar for_rules: the facts that decide about its mails
    """

    id: str
    name: str
    title: str
    organization: str
    organization_name: str
    maintainer: str
    named: tuple[str, ...]
    last_modified: datetime | None
    frequency_days: int | None
    is_harvested: bool
    for_rules: MailDataset


def operators() -> tuple[str, ...]:
    """Return the addresses for mails about the site: the configured operators, else all sysadmins."""
    given = settings.words("notify.operators")
    if given:
        return tuple(dict.fromkeys(address for text in given for address in addresses.parse(text)))
    user = model.User.__table__
    rows = model.Session.execute(
        sa.select(user.c.email)
        .where(user.c.sysadmin, user.c.state == "active", user.c.email.is_not(None))
        .order_by(user.c.name)
    ).scalars()
    return tuple(dict.fromkeys(address for email in rows for address in addresses.parse(email)))


def datasets(package_ids: Iterable[str], now: datetime) -> dict[str, DatasetFacts]:
    """Return the active datasets that have a status, with their recipients, by id.

    A mail contains only what CKAN would show to its recipient. If users have the address, one of them must
    be allowed to see the dataset; otherwise the dataset must be public.
    """
    ids = sorted(set(package_ids))
    parts = (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
    return {id: facts for part in parts for id, facts in _datasets(part, now).items()}


def _datasets(ids: list[str], now: datetime) -> dict[str, DatasetFacts]:
    rows = _rows(ids)
    # The checks of access read each package. Held packages cost them no further queries.
    held = hold_packages([row.id for row in rows])
    admins = admins_of({row.owner_org for row in rows if row.owner_org})
    contacts = {row.id: _contacts(row, admins.get(row.owner_org, ())) for row in rows}
    users = _users(
        {
            address
            for contact in contacts.values()
            for step in (contact.maintainer, contact.author, contact.admins)
            for address in step
        }
    )
    facts = {row.id: _facts(row, contacts[row.id], users, now) for row in rows}
    del held
    return facts


def _facts(
    row: Any, contacts: Contacts, users: Mapping[str, Sequence[Any]], now: datetime
) -> DatasetFacts:
    named = tuple(dict.fromkeys((*contacts.maintainer, *contacts.author)))
    sees = _sees(row.id, {*named, *contacts.admins}, users)
    bounds = boundaries(row)
    status = Status(row.status) if bounds is None else status_at(bounds, now)
    return DatasetFacts(
        id=row.id,
        name=row.name,
        title=addresses.line(row.title) or row.name,
        organization=addresses.line(row.organization),
        organization_name=row.organization_name or "",
        maintainer=addresses.line(row.maintainer or row.author),
        named=named,
        last_modified=aware_to_second(row.last_modified),
        frequency_days=row.frequency_days,
        is_harvested=row.is_harvested,
        for_rules=MailDataset(
            status=status,
            keepers=keepers(contacts, sees),
            is_wanted=(row.wish or "").strip().lower() not in _NO,
        ),
    )


def _rows(ids: list[str]) -> list[Any]:
    statement = sa.text(_DATASETS.format(harvest=harvest_tables.source_configs_sql()))
    parameters = {
        "ids": ids,
        "key": WISH_KEY,
        "types": sorted(settings.aging().dataset_types),
    }
    return list(model.Session.execute(statement, parameters))


_DATASETS = f"""
SELECT p.id, p.name, p.title, p.owner_org, p.maintainer, p.maintainer_email, p.author, p.author_email,
    g.title AS organization, g.name AS organization_name, {ORGANIZATION_EXTRA} AS wish,
    h.is_harvested, h.configs, d.status, d.last_modified, d.frequency_days, d.due, d.overdue, d.delinquent
FROM package p
JOIN freshness_dataset d ON d.package_id = p.id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN LATERAL ({{harvest}}) h ON true
WHERE p.id = ANY(:ids) AND p.state = 'active' AND p.type = ANY(:types)
ORDER BY p.id"""


def _contacts(row: Any, admins: tuple[str, ...]) -> Contacts:
    return Contacts(
        maintainer=addresses.parse(row.maintainer_email),
        author=addresses.parse(row.author_email),
        admins=admins,
        may_be_used=not row.is_harvested or _has_consent(row.configs),
    )


def _has_consent(configs: Sequence[str | None] | None) -> bool:
    """Decide whether all sources of a dataset, of any harvester, permit mails to its contacts."""
    return bool(configs) and all(_permits(config) for config in configs or ())


def _permits(config: str | None) -> bool:
    try:
        plain = json.loads(config or "{}")
    except ValueError:
        return False
    return isinstance(plain, dict) and plain.get(_CONSENT_KEY) is True


def admins_of(organization_ids: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the addresses of the admins of organizations, by the organization's id."""
    rows = model.Session.execute(sa.text(_ADMINS), {"ids": sorted(organization_ids)})
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        found[row.group_id].update(dict.fromkeys(addresses.parse(row.email)))
    return {group_id: tuple(emails) for group_id, emails in found.items()}


_ADMINS = """
SELECT m.group_id, u.email FROM member m JOIN "user" u ON u.id = m.table_id
WHERE m.group_id = ANY(:ids) AND m.table_name = 'user' AND m.state = 'active' AND m.capacity = 'admin'
    AND u.state = 'active' AND u.email IS NOT NULL
ORDER BY m.group_id, u.name"""


def editors(emails: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the addresses of users, with the names of the organizations whose datasets they may edit."""
    rows = model.Session.execute(sa.text(_EDITORS), {"emails": sorted(set(emails))})
    return {row.email: frozenset(row.organizations or ()) for row in rows}


_EDITORS = """
SELECT lower(u.email) AS email, array_agg(g.name) FILTER (WHERE g.name IS NOT NULL) AS organizations
FROM "user" u
LEFT JOIN member m ON m.table_id = u.id AND m.table_name = 'user' AND m.state = 'active'
    AND m.capacity IN ('admin', 'editor')
LEFT JOIN "group" g ON g.id = m.group_id AND g.is_organization AND g.state = 'active'
WHERE u.state = 'active' AND lower(u.email) = ANY(:emails)
GROUP BY lower(u.email)"""


def _users(emails: set[str]) -> dict[str, list[Any]]:
    """Return the active users by their address."""
    user = model.User
    query = model.Session.query(user).filter(
        sa.func.lower(user.email).in_(sorted(emails)), user.state == "active"
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for row in query.order_by(user.name):
        found[row.email.lower()].append(row)
    return found


def _sees(package_id: str, emails: set[str], users: Mapping[str, Sequence[Any]]) -> frozenset[str]:
    """Return the addresses to whose owners CKAN would show a dataset."""
    if _may_see(package_id, None):
        return frozenset(emails)
    return frozenset(
        address
        for address in emails
        if any(_may_see(package_id, user) for user in users.get(address, ()))
    )


def _may_see(package_id: str, user: Any | None) -> bool:
    context = {"user": "" if user is None else user.name, "auth_user_obj": user}
    try:
        tk.check_access("package_show", context, {"id": package_id})
    except tk.NotAuthorized:
        return False
    return True
