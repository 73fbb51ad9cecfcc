"""What is at the URLs of a dataset's resources, as the last visits found it: for people who look at it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..checking import check_rows, formats, selection
from ..checking.check_rows import host_of
from ..checking.selection import NextCheck, SelectionReason, SelectionRules
from ..ckan_adapter import model
from ..dates import utc, utc_text
from ..web.urls import display_url
from . import copy_urls as copies

MOST = 100
"""Resources that are told of; some datasets have thousands."""

_ATTEMPT = ("at", "outcome", "status", "words", "final_url")


def of_dataset(package_id: str, now: datetime, *, every: bool = False) -> dict[str, Any]:
    """What is known of the URLs of a dataset, those that fail first, as ``freshness_show`` tells it.

    :param now: with its zone.
    :param every: of all resources; else of :data:`MOST`.
    """
    checks = settings.checks()
    rows = model.Session.execute(
        sa.text(_RESOURCES), {"id": package_id, "most": None if every else MOST}
    ).all()
    moment = utc(now)
    coming = {
        row.resource_id: selection.next_visit(row, moment, checks.rules)
        for row in check_rows.stream(now, checks, package_ids=[package_id])
    }
    kept = copies.urls([row.id for row in rows])
    return {
        "total": rows[0].total if rows else 0,
        "resources": [
            {
                **_resource(row, checks),
                **_coming(coming.get(row.id)),
                **dict.fromkeys(copies.KEYS),
                **kept.get(row.id, {}),
            }
            for row in rows
        ],
    }


def _coming(coming: NextCheck | None) -> dict[str, Any]:
    if coming is None:
        return {"next_visit": None, "next_in_turn": False}
    return {"next_visit": utc_text(coming.at), "next_in_turn": coming.in_turn}


def is_broken(row: Any, checks: settings.Checks) -> bool:
    """Whether a URL has failed so often and for so long that it counts as broken, by the site's options.

    :param row: of ``freshness_check``.
    """
    return selection.is_broken(
        row.failures,
        row.failing_since,
        row.tried_at,
        least_failures=checks.broken_after_failures,
        least_span=checks.broken_after,
    )


def mismatch(row: Any, format_: str | None, mimetype: str | None) -> dict[str, str | None]:
    """Return the promised format and the kind of file that came instead; nothing if the file fits.

    After a correction of the format nothing is known until the next check.

    :param row: of ``freshness_check``; None if there is none
    :param format_: of the resource, as it is now
    :param mimetype: likewise
    """
    if row is None or row.promised != formats.promise(format_, mimetype).name:
        return {"promised": None, "found": None}
    return {"promised": row.promised, "found": row.found}


def _resource(row: Any, checks: settings.Checks) -> dict[str, Any]:
    attempts = [{key: one.get(key) for key in _ATTEMPT} for one in row.attempts or []]
    newest = attempts[0] if attempts else dict.fromkeys(_ATTEMPT)
    return {
        "id": row.id,
        "name": row.name or "",
        "url": display_url(row.url or ""),
        "not_visited": _never(row, checks.rules),
        "tried_at": utc_text(row.tried_at),
        **{key: newest[key] for key in _ATTEMPT if key != "at"},
        "broken": row.failures is not None and is_broken(row, checks),
        **mismatch(row, row.format, row.mimetype),
        "failures": row.failures or 0,
        "failing_since": utc_text(row.failing_since),
        "changed_at": utc_text(row.changed_at),
        "attempts": attempts,
    }


def _never(row: Any, rules: SelectionRules) -> str | None:
    """Why a resource is never visited, as far as its URL decides that."""
    host = host_of(row.url or "")
    if row.url_type == "upload" or host in rules.internal_hosts:
        return SelectionReason.INTERNAL.value
    return SelectionReason.AD_HOC.value if host in rules.adhoc_hosts else None


# A resource that was written without its id has another one until the next run, and the same URL.
_RESOURCES = """
SELECT r.id, r.name, r.url, r.url_type, c.tried_at, c.failures, c.failing_since, c.changed_at, c.attempts,
    r.format, r.mimetype, c.promised, c.found,
    count(*) OVER () AS total
FROM resource r
LEFT JOIN LATERAL (
    SELECT * FROM freshness_check k
    WHERE k.package_id = r.package_id AND k.url = r.url
    ORDER BY k.resource_id <> r.id, k.resource_id LIMIT 1
) c ON true
WHERE r.package_id = :id AND r.state = 'active'
ORDER BY coalesce(c.failures, 0) DESC, c.undetermined IS NULL, r.position, r.id
LIMIT :most"""
