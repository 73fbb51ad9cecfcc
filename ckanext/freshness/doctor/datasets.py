"""Checks of datasets and organizations: what only people can correct."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..checking.check_rows import REQUESTABLE_KEYS
from ..ckan_adapter import harvest
from ..ckan_adapter.packages import packages_with_true_extras
from ..dates import utc
from ..mails import recipients
from ..reporting.visibility import rows
from .findings import SiteFinding, counted, note

_NAMED = 10
"""Datasets or organizations that a finding names."""


def addresses(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets and organizations whose people cannot be reached by mail.

    Maintainers of harvested datasets are left out, since only the source can correct them.
    """
    found = []
    for row in rows(_MAINTAINERS.format(harvest=harvest.source_configs_sql())):
        is_named = bool((row.maintainer or "").strip() or (row.maintainer_email or "").strip())
        # Mails about a dataset that names no maintainer go to its author, or to its organization.
        has_other = not is_named and (row.owner_org or recipients.addresses(row.author_email))
        if not has_other and not recipients.addresses(row.maintainer_email):
            found.append(row.name)
    if found:
        yield note(
            f"{counted(len(found), 'dataset has', 'datasets have')} a maintainer without a valid e-mail "
            f"address, or neither a maintainer nor an organization: {_names(found)}",
            "Correct the maintainer, or choose an organization. Until then mails about these data do not "
            "reach the people who look after them.",
        )
    organizations = rows(_ORGANIZATIONS).all()
    admins = recipients.admins_of([row.id for row in organizations])
    if silent := [row.name for row in organizations if not admins.get(row.id)]:
        yield note(
            f"No admin of {counted(len(silent), 'organization', 'organizations')} with datasets has a valid "
            f"e-mail address: {_names(silent)}",
            "Give an admin of the organization an address.",
        )


def without_resources(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets without resources, other than those of the last day and those available on request."""
    found = rows(
        _EMPTY.format(requestable=packages_with_true_extras("requestable")),
        requestable=list(REQUESTABLE_KEYS),
        before=utc(now - timedelta(days=1)),
    )
    if names := [*found.scalars()]:
        yield note(
            f"{counted(len(names), 'dataset has', 'datasets have')} no resources, so there is nothing to "
            f"download: {_names(names)}",
            "Add their files or links, or delete the datasets.",
        )


def _names(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


# Addresses of the usual form are valid. Only the others need to be parsed.
_MAINTAINERS = """
SELECT p.name, p.owner_org, p.maintainer, p.maintainer_email, p.author_email
FROM package p LEFT JOIN LATERAL ({harvest}) h ON true
WHERE p.state = 'active' AND p.type = ANY(:types)
    AND coalesce(p.maintainer_email, '') !~* '^[a-z0-9._+-]{{1,64}}@[a-z0-9]+(\\.[a-z0-9]+)+$'
    AND (p.owner_org IS NULL OR coalesce(p.maintainer, '') <> '' OR coalesce(p.maintainer_email, '') <> '')
    AND NOT h.is_harvested
ORDER BY p.name"""

_ORGANIZATIONS = """
SELECT g.id, g.name FROM "group" g
WHERE g.is_organization AND g.state = 'active' AND EXISTS (
    SELECT FROM package p WHERE p.owner_org = g.id AND p.state = 'active' AND p.type = ANY(:types)
)
ORDER BY g.name"""

_EMPTY = """
SELECT p.name FROM package p
WHERE p.state = 'active' AND p.type = ANY(:types) AND p.metadata_created < :before
    AND NOT EXISTS (SELECT FROM resource r WHERE r.package_id = p.id AND r.state = 'active')
    AND p.id NOT IN (SELECT package_id FROM ({requestable}) q WHERE requestable)
ORDER BY p.name"""
