"""The people who receive mails: their addresses, their datasets and their choice."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Any

import idna
import sqlalchemy as sa
from dateutil.parser import isoparse
from sqlalchemy.dialects import postgresql

from .. import settings
from ..aging.status import shown_status, status_at
from ..ckan_adapter import harvest
from ..ckan_adapter.core import may, model
from ..ckan_adapter.packages import ORGANIZATION_EXTRA, hold_packages
from ..dates import aware, aware_to_second
from ..model import MailPerson
from ..reporting.visibility import rows
from ..status.snapshot import boundaries
from ..translation import N_

# Addresses and texts

MOST_ADDRESSES = 10
"""Addresses to read from one field: the field names a dataset's maintainers, not a mailing list."""

_LONGEST_FIELD = 4_000
_LONGEST_ADDRESS = 254
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"[a-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL})*")
"""HTML's definition of a valid e-mail address. It contains nothing that could end a header."""
_IN_BRACKETS = re.compile(r"<([^<>]*)>")
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def addresses(field: str | None) -> tuple[str, ...]:
    """Return the addresses in a field, without repetitions, in order: ``a@b, c@d``, ``Ann <a@b>; mailto:c@d``.

    Addresses are returned in lower case, international domains in Punycode. Entries that are no address
    are left out, and so are entries with line breaks or other control characters, which could inject a
    header.

    :returns: at most :data:`MOST_ADDRESSES` addresses
    """
    found: dict[str, None] = {}
    for entry in re.split("[,;]", (field or "")[:_LONGEST_FIELD]):
        stripped = entry.strip()
        if any(unicodedata.category(char) == "Cc" for char in stripped):
            continue
        for word in _IN_BRACKETS.findall(stripped) or stripped.split():
            address = _address(word.strip())
            if address is not None:
                found[address] = None
    return tuple(found)[:MOST_ADDRESSES]


def _address(word: str) -> str | None:
    local, at, domain = word.lower().removeprefix("mailto:").rpartition("@")
    if at and not domain.isascii():
        try:
            domain = idna.encode(domain, uts46=True).decode()
        except idna.IDNAError:
            return None
    address = f"{local}{at}{domain}"
    return address if len(address) <= _LONGEST_ADDRESS and _ADDRESS.fullmatch(address) else None


def line(text: str | None, most: int = 200) -> str:
    """Return a text of others without line breaks, control characters and direction marks, cut to a length.

    Line breaks in a title could add lines or headers to a mail. Direction marks could reverse the text
    behind them.
    """
    plain = "".join(
        " " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char
        for char in (text or "")[: 4 * most]
        if char not in _BIDI and unicodedata.category(char) != "Cs"
    )
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


# The people of a dataset and of the site


class Receivers(Enum):
    """The people who are told. The value says why."""

    KEEPERS = N_("you look after these data: as maintainer, author or member of their organization")
    """The maintainers of a dataset, who may see it."""
    EDITORS = N_("you may edit these harvest sources")
    """The editors and admins of a harvest source's organization, and the operators."""
    OPERATORS = N_("you are an administrator of this portal")
    """The sysadmins, or the operators that the site's options name."""
    FOLLOWERS = N_("you follow these datasets, their organization or a group")
    """The users who follow a dataset, and may see it."""


WISH_KEY = "freshness_notify"
"""An organization's extra. ``false`` switches off mails about its datasets."""
_CONSENT_KEY = "notify_contacts"
"""A key of a harvest source's config. ``true`` permits mails to the contacts in its datasets."""
_AT_ONCE = 1000
"""Datasets whose packages are in memory at a time."""
NO = frozenset({"false", "no", "off", "0", "n", "f"})


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """A dataset as mails present it, and as far as its mails depend on it.

    :ivar organization: the title of its organization
    :ivar maintainer: the name of the maintainer or author, for people who look for a contact
    :ivar named: the addresses in its fields
    :ivar evidence: the kind of evidence for ``last_modified``
    :ivar is_harvested: whether its data come from a harvest source, which overwrites edits
    :ivar status: its present status, as people are shown it
    :ivar keepers: the addresses of the people who look after it and may see it; none if its organization
        wants no mails
    :ivar followers: since when users have followed it, its organization or a group of it, by the addresses of
        those who may see it; none if its organization wants no mails
    :ivar admins: the addresses of the admins of its organization
    """

    id: str
    name: str
    title: str
    organization: str
    maintainer: str
    named: tuple[str, ...]
    last_modified: datetime | None
    evidence: str | None
    confirmed_at: datetime | None
    frequency_days: int | None
    frequency_from: str | None
    is_harvested: bool
    status: str
    keepers: tuple[str, ...]
    followers: Mapping[str, datetime]
    admins: tuple[str, ...]


