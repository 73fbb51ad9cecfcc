"""Results of the last checks of a dataset's URLs, for people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..checking import check_rows, formats, selection
from ..checking.check_rows import host_of
from ..checking.decisions import Outcome
from ..checking.selection import NextCheck, SelectionReason, SelectionRules
from ..ckan_adapter import model
from ..dates import utc, utc_text
from ..web.urls import display_url
from . import copy_urls

MOST = 100
"""Resources to show, since some datasets have thousands."""

_ATTEMPT = ("at", "outcome", "status", "words", "final_url")


def of_dataset(package_id: str, now: datetime, *, every: bool = False) -> dict[str, Any]:
    """Return the results for a dataset's URLs, failing ones first, as ``freshness_show`` shows them.

    :param now: the current time, aware
    :param every: whether to return all resources instead of the first :data:`MOST`
    """
    checks = settings.checks()
    rows = model.Session.execute(
        sa.text(_RESOURCES), {"id": package_id, "most": None if every else MOST}
    ).all()
    moment = utc(now)
    coming = {
        row.resource_id: selection.next_check(row, moment, checks.rules)
        for row in check_rows.stream(now, checks, package_ids=[package_id])
    }
    copies = copy_urls.urls([row.id for row in rows])
    return {
        "total": rows[0].total if rows else 0,
        "resources": [
            {
                **_resource(row, checks),
                **_coming(coming.get(row.id)),
                **dict.fromkeys(copy_urls.KEYS),
                **copies.get(row.id, {}),
            }
            for row in rows
        ],
    }


def _coming(coming: NextCheck | None) -> dict[str, Any]:
    if coming is None:
        return {"next_visit": None, "next_in_turn": False}
    return {"next_visit": utc_text(coming.at), "next_in_turn": coming.in_turn}


def is_broken(row: Any, checks: settings.Checks) -> bool:
    """Decide by the site's options whether a URL has failed so often and so long that it is broken.

    :param row: a row of ``freshness_check``
    """
    return selection.is_broken(
        row.failures,
        row.failing_since,
        row.tried_at,
        least_failures=checks.broken_after_failures,
        least_span=checks.broken_after,
    )


def mismatch(row: Any, format_: str | None, mimetype: str | None) -> dict[str, str | None]:
    """Return the promised format and the kind of file that came instead; None for both if the file fits.

    After the format was corrected, the result is None until the next check.

    :param row: a row of ``freshness_check``; None if there is none
    :param format_: the resource's present format
    :param mimetype: the resource's present media type
    """
    if row is None or row.promised != formats.promise(format_, mimetype).name:
        return {"promised": None, "found": None}
    return {"promised": row.promised, "found": row.found}


def _resource(row: Any, checks: settings.Checks) -> dict[str, Any]:
    attempts = [{key: attempt.get(key) for key in _ATTEMPT} for attempt in row.attempts or []]
    newest = attempts[0] if attempts else dict.fromkeys(_ATTEMPT)
    return {
        "id": row.id,
        "name": row.name or "",
        "url": display_url(row.url or ""),
        "not_visited": (never := _never_checked(row, checks.rules)),
        "tried_at": utc_text(row.tried_at),
        **{key: newest[key] for key in _ATTEMPT if key != "at"},
        "broken": (broken := row.failures is not None and is_broken(row, checks)),
        "state": state_of(newest["outcome"], row.failures or 0, broken=broken, never=never),
        **mismatch(row, row.format, row.mimetype),
        "failures": row.failures or 0,
        "failing_since": utc_text(row.failing_since),
        "changed_at": utc_text(row.changed_at),
        "attempts": attempts,
    }


def state_of(outcome: str | None, failures: int, *, broken: bool, never: str | None) -> str:
    """Return the state of a link, a key of :data:`.display.LINKS`.

    :param outcome: of the last check; None if there was none
    :param failures: failed checks since the last success
    :param never: why the link is never checked; None if it is
    """
    if never == SelectionReason.INTERNAL.value:
        return "internal"
    if broken:
        return "broken"
    if failures:
        return "failing"
    if never or outcome == Outcome.CANNOT_TELL.value:
        return "unchecked"
    return "waiting" if outcome is None else "works"


def _never_checked(row: Any, rules: SelectionRules) -> str | None:
    """Return the reason why a resource's URL is never checked; None if its URL gives no such reason."""
    host = host_of(row.url or "")
    if row.url_type == "upload" or host in rules.internal_hosts:
        return SelectionReason.INTERNAL.value
    return SelectionReason.AD_HOC.value if host in rules.adhoc_hosts else None


# CKAN gives a resource that was written without its id a new one. Its URL is the same.
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
