"""Checks of datasets and organizations: what only people can correct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from .. import settings
from ..aging.frequency import UnknownFrequency, parse
from ..aging.vocabularies import Reason
from ..checking.check_rows import REQUESTABLE_KEYS
from ..ckan_adapter import harvest
from ..ckan_adapter.packages import EXTRAS, packages_with_true_extras
from ..dates import utc
from ..mails import recipients
from ..reporting.visibility import rows
from ..status import our_fields
from ..status.frequencies import vocabularies
from .findings import SiteFinding, counted, named, note, problem, warning


def datasets(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets without people, frequency or resources, and fields of a site with names of ours."""
    if words := our_fields.kept_in_words():
        yield problem(words, our_fields.KEPT_ADVICE)
    for words in our_fields.declared_in_words():
        yield problem(words, our_fields.DECLARED_ADVICE)
    yield from _addresses()
    yield from _frequencies()
    yield from _without_resources(now)


def _frequencies() -> Iterator[SiteFinding]:
    known = vocabularies()
    not_understood: Counter[str] = Counter()
    for value, count in rows(_STATED_FREQUENCIES, keys=list(settings.frequency_keys())):
        reading = parse(value, known)
        if isinstance(reading, UnknownFrequency) and reading.reason in _NOT_UNDERSTOOD:
            # Anybody may have written it: repr() escapes what terminals interpret.
            not_understood[repr(reading.text)] += count
    if not_understood:
        values = [f"{value} ({count})" for value, count in not_understood.most_common()]
        yield warning(
            f"{counted(not_understood.total(), 'dataset has', 'datasets have')} an update frequency that is "
            f"not understood, so nobody is told when new data are due: {named(values)}",
            'Correct these values, or add their meaning (docs/extending.rst, "A vocabulary of update '
            'frequencies"), restart CKAN, and then: ckan freshness refresh --all',
        )
    if count := rows(_WITHOUT_FREQUENCY).scalar() - not_understood.total():
        yield note(
            f"{counted(count, 'dataset has', 'datasets have')} no update frequency, so nobody is told when new "
            "data are due",
            "Choose one on the datasets' pages, or set ckanext.freshness.default_frequency.",
        )


_NOT_UNDERSTOOD = {Reason.NOT_UNDERSTOOD, Reason.OUT_OF_RANGE}


def _addresses() -> Iterator[SiteFinding]:
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
            f"address, or neither a maintainer nor an organization: {named(found)}",
            "Correct the maintainer, or choose an organization. Until then mails about these data do not "
            "reach the people who look after them.",
        )
    organizations = rows(_ORGANIZATIONS).all()
    admins = recipients.admins_of([row.id for row in organizations])
    if silent := [row.name for row in organizations if not admins.get(row.id)]:
        yield note(
            f"No admin of {counted(len(silent), 'organization', 'organizations')} with datasets has a valid "
            f"e-mail address: {named(silent)}",
            "Give an admin of the organization an address.",
        )


def _without_resources(now: datetime) -> Iterator[SiteFinding]:
    found = rows(
        _EMPTY.format(requestable=packages_with_true_extras("requestable")),
        requestable=list(REQUESTABLE_KEYS),
        before=utc(now - timedelta(days=1)),
    )
    if names := [*found.scalars()]:
        yield note(
            f"{counted(len(names), 'dataset has', 'datasets have')} no resources, so there is nothing to "
            f"download: {named(names)}",
            "Add their files or links, or delete the datasets.",
        )


# Addresses of the usual form are valid. Only the others need to be parsed.
_MAINTAINERS = """
SELECT p.name, p.owner_org, p.maintainer, p.maintainer_email, p.author_email
FROM package p LEFT JOIN LATERAL ({harvest}) h ON true
WHERE p.state = 'active' AND p.type = ANY(:types)
    AND coalesce(p.maintainer_email, '') !~* '^[a-z0-9._+-]{{1,64}}@[a-z0-9]+(\\.[a-z0-9]+)+$'
    AND (p.owner_org IS NULL OR coalesce(p.maintainer, '') <> '' OR coalesce(p.maintainer_email, '') <> '')
    AND NOT h.is_harvested
ORDER BY p.name"""
"""SQL: datasets whose people may not be reached. Only the source can correct those that are harvested."""

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
"""SQL: datasets without resources, other than new ones and those available on request."""

_UNDECLARED = """freshness_dataset d JOIN package p ON p.id = d.package_id
    AND d.frequency_days IS NULL AND p.state = 'active' AND p.type = ANY(:types)"""
"""SQL: datasets whose update frequency is not known."""

_WITHOUT_FREQUENCY = f"SELECT count(*) FROM {_UNDECLARED}"

_STATED_FREQUENCIES = rf"""
SELECT left(value, 300), count(*) FROM (
    SELECT DISTINCT ON (p.id) e.value
    FROM {_UNDECLARED} JOIN {EXTRAS} e ON e.package_id = p.id
    WHERE e.key = ANY(:keys) AND e.value ~ '\S'
    ORDER BY p.id, array_position(:keys, e.key)
) stated GROUP BY 1"""
"""SQL: what these datasets say, and how many of them say it."""