def operators() -> tuple[str, ...]:
    """Return the addresses for mails about the site: the configured operators, else all sysadmins."""
    given: Iterable[str] = settings.words("notify.operators")
    if not given:
        user = model.User.__table__
        given = model.Session.execute(
            sa.select(user.c.email)
            .where(user.c.sysadmin, user.c.state == "active", user.c.email.is_not(None))
            .order_by(user.c.name)
        ).scalars()
    return tuple(dict.fromkeys(address for text in given for address in addresses(text)))


def datasets(package_ids: Iterable[str], now: datetime) -> dict[str, DatasetFacts]:
    """Return the active datasets that have a status, with their recipients, by id.

    A mail contains only what CKAN would show to its recipient. If users have the address, one of them must
    be allowed to see the dataset; otherwise the dataset must be public.
    """
    ids = sorted(set(package_ids))
    parts = (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
    return {id: facts for part in parts for id, facts in _datasets(part, now).items()}


def _datasets(ids: list[str], now: datetime) -> dict[str, DatasetFacts]:
    statement = _DATASETS.format(harvest=harvest.source_configs_sql())
    found = rows(statement, ids=ids, key=WISH_KEY).all()
    # The checks of access read each package. Held packages cost them no further queries.
    held = hold_packages([row.id for row in found])
    admins = admins_of({row.owner_org for row in found if row.owner_org})
    steps = {row.id: _steps(row, admins.get(row.owner_org, ())) for row in found}
    following: dict[str, dict[str, datetime]] = defaultdict(dict)
    for id, email, since in rows(_FOLLOWING, ids=ids):
        following[id] |= dict.fromkeys(addresses(email), aware(since))
    groups = [step for each in steps.values() for step in each] + [*following.values()]
    users = users_of({address for group in groups for address in group})
    facts = {
        row.id: _facts(row, steps[row.id], following.get(row.id, {}), users, now) for row in found
    }
    del held
    return facts


_DATASETS = f"""
SELECT p.id, p.name, p.title, p.owner_org, p.maintainer, p.maintainer_email, p.author, p.author_email,
    g.title AS organization, {ORGANIZATION_EXTRA} AS wish,
    h.is_harvested, h.configs, d.status, d.last_modified, d.evidence, d.confirmed_at, d.frequency_days,
    d.frequency_from, d.due, d.overdue, d.delinquent, d.broken_since
FROM package p
JOIN freshness_dataset d ON d.package_id = p.id
LEFT JOIN "group" g ON g.id = p.owner_org
LEFT JOIN LATERAL ({{harvest}}) h ON true
WHERE p.id = ANY(:ids) AND p.state = 'active' AND p.type = ANY(:types)
ORDER BY p.id"""


def _steps(row: Any, admins: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of addresses of which the first that may see the dataset receives its mails.

    The last group is the admins of its organization.
    """
    if row.is_harvested and not _has_consent(row.configs):
        return (admins,)
    return (addresses(row.maintainer_email), addresses(row.author_email), admins)


def _has_consent(configs: Sequence[str | None] | None) -> bool:
    """Decide whether all sources of a dataset, of any harvester, permit mails to its contacts."""
    return bool(configs) and all(
        harvest.config_value(config, _CONSENT_KEY) is True for config in configs or ()
    )


def _facts(
    row: Any,
    steps: Sequence[tuple[str, ...]],
    followers: Mapping[str, datetime],
    users: Mapping[str, Sequence[Any]],
    now: datetime,
) -> DatasetFacts:
    named = (*addresses(row.maintainer_email), *addresses(row.author_email))
    is_wanted = (row.wish or "").strip().lower() not in NO
    bounds = boundaries(row)
    seeing = partial(_seeing, row.id, users, is_public=is_wanted and _may_see(row.id, None))
    return DatasetFacts(
        id=row.id,
        name=row.name,
        title=line(row.title) or row.name,
        organization=line(row.organization),
        maintainer=line(row.maintainer or row.author),
        named=tuple(dict.fromkeys(named)),
        last_modified=aware_to_second(row.last_modified),
        evidence=row.evidence,
        confirmed_at=aware_to_second(row.confirmed_at),
        frequency_days=row.frequency_days,
        frequency_from=row.frequency_from,
        is_harvested=row.is_harvested,
        status=shown_status(
            row.status if bounds is None else status_at(bounds, now).value, row.broken_since
        ),
        keepers=next(filter(None, map(seeing, steps)), ()) if is_wanted else (),
        followers={one: followers[one] for one in seeing(followers)} if is_wanted else {},
        admins=steps[-1],
    )


def _seeing(
    package_id: str,
    users: Mapping[str, Sequence[Any]],
    group: Iterable[str],
    *,
    is_public: bool,
) -> tuple[str, ...]:
    """Return the addresses of a group to whose owners CKAN would show a dataset."""
    return tuple(
        address
        for address in dict.fromkeys(group)
        if is_public or any(_may_see(package_id, user) for user in users.get(address, ()))
    )


def _may_see(package_id: str, user: Any | None) -> bool:
    """Decide whether CKAN would show a dataset to a user, or to everybody if it is None."""
    return may("package_show", context_of(user), id=package_id)


def context_of(user: Any | None) -> dict[str, Any]:
    """Return the context of calls of a user, or of everybody if it is None."""
    return {"user": "" if user is None else user.name, "auth_user_obj": user}


def users_of(emails: set[str]) -> dict[str, list[Any]]:
    """Return the active users by their address."""
    user = model.User
    query = model.Session.query(user).filter(
        sa.func.lower(user.email).in_(sorted(emails)), user.state == "active"
    )
    found: dict[str, list[Any]] = defaultdict(list)
    for row in query.order_by(user.name):
        found[row.email.lower()].append(row)
    return found


def admins_of(organization_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the addresses of the admins of organizations, by the organization's id."""
    return _grouped(_MEMBERS.format(capacities="'admin'"), organization_ids)


def editors_of(organization_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return, by organization, the addresses of those who may edit its harvest sources."""
    return _grouped(_MEMBERS.format(capacities="'admin', 'editor'"), organization_ids)


def _grouped(statement: str, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return addresses by the id of what they belong to."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for id, email in rows(statement, ids=sorted(ids)):
        found[id].update(dict.fromkeys(addresses(email)))
    return {id: tuple(emails) for id, emails in found.items()}


_MEMBERS = """
SELECT m.group_id, u.email FROM member m JOIN "user" u ON u.id = m.table_id
WHERE m.group_id = ANY(:ids) AND m.table_name = 'user' AND m.state = 'active'
    AND m.capacity IN ({capacities}) AND u.state = 'active' AND u.email IS NOT NULL
ORDER BY m.group_id, u.name"""

FOLLOWERS = """
SELECT object_id AS package_id, follower_id, datetime AS since FROM user_following_dataset
UNION ALL SELECT q.id, g.follower_id, g.datetime FROM user_following_group g
    JOIN package q ON q.owner_org = g.object_id
UNION ALL SELECT m.table_id, g.follower_id, g.datetime FROM user_following_group g
    JOIN member m ON m.group_id = g.object_id AND m.table_name = 'package' AND m.state = 'active'"""
"""SQL: the users who follow a dataset, its organization or one of its groups, and since when."""

_FOLLOWING = f"""
SELECT f.package_id, u.email, min(f.since) AS since FROM ({FOLLOWERS}) f
JOIN "user" u ON u.id = f.follower_id AND u.state = 'active' AND u.email IS NOT NULL
WHERE f.package_id = ANY(:ids) GROUP BY f.package_id, u.id ORDER BY f.package_id, u.name"""


def editors(emails: Iterable[str]) -> set[str]:
    """Return the addresses of users who may edit the datasets of an organization, so that they have tasks."""
    return set(rows(_EDITORS, emails=sorted(set(emails))).scalars())


_EDITORS = """
SELECT lower(u.email) FROM "user" u
JOIN member m ON m.table_id = u.id AND m.table_name = 'user' AND m.state = 'active'
    AND m.capacity IN ('admin', 'editor')
JOIN "group" g ON g.id = m.group_id AND g.is_organization AND g.state = 'active'
WHERE u.state = 'active' AND lower(u.email) = ANY(:emails)"""


# The choice of each person


class Choice(str, Enum):
    """The mails that the owner of an address wants. The values stand in the API and in the database."""

    ALL = "all"
    FOLLOWED = "followed"
    """Only those about datasets that they follow."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Person:
    """The choice of an address's owner, and the mails that they had.

    :ivar told: the time of the last mail of each kind
    """

    address: str
    choice: Choice = Choice.ALL
    told: Mapping[str, datetime] = field(default_factory=dict)

    def wants(self, receivers: Receivers) -> bool:
        """Return whether the person wants the mails that they get as one of the receivers."""
        if self.choice is Choice.FOLLOWED:
            return receivers is Receivers.FOLLOWERS
        return self.choice is Choice.ALL


def people(emails: Iterable[str]) -> dict[str, Person]:
    """Return what is known of the owners of addresses."""
    wanted = sorted(set(emails))
    known = model.Session.query(MailPerson).filter(MailPerson.address.in_(wanted))
    return {address: Person(address) for address in wanted} | {
        row.address: _person(row) for row in known
    }


def _person(row: Any) -> Person:
    told = {kind: aware(isoparse(at)) for kind, at in row.told_at.items()}
    return Person(row.address, Choice(row.choice), told)


def write(address: str, choice: Choice) -> None:
    """Store the choice of an address's owner and commit."""
    row = model.Session.get(MailPerson, number_of(address))
    row.choice = choice.value
    model.Session.commit()


def number_of(address: str) -> int:
    """Return the number of an address for the links in its mails; add its row if it is missing."""
    new = postgresql.insert(MailPerson.__table__).values(address=address)
    model.Session.execute(new.on_conflict_do_nothing())
    return int(model.Session.query(MailPerson.id).filter_by(address=address).scalar())
